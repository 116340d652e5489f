"""Random programs in which something rests on half of an update, or on its success, and leads back to its location.

A thread updates `x` and writes `y` or `z`, by way of what it read or of whether it succeeded. Another reads that and
writes `x`, so that the update is in the past of this write, but not all of it. The others want the same place in
coherence, or look on. Few programs that are drawn freely are like this.
"""

from __future__ import annotations

from random import Random

from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.source import Source

MODELS = ("power", "aarch64", "riscv")
LOCATIONS = "xyz"


class _Thread:
    def __init__(self, random: Random, number: int) -> None:
        self.random = random
        self.number = number
        self.lines: list[str] = []
        self.registers: list[str] = []

    def fresh(self) -> str:
        self.registers.append(f"r{len(self.registers)}")
        return self.registers[-1]

    def value(self) -> str:
        return str(10 * (self.number + 1) + len(self.lines))

    def place(self, location: str, by_way_of: str | None = None) -> str:
        if by_way_of is None:
            return f"[&{location}]"
        self.lines.append(f"t{len(self.lines)} = {by_way_of} xor.64 {by_way_of}")
        return f"[&{location} add.64 t{len(self.lines) - 1}]"

    def load(self, location: str) -> str:
        place = self.place(location)
        self.lines.append(f"{self.fresh()} = load.4 {place}")
        return self.registers[-1]

    def store(self, location: str, by_way_of: str | None = None) -> None:
        place = self.place(location, by_way_of)
        self.lines.append(f"store.4 {place} = {self.value()}")

    def update(self, location: str, by_way_of: str | None = None) -> str:
        """The register that tells what was read, or whether it succeeded."""
        place, value = self.place(location, by_way_of), self.value()
        old, success = self.fresh(), self.fresh()
        match self.random.randrange(4):
            case 0:
                self.lines.append(f"{old}, {success} = cmpxchg.4 {place} 0 -> {value}")
            case 1:
                self.lines.append(f"{old} = load.4 exclusive {place}")
                if self.random.random() < 0.2:
                    self.load(self.random.choice(LOCATIONS))
                self.lines.append(f"{success} = store-conditional.4 {place} = {value}")
            case _:
                self.lines.append(f"{old} = rmw.{self.random.choice(('xchg', 'add'))}.4 {place}, {value}")
                return old
        return self.random.choice((old, success))

    def access(self, location: str, by_way_of: str | None = None) -> None:
        match self.random.randrange(3):
            case 0:
                self.load(location)
            case 1:
                self.store(location, by_way_of)
            case _:
                self.update(location, by_way_of)

    def guarded_store(self, location: str, register: str) -> None:
        self.lines.append(f"branch {register} ne.64 0 -> end")
        self.store(location)

    def text(self) -> str:
        return "\n".join((f"function P{self.number}() {{", *self.lines, "end:", "}", ""))

    def observed(self) -> list[str]:
        return [f"{self.number}:{register}" for register in self.registers]


def resting_program(seed: int) -> Program:
    random = Random(seed)
    roles = [_updates, _leads_back, *random.choice(((_looks_on,), (_looks_on,), (_looks_on, _looks_on)))]
    random.shuffle(roles)
    threads = [_Thread(random, number) for number in range(len(roles))]
    for role, thread in zip(roles, threads, strict=True):
        role(thread)
    objects = "".join(f"object {name}[8]\n" for name in LOCATIONS)
    runs = "".join(f"thread P{thread.number} runs P{thread.number}\n" for thread in threads)
    observed = [name for thread in threads for name in thread.observed()] + [f"[{name}].4" for name in LOCATIONS]
    functions = "".join(thread.text() for thread in threads)
    text = f"program resting\narchitecture none\n{objects}{functions}{runs}observe {', '.join(observed)}\n"
    return parse_program(Source("random.ir", text))


def _updates(thread: _Thread) -> None:
    if thread.random.random() < 0.3:
        thread.access("z")
    register = thread.update("x")
    location = thread.random.choice("yyz")
    if thread.random.random() < 0.5:
        thread.store(location, register)
    else:
        thread.guarded_store(location, register)


def _leads_back(thread: _Thread) -> None:
    register = thread.load("y")
    if thread.random.random() < 0.6:
        thread.store("x", register)
    else:
        thread.update("x", register)


def _looks_on(thread: _Thread) -> None:
    thread.access(thread.random.choice("xxz"))
    if thread.random.random() < 0.3:
        thread.access(thread.random.choice(LOCATIONS))
