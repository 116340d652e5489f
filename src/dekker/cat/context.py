"""What is shared by everything that works on one model while it is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from dekker.cat.emit import Demand
from dekker.cat.graph import REL, Graph, Node
from dekker.cat.model import Include
from dekker.cat.values import Closure, ProcedureValue, Value, as_node
from dekker.errors import ModelError
from dekker.records import dataclass
from dekker.source import Source, Span

MAX_EFFORT = 100_000
MAX_DEPTH = 150


@dataclass
class Context:
    """`applied` remembers what functions gave for the arguments they had; `negations` says where a value was written
    that shrinks as a fixpoint variable grows. `embedded` are the texts of included files, by who includes them and
    how; if it is given, no file is read but those that come with Dekker."""

    search: tuple[Path, ...] = ()
    embedded: Mapping[tuple[str, str], Source] | None = None
    includes: list[Include] = field(default_factory=list)
    names: dict[int, tuple[int, str]] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    demands: list[Demand] = field(default_factory=list)
    including: list[Path] = field(default_factory=list)
    included: set[Path] = field(default_factory=set)
    applied: dict[tuple[Closure, object], Value] = field(default_factory=dict)
    active: list[Closure | ProcedureValue] = field(default_factory=list)
    negations: dict[int, Span] = field(default_factory=dict)
    depth: int = 0
    effort: int = 0

    def node(self, value: Value, kind: str, span: Span) -> Node:
        """The value as a set or a relation; `span` is where it stands."""
        return as_node(value, kind, span, self.graph)

    def negated_at(self, node: Node, span: Span) -> None:
        if node.falling:
            self.negations.setdefault(node.index, span)

    def name(self, node: Node, text: str) -> None:
        """The names of the model's own file count more than those of files that it includes, and these more than those
        of the standard library; among equals the first."""
        rank = min(len(self.including), 1) if len(self.including) != 1 else 2
        if node.kind == REL and node.code != "input" and rank > self.names.get(node.index, (-1, ""))[0]:
            self.names[node.index] = (rank, text)
        if node.code == "result":
            number, position = node.variable
            self.names.setdefault(self.graph.groups[number].variables[position].index, (rank, text))

    @contextmanager
    def deeper(self, span: Span) -> Iterator[None]:
        self.effort += 1
        if self.effort > MAX_EFFORT:
            raise ModelError("the model is too large", span, f"it takes more than {MAX_EFFORT} steps to work out")
        if self.depth >= MAX_DEPTH:
            raise self._too_deep(span)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def inside(self, item: Closure | ProcedureValue) -> Iterator[None]:
        self.active.append(item)
        try:
            yield
        finally:
            self.active.pop()

    def _too_deep(self, span: Span) -> ModelError:
        seen: set[int] = set()
        for item in self.active:
            if id(item.body) in seen:
                hint = "a recursive set or relation is defined by let rec, without parameters"
                return ModelError(f"{item.name or 'this function'} calls itself without end", span, hint)
            seen.add(id(item.body))
        return ModelError(f"definitions are nested more than {MAX_DEPTH} deep", span)
