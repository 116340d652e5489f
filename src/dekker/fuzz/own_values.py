"""Random programs whose threads read what they have written themselves, and what that is hangs on what they have read.

A value is selected by one that was read, or an update writes only if it finds what it expects; the next read of the
place may have that value before it is known. What engines get wrong is what such a read waits for. Values are few, so
that comparisons often hold, and others write what is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.records import dataclass
from dekker.source import Source

LOCATIONS = "xyz"
FENCES = ("dmb.st", "dmb.ld", "sync")
MOST = 8
"""Accesses in a program, as far as they are not drawn together."""


@dataclass(frozen=True)
class Diet:
    """`acquires`: reads and updates may acquire, writes release. `pairs`: of load-linked and store-conditional."""

    acquires: bool = True
    pairs: bool = True
    updates: bool = True


class _Thread:
    def __init__(self, random: Random, own: str, diet: Diet) -> None:
        self.random, self.own, self.diet = random, own, diet
        self.lines: list[str] = []
        self.read: list[str] = []
        self.registers: list[str] = []
        self.n_accesses = 0
        self.label: str | None = None

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self, name: str = "r") -> str:
        self.registers.append(f"{name}{len(self.registers)}")
        return self.registers[-1]

    def place(self) -> str:
        name = self.own if self.chance(0.5) else self.one(*LOCATIONS)
        if self.read and self.chance(0.1):
            zero = f"t{len(self.lines)}"
            register = self.random.choice(self.read)
            self.lines.append(f"{zero} = {register} xor.64 {register}")
            return f"[&{name} add.64 {zero}]"
        return f"[&{name}]"

    def number(self) -> str:
        return self.one("0", "1", "1", "2", "2", "3")

    def value(self, selected: float) -> str:
        if self.read and self.chance(selected):
            then, other = (self.plain_value() for _ in range(2))
            return f"({self.condition()}) ? {then} : {other}"
        return self.plain_value()

    def condition(self) -> str:
        register = self.random.choice(self.read)
        return self.one(f"{register} eq.32 {self.number()}", f"{register} and.32 1")

    def plain_value(self) -> str:
        if self.read and self.chance(0.35):
            register = self.random.choice(self.read)
            return self.one(register, f"({register} add.32 1)")
        return self.number()

    def order(self, *orders: str) -> str:
        return " " + self.one(*orders) if self.diet.acquires and self.chance(0.25) else ""

    def load(self, place: str) -> None:
        register = self.fresh()
        self.lines.append(f"{register} = load.4 {place}{self.order('acquire', 'acquire_pc')}")
        self.read.append(register)
        self.n_accesses += 1

    def store(self, place: str, selected: float) -> None:
        stored = self.selected_in_register(self.value(selected))
        self.lines.append(f"store.4 {place} = {stored}{self.order('release')}")
        self.n_accesses += 1

    def selected_in_register(self, value: str) -> str:
        if not self.chance(0.3):
            return value
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {value}")
        return name

    def exchange(self, place: str) -> None:
        operation, value = self.one("xchg", "add"), self.selected_in_register(self.value(0.6))
        order = self.order("acquire", "release")
        target = ""
        if self.chance(0.8):
            target = self.fresh() + " = "
            self.read.append(target[:-3])
        self.lines.append(f"{target}rmw.{operation}.4 {place}, {value}{order}")
        self.n_accesses += 2

    def compare(self, place: str) -> None:
        expected = self.random.choice(self.read) if self.read and self.chance(0.3) else self.number()
        value, weak = self.selected_in_register(self.value(0.2)), " weak" if self.chance(0.15) else ""
        order = self.one(" acquire/acquire", " release/relaxed") if self.diet.acquires and self.chance(0.25) else ""
        old, success = self.fresh(), self.fresh("s")
        self.lines.append(f"{old}, {success} = cmpxchg.4{weak} {place} {expected} -> {value}{order}")
        self.read += [old, success]
        self.n_accesses += 2

    def pair(self, place: str) -> None:
        old, status = self.fresh(), self.fresh("s")
        self.lines.append(f"{old} = load.4 exclusive {place}")
        self.read.append(old)
        self.lines.append(f"{status} = store-conditional.4 {place} = {self.value(0.5)}")
        self.n_accesses += 2

    def branch(self) -> None:
        if self.label is None and self.read:
            self.label = f"L{len(self.lines)}"
            self.lines.append(f"branch {self.condition()} -> {self.label}")

    def close(self) -> None:
        if self.label is not None:
            self.lines.append(f"{self.label}:")
            self.label = None

    def step(self) -> None:
        kinds = ["load"] * 5 + ["store"] * 5 + ["fence", "branch"]
        kinds += ["exchange"] * 2 + ["compare"] * 4 if self.diet.updates else []
        kinds += ["pair"] if self.diet.pairs else []
        match self.random.choice(kinds):
            case "load":
                self.load(self.place())
            case "store":
                self.store(self.place(), 0.5)
            case "exchange":
                self.exchange(self.place())
            case "compare":
                self.compare(self.place())
            case "pair":
                self.pair(self.place())
            case "fence" if self.lines:
                self.lines.append(f"fence {self.one(*FENCES)}")
            case "branch":
                self.branch()
        if self.chance(0.5):
            self.close()

    def own_value(self) -> None:
        """Something is written that hangs on a read, read again, and handed on."""
        if self.chance(0.7):
            self.load(f"[&{self.one(*LOCATIONS)}]")
        place = f"[&{self.own}]"
        if self.diet.updates and self.chance(0.5):
            self.compare(place)
        elif self.diet.updates and self.chance(0.3):
            self.exchange(place)
        else:
            self.store(place, 1.0)
        if self.chance(0.2):
            self.step()
        self.load(place)
        target = self.one(*(name for name in LOCATIONS if name != self.own))
        self.lines.append(f"store.4 [&{target}] = {self.one(self.read[-1], f'({self.read[-1]} add.32 1)')}")
        self.n_accesses += 1


def own_values_program(seed: int, diet: Diet) -> Program:
    random = Random(f"own values {seed}")
    threads = [_Thread(random, own, diet) for own in random.sample(LOCATIONS, random.choice((2, 2, 2, 3)))]
    for thread in threads[: random.choice((1, 1, 2))]:
        thread.own_value()
    while sum(thread.n_accesses for thread in threads) < random.randint(5, MOST):
        random.choice(threads).step()
    return parse_program(Source("own values", _text(threads)))


def _text(threads: Sequence[_Thread]) -> str:
    objects = "".join(f"object {name}[8]\n" for name in LOCATIONS)
    bodies = []
    for thread in threads:
        thread.close()
        bodies.append("\n".join(thread.lines))
    functions = "".join(f"function P{i}() {{\n{body}\n}}\n" for i, body in enumerate(bodies))
    starts = "".join(f"thread P{i} runs P{i}\n" for i in range(len(threads)))
    seen = [f"{i}:{register}" for i, thread in enumerate(threads) for register in thread.registers]
    observed = ", ".join([*seen, *(f"[{name}].4" for name in LOCATIONS)])
    return f"program own_values\narchitecture none\n{objects}{functions}{starts}observe {observed}\n"
