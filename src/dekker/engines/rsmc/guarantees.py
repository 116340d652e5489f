"""What the checks of a model guarantee, read off its compiled program.

The question is always the same: given a few events and some base relations that are known to hold between them, is a
pair of them surely in a relation of the model? The answer is yes only if the operations that define the relation show
it; a no means "not shown".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from dekker.cat.relational import Check, Fixpoint, Op, RelationalProgram, Step
from dekker.execution import BASE_SETS, Event
from dekker.records import dataclass

Fact = tuple[str, int, int]


@dataclass(frozen=True)
class Path:
    """Events, and the base relations known to hold between them, by position. The question is about the events at
    `ends`; by default the first and the last."""

    events: tuple[Event, ...]
    facts: frozenset[Fact]
    ends: tuple[int, int] = (0, -1)

    @property
    def pair(self) -> tuple[int, int]:
        return self.ends[0], self.ends[1] % len(self.events)


def in_thread(*events: Event, facts: Iterable[Fact] = ()) -> Path:
    """Events of one thread in program order."""
    n = len(events)
    order = {("po", i, j) for i in range(n) for j in range(i + 1, n)}
    inside = {("int", i, j) for i in range(n) for j in range(n)}
    return Path(events, frozenset(order | inside | _both_ways(facts)))


def between_threads(first: Event, second: Event, relation: str) -> Path:
    """A communication from one thread to another."""
    facts = {("ext", 0, 1), ("ext", 1, 0), (relation, 0, 1)}
    return Path((first, second), frozenset(facts | _both_ways([("loc", 0, 1)])))


def _both_ways(facts: Iterable[Fact]) -> set[Fact]:
    return {
        fact for name, i, j in facts for fact in ([(name, i, j), (name, j, i)] if name == "loc" else [(name, i, j)])
    }


@dataclass
class Guarantees:
    """Definitions of the slots of a program. A variable of a fixpoint stands for its result: the least fixpoint holds
    whatever unfolding it shows."""

    program: RelationalProgram
    _inputs: dict[int, str] = field(default_factory=dict)
    _operations: dict[int, Op] = field(default_factory=dict)
    _results: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._inputs = {item.slot: item.name for item in self.program.inputs}
        self._define(self.program.steps)

    def _define(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Fixpoint):
                self._results.update(zip(step.variables, step.results, strict=True))
                self._define(step.body)
            else:
                self._operations[step.dst] = step

    def axioms(self, kind: str) -> list[Check]:
        return [check for check in self.program.checks if check.kind == kind and not check.negated and not check.flag]

    def orders(self, check: Check, path: Path) -> bool:
        """Does the relation of an `acyclic` check lead from one end of the path to the other?"""
        return _Proof(self, path).leads(check.slot, *path.pair)

    def contains(self, check: Check, path: Path) -> bool:
        """Is the pair of its ends in the relation of the check?"""
        return _Proof(self, path).holds(check.slot, *path.pair)

    def input_name(self, slot: int) -> str | None:
        return self._inputs.get(slot)

    def operation(self, slot: int) -> Op | None:
        return self._operations.get(slot)

    def operations(self) -> Iterable[Op]:
        """All of them, each behind its arguments unless these are variables of fixpoints."""
        return self._operations.values()

    def unfolded(self, slot: int) -> int | None:
        """What a fixpoint variable stands for."""
        return self._results.get(slot)


UPDATE_TAGS = {"amo": "AMO", "lxsx": "X", "rmw": "RMW"}


@dataclass
class _Proof:
    guarantees: Guarantees
    path: Path
    _known: dict[tuple[str, int, int, int], bool] = field(default_factory=dict)

    def holds(self, slot: int, i: int, j: int) -> bool:
        return self._remembered("holds", slot, i, j)

    def fails(self, slot: int, i: int, j: int) -> bool:
        """Is the pair surely not in the relation?"""
        return self._remembered("fails", slot, i, j)

    def has(self, slot: int, i: int) -> bool:
        return self._remembered("has", slot, i, i)

    def lacks(self, slot: int, i: int) -> bool:
        return self._remembered("lacks", slot, i, i)

    def leads(self, slot: int, i: int, j: int) -> bool:
        """In the transitive closure."""
        return self._remembered("leads", slot, i, j)

    def _remembered(self, question: str, slot: int, i: int, j: int) -> bool:
        key = (question, slot, i, j)
        if key not in self._known:
            # What leads back to itself shows nothing.
            self._known[key] = False
            self._known[key] = getattr(self, f"_{question}")(slot, i, j)
        return self._known[key]

    def _leads(self, slot: int, i: int, j: int) -> bool:
        if self.holds(slot, i, j):
            return True
        return any(self.leads(slot, i, k) and self.leads(slot, k, j) for k in self._positions() if k not in (i, j))

    def _positions(self) -> range:
        return range(len(self.path.events))

    def _holds(self, slot: int, i: int, j: int) -> bool:
        name = self.guarantees.input_name(slot)
        if name is not None:
            return (name, i, j) in self.path.facts or (i == j and name == "id")
        operation = self.guarantees.operation(slot)
        if operation is None:
            result = self.guarantees.unfolded(slot)
            return result is not None and self.holds(result, i, j)
        return self._operation_holds(operation.code, operation.args, i, j)

    def _operation_holds(self, code: str, args: tuple[int, ...], i: int, j: int) -> bool:
        match code:
            case "union":
                return any(self.holds(arg, i, j) for arg in args)
            case "inter":
                return all(self.holds(arg, i, j) for arg in args)
            case "diff":
                return self.holds(args[0], i, j) and self.fails(args[1], i, j)
            case "compl":
                return self.fails(args[0], i, j)
            case "seq":
                return any(self.holds(args[0], i, k) and self.holds(args[1], k, j) for k in self._positions())
            case "inverse":
                return self.holds(args[0], j, i)
            case "plus":
                return self.leads(args[0], i, j)
            case "star":
                return i == j or self.leads(args[0], i, j)
            case "opt":
                return i == j or self.holds(args[0], i, j)
            case "identity":
                return i == j and self.has(args[0], i)
            case "cross":
                return self.has(args[0], i) and self.has(args[1], j)
            case "id":
                return i == j
        return code == "full-rel"

    def _fails(self, slot: int, i: int, j: int) -> bool:
        name = self.guarantees.input_name(slot)
        if name is not None:
            return self._base_fails(name, i, j)
        operation = self.guarantees.operation(slot)
        return operation is not None and self._operation_fails(operation.code, operation.args, i, j)

    def _base_fails(self, name: str, i: int, j: int) -> bool:
        facts = self.path.facts
        if name in ("po", "int", "ext", "id"):
            opposites = {
                "po": (("po", j, i), ("ext", i, j)),
                "int": (("ext", i, j),),
                "ext": (("int", i, j),),
                "id": (),
            }
            return (name == "id" and i != j) or any(fact in facts for fact in opposites[name])
        if name in UPDATE_TAGS:
            tag = UPDATE_TAGS[name]
            return (name, i, j) not in facts and tag not in self.path.events[j].tags
        return False

    def _operation_fails(self, code: str, args: tuple[int, ...], i: int, j: int) -> bool:
        match code:
            case "union":
                return all(self.fails(arg, i, j) for arg in args)
            case "inter":
                return any(self.fails(arg, i, j) for arg in args)
            case "diff":
                return self.fails(args[0], i, j) or self.holds(args[1], i, j)
            case "compl":
                return self.holds(args[0], i, j)
            case "inverse":
                return self.fails(args[0], j, i)
            case "identity":
                return i != j or self.lacks(args[0], i)
            case "cross":
                return self.lacks(args[0], i) or self.lacks(args[1], j)
            case "id":
                return i != j
        return code == "empty-rel"

    def _has(self, slot: int, i: int, _: int) -> bool:
        name = self.guarantees.input_name(slot)
        if name is not None:
            return name in BASE_SETS and BASE_SETS[name](self.path.events[i])
        operation = self.guarantees.operation(slot)
        if operation is None:
            result = self.guarantees.unfolded(slot)
            return result is not None and self.has(result, i)
        match operation.code:
            case "set-union":
                return any(self.has(arg, i) for arg in operation.args)
            case "set-inter":
                return all(self.has(arg, i) for arg in operation.args)
            case "set-diff":
                return self.has(operation.args[0], i) and self.lacks(operation.args[1], i)
            case "set-compl":
                return self.lacks(operation.args[0], i)
            case "domain":
                return any(self.holds(operation.args[0], i, k) for k in self._positions())
            case "range":
                return any(self.holds(operation.args[0], k, i) for k in self._positions())
        return operation.code == "full-set"

    def _lacks(self, slot: int, i: int, _: int) -> bool:
        name = self.guarantees.input_name(slot)
        if name is not None:
            return name in BASE_SETS and not BASE_SETS[name](self.path.events[i])
        operation = self.guarantees.operation(slot)
        if operation is None:
            return False
        match operation.code:
            case "set-union":
                return all(self.lacks(arg, i) for arg in operation.args)
            case "set-inter":
                return any(self.lacks(arg, i) for arg in operation.args)
            case "set-diff":
                return self.lacks(operation.args[0], i) or self.has(operation.args[1], i)
            case "set-compl":
                return self.has(operation.args[0], i)
        return operation.code == "empty-set"
