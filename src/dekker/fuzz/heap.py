"""Random programs that allocate, publish, compare and free objects, most of them with freed memory that is allocated
again.

They may use memory after it was freed, free it twice, or never: engines have to agree about that, too. Addresses are
compared, but never left where they can be seen, because every engine has others. In half of them, memory that is lost
is a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from dekker.ir.passes.reuse import reuse_freed_memory
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.source import Source

POINTERS = ("p", "q")
CELLS = ("top", "spare")
_STORES = ("relaxed", "release", "seq_cst")
_LOADS = ("relaxed", "acquire", "seq_cst")
_UPDATES = ("relaxed", "acq_rel", "seq_cst")


def heap_program(seed: int) -> Program:
    random = Random(seed)
    text = _Generator(random).program()
    program = parse_program(Source("random.ir", text))
    validate(program)
    program = reuse_freed_memory(program) if random.random() < 0.8 else program
    return replace(program, property=replace(program.property, leaks=True)) if random.random() < 0.5 else program


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.labels = 0
        self.sizes = random.choice((("8",), ("8",), ("8", "16")))
        self.cells = random.choice((CELLS[:1], CELLS[:1], CELLS))
        self.statements = (
            *(self._allocate, self._allocate, self._publish, self._take, self._get, self._exchange, self._read),
            *(self._write, self._free, self._free, self._free, self._compare),
        )

    def program(self) -> str:
        n_threads = self.random.choice((1, 1, 1, 2))
        bodies = [self._thread(number) for number in range(n_threads)]
        objects = [f"object {name}[8]" for name in (*CELLS, *(f"out{n}" for n in range(n_threads + 1)))]
        observed = ", ".join(f"[out{n}].8" for n in range(n_threads + 1))
        parts = [*objects, *bodies, self._main(n_threads), "thread main runs main", f"observe {observed}"]
        return "\n".join(['program "heap"', "architecture C", *parts])

    def _thread(self, number: int) -> str:
        lines = [*self._one_of(self._get, self._take, self._allocate)(), *self._block(self.random.randint(2, 4))]
        return _function(f"thread{number}", [*lines, f"store.8 [&out{number + 1}] = r", "return 0"])

    def _main(self, n_threads: int) -> str:
        lines = [*self._allocate(), *self._publish(), *self._block(self.random.randint(0, 3))]
        lines += [f"t{n} = spawn &thread{n}()" for n in range(n_threads)]
        lines += self._block(self.random.randint(1, 4 - n_threads))
        if self.random.random() < 0.8:
            lines += [f"join t{n}" for n in range(n_threads)]
            lines += self._block(self.random.randint(0, 1))
        return _function("main", [*lines, "store.8 [&out0] = r", "return 0"])

    def _block(self, length: int) -> list[str]:
        return [line for _ in range(length) for line in self._one_of(*self.statements)()]

    def _one_of(self, *statements: Callable[[], list[str]]) -> Callable[[], list[str]]:
        return self.random.choice(statements)

    def _one(self, *items: str) -> str:
        return self.random.choice(items)

    def _order(self, orders: tuple[str, ...]) -> str:
        return self.random.choice(orders)

    def _guarded(self, pointer: str, *lines: str) -> list[str]:
        self.labels += 1
        label = f"skip{self.labels}"
        return [f"branch {pointer} eq.64 0 -> {label}", *lines, f"{label}:"]

    # --- statements

    def _allocate(self) -> list[str]:
        pointer = self._one(*POINTERS)
        fill = [f"store.8 [{pointer}] = {self.random.randint(1, 2)}"] if self.random.random() < 0.5 else []
        return [f"{pointer} = allocate {self._one(*self.sizes)}{self._one('', '', ' zeroed')}", *fill]

    def _publish(self) -> list[str]:
        return [f"store.8 [&{self._one(*self.cells)}] = {self._one(*POINTERS)} {self._order(_STORES)}"]

    def _take(self) -> list[str]:
        return [f"{self._one(*POINTERS)} = rmw.xchg.8 [&{self._one(*self.cells)}], 0 {self._order(_UPDATES)}"]

    def _get(self) -> list[str]:
        return [f"{self._one(*POINTERS)} = load.8 [&{self._one(*self.cells)}] {self._order(_LOADS)}"]

    def _exchange(self) -> list[str]:
        update = f"cmpxchg.8 [&{self._one(*self.cells)}] q -> p {self._order(_UPDATES)}/relaxed"
        return [f"old, ok = {update}", "r = (r shl.64 1) add.64 ok"]

    def _read(self) -> list[str]:
        pointer = self._one(*POINTERS)
        return self._guarded(pointer, f"v = load.8 [{pointer}]", "r = (r shl.64 2) add.64 v")

    def _write(self) -> list[str]:
        pointer = self._one(*POINTERS)
        return self._guarded(pointer, f"store.8 [{pointer}] = {self.random.randint(1, 2)}")

    def _free(self) -> list[str]:
        pointer = self._one(*POINTERS)
        return self._guarded(pointer, f"free {pointer}", *self._one("", f"{pointer} = 0").splitlines())

    def _compare(self) -> list[str]:
        return ["r = (r shl.64 1) add.64 (p eq.64 q)"]


def _function(name: str, lines: list[str]) -> str:
    return f"function {name}() {{\n  " + "\n  ".join(lines) + "\n}"
