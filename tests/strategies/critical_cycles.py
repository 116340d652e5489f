"""Random programs around a critical cycle, where memory models differ.

The threads stand in a ring. Each accesses its own location and then its neighbour's, with fences, dependencies,
branches and further accesses in between; most threads of a program look alike. Some more threads do one store each.
Programs have at most `MAX_EVENTS` accesses, which the oracle handles in a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue

LOCATIONS = ("x", "y", "z")
ACCESSES = ("load", "store")
CELL = 4
MAX_EVENTS = 10
UPDATES = ("exchange", "add", "compare", "weak compare", "exclusive", "exclusive with store")


@dataclass(frozen=True)
class Step:
    """`kind` is a kind of access, a fence, or `branch`. An access is to the thread's own location plus `distance` in
    the ring. Where `depends` is `address`, `data` or `both`, it depends on what was loaded last, without effect; with
    `index` the lowest bit of that chooses between two cells of the location, with `choice` between two values."""

    kind: str
    distance: int = 0
    depends: str = ""

    @property
    def events(self) -> int:
        if self.kind in UPDATES:
            return 3 if self.kind == "exclusive with store" else 2
        return int(self.kind in ACCESSES)


@st.composite
def critical_cycles(draw: st.DrawFn, fences: tuple[str, ...], updates: bool = True) -> Program:
    templates = draw(st.lists(_thread(fences, updates), min_size=1, max_size=2))
    size = max(sum(step.events for step in template) for template in templates)
    ring = draw(st.sampled_from((2, 2, 3) if 3 * size <= MAX_EVENTS else (2,)))
    builders = [_Builder(number, ring) for number in range(ring)]
    for builder in builders:
        for step in draw(st.sampled_from(templates)):
            builder.add(step)
    for _ in range(draw(st.integers(0, min(2, MAX_EVENTS - ring * size)))):
        builders.append(_Builder(len(builders), ring))
        builders[-1].add(Step("store", draw(st.integers(0, ring - 1))))
    functions = [Function(f"P{builder.number}", (), tuple(builder.body), builder.labels) for builder in builders]
    observed: list[Observable] = [RegisterValue(b.number, f"r{i}") for b in builders for i in range(b.results)]
    observed += [MemoryValue(location, offset) for location in LOCATIONS for offset in (0, CELL)]
    return Program(
        "cycle",
        "none",
        tuple(Object(location, 2 * CELL) for location in LOCATIONS),
        tuple(functions),
        tuple(Thread(function.name, function.name) for function in functions),
        Property(observed=tuple(observed)),
    )


@st.composite
def _thread(draw: st.DrawFn, fences: tuple[str, ...], updates: bool) -> list[Step]:
    accesses = st.sampled_from(ACCESSES)
    depends = st.sampled_from(("", "", "address", "index", "data", "choice", "both"))
    first = Step(draw(accesses | st.sampled_from(UPDATES) if updates else accesses))
    last = Step(draw(accesses | st.sampled_from(UPDATES[:-1]) if updates else accesses), 1, draw(depends))
    between = st.builds(Step, st.sampled_from(fences)) | st.just(Step("branch"))
    room = MAX_EVENTS // 2 - first.events - last.events
    if room:
        between |= st.builds(Step, accesses, st.integers(0, 2), depends)
    return [first, *draw(st.lists(between, max_size=min(2, max(1, room)))), last]


@dataclass
class _Builder:
    number: int
    ring: int
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    results: int = 0
    stores: int = 0
    loaded: str = ""

    def add(self, step: Step) -> None:
        if step.kind == "branch":
            self._branch()
        elif step.kind in (*ACCESSES, *UPDATES):
            self._access(step)
        else:
            self.body.append(Fence(step.kind))

    def _branch(self) -> None:
        """To the next instruction: nothing but a control dependency."""
        if self.loaded:
            label = f"L{len(self.body)}"
            self.body.append(Branch(Binary("ne", 32, Reg(self.loaded), Const(1)), label))
            self.labels[label] = len(self.body)

    def _access(self, step: Step) -> None:
        location: Expr = Address(LOCATIONS[(self.number + step.distance) % max(self.ring, step.distance + 1)])
        self.stores += step.kind != "load"
        value: Expr = Const(10 * (self.number + 1) + self.stores)
        if self.loaded and step.depends in ("address", "both"):
            location = self._depending(location)
        if self.loaded and step.depends == "index":
            chosen = Binary("and", 64, Reg(self.loaded), Const(1))
            location = Binary("add", 64, location, Binary("mul", 64, chosen, Const(CELL)))
        if self.loaded and step.depends in ("data", "both"):
            value = self._depending(value)
        if self.loaded and step.depends == "choice":
            condition = Binary("and", 64, Reg(self.loaded), Const(1))
            self.body.append(Assign(f"t{len(self.body)}", Select(condition, value, Const(9))))
            value = Reg(f"t{len(self.body) - 1}")
        match step.kind:
            case "load":
                self.body.append(Load(self._result(), location, 4))
            case "store":
                self.body.append(Store(location, value, 4))
            case "exchange" | "add":
                operation = "xchg" if step.kind == "exchange" else "add"
                self.body.append(Rmw(self._result(), operation, location, value, 4))
            case "compare" | "weak compare":
                weak = step.kind == "weak compare"
                old, success = self._result(), self._result()
                self.body.append(CompareExchange(old, success, location, Const(0), value, 4, weak=weak))
                self.loaded = old
            case "exclusive" | "exclusive with store":
                self.body.append(Load(self._result(), location, 4, exclusive=True))
                loaded = self.loaded
                if step.kind != "exclusive":
                    self.body.append(Store(location, Const(5), 4))
                self.body.append(StoreConditional(self._result(), location, value, 4))
                self.loaded = loaded

    def _result(self) -> str:
        self.loaded = f"r{self.results}"
        self.results += 1
        return self.loaded

    def _depending(self, expression: Expr) -> Expr:
        zero = f"t{len(self.body)}"
        self.body.append(Assign(zero, Binary("xor", 64, Reg(self.loaded), Reg(self.loaded))))
        return Binary("add", 64, expression, Reg(zero))
