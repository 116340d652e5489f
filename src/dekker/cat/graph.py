"""Values of a model as a graph: one node for each different set or relation, however often it is written.

Equal expressions become one node; trivial ones (`r | 0`, `~~r`) are simplified as they are built. Restrictions get one
form: `[A] ; r ; [B]` and `r & (A * B)` are both `inter(r, cross(A, B))`, which is cheaper than composing.

A fixpoint is a `Group`: its variables are nodes, its results say what each variable is next, and a `result` node stands
for the value of a variable once nothing changes any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from dekker.records import dataclass

SET, REL = "set", "rel"

Variable = tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """`code` is an operation of `relational.py`, or `input` (see `name`), `variable` or `result` (see `variable`).

    `rising` and `falling` are the fixpoint variables that the value grows and shrinks with.
    """

    index: int
    code: str
    kind: str
    args: tuple[Node, ...] = ()
    name: str = ""
    variable: Variable = (-1, -1)
    rising: frozenset[Variable] = frozenset()
    falling: frozenset[Variable] = frozenset()


@dataclass
class Group:
    number: int
    variables: list[Node] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)


@dataclass
class Graph:
    nodes: list[Node] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    _known: dict[tuple[object, ...], Node] = field(default_factory=dict)

    def input(self, name: str, kind: str) -> Node:
        return self._node("input", kind, name=name)

    def apply(self, code: str, *args: Node) -> Node:
        """The node of an operation, named as for relations: on sets `union` means `set-union`, and so on."""
        simplified = _SIMPLIFY[code](self, *args) if code in _SIMPLIFY else None
        return simplified if simplified is not None else self.plain(code, *args)

    def plain(self, code: str, *args: Node) -> Node:
        kind = _RESULT_KIND.get(code) or args[0].kind
        if code in _COMMUTATIVE:
            args = tuple(sorted(args, key=lambda node: (node.code == "cross", node.index)))
        full_code = f"set-{code}" if kind == SET and code in _ON_BOTH else code
        return self._node(full_code, kind, args)

    def empty(self, kind: str) -> Node:
        return self._node(f"empty-{kind}", kind)

    def full(self, kind: str) -> Node:
        return self._node(f"full-{kind}", kind)

    def identity(self) -> Node:
        return self._node("id", REL)

    def open_group(self, kinds: list[str]) -> Group:
        group = Group(len(self.groups))
        self.groups.append(group)
        for position, kind in enumerate(kinds):
            group.variables.append(self._node("variable", kind, variable=(group.number, position)))
        return group

    def close_group(self, group: Group, results: list[Node]) -> list[Node]:
        """Nodes for the least solution of the group."""
        group.results = results
        own = frozenset(node.variable for node in group.variables)
        rising = frozenset[Variable]().union(*(node.rising for node in results)) - own
        falling = frozenset[Variable]().union(*(node.falling for node in results)) - own
        return [
            self._add(Node(len(self.nodes), "result", unknown.kind, (), "", unknown.variable, rising, falling))
            for unknown in group.variables
        ]

    def _node(
        self, code: str, kind: str, args: tuple[Node, ...] = (), name: str = "", variable: Variable = (-1, -1)
    ) -> Node:
        key = (code, kind, name, variable, *(arg.index for arg in args))
        known = self._known.get(key)
        if known is None:
            rising, falling = _polarity(code, args, variable)
            known = self._add(Node(len(self.nodes), code, kind, args, name, variable, rising, falling))
            self._known[key] = known
        return known

    def _add(self, node: Node) -> Node:
        self.nodes.append(node)
        return node


_RESULT_KIND = {"identity": REL, "cross": REL, "domain": SET, "range": SET}
_ON_BOTH = frozenset(("union", "inter", "diff", "compl"))
_COMMUTATIVE = frozenset(("union", "inter"))


def _polarity(code: str, args: tuple[Node, ...], variable: Variable) -> tuple[frozenset[Variable], frozenset[Variable]]:
    if code == "variable":
        return frozenset((variable,)), frozenset()
    signs = [(arg.rising, arg.falling) for arg in args]
    if code in ("compl", "set-compl"):
        signs[0] = signs[0][::-1]
    elif code in ("diff", "set-diff"):
        signs[1] = signs[1][::-1]
    none = frozenset[Variable]()
    return none.union(*(sign[0] for sign in signs)), none.union(*(sign[1] for sign in signs))


def is_empty(node: Node) -> bool:
    return node.code in ("empty-rel", "empty-set")


def is_full(node: Node) -> bool:
    return node.code in ("full-rel", "full-set")


def _union(graph: Graph, left: Node, right: Node) -> Node | None:
    if is_empty(left) or is_full(right) or left is right:
        return right
    if is_empty(right) or is_full(left):
        return left
    return None


def _inter(graph: Graph, left: Node, right: Node) -> Node | None:
    if is_empty(left) or is_full(right) or left is right:
        return left
    if is_empty(right) or is_full(left):
        return right
    if left.code == "cross":
        left, right = right, left
    if right.code == "cross":
        return _restrict(graph, left, right)
    if right.code in ("compl", "set-compl"):
        return graph.apply("diff", left, right.args[0])
    if left.code in ("compl", "set-compl"):
        return graph.apply("diff", right, left.args[0])
    return None


def _restrict(graph: Graph, relation: Node, product: Node) -> Node | None:
    """`relation & product`, where `product` is a cross."""
    if relation.code == "cross":
        first, second = (graph.apply("inter", *pair) for pair in zip(relation.args, product.args, strict=True))
        return graph.apply("cross", first, second)
    if relation.code == "inter" and relation.args[1].code == "cross":
        return graph.apply("inter", relation.args[0], graph.apply("inter", relation.args[1], product))
    if relation.code == "identity":
        return graph.apply("identity", graph.apply("inter", relation.args[0], graph.apply("inter", *product.args)))
    if relation.code == "id":
        return graph.apply("identity", graph.apply("inter", *product.args))
    return None


def _diff(graph: Graph, left: Node, right: Node) -> Node | None:
    if is_empty(left) or is_empty(right):
        return left
    if is_full(right) or left is right:
        return graph.empty(left.kind)
    if is_full(left):
        return graph.apply("compl", right)
    return None


def _compl(graph: Graph, operand: Node) -> Node | None:
    if operand.code in ("compl", "set-compl"):
        return operand.args[0]
    if is_empty(operand):
        return graph.full(operand.kind)
    return graph.empty(operand.kind) if is_full(operand) else None


def _seq(graph: Graph, left: Node, right: Node) -> Node | None:
    if is_empty(left) or right.code == "id":
        return left
    if is_empty(right) or left.code == "id":
        return right
    everything = graph.full(SET)
    if left.code == "identity":
        return graph.apply("inter", right, graph.apply("cross", left.args[0], everything))
    if right.code == "identity":
        return graph.apply("inter", left, graph.apply("cross", everything, right.args[0]))
    return None


def _inverse(graph: Graph, operand: Node) -> Node | None:
    if operand.code == "inverse":
        return operand.args[0]
    if operand.code == "cross":
        return graph.apply("cross", *reversed(operand.args))
    return operand if operand.code in ("empty-rel", "full-rel", "id", "identity") else None


def _plus(graph: Graph, operand: Node) -> Node | None:
    return operand if operand.code in ("empty-rel", "full-rel", "id", "identity", "plus", "star") else None


def _star(graph: Graph, operand: Node) -> Node | None:
    if operand.code in ("plus", "opt"):
        return graph.apply("star", operand.args[0])
    if operand.code in ("empty-rel", "id", "identity"):
        return graph.identity()
    return operand if operand.code in ("full-rel", "star") else None


def _opt(graph: Graph, operand: Node) -> Node | None:
    if operand.code == "plus":
        return graph.apply("star", operand.args[0])
    if operand.code in ("empty-rel", "id", "identity"):
        return graph.identity()
    return operand if operand.code in ("full-rel", "star", "opt") else None


def _identity(graph: Graph, operand: Node) -> Node | None:
    if is_empty(operand):
        return graph.empty(REL)
    return graph.identity() if is_full(operand) else None


def _cross(graph: Graph, left: Node, right: Node) -> Node | None:
    if is_empty(left) or is_empty(right):
        return graph.empty(REL)
    return graph.full(REL) if is_full(left) and is_full(right) else None


def _domain(graph: Graph, operand: Node) -> Node | None:
    if operand.code == "empty-rel":
        return graph.empty(SET)
    return operand.args[0] if operand.code == "identity" else None


_SIMPLIFY: dict[str, Callable[..., Node | None]] = {
    "union": _union,
    "inter": _inter,
    "diff": _diff,
    "compl": _compl,
    "seq": _seq,
    "inverse": _inverse,
    "plus": _plus,
    "star": _star,
    "opt": _opt,
    "identity": _identity,
    "cross": _cross,
    "domain": _domain,
    "range": _domain,
}
