"""Random programs without loops, and all their executions under the framework's models: what selections are judged by.

Everything here is written down from the definitions (`ghb = co | fr | grf | ppo | ab | dp;rf`), and shares no code with
the analyses. Events are numbers; a relation is a list with a bit set of successors for each of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations, product

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import Branch, Fence, Instruction, Load, Store
from dekker.ir.program import Function, Object, Program, Thread
from dekker.transform.events import AccessPoint

FENCES = {
    "tso": ("mfence",),
    "pso": ("mfence", "stbar"),
    "rmo": ("membar", "membar.loadload", "membar.loadstore", "membar.storeload", "membar.storestore"),
    "power": ("sync", "lwsync", "isync", "eieio"),
}
ORDERS = {
    "mfence": {"RR", "RW", "WR", "WW"},
    "membar": {"RR", "RW", "WR", "WW"},
    "sync": {"RR", "RW", "WR", "WW"},
    "lwsync": {"RR", "RW", "WW"},
    "stbar": {"WW"},
    "membar.loadload": {"RR"},
    "membar.loadstore": {"RW"},
    "membar.storeload": {"WR"},
    "membar.storestore": {"WW"},
    "eieio": {"WW"},
    "isync": set(),
}

Relation = list[int]


@dataclass
class Access:
    thread: int
    direction: str
    place: str
    point: AccessPoint
    address_from: int | None = None
    value_from: int | None = None
    branches: tuple[int, ...] = ()
    """Reads that were branched on before it."""
    fenced_branches: tuple[int, ...] = ()
    """Of those, the ones with an isync behind the branch."""


@dataclass
class Sample:
    program: Program
    accesses: list[Access]
    fences: list[list[tuple[int, str]]] = field(default_factory=list)
    """For each thread: a fence stands before its access of this number (counted in the thread)."""


def sample(rng: random.Random, model: str) -> Sample:
    places = ["x", "y", "z"][: rng.choice((2, 2, 3))]
    threads = rng.choice((2, 2, 3, 3, 4))
    accesses: list[Access] = []
    fences: list[list[tuple[int, str]]] = []
    functions = []
    for thread in range(threads):
        function, mine, stand = _thread(rng, model, thread, places, len(accesses), {2: 5, 3: 3, 4: 2}[threads])
        functions.append(function)
        accesses += mine
        fences.append(stand)
    program = Program(
        "sample",
        "C",
        tuple(Object(name, 4) for name in places),
        tuple(functions),
        tuple(Thread(f"P{i}", f"P{i}") for i in range(threads)),
    )
    return Sample(program, accesses, fences)


def _thread(
    rng: random.Random, model: str, thread: int, places: list[str], base: int, most: int
) -> tuple[Function, list[Access], list[tuple[int, str]]]:
    body: list[Instruction] = []
    labels: dict[str, int] = {}
    accesses: list[Access] = []
    fences: list[tuple[int, str]] = []
    reads: list[int] = []
    branched: list[int] = []
    fenced: list[int] = []
    for count in range(rng.randint(1 if rng.random() < 0.3 else 2, most)):
        if rng.random() < 0.2:
            kind = rng.choice(FENCES[model])
            body.append(Fence(kind))
            fences.append((count, kind))
            fenced = list(branched) if kind == "isync" else fenced
        source = rng.choice(reads) if reads and rng.random() < 0.5 else None
        role = rng.choice(("address", "value", "branch"))
        if source is not None and role == "branch":
            label = f"L{len(body)}"
            body.append(Branch(Reg(f"r{source}"), label))
            labels[label] = len(body)
            branched.append(source)
        place = rng.choice(places)
        address: Expr = Address(place)
        address_from = source if source is not None and role == "address" else None
        if address_from is not None:
            address = Binary("add", 64, Address(place), _zero(address_from))
        point = AccessPoint(f"P{thread}", len(body))
        number = base + count
        if rng.random() < 0.5:
            body.append(Load(f"r{number}", address, 4))
            access = Access(thread, "R", place, point, address_from)
            reads.append(number)
        else:
            value_from = source if role == "value" else None
            value: Expr = Const(count + 1) if value_from is None else _zero(value_from)
            body.append(Store(address, value, 4))
            access = Access(thread, "W", place, point, address_from, value_from)
        access.branches, access.fenced_branches = tuple(branched), tuple(fenced)
        accesses.append(access)
    return Function(f"P{thread}", (), tuple(body), labels), accesses, fences


def _zero(source: int) -> Expr:
    return Binary("xor", 64, Reg(f"r{source}"), Reg(f"r{source}"))


# --- relations


def acyclic(relation: Relation) -> bool:
    present = (1 << len(relation)) - 1
    while present:
        ending = sum(1 << index for index in _bits(present) if not relation[index] & present)
        if not ending:
            return False
        present &= ~ending
    return True


def union(*relations: Relation) -> Relation:
    return [_joined(steps) for steps in zip(*relations, strict=True)]


def _joined(sets: Iterable[int]) -> int:
    found = 0
    for item in sets:
        found |= item
    return found


def compose(first: Relation, second: Relation) -> Relation:
    return [_joined(second[step] for step in _bits(steps)) for steps in first]


def _bits(steps: int) -> Iterator[int]:
    while steps:
        low = steps & -steps
        yield low.bit_length() - 1
        steps ^= low


# --- executions


@dataclass
class Judge:
    """What does not depend on the execution."""

    sample: Sample
    model: str

    def __post_init__(self) -> None:
        self.accesses = self.sample.accesses
        self.count = len(self.accesses)
        self.po = self._pairs(lambda a, b: self.accesses[a].thread == self.accesses[b].thread and a < b)
        self.po_loc = self._pairs(lambda a, b: self.po[a] >> b & 1 and self._same_place(a, b))
        self.dp = self._pairs(lambda a, b: a in (self.accesses[b].address_from, self.accesses[b].value_from))
        self.control = self._pairs(lambda a, b: self._writes(b) and a in self.accesses[b].branches)
        self.ppo = self._preserved()
        self.fence = {kind: self._fence(kind) for kind in FENCES[self.model]}

    def _pairs(self, holds) -> Relation:  # type: ignore[no-untyped-def]
        return [sum(1 << b for b in range(self.count) if b != a and holds(a, b)) for a in range(self.count)]

    def _same_place(self, first: int, second: int) -> bool:
        return self.accesses[first].place == self.accesses[second].place

    def _writes(self, event: int) -> bool:
        return self.accesses[event].direction == "W"

    def _directions(self, first: int, second: int) -> str:
        return self.accesses[first].direction + self.accesses[second].direction

    def _preserved(self) -> Relation:
        if self.model == "tso":
            return self._pairs(lambda a, b: self.po[a] >> b & 1 and self._directions(a, b) != "WR")
        if self.model == "pso":
            return self._pairs(lambda a, b: self.po[a] >> b & 1 and not self._writes(a))
        kept = union(self.dp, self.control)
        if self.model == "power":
            fenced = self._pairs(lambda a, b: not self._writes(b) and a in self.accesses[b].fenced_branches)
            kept = union(kept, fenced)
        return kept

    def _fence(self, kind: str) -> Relation:
        starts: dict[int, int] = {}
        for number, access in enumerate(self.accesses):
            starts.setdefault(access.thread, number)

        def between(a: int, b: int) -> bool:
            if not self.po[a] >> b & 1 or self._directions(a, b) not in ORDERS[kind]:
                return False
            thread = self.accesses[a].thread
            stands = [starts[thread] + at for at, found in self.sample.fences[thread] if found == kind]
            return any(a < at <= b for at in stands)

        return self._pairs(between)

    def executions(self) -> Iterator[tuple[Relation, Relation]]:
        """Allowed reads-from and coherence."""
        reads = [e for e in range(self.count) if not self._writes(e)]
        places = sorted({access.place for access in self.accesses})
        writes = {p: [e for e in range(self.count) if self._writes(e) and self.accesses[e].place == p] for p in places}
        sources = [[None, *writes[self.accesses[read].place]] for read in reads]
        for orders in product(*(permutations(writes[place]) for place in places)):
            co = [0] * self.count
            for order in orders:
                for index, write in enumerate(order):
                    co[write] = sum(1 << later for later in order[index + 1 :])
            for choice in product(*sources):
                rf = [0] * self.count
                fr = [0] * self.count
                for read, source in zip(reads, choice, strict=True):
                    if source is None:
                        fr[read] = sum(1 << write for write in writes[self.accesses[read].place])
                    else:
                        rf[source] |= 1 << read
                        fr[read] = co[source]
                if self._coherent(rf, co, fr) and acyclic(self._global(rf, co, fr)):
                    yield rf, union(co, fr)

    def _coherent(self, rf: Relation, co: Relation, fr: Relation) -> bool:
        return acyclic(union(self.po_loc, rf, co, fr)) and acyclic(union(rf, self.dp, self.control))

    def _external(self, rf: Relation) -> Relation:
        return self._pairs(lambda a, b: rf[a] >> b & 1 and self.accesses[a].thread != self.accesses[b].thread)

    def _global(self, rf: Relation, co: Relation, fr: Relation) -> Relation:
        return union(co, fr, self.kept(rf))

    def kept(self, rf: Relation) -> Relation:
        """Global happens-before without co and fr."""
        external = self._external(rf)
        found = union(self.ppo, compose(self.dp, rf))
        if self.model != "power":
            return union(found, external, *self.fence.values())
        for kind in ("sync", "lwsync", "eieio"):
            fence = self.fence[kind]
            to_writes = self._pairs(lambda a, b, f=fence: f[a] >> b & 1 and self._directions(a, b) == "RW")
            left = fence if kind == "sync" else to_writes
            before = compose(external, left)
            found = union(found, fence, before, compose(fence, external), compose(before, external))
        return found

    def survives(self, rf: Relation, coherence: Relation, delayed: frozenset[AccessPoint]) -> bool:
        at_once = [self.accesses[e].point not in delayed for e in range(self.count)]
        program = [steps if at_once[e] else 0 for e, steps in enumerate(self.po)]
        own = [(1 << e if at_once[e] else 0) | program[e] for e in range(self.count)]
        return acyclic(union(coherence, self.kept(rf), program, compose(own, rf)))
