"""Random Lang programs, small enough for the oracle. Registers are used again and again, ifs and loops are passed or
not, indices are computed: that is where candidate selection can go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    Check,
    Choose,
    CompareExchange,
    Expression,
    Global,
    If,
    LangFile,
    Num,
    Process,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)
from dekker.source import Source

REGISTERS = ("r0", "r1", "r2")
GLOBALS = (Global("x", (0,)), Global("y", (0,)), Global("a", (0, 1), 0))


@dataclass(frozen=True, slots=True)
class Size:
    """Most memory accesses of a thread and of all threads, those in loops counted for every round."""

    threads: tuple[int, int] = (2, 2)
    accesses: int = 4
    total: int = 7
    exchanges: bool = True
    assertions: bool = False


class _Generator:
    def __init__(self, random: Random, size: Size) -> None:
        self.random = random
        self.size = size
        self.left = 0
        self.n_loops = 0

    def file(self) -> LangFile:
        count = self.random.randint(*self.size.threads)
        budget = self.size.total
        processes = []
        for number in range(count):
            self.left = min(self.size.accesses, max(1, budget - (count - number - 1)))
            granted = self.left
            body = self.block(self.random.randint(2, 5), 1, 1)
            budget -= granted - self.left
            processes.append(Process(f"P{number}", body))
        return LangFile(Source("random.lang", ""), GLOBALS, tuple(processes))

    def block(self, length: int, depth: int, rounds: int) -> Block:
        return Block(tuple(self.statement(depth, rounds) for _ in range(length)))

    def statement(self, depth: int, rounds: int) -> Statement:
        kinds = ["assign"] * 3 + ["read"] * 4 + ["write"] * 5 + ["barrier"]
        kinds += ["exchange"] * self.size.exchanges + ["check"] * self.size.assertions
        if depth:
            kinds += ["if"] * 2 + ["loop"] + ["reading loop"]
        kind = self.random.choice(kinds)
        costs = {"read": 1, "write": 1, "exchange": 2, "reading loop": 2}
        if self.left < costs.get(kind, 0) * rounds:
            kind = "assign"
        self.left -= costs.get(kind, 0) * rounds
        return getattr(self, f"_{kind.replace(' ', '_')}")(depth, rounds)  # type: ignore[no-any-return]

    def _assign(self, depth: int, rounds: int) -> Statement:
        if self.random.random() < 0.1:
            return Choose(self.register(), 0, 1)
        return Assign(self.register(), self.expression())

    def _read(self, depth: int, rounds: int) -> Statement:
        return Read(self.register(), self.variable())

    def _write(self, depth: int, rounds: int) -> Statement:
        return Write(self.variable(), Register(self.register()) if self.random.random() < 0.6 else self.expression())

    def _exchange(self, depth: int, rounds: int) -> Statement:
        return CompareExchange(self.variable(), self.register(), self.register())

    def _barrier(self, depth: int, rounds: int) -> Statement:
        return Barrier()

    def _check(self, depth: int, rounds: int) -> Statement:
        return Check(self.expression(), is_assumption=self.random.random() < 0.3)

    def _if(self, depth: int, rounds: int) -> Statement:
        then = self.block(self.random.randint(1, 2), depth - 1, rounds)
        other = self.block(self.random.randint(1, 2), depth - 1, rounds) if self.random.random() < 0.5 else None
        return If(self.expression(), then, other)

    def _loop(self, depth: int, rounds: int) -> Statement:
        """A loop with a counter of its own, so that it ends."""
        self.n_loops += 1
        counter = f"i{self.n_loops}"
        most = self.random.randint(1, 2)
        body = self.block(self.random.randint(1, 2), depth - 1, rounds * most)
        step = Assign(counter, Apply("-", (Register(counter), Num(1))))
        return Block((Assign(counter, Num(most)), While(Register(counter), Block((*body.statements, step)))))

    def _reading_loop(self, depth: int, rounds: int) -> Statement:
        """Goes round while it reads 0, at most twice."""
        self.n_loops += 1
        counter, seen = f"i{self.n_loops}", self.register()
        again = Apply("&&", (Register(counter), Apply("=", (Register(seen), Num(0)))))
        step = Assign(counter, Apply("-", (Register(counter), Num(1))))
        loop = While(again, Block((Read(seen, self.variable()), step)))
        return Block((Assign(counter, Num(2)), Assign(seen, Num(0)), loop))

    def register(self) -> str:
        return self.random.choice(REGISTERS)

    def variable(self) -> Variable:
        name = self.random.choice(("x", "y", "a"))
        if name != "a":
            return Variable(name)
        if self.random.random() < 0.4:
            return Variable(name, Num(self.random.randint(0, 1)))
        return Variable(name, Apply("=", (Register(self.register()), Num(self.random.randint(0, 1)))))

    def expression(self) -> Expression:
        choice = self.random.random()
        if choice < 0.5:
            return Num(self.random.randint(0, 2))
        if choice < 0.7:
            return Register(self.register())
        mark = self.random.choice(("=", "+", "-", "<", ">", "&&", "||", "!="))
        return Apply(mark, (Register(self.register()), Num(self.random.randint(0, 2))))


def lang_program(seed: int, size: Size | None = None) -> LangFile:
    return _Generator(Random(seed), Size() if size is None else size).file()
