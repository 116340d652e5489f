"""Which later accesses a read is kept before by dependencies and fences, way by way.

From a read, all ways of control are followed with the registers that hold something computed from it. An access is
unordered with the read if one way leads to it on which neither its address nor its value depends on the read, no
branch on the read stands before a write (and before a read, no branch with a control fence behind), and no fence orders
the two. As soon as nothing on a way depends on the read any more, the rest is what `Reached` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dekker.ir.expressions import Expr, registers
from dekker.ir.fences import FENCES
from dekker.ir.flow import defined
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Await,
    Branch,
    Call,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.records import dataclass
from dekker.transform.flow_graph import FlowGraph

MOST_STATES = 5_000

_CONTROL, _CONTROL_FENCE, _READS_FENCED, _WRITES_FENCED = 1, 2, 4, 8
_READS_ORDERED = _CONTROL_FENCE | _READS_FENCED
_WRITES_ORDERED = _CONTROL | _WRITES_FENCED

Carried = frozenset[tuple[int, str]]


@dataclass(frozen=True)
class Following:
    """What the search needs to know of a thread: its graph, which fences make control dependencies hold for reads,
    which nodes order everything, and, for the rest of a way on which nothing depends on the read, which reads and
    which writes control reaches from a node without a fence."""

    graph: FlowGraph
    control_fences: frozenset[str]
    orders_all: Callable[[int], bool]
    reads_at: Callable[[int], int]
    writes_at: Callable[[int], int]
    reads_beyond: Callable[[int], int]
    writes_beyond: Callable[[int], int]


@dataclass(frozen=True)
class Dependencies:
    """The events that some way leaves unordered with a read, and those that some way orders; if the search is not
    `complete`, because there are too many ways, nothing is known. `states` says how long it took."""

    unordered: int
    ordered: int
    states: int
    complete: bool


def follow_dependencies(following: Following, read: int) -> Dependencies:
    graph = following.graph
    instruction = graph.instruction[read]
    assert instruction is not None
    results = {(graph.context[read], name) for name in defined(instruction) if isinstance(name, str)}
    pending: list[tuple[int, Carried, int]] = [(step, frozenset(results), 0) for step in graph.following[read]]
    seen = set(pending)
    unordered = ordered = 0
    while pending:
        node, carried, flags = pending.pop()
        if not carried and not flags & _CONTROL:
            unordered |= _rest(following, node, flags)
            continue
        reads, writes = following.reads_at(node), following.writes_at(node)
        address, value = _dependent(graph, node, carried)
        if reads:
            unordered, ordered = _sort(reads, address or bool(flags & _READS_ORDERED), unordered, ordered)
        if writes:
            unordered, ordered = _sort(writes, address or value or bool(flags & _WRITES_ORDERED), unordered, ordered)
        flags = _flags_behind(following, node, carried, flags)
        if flags & _READS_ORDERED and flags & _WRITES_ORDERED:
            continue
        for step, kept in _carried_behind(graph, node, carried, address):
            state = (step, kept, flags)
            if state not in seen:
                seen.add(state)
                pending.append(state)
        if len(seen) > MOST_STATES:
            return Dependencies(0, 0, len(seen), complete=False)
    return Dependencies(unordered, ordered, len(seen), complete=True)


def _sort(events: int, is_ordered: bool, unordered: int, ordered: int) -> tuple[int, int]:
    return (unordered, ordered | events) if is_ordered else (unordered | events, ordered)


def _rest(following: Following, node: int, flags: int) -> int:
    found = 0
    if not flags & _READS_FENCED:
        found |= following.reads_at(node) | following.reads_beyond(node)
    if not flags & _WRITES_FENCED:
        found |= following.writes_at(node) | following.writes_beyond(node)
    return found


def _holds(expression: Expr, context: int, carried: Carried) -> bool:
    return any((context, name) in carried for name in registers(expression))


def _dependent(graph: FlowGraph, node: int, carried: Carried) -> tuple[bool, bool]:
    """Whether the address, and the value that is written, depend on the read."""
    context = graph.context[node]
    match graph.instruction[node]:
        case Load(_, address):
            return _holds(address, context, carried), False
        case Store(address, value) | StoreConditional(_, address, value):
            return _holds(address, context, carried), _holds(value, context, carried)
        case Rmw(_, _, address, operand):
            return _holds(address, context, carried), _holds(operand, context, carried)
        case CompareExchange(_, _, address, _, desired):
            return _holds(address, context, carried), _holds(desired, context, carried)
    return False, False


def _flags_behind(following: Following, node: int, carried: Carried, flags: int) -> int:
    instruction = following.graph.instruction[node]
    if following.orders_all(node):
        return flags | _READS_FENCED | _WRITES_FENCED
    match instruction:
        case Branch(loose=True) | Assume(loose=True) | Assert(loose=True):
            return flags
        case Branch(condition) | Assume(condition) | Await(condition) | Assert(condition):
            branches = _holds(condition, following.graph.context[node], carried)
            return flags | _CONTROL if branches else flags
        case Fence(kind):
            orders = FENCES[kind].orders
            flags |= _READS_FENCED if "RR" in orders else 0
            flags |= _WRITES_FENCED if "RW" in orders else 0
            return flags | _CONTROL_FENCE if flags & _CONTROL and kind in following.control_fences else flags
    return flags


def _carried_behind(graph: FlowGraph, node: int, carried: Carried, address: bool) -> Iterator[tuple[int, Carried]]:
    instruction, context = graph.instruction[node], graph.context[node]
    if isinstance(instruction, Call) and node in graph.binds:
        inner, name = graph.binds[node]
        bound = _bound(graph, node, instruction, inner, carried)
        for step in graph.following[node]:
            yield step, carried | bound if graph.place[step][0] == name else carried
        return
    if node in graph.returns:
        carried = _returned(graph, node, instruction, carried)
    elif isinstance(instruction, Assign):
        carried = _assigned(carried, (context, instruction.dst), _holds(instruction.value, context, carried))
    elif instruction is not None:
        depends = address and isinstance(instruction, Load | Rmw | CompareExchange)
        for register in defined(instruction):
            if isinstance(register, str):
                carried = _assigned(carried, (context, register), depends)
    for step in graph.following[node]:
        yield step, carried


def _assigned(carried: Carried, register: tuple[int, str], depends: bool) -> Carried:
    return carried | {register} if depends else carried - {register}


def _bound(graph: FlowGraph, node: int, call: Call, inner: int, carried: Carried) -> Carried:
    start = graph.following[node][0]
    parameters = graph.parameters[start]
    pairs = zip(parameters, call.arguments, strict=False)
    return frozenset((inner, name) for name, value in pairs if _holds(value, graph.context[node], carried))


def _returned(graph: FlowGraph, node: int, instruction: Instruction | None, carried: Carried) -> Carried:
    """Registers of the function that ends are gone; its result may depend on the read."""
    call_node, inner = graph.returns[node], graph.context[node]
    call = graph.instruction[call_node]
    assert isinstance(call, Call)
    value = instruction.value if isinstance(instruction, Return) else None
    depends = value is not None and _holds(value, inner, carried)
    kept = frozenset(item for item in carried if item[0] != inner)
    return kept if call.dst is None else _assigned(kept, (graph.context[call_node], call.dst), depends)
