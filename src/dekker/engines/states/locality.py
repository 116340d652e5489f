"""Which allocations no other thread ever learns of (section 3.4 of the paper, static): the address is never stored,
passed on or returned, nor anything computed from it. And which of them are only names: what tells threads apart, and
which of them holds a lock, is the address of an object that nobody looks into."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.states.footprints import taken_functions
from dekker.ir.expressions import Address, Binary, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    CompareExchange,
    Free,
    Instruction,
    Join,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Program

_COMPARISONS = frozenset(("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"))


def local_allocations(function: Function) -> frozenset[int]:
    """The positions of those allocations in the function."""
    positions = [index for index, step in enumerate(function.body) if isinstance(step, Allocate)]
    return frozenset(index for index in positions if not _escapes(function, index))


def _escapes(function: Function, index: int) -> bool:
    allocation = function.body[index]
    assert isinstance(allocation, Allocate)
    holders = _holders(function, allocation.dst)
    return any(not holders.isdisjoint(registers(part)) for step in function.body for part in _given_away(step))


def _holders(function: Function, register: str) -> set[str]:
    """Registers with what the register holds, or something computed from it."""
    holders = {register}
    while True:
        found = {
            step.dst
            for step in function.body
            if isinstance(step, Assign) and step.dst not in holders and not holders.isdisjoint(_carried(step.value))
        }
        if not found:
            return holders
        holders |= found


def names_only(program: Program) -> dict[str, frozenset[int]]:
    """By function, the positions of allocations on the stack to which no code that is given the address has an access.
    What is loaded from memory may be such an address, too: this says what is likely, not what has to be true."""
    taken: set[str] | None = None
    found: dict[str, frozenset[int]] = {}
    for function in program.functions:
        positions = []
        for index, step in enumerate(function.body):
            if not isinstance(step, Allocate) or not step.stack or _is_accessed(function, step.dst):
                continue
            taken = taken_functions(program) if taken is None else taken
            if not _is_accessed_below(program, function, step.dst, taken):
                positions.append(index)
        found[function.name] = frozenset(positions)
    return found


def _is_accessed_below(program: Program, function: Function, register: str, taken: set[str]) -> bool:
    """In the function, or in what it passes the address to."""
    pending = [(function, register)]
    seen = {(function.name, register)}
    while pending:
        function, register = pending.pop()
        if _is_accessed(function, register):
            return True
        holders = _holders(function, register)
        for callee, position in _passed(function, holders):
            names = {callee.symbol} if isinstance(callee, Address) else taken
            for name in names & program.function_by_name.keys():
                called = program.function_by_name[name]
                if position < len(called.parameters) and (name, called.parameters[position]) not in seen:
                    seen.add((name, called.parameters[position]))
                    pending.append((called, called.parameters[position]))
    return False


def _passed(function: Function, holders: set[str]) -> Iterator[tuple[Expr, int]]:
    for step in function.body:
        if isinstance(step, Call | Spawn):
            for position, argument in enumerate(step.arguments):
                if not holders.isdisjoint(registers(argument)):
                    yield step.function, position


def _is_accessed(function: Function, register: str) -> bool:
    holders = _holders(function, register)
    for step in function.body:
        used = [getattr(step, "address", None), step.value if isinstance(step, Return) else None]
        if any(part is not None and not holders.isdisjoint(registers(part)) for part in used):
            return True
    return False


def _carried(expression: Expr) -> frozenset[str]:
    """The registers whose values can be told from that of the expression, other than by a comparison."""
    match expression:
        case Reg(name):
            return frozenset((name,))
        case Unary(_, _, operand):
            return _carried(operand)
        case Binary(op, _, left, right):
            return frozenset() if op in _COMPARISONS else _carried(left) | _carried(right)
        case Select(condition, then, other):
            return _carried(condition) | _carried(then) | _carried(other)
    return frozenset()


def _given_away(step: Instruction) -> Iterator[Expr]:
    match step:
        case Store(value=value) | StoreConditional(value=value) | Rmw(operand=value):
            yield value
        case CompareExchange(expected=expected, desired=desired):
            yield from (expected, desired)
        case Call(function=callee, arguments=arguments) | Spawn(function=callee, arguments=arguments):
            yield from (callee, *arguments)
        case Return(value=value) if value is not None:
            yield value
        case Free(address=address):
            yield address
        case Join(thread=thread):
            yield thread
        case Allocate(size=size):
            yield size
