"""Why a check of a model fails: a cycle, or a pair that should not be there, traced back to base relations.

A pair of a union is explained by the member that has it, one of a sequence by the events it passes through, one of a
closure by a shortest path, one of a recursive definition by the round in which it first appeared. Names that the
model's file gives to relations are kept on the way. Where there is a choice, the fewest steps win.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise

from dekker.cat.interpreter import OPERATIONS, Slots, SlotValue, base_values, empty_slots, fill_inputs
from dekker.cat.model import Model
from dekker.cat.relational import Check, Fixpoint, Op, RelationalProgram, Step
from dekker.execution import PICK_RELATIONS, Event, Execution, pairs
from dekker.records import dataclass

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Link:
    """A pair of events. `names` are the relations that it is in, from the outermost to the one that says why; `because`
    are paths from its source to its target, all of which it takes."""

    source: int
    target: int
    names: tuple[str, ...]
    because: tuple[Chain, ...] = ()

    @property
    def weight(self) -> int:
        return max(1, sum(weight(path) for path in self.because))


Chain = tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """A check that fails. `chain` leads from an event back to itself, or for `empty` from one event of a pair to the
    other; it is empty if the check wants something that is not there."""

    check: str
    kind: str
    negated: bool
    chain: Chain


def weight(chain: Chain) -> int:
    return sum(link.weight for link in chain)


def explain(model: Model, execution: Execution, checks: Iterable[Check]) -> list[Reason]:
    """Why these checks fail."""
    explainer = _Explainer(model, execution)
    return [explainer.reason(check) for check in checks]


def shortest_cycle(rows: Sequence[int]) -> list[int] | None:
    """The events of a shortest cycle, the first repeated at the end."""
    return min(_cycles(rows), key=len, default=None)


def cycle_length(check: Check, value: SlotValue) -> int:
    """How many pairs it takes to see that the check fails."""
    if check.kind != "acyclic" or check.negated or isinstance(value, int):
        return 1
    return len(shortest_cycle(value) or ()) - 1


def _cycles(rows: Sequence[int]) -> Iterator[list[int]]:
    for event in range(len(rows)):
        cycle = _shortest_path(rows, event, event)
        if cycle is not None:
            yield cycle


def _shortest_path(rows: Sequence[int], source: int, target: int) -> list[int] | None:
    """Events from source to target, along one pair at least."""
    came_from: dict[int, int] = {}
    frontier = [source]
    while frontier:
        following = []
        for event in frontier:
            for successor in _members(rows[event]):
                if successor not in came_from:
                    came_from[successor] = event
                    following.append(successor)
        if target in came_from:
            path = [target, came_from[target]]
            while path[-1] != source:
                path.append(came_from[path[-1]])
            return path[::-1]
        frontier = following
    return None


def _members(row: int) -> Iterator[int]:
    while row:
        low = row & -row
        yield low.bit_length() - 1
        row ^= low


@dataclass(eq=False)
class _Scope:
    """Values of all slots, and for each fixpoint variable the rounds in which it was computed, with the slot that held
    its next value. The scope of a round has as its parent the one that the fixpoint stands in."""

    slots: Slots
    parent: _Scope | None = None
    solved: dict[int, tuple[int, list[_Scope]]] = field(default_factory=dict)

    def rounds(self, slot: int) -> tuple[int, list[_Scope]] | None:
        scope: _Scope | None = self
        while scope is not None:
            if slot in scope.solved:
                return scope.solved[slot]
            scope = scope.parent
        return None


def _run(program: RelationalProgram, steps: Iterable[Step], size: int, scope: _Scope) -> None:
    for step in steps:
        if isinstance(step, Op):
            scope.slots[step.dst] = OPERATIONS[step.code](size, [scope.slots[slot] for slot in step.args])
        else:
            _run_fixpoint(program, step, size, scope)


def _run_fixpoint(program: RelationalProgram, step: Fixpoint, size: int, scope: _Scope) -> None:
    rounds: list[_Scope] = []
    for variable, result in zip(step.variables, step.results, strict=True):
        scope.slots[variable] = 0 if program.kinds[variable] == "set" else [0] * size
        scope.solved[variable] = (result, rounds)
    while True:
        inner = _Scope(list(scope.slots), scope)
        _run(program, step.body, size, inner)
        rounds.append(inner)
        results = [inner.slots[slot] for slot in step.results]
        if results == [scope.slots[slot] for slot in step.variables]:
            return
        for slot, value in zip(step.variables, results, strict=True):
            scope.slots[slot] = value


def _operations(steps: Iterable[Step]) -> Iterator[Op]:
    for step in steps:
        if isinstance(step, Op):
            yield step
        else:
            yield from _operations(step.body)


# Relations that only say which pairs are meant, never why.
_FILTERS = frozenset(("loc", "int", "ext", "id"))
_FILTER_CODES = frozenset(("cross", "compl", "full-rel", "empty-rel", "id", "identity"))
_MIXED_CODES = frozenset(("union", "inter", "diff"))


class _Explainer:
    def __init__(self, model: Model, execution: Execution) -> None:
        self.program = model.program
        self.events = execution.events
        self.primitive = execution.relations
        self.base = {item.slot: item.name for item in self.program.inputs}
        self.names = {**model.names, **self.base}
        self.definition = {step.dst: step for step in _operations(self.program.steps)}
        self.known: dict[tuple[int, int, Pair], Chain] = {}
        slots = empty_slots(self.program)
        fill_inputs(self.program, slots, base_values(model, execution))
        self.scope = _Scope(slots)
        _run(self.program, self.program.steps, len(self.events), self.scope)

    def reason(self, check: Check) -> Reason:
        chain = () if check.negated else self._shortest_chain(check)
        return Reason(check.name, check.kind, check.negated, _through_fences(chain, self.events))

    def _shortest_chain(self, check: Check) -> Chain:
        rows = self.rows(check.slot, self.scope)
        if check.kind == "acyclic":
            cycles = list(_cycles(rows))
            shortest = min(map(len, cycles))
            found = [list(pairwise(cycle)) for cycle in cycles if len(cycle) == shortest]
        elif check.kind == "irreflexive":
            found = [[(event, event)] for event, row in enumerate(rows) if row >> event & 1]
        else:
            found = [[pair] for pair in pairs(rows)]
        chains = [tuple(link for pair in steps for link in self._unnamed(check.slot, pair)) for steps in found]
        return min(chains, key=weight)

    def _unnamed(self, slot: int, pair: Pair) -> Chain:
        """What a pair of the relation of a check is made of. A pair that is made of nothing is a link by itself."""
        try:
            chain = self._defined(slot, pair, self.scope)
        except RecursionError:
            chain = ()
        return chain or (Link(*pair, (self.text(slot),)),)

    def rows(self, slot: int, scope: _Scope) -> list[int]:
        value = scope.slots[slot]
        assert isinstance(value, list)
        return value

    def has(self, slot: int, pair: Pair, scope: _Scope) -> bool:
        return bool(self.rows(slot, scope)[pair[0]] >> pair[1] & 1)

    def chain(self, slot: int, pair: Pair, scope: _Scope) -> Chain:
        """A chain of links from one event of the pair to the other; no link at all for an event and itself."""
        key = (id(scope), slot, pair)
        if key not in self.known:
            self.known[key] = self._named(slot, pair, self._defined(slot, pair, scope))
        return self.known[key]

    def _named(self, slot: int, pair: Pair, chain: Chain) -> Chain:
        name = self.names.get(slot)
        if name is None or not chain or slot in self.base:
            return chain
        if len(chain) > 1:
            return (Link(*pair, (name,), (chain,)),)
        (link,) = chain
        if self._is_part_of_base(slot):
            return (replace(link, names=(name,)),)
        if (len(link.names) > 1 or link.because) and link.names[:1] and link.names[0] in self._members_of_union(slot):
            return chain
        return (replace(link, names=(name, *link.names)),)

    def _members_of_union(self, slot: int) -> set[str]:
        """The names in a definition such as `hb = ppo | fence | rfe`: one of these says more than `hb`."""
        definition = self.definition.get(slot)
        if definition is None or definition.code != "union":
            return set()
        found = set[str]()
        for part in definition.args:
            found |= {self.names[part]} if part in self.names else self._members_of_union(part)
        return found

    def _is_part_of_base(self, slot: int) -> bool:
        """Such as rfe, the external part of rf."""
        definition = self.definition.get(slot)
        if definition is None or definition.code not in ("inter", "diff"):
            return False
        parts = [part for part in definition.args if not self.is_filter(part)]
        return len(parts) == 1 and (parts[0] in self.base or self._is_part_of_base(parts[0]))

    def _defined(self, slot: int, pair: Pair, scope: _Scope) -> Chain:
        if slot in self.base:
            return (Link(*pair, (self._base_name(slot, pair),)),)
        rounds = scope.rounds(slot)
        if rounds is not None:
            result, scopes = rounds
            first = next(inner for inner in scopes if self.has(result, pair, inner))
            return self.chain(result, pair, first)
        definition = self.definition[slot]
        handler = _CHAINS.get(definition.code)
        if handler is None:
            return (Link(*pair, (self.text(slot),)),)
        return handler(self, definition, pair, scope)

    def _base_name(self, slot: int, pair: Pair) -> str:
        """A model that does not tell dependencies through a selection apart sees them as others (`as_seen_by`)."""
        name = self.base[slot]
        own = self.primitive.get(name)
        seen_as = {plain: picked for picked, plain in PICK_RELATIONS.items()}
        return seen_as[name] if name in seen_as and own and not own[pair[0]] >> pair[1] & 1 else name

    def is_filter(self, slot: int) -> bool:
        if slot in self.base:
            return self.base[slot] in _FILTERS
        definition = self.definition.get(slot)
        if definition is None:
            return False
        if definition.code in _MIXED_CODES:
            return all(self.is_filter(part) for part in definition.args)
        return definition.code in _FILTER_CODES

    def text(self, slot: int, depth: int = 3) -> str:
        """A relation as its file may have written it."""
        name = self.names.get(slot)
        definition = self.definition.get(slot)
        if name is not None or definition is None:
            return name or "…"
        if depth == 0 or definition.code not in _TEXTS:
            return definition.code if not definition.args else "…"
        return _TEXTS[definition.code].format(*(self.text(part, depth - 1) for part in definition.args))


_TEXTS = {
    "union": "({} | {})",
    "inter": "({} & {})",
    "diff": r"({} \ {})",
    "seq": "({}; {})",
    "compl": "~{}",
    "inverse": "{}^-1",
    "plus": "{}+",
    "star": "{}*",
    "opt": "{}?",
    "cross": "({} * {})",
    "identity": "[{}]",
    "set-union": "({} | {})",
    "set-inter": "({} & {})",
    "set-diff": r"({} \ {})",
    "set-compl": "~{}",
    "domain": "domain({})",
    "range": "range({})",
    "full-set": "_",
    "id": "id",
}


def _of_union(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    having = [part for part in op.args if explainer.has(part, pair, scope)]
    return min((explainer.chain(part, pair, scope) for part in having), key=weight)


def _of_intersection(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    parts = [part for part in op.args if not explainer.is_filter(part)]
    if not parts:
        return (Link(*pair, (explainer.text(op.dst),)),)
    if len(parts) == 1:
        return explainer.chain(parts[0], pair, scope)
    chains = tuple(explainer.chain(part, pair, scope) for part in parts)
    both = tuple(chain for chain in chains if chain)
    return (Link(*pair, (), both),) if len(both) > 1 else (*both, ())[0]


def _of_difference(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    return explainer.chain(op.args[0], pair, scope)


def _of_sequence(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    first, second = op.args
    source, target = pair
    chains = [
        (*explainer.chain(first, (source, middle), scope), *explainer.chain(second, (middle, target), scope))
        for middle in _members(explainer.rows(first, scope)[source])
        if explainer.has(second, (middle, target), scope)
    ]
    return min(chains, key=weight)


def _of_closure(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    if op.code == "star" and pair[0] == pair[1]:
        return ()
    path = _shortest_path(explainer.rows(op.args[0], scope), *pair)
    assert path is not None, "a pair of a closure has a path"
    return tuple(link for step in pairwise(path) for link in explainer.chain(op.args[0], step, scope))


def _of_option(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    return () if pair[0] == pair[1] else explainer.chain(op.args[0], pair, scope)


def _of_inverse(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    chain = explainer.chain(op.args[0], pair[::-1], scope)
    if len(chain) == 1 and not chain[0].because:
        return (Link(*pair, (f"{chain[0].names[-1]}^-1",)),)
    return (Link(*pair, (explainer.text(op.dst),), (chain,)),) if chain else ()


def _of_identity(explainer: _Explainer, op: Op, pair: Pair, scope: _Scope) -> Chain:
    return ()


_CHAINS: dict[str, Callable[[_Explainer, Op, Pair, _Scope], Chain]] = {
    "union": _of_union,
    "inter": _of_intersection,
    "diff": _of_difference,
    "seq": _of_sequence,
    "plus": _of_closure,
    "star": _of_closure,
    "opt": _of_option,
    "inverse": _of_inverse,
    "identity": _of_identity,
    "id": _of_identity,
}


def _through_fences(chain: Chain, events: Sequence[Event]) -> Chain:
    """Program order to a fence and on from it is one link, with the name of the fence."""
    found: list[Link] = []
    for link in chain:
        link = replace(link, because=tuple(_through_fences(path, events) for path in link.because))
        if len(link.because) == 1 and len(link.because[0]) == 1:
            (inner,) = link.because[0]
            if (inner.source, inner.target) == (link.source, link.target):
                link = replace(link, names=(*link.names, *inner.names), because=inner.because)
        previous = found[-1] if found else None
        if previous is not None and _is_po(previous) and _is_po(link) and events[link.source].kind == "F":
            found[-1] = Link(previous.source, link.target, (events[link.source].fence,))
        else:
            found.append(link)
    return tuple(found)


def _is_po(link: Link) -> bool:
    return link.names[-1:] == ("po",) and not link.because
