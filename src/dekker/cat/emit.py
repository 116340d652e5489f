"""From a graph of values to the straight-line program that computes those its checks need, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from dekker.cat.graph import Graph, Node
from dekker.cat.relational import Check, Fixpoint, Input, Op, RelationalProgram, Step
from dekker.records import dataclass

_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Demand:
    """A check whose slot is not known yet."""

    kind: str
    relation: Node
    name: str
    negated: bool
    flag: bool


def emit(graph: Graph, demands: Iterable[Demand]) -> tuple[RelationalProgram, dict[int, int]]:
    """The program, and the slot of each node that it computes."""
    demands = tuple(demands)
    emitter = _Emitter(graph, _needed(graph, demands))
    for index in sorted(emitter.needed):
        emitter.node(graph.nodes[index])
    checks = tuple(
        Check(demand.kind, emitter.slots[demand.relation.index], demand.name, demand.negated, demand.flag)
        for demand in demands
    )
    steps = tuple(emitter.steps[_OUTSIDE])
    return RelationalProgram(tuple(emitter.kinds), tuple(emitter.inputs), steps, checks), emitter.slots


def _needed(graph: Graph, demands: Iterable[Demand]) -> set[int]:
    needed: set[int] = set()
    waiting = [demand.relation for demand in demands]
    while waiting:
        node = waiting.pop()
        if node.index in needed:
            continue
        needed.add(node.index)
        waiting += node.args
        if node.code in ("variable", "result"):
            number, position = node.variable
            group = graph.groups[number]
            waiting += (group.variables[position], group.results[position])
    return needed


@dataclass
class _Emitter:
    """Nodes come in the order in which they were built, so operands come first, and the inside of a fixpoint comes
    before its results. A node goes to the innermost fixpoint on whose variables it depends."""

    graph: Graph
    needed: set[int]
    kinds: list[str] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    slots: dict[int, int] = field(default_factory=dict)
    steps: dict[int, list[Step]] = field(default_factory=lambda: {_OUTSIDE: []})
    solved: set[int] = field(default_factory=set)

    def node(self, node: Node) -> None:
        if node.code == "result":
            self.result(node)
            return
        slot = self.slots[node.index] = len(self.kinds)
        self.kinds.append(node.kind)
        if node.code == "input":
            self.inputs.append(Input(slot, node.name, node.kind))
        elif node.code != "variable":
            step = Op(slot, node.code, tuple(self.slots[arg.index] for arg in node.args))
            self.place(node, step)

    def result(self, node: Node) -> None:
        number, position = node.variable
        group = self.graph.groups[number]
        self.slots[node.index] = self.slots[group.variables[position].index]
        if number in self.solved:
            return
        self.solved.add(number)
        used = [i for i, variable in enumerate(group.variables) if variable.index in self.needed]
        self.place(
            node,
            Fixpoint(
                variables=tuple(self.slots[group.variables[i].index] for i in used),
                body=tuple(self.steps.get(number, ())),
                results=tuple(self.slots[group.results[i].index] for i in used),
            ),
        )

    def place(self, node: Node, step: Step) -> None:
        innermost = max((number for number, _ in node.rising | node.falling), default=_OUTSIDE)
        self.steps.setdefault(innermost, []).append(step)
