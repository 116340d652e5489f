"""Random programs in which threads wait for the same words: acquire them by compare-exchange or load-linked, test them
first, try once, exchange them for what they hold, and store to them without asking. Some signal only if they have seen
something, so that few executions leave those waiting for ever that wait for the signal.

Whether an acquisition that finds the lock held sleeps or is put off depends on all of this together.
"""

from __future__ import annotations

import re
from random import Random

from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.source import Source

MODELS = ("sc", "tso", "pso", "cpp20", "rc11", "power", "aarch64", "riscv")
LOCATIONS = "xy"
LOCKS = "lm"
STEPS = {2: (1, 1, 2), 3: (1, 1, 1, 2), 4: (1,)}
"""Of a thread, by the number of threads."""
ORDER = re.compile(r" (relaxed|acquire|release|acquire/relaxed)$", re.MULTILINE)
"""What models of processors that have load-linked give no meaning to."""


class _Thread:
    def __init__(self, random: Random, number: int, locks: str, links: bool) -> None:
        self.random = random
        self.number = number
        self.locks = locks
        self.links = links
        self.lines: list[str] = []
        self.observed: list[str] = []
        self.n_names = 0

    def fresh(self, letter: str = "r") -> str:
        self.n_names += 1
        return f"{letter}{self.n_names}"

    def access(self) -> None:
        location = self.random.choice(LOCATIONS)
        match self.random.randrange(5):
            case 0 | 1:
                self.lines.append(f"store.4 [&{location}] = {self.random.choice((1, 2))} relaxed")
            case 2 | 3:
                self.observed.append(self.fresh())
                self.lines.append(f"{self.observed[-1]} = load.4 [&{location}] relaxed")
            case _:
                self.store(self.random.choice(self.locks), self.random.choice((0, 0, 1, 2)), "relaxed")

    def store(self, lock: str, value: int, order: str = "release") -> None:
        self.lines.append(f"store.4 [&{lock}] = {value} {order}")

    def compare_exchange(self, lock: str, expected: int, desired: int) -> str:
        old, success = self.fresh(), self.fresh()
        self.lines.append(f"{old}, {success} = cmpxchg.4 [&{lock}] {expected} -> {desired} acquire/relaxed")
        return success

    def acquire(self, lock: str) -> None:
        free = self.random.choice((0, 0, 0, 1))
        again = self.fresh("again")
        self.lines.append(f"{again}:")
        if self.links and self.random.random() < 0.6:
            self.link(lock, free, again)
            return
        form = self.random.randrange(6)
        if form < 2:
            seen = self.fresh()
            self.lines.append(f"{seen} = load.4 [&{lock}] acquire")
            self.lines.append(f"await {seen} eq.32 {free} -> {again}")
        if form > 0:
            success = self.compare_exchange(lock, free, self.random.choice((1, 1, 1, 2, free)))
            self.lines.append(f"await {success} ne.32 0 -> {again}")

    def link(self, lock: str, free: int, again: str) -> None:
        """Without compare-exchange."""
        seen, failed = self.fresh(), self.fresh()
        self.lines.append(f"{seen} = load.4 exclusive [&{lock}] acquire")
        self.lines.append(f"await {seen} eq.32 {free} -> {again}")
        self.lines.append(f"{failed} = store-conditional.4 [&{lock}] = 1")
        self.lines.append(f"branch {failed} ne.32 0 -> {again}")

    def wait(self, location: str) -> None:
        again, seen = self.fresh("again"), self.fresh()
        self.lines += [f"{again}:", f"{seen} = load.4 [&{location}] relaxed"]
        self.lines.append(f"await {seen} eq.32 {self.random.choice((0, 1, 1, 2))} -> {again}")

    def signal(self, location: str) -> None:
        """If it sees something."""
        seen, end = self.fresh(), self.fresh("end")
        self.lines.append(f"{seen} = load.4 [&{self.random.choice((*LOCATIONS, *self.locks))}] relaxed")
        self.lines.append(f"branch {seen} {self.random.choice(('eq', 'ne'))}.32 {self.random.choice((0, 1))} -> {end}")
        self.store(location, 1, "relaxed")
        self.lines.append(f"{end}:")

    def critical_section(self, lock: str) -> None:
        self.acquire(lock)
        if self.random.random() < 0.7:
            self.access()
        if self.random.random() < 0.9:
            self.store(lock, 0)

    def try_once(self, lock: str) -> None:
        end = self.fresh("end")
        self.lines.append(f"branch {self.compare_exchange(lock, 0, 1)} eq.32 0 -> {end}")
        self.access()
        self.store(lock, 0)
        self.lines.append(f"{end}:")

    def update(self, lock: str) -> None:
        self.observed.append(self.fresh())
        operation = self.random.choice(("xchg", "add"))
        self.lines.append(f"{self.observed[-1]} = rmw.{operation}.4 [&{lock}], {self.random.choice((0, 1))} relaxed")

    def step(self) -> None:
        lock = self.random.choice(self.locks)
        if self.random.random() < 0.3:
            self.access()
        match self.random.randrange(12):
            case 0:
                self.access()
            case 1:
                self.update(lock)
            case 2:
                self.try_once(lock)
            case 3:
                self.wait(self.random.choice((*LOCATIONS, *self.locks)))
            case 4:
                self.signal(self.random.choice((*LOCATIONS, *self.locks)))
            case _:
                self.critical_section(lock)

    def text(self) -> str:
        return "\n".join((f"function P{self.number}() {{", *self.lines, "}", ""))


def locks_program(seed: int) -> Program:
    random = Random(seed)
    locks = random.choice((LOCKS[:1], LOCKS[:1], LOCKS[:1], LOCKS))
    links = random.random() < 0.1
    threads = [_Thread(random, number, locks, links) for number in range(random.choice((2, 3, 3, 3, 4)))]
    for thread in threads:
        for _ in range(random.choice(STEPS[len(threads)])):
            thread.step()
    lines = [
        "program random",
        f"architecture {'none' if links else 'C'}",
        *(f"object {name}[4]" for name in LOCATIONS + LOCKS),
    ]
    lines += [thread.text() for thread in threads]
    lines += [f"thread P{thread.number} runs P{thread.number}" for thread in threads]
    registers = [f"{thread.number}:{register}" for thread in threads for register in thread.observed]
    lines.append("observe " + ", ".join(registers + [f"[{name}].4" for name in LOCATIONS + LOCKS]))
    text = "\n".join((*lines, ""))
    return parse_program(Source("random.ir", re.sub(ORDER, "", text) if links else text))
