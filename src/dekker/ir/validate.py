"""The rules of the representation. Every engine and pass may rely on them.

Program
- Objects have different names, so do functions, so do threads. An object may share its name with a function (litmus
  tests name things freely): the address then means the object.
- Objects have sizes from 0 and alignments that are powers of two, and together fit between `layout.OBJECTS_START` and
  2³¹. Cells lie inside their object without overlap; their values fit into them, addresses into cells of 4 or 8 bytes.
- A thread's function exists; the thread sets all its parameters, and no register twice.
Function
- Labels name positions from 0 to the length of the body. Parameters are different. There is a span for every
  instruction, or none at all.
Instruction
- Operators and fence kinds exist; widths are 1 to 64, and 32 or 64 where floats are the operands; accesses have 1, 2,
  4 or 8 bytes; alignments are powers of two.
- Orders fit the access. A load has no release and a store no acquire; both together (`acq_rel`) may stand at either
  (RISC-V's `lw.aq.rl`), and each alone at load-linked and store-conditional. `acquire_pc` is for loads only. A failed
  compare-exchange has an order of loads.
- Addresses name objects or functions; branch targets name labels of the function. An await goes back: its target is
  not behind it.
- Calls and spawns of a known function have as many arguments as it has parameters.
- `Choose` has `low` ≤ `high`. All numbers fit into 64 bits, signed or not.
- Atomic sections do not nest, end only where they have begun, and do not outlive the function of a thread. Of a called
  function only what it does by itself counts: it may begin a section that its caller ends.
- Expressions and formulas nest at most `MAX_NESTING` deep.
Property
- Registers name threads by position, with widths 1 to 64; a register need not occur in the thread's code. Locations
  lie inside objects. Nothing is observed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

from dekker.errors import ValidationError
from dekker.ir.arithmetic import RMW_OPERATORS
from dekker.ir.expressions import (
    ALL_BINARY_OPERATORS,
    ALL_UNARY_OPERATORS,
    MAX_NESTING,
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
    Unset,
)
from dekker.ir.fences import FENCES
from dekker.ir.floating import FLOAT_BINARY_OPERATORS, FLOAT_UNARY_OPERATORS, FLOAT_WIDTHS, INTEGER_TO_FLOAT
from dekker.ir.flow import successors
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Order,
    Print,
    Recycle,
    Refuse,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import GAP, OBJECTS_START
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import AddressValue, And, Equals, Formula, Not, Or, RegisterValue, Term
from dekker.ir.shapes import ArrayShape, Shape
from dekker.records import dataclass

SIZES = frozenset((1, 2, 4, 8))

LOAD_ORDERS = frozenset(Order) - {Order.RELEASE}
LINKED_ORDERS = frozenset(Order)
STORE_ORDERS = frozenset((Order.PLAIN, Order.RELAXED, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))
CONDITIONAL_ORDERS = STORE_ORDERS | {Order.ACQUIRE}
UPDATE_ORDERS = frozenset(Order) - {Order.ACQUIRE_PC}

_END_OF_MEMORY = 1 << 31
_LISTED = 20
_FLOATING = (FLOAT_BINARY_OPERATORS.keys() | FLOAT_UNARY_OPERATORS.keys()) - INTEGER_TO_FLOAT.keys()


def validate(program: Program) -> None:
    """Raises `ValidationError`, with the span of the instruction where there is one."""
    scope = _Scope(program.object_by_name, program.function_by_name, {})
    try:
        _check_names(program)
        _check_objects(program.objects, scope)
    except _Problem as problem:
        raise ValidationError(problem.message, None, problem.hint) from None
    for function in program.functions:
        _check_function(function, scope)
    _check_atomic_sections(program)
    try:
        for thread in program.threads:
            _check_thread(thread, scope)
        _check_property(program, scope)
    except _Problem as problem:
        raise ValidationError(problem.message, None, problem.hint) from None


class _Problem(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(slots=True)
class _Scope:
    objects: dict[str, Object]
    functions: dict[str, Function]
    labels: Mapping[str, int]
    index: int = -1
    """Of the instruction that is checked."""


def _unknown(what: str, name: str, known: Iterable[str]) -> _Problem:
    names = sorted(known)
    shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    return _Problem(f"there is no {what} `{name}`", f"known: {shown}" if names else f"there is no {what} at all")


# --- expressions


def _check_expression(expression: Expr, scope: _Scope, nesting: int = 0) -> None:
    kind = type(expression)
    if kind is Reg or kind is Const or kind is Unset:
        return
    if kind is Address:
        _check_address(expression, scope)  # type: ignore[arg-type]
        return
    if nesting >= MAX_NESTING:
        raise _Problem(f"an expression nests deeper than {MAX_NESTING}", "keep parts of it in registers")
    _COMPOUND[kind](expression, scope, nesting + 1)


def _check_unary(expression: Unary, scope: _Scope, nesting: int) -> None:
    _check_operator(expression.op, expression.width, ALL_UNARY_OPERATORS)
    _check_expression(expression.operand, scope, nesting)


def _check_binary(expression: Binary, scope: _Scope, nesting: int) -> None:
    _check_operator(expression.op, expression.width, ALL_BINARY_OPERATORS)
    _check_expression(expression.left, scope, nesting)
    _check_expression(expression.right, scope, nesting)


def _check_select(expression: Select, scope: _Scope, nesting: int) -> None:
    _check_expression(expression.condition, scope, nesting)
    _check_expression(expression.then, scope, nesting)
    _check_expression(expression.other, scope, nesting)


_COMPOUND: dict[type, Callable[[Any, _Scope, int], None]] = {
    Unary: _check_unary,
    Binary: _check_binary,
    Select: _check_select,
}


def _check_operator(op: str, width: int, known: Collection[str]) -> None:
    if op not in known:
        raise _Problem(f"there is no operator `{op}`", f"known: {', '.join(known)}")
    _check_width(width)
    if op in _FLOATING and width not in FLOAT_WIDTHS:
        raise _Problem(f"the operator `{op}` works at 32 or 64 bits, not at {width}")


def _check_width(width: int) -> None:
    if not 1 <= width <= 64:
        raise _Problem(f"the width {width} is not from 1 to 64")


def _check_address(address: Address | AddressValue, scope: _Scope) -> None:
    if address.symbol not in scope.objects and address.symbol not in scope.functions:
        raise _unknown("object or function", address.symbol, (*scope.objects, *scope.functions))
    if address.offset:
        _check_number(address.offset)


def _check_number(value: int, bits: int = 64) -> None:
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise _Problem(f"the number {value} does not fit into {bits} bits")


def _check_size(size: int) -> None:
    if size not in SIZES:
        raise _Problem(f"an access of {size} bytes", "accesses have 1, 2, 4 or 8 bytes")


def _check_align(align: int) -> None:
    if align < 1 or align & align - 1 or align >= _END_OF_MEMORY:
        raise _Problem(f"the alignment {align} is not a power of two below 2³¹")


# --- instructions


def _check_access(size: int, order: Order, orders: frozenset[Order], what: str) -> None:
    _check_size(size)
    if order not in orders:
        allowed = ", ".join(item.value for item in Order if item in orders)
        raise _Problem(f"{what} cannot have the order `{order.value}`", f"possible orders: {allowed}")


def _assign(i: Assign, scope: _Scope) -> None:
    _check_expression(i.value, scope)


def _load(i: Load, scope: _Scope) -> None:
    if i.exclusive:
        _check_access(i.size, i.order, LINKED_ORDERS, "a load-linked")
    else:
        _check_access(i.size, i.order, LOAD_ORDERS, "a load")
    _check_expression(i.address, scope)


def _store(i: Store, scope: _Scope) -> None:
    _check_access(i.size, i.order, STORE_ORDERS, "a store")
    _check_expression(i.address, scope)
    _check_expression(i.value, scope)


def _store_conditional(i: StoreConditional, scope: _Scope) -> None:
    _check_access(i.size, i.order, CONDITIONAL_ORDERS, "a store-conditional")
    _check_expression(i.address, scope)
    _check_expression(i.value, scope)


def _rmw(i: Rmw, scope: _Scope) -> None:
    _check_access(i.size, i.order, UPDATE_ORDERS, "a read-modify-write")
    _check_operator(i.op, 8 * i.size, RMW_OPERATORS)
    if i.quiet and i.op != "xchg":
        raise _Problem("only an exchange can be quiet")
    _check_expression(i.address, scope)
    _check_expression(i.operand, scope)


def _compare_exchange(i: CompareExchange, scope: _Scope) -> None:
    _check_access(i.size, i.order, UPDATE_ORDERS, "a compare-exchange")
    _check_access(i.size, i.failure_order, LOAD_ORDERS, "a failed compare-exchange")
    _check_expression(i.address, scope)
    _check_expression(i.expected, scope)
    _check_expression(i.desired, scope)
    if i.success is None:
        return
    if i.dst is None:
        raise _Problem("a compare-exchange that says whether it succeeded has a register for what it read, too")
    if i.success == i.dst:
        raise _Problem(f"both results go to the register `{i.dst}`")


def _fence(i: Fence, scope: _Scope) -> None:
    if i.kind not in FENCES:
        raise _Problem(f"there is no fence `{i.kind}`", f"known: {', '.join(FENCES)}")


def _jump(i: Jump, scope: _Scope) -> None:
    if i.target not in scope.labels:
        raise _unknown("label", i.target, scope.labels)


def _branch(i: Branch, scope: _Scope) -> None:
    if i.target not in scope.labels:
        raise _unknown("label", i.target, scope.labels)
    _check_expression(i.condition, scope)


def _await(i: Await, scope: _Scope) -> None:
    if i.target not in scope.labels:
        raise _unknown("label", i.target, scope.labels)
    if scope.labels[i.target] > scope.index:
        raise _Problem(f"an await goes back, but the label `{i.target}` stands behind it")
    _check_expression(i.condition, scope)


def _call(i: Call | Spawn, scope: _Scope) -> None:
    _check_expression(i.function, scope)
    for argument in i.arguments:
        _check_expression(argument, scope)
    if isinstance(i.function, Address):
        _check_callee(i.function, len(i.arguments), scope)


def _check_callee(address: Address, arguments: int, scope: _Scope) -> None:
    name = address.symbol
    if name in scope.objects:
        raise _Problem(f"`{name}` is an object, not a function")
    if address.offset:
        raise _Problem(f"this is not the start of the function `{name}`")
    parameters = scope.functions[name].parameters
    if len(parameters) != arguments:
        raise _Problem(f"the function `{name}` has {len(parameters)} parameters, but this passes {arguments}")


def _return(i: Return, scope: _Scope) -> None:
    if i.value is not None:
        _check_expression(i.value, scope)


def _join(i: Join | Detach, scope: _Scope) -> None:
    _check_expression(i.thread, scope)


def _check_condition(i: Assume | Assert, scope: _Scope) -> None:
    _check_expression(i.condition, scope)


def _print(i: Print, scope: _Scope) -> None:
    for argument in i.arguments:
        _check_expression(argument, scope)


def _choose(i: Choose, scope: _Scope) -> None:
    _check_number(i.low)
    _check_number(i.high)
    if i.low > i.high:
        raise _Problem(f"there is no number from {i.low} to {i.high}")


def _allocate(i: Allocate, scope: _Scope) -> None:
    _check_align(i.align)
    _check_expression(i.size, scope)


def _free(i: Free | EndScope | Measure, scope: _Scope) -> None:
    _check_expression(i.address, scope)


def _recycle(i: Recycle, scope: _Scope) -> None:
    _check_expression(i.size, scope)


def _renew(i: Renew, scope: _Scope) -> None:
    _check_expression(i.address, scope)
    _check_expression(i.size, scope)


def _exit(i: Exit, scope: _Scope) -> None:
    if i.status is not None:
        _check_expression(i.status, scope)
        if not i.everything:
            raise _Problem("the end of a thread has no status")


def _nothing(i: Instruction, scope: _Scope) -> None:
    pass


_RULES: dict[type[Instruction], Callable[[Any, _Scope], None]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _fence,
    Jump: _jump,
    Branch: _branch,
    Call: _call,
    Return: _return,
    Spawn: _call,
    Join: _join,
    Detach: _join,
    Assume: _check_condition,
    Await: _await,
    Assert: _check_condition,
    Print: _print,
    Choose: _choose,
    Allocate: _allocate,
    Free: _free,
    EndScope: _free,
    Measure: _free,
    Recycle: _recycle,
    Renew: _renew,
    AtomicBegin: _nothing,
    AtomicEnd: _nothing,
    Exit: _exit,
    Refuse: _nothing,
}


def _check_function(function: Function, scope: _Scope) -> None:
    body = function.body
    scope.labels = function.labels
    scope.index = -1
    try:
        _check_frame(function)
        for scope.index, instruction in enumerate(body):
            _RULES[type(instruction)](instruction, scope)
    except _Problem as problem:
        raise _located(function, scope.index, problem) from None


def _located(function: Function, index: int, problem: _Problem) -> ValidationError:
    if index < 0:
        span = function.span(0) if function.spans else None
        return ValidationError(f"function `{function.name}`: {problem.message}", span, problem.hint)
    from dekker.ir.text import print_instruction  # noqa: PLC0415 — slow to load

    where = f"function `{function.name}`, instruction {index}, `{print_instruction(function.body[index])}`"
    return ValidationError(f"{where}: {problem.message}", function.span(index), problem.hint)


def _check_frame(function: Function) -> None:
    length = len(function.body)
    for label, position in function.labels.items():
        if not 0 <= position <= length:
            raise _Problem(f"the label `{label}` is at {position}, outside the {length} instructions")
    if function.parameters:
        _check_unique("parameters", function.parameters)
    if function.spans and len(function.spans) != length:
        raise _Problem(f"there are {len(function.spans)} spans for {length} instructions")


# --- atomic sections

_OUTSIDE, _INSIDE = 1, 2
_EITHER = _OUTSIDE | _INSIDE


def _check_atomic_sections(program: Program) -> None:
    started = {thread.function for thread in program.threads}
    for function in program.functions:
        if not {AtomicBegin, AtomicEnd}.isdisjoint(map(type, function.body)):
            _check_sections(function, function.name in started)


def _check_sections(function: Function, thread: bool) -> None:
    """Follows all paths; `reached[i]` says whether `body[i]` can be outside or inside a section, as far as the function
    itself tells."""
    reached = [0] * (len(function.body) + 1)
    pending = [(0, _OUTSIDE if thread else _EITHER)]
    while pending:
        index, state = pending.pop()
        state |= reached[index]
        if state == reached[index]:
            continue
        reached[index] = state
        if index < len(function.body):
            instruction = function.body[index]
            after = _section_after(instruction, state)
            pending += ((successor, after) for successor in successors(function, index))
    for index, state in enumerate(reached):
        problem = _section_problem(function.body[index] if index < len(function.body) else Return(), state, thread)
        if problem is not None:
            raise _located(function, index if index < len(function.body) else -1, _Problem(problem))


def _section_after(instruction: Instruction, state: int) -> int:
    match instruction:
        case AtomicBegin():
            return _INSIDE
        case AtomicEnd():
            return _OUTSIDE
        case Call():
            return _EITHER
    return state


def _section_problem(instruction: Instruction, state: int, thread: bool) -> str | None:
    match instruction:
        case AtomicBegin() if state == _INSIDE:
            return "an atomic section begins inside another one"
        case AtomicEnd() if state == _OUTSIDE:
            return "an atomic section ends that has not begun"
        case Return() | Exit(everything=False) if state == _INSIDE and thread:
            return "the thread ends inside an atomic section"
    return None


# --- objects, threads, property


def _check_names(program: Program) -> None:
    if len(program.object_by_name) != len(program.objects):
        _check_unique("objects", [item.name for item in program.objects])
    if len(program.function_by_name) != len(program.functions):
        _check_unique("functions", [function.name for function in program.functions])
    _check_unique("threads", [thread.name for thread in program.threads])


def _check_unique(what: str, names: Collection[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for index, name in enumerate(names) if name in list(names)[:index])
        raise _Problem(f"two {what} have the name `{twice}`")


def _check_objects(objects: tuple[Object, ...], scope: _Scope) -> None:
    end = OBJECTS_START
    for item in objects:
        try:
            _check_object(item, scope)
        except _Problem as problem:
            raise _Problem(f"object `{item.name}`: {problem.message}", problem.hint) from None
        end += item.size + item.align + 2 * GAP
    if end > _END_OF_MEMORY:
        raise _Problem("the objects do not fit into memory", "addresses of objects have 31 bits")


def _check_object(item: Object, scope: _Scope) -> None:
    if item.size < 0:
        raise _Problem(f"the size {item.size} is negative")
    _check_align(item.align)
    if item.shape is not None:
        _check_shape(item.shape, item.size)
    for cell in item.cells:
        _check_inside(cell.offset, cell.size, item)
        if isinstance(cell.value, int):
            _check_number(cell.value, 8 * cell.size)
        else:
            _check_address(cell.value, scope)
            if cell.size < 4:
                raise _Problem(f"an address does not fit into {cell.size} bytes")
    if len(item.cells) > 1:
        ordered = sorted(item.cells, key=lambda cell: cell.offset)
        for first, second in pairwise(ordered):
            if first.offset + first.size > second.offset:
                raise _Problem(f"the cells at {first.offset} and {second.offset} overlap")


def _check_shape(shape: Shape, size: int, nesting: int = 0) -> None:
    if nesting > MAX_NESTING:
        raise _Problem(f"its shape nests deeper than {MAX_NESTING}")
    if isinstance(shape, ArrayShape):
        if shape.count < 0 or shape.size < 0 or shape.count * shape.size > size:
            raise _Problem(f"its shape has {shape.count} elements of {shape.size} bytes in {size} bytes")
        if shape.element is not None:
            _check_shape(shape.element, shape.size, nesting + 1)
        return
    for field in shape.fields:
        if field.offset < 0 or field.size < 0 or field.offset + field.size > size:
            raise _Problem(f"its shape has a field `{field.name}` outside of {size} bytes")
        if field.shape is not None:
            _check_shape(field.shape, field.size, nesting + 1)


def _check_inside(offset: int, size: int, item: Object) -> None:
    _check_size(size)
    if not 0 <= offset <= item.size - size:
        raise _Problem(f"{size} bytes at {offset} are not inside the {item.size} bytes of `{item.name}`")


def _check_thread(thread: Thread, scope: _Scope) -> None:
    function = scope.functions.get(thread.function)
    try:
        if function is None:
            raise _unknown("function", thread.function, scope.functions)
        registers = [name for name, _ in thread.registers]
        _check_unique("registers", registers)
        for _, value in thread.registers:
            _check_expression(value, scope)
        for parameter in function.parameters:
            if parameter not in registers:
                raise _Problem(f"the parameter `{parameter}` of `{function.name}` has no value")
    except _Problem as problem:
        raise _Problem(f"thread `{thread.name}`: {problem.message}", problem.hint) from None


def _check_property(program: Program, scope: _Scope) -> None:
    prop = program.property
    threads = len(program.threads)
    try:
        if prop.condition is not None:
            _check_formula(prop.condition.formula, scope, threads)
        if prop.filter is not None:
            _check_formula(prop.filter, scope, threads)
        for item in prop.observed:
            _check_term(item, scope, threads)
        if len(set(prop.observed)) != len(prop.observed):
            raise _Problem("something is observed twice")
    except _Problem as problem:
        raise _Problem(f"property: {problem.message}", problem.hint) from None


def _check_formula(formula: Formula, scope: _Scope, threads: int, nesting: int = 0) -> None:
    if nesting > MAX_NESTING:
        raise _Problem(f"a formula nests deeper than {MAX_NESTING}")
    match formula:
        case Equals(left, right):
            _check_term(left, scope, threads)
            _check_term(right, scope, threads)
        case Not(operand):
            _check_formula(operand, scope, threads, nesting + 1)
        case And(operands) | Or(operands):
            for operand in operands:
                _check_formula(operand, scope, threads, nesting + 1)


def _check_term(term: Term, scope: _Scope, threads: int) -> None:
    if isinstance(term, int):
        _check_number(term)
    elif isinstance(term, AddressValue):
        _check_address(term, scope)
    elif isinstance(term, RegisterValue):
        if not 0 <= term.thread < threads:
            raise _Problem(f"there is no thread {term.thread}", f"there are {threads} threads, counted from 0")
        _check_width(term.width)
    else:
        item = scope.objects.get(term.symbol)
        if item is None:
            raise _unknown("object", term.symbol, scope.objects)
        _check_inside(term.offset, term.size, item)
