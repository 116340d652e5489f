"""Arbitrary valid programs: every form of instruction, expression, property and name, without regard to meaning.

They serve what must hold for all programs, such as that the printable form parses back; for programs worth running see
`litmus_programs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

from dekker.ir.arithmetic import BINARY_OPERATORS, RMW_OPERATORS, UNARY_OPERATORS
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.fences import FENCES
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
from dekker.ir.program import Cell, Function, Object, Program, Thread
from dekker.ir.property import (
    AddressValue,
    And,
    Condition,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    Property,
    Quantifier,
    RegisterValue,
    Term,
    Truth,
)
from dekker.ir.shapes import ArrayShape, FieldShape, Shape, StructShape
from dekker.ir.validate import CONDITIONAL_ORDERS, LINKED_ORDERS, LOAD_ORDERS, STORE_ORDERS, UPDATE_ORDERS

ODD_NAMES = (
    *("x", "r1", "%x0", "CR0.eq", "r1#2", "LC00", "2+2W+[rf-ctrl-fr]", "$tmp", "@f", "été", "P0", "_"),
    *("", " ", "a b", '"', "\\", "\n", "\t", "//", "x//y", "-", "->", "0", "1x", ".L1", "a.", "a..b", "#", "\u2028"),
    *("load", "load.4", "load.x", "add", "add.32", "add.x", "sext.8", "rmw.add.4", "acquire", "exists", "~exists"),
    *("store-conditional", "store-conditional.4", "atomic-begin", "atomic", "memory-safety", "fence", "fence.rw.rw"),
    *("\ud800", "\ud800\udc00", "\x00", "\x7f", "\U0001f600", "x\u0301", "²", "٣"),
)

NAMES = st.one_of(st.sampled_from(ODD_NAMES), st.text(max_size=4), st.text("abr.019_%#$@", min_size=1, max_size=5))
FEW_NAMES = st.lists(NAMES, max_size=3, unique=True)
NUMBERS = st.one_of(st.integers(0, 9), st.integers(-(1 << 63), (1 << 64) - 1))
OFFSETS = st.one_of(st.just(0), st.integers(-16, 16), st.integers(-(1 << 63), (1 << 64) - 1))
WIDTHS = st.one_of(st.sampled_from((8, 16, 32, 64)), st.integers(1, 64))
SIZES = st.sampled_from((1, 2, 4, 8))
ALIGNS = st.sampled_from((1, 2, 4, 8, 16, 64, 4096))

T = TypeVar("T")


@dataclass(frozen=True)
class Scope:
    """What an instruction may refer to. `functions` gives the number of parameters."""

    objects: tuple[str, ...]
    functions: dict[str, int]
    labels: tuple[str, ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        return (*self.objects, *self.functions)

    @property
    def callable(self) -> tuple[str, ...]:
        return tuple(name for name in self.functions if name not in self.objects)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    object_names = tuple(draw(FEW_NAMES))
    parameters = {name: tuple(draw(FEW_NAMES)) for name in draw(FEW_NAMES)}
    scope = Scope(object_names, {name: len(names) for name, names in parameters.items()})
    objects = tuple(_object(draw, name, scope) for name in object_names)
    functions = tuple(_function(draw, name, names, scope) for name, names in parameters.items())
    threads = tuple(_thread(draw, name, _one(draw, functions), scope) for name in draw(FEW_NAMES) if functions)
    return Program(draw(NAMES), draw(NAMES), objects, functions, threads, _property(draw, len(threads), objects, scope))


def _flag(draw: st.DrawFn) -> bool:
    return draw(st.booleans())


def _one(draw: st.DrawFn, items: Iterable[T]) -> T:
    # Hypothesis caches strategies of numbers; building `sampled_from` for every choice would take most of the time.
    choices = tuple(items)
    return choices[draw(st.integers(0, len(choices) - 1))]


def _some(draw: st.DrawFn, item: Callable[[], T], most: int = 3) -> tuple[T, ...]:
    return tuple(item() for _ in range(draw(st.integers(0, most))))


# --- expressions


def expression(draw: st.DrawFn, scope: Scope, depth: int = 3) -> Expr:
    if depth == 0 or _flag(draw):
        return Reg(draw(NAMES)) if _flag(draw) else constant(draw, scope)
    return _one(draw, (_unary, _binary, _select))(draw, scope, depth - 1)


def constant(draw: st.DrawFn, scope: Scope) -> Const | Address:
    return address(draw, scope) if scope.symbols and _flag(draw) else Const(draw(NUMBERS))


def address(draw: st.DrawFn, scope: Scope) -> Address:
    return Address(_one(draw, scope.symbols), draw(OFFSETS))


def _unary(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    return Unary(_one(draw, UNARY_OPERATORS), draw(WIDTHS), expression(draw, scope, depth))


def _binary(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    left, right = expression(draw, scope, depth), expression(draw, scope, depth)
    return Binary(_one(draw, BINARY_OPERATORS), draw(WIDTHS), left, right)


def _select(draw: st.DrawFn, scope: Scope, depth: int) -> Expr:
    condition, then = expression(draw, scope, depth), expression(draw, scope, depth)
    return Select(condition, then, expression(draw, scope, depth))


# --- instructions


def _order(draw: st.DrawFn, orders: frozenset[Order]) -> Order:
    return _one(draw, (order for order in Order if order in orders))


def _result(draw: st.DrawFn) -> str | None:
    return draw(NAMES) if _flag(draw) else None


def _load(draw: st.DrawFn, scope: Scope) -> Instruction:
    exclusive = _flag(draw)
    order = _order(draw, LINKED_ORDERS if exclusive else LOAD_ORDERS)
    return Load(draw(NAMES), expression(draw, scope), draw(SIZES), order, _flag(draw), exclusive)


def _store(draw: st.DrawFn, scope: Scope) -> Instruction:
    place, value = expression(draw, scope), expression(draw, scope)
    return Store(place, value, draw(SIZES), _order(draw, STORE_ORDERS))


def _store_conditional(draw: st.DrawFn, scope: Scope) -> Instruction:
    place, value = expression(draw, scope), expression(draw, scope)
    return StoreConditional(draw(NAMES), place, value, draw(SIZES), _order(draw, CONDITIONAL_ORDERS))


def _rmw(draw: st.DrawFn, scope: Scope) -> Instruction:
    place, operand = expression(draw, scope), expression(draw, scope)
    op = _one(draw, RMW_OPERATORS)
    return Rmw(_result(draw), op, place, operand, draw(SIZES), _order(draw, UPDATE_ORDERS))


def _compare_exchange(draw: st.DrawFn, scope: Scope) -> Instruction:
    dst, success = _result(draw), _result(draw)
    place, expected, desired = (expression(draw, scope) for _ in range(3))
    orders = _order(draw, UPDATE_ORDERS), _order(draw, LOAD_ORDERS)
    distinct = None if dst is None or success == dst else success
    return CompareExchange(dst, distinct, place, expected, desired, draw(SIZES), *orders, weak=_flag(draw))


def _callee(draw: st.DrawFn, scope: Scope) -> tuple[Expr, tuple[Expr, ...]]:
    if scope.callable and _flag(draw):
        name = _one(draw, scope.callable)
        return Address(name), tuple(expression(draw, scope) for _ in range(scope.functions[name]))
    function = expression(draw, scope)
    if isinstance(function, Address):
        function = Reg("f")
    return function, _some(draw, lambda: expression(draw, scope))


def _choose(draw: st.DrawFn, scope: Scope) -> Instruction:
    ends = draw(NUMBERS), draw(NUMBERS)
    return Choose(draw(NAMES), min(ends), max(ends))


def _allocate(draw: st.DrawFn, scope: Scope) -> Instruction:
    return Allocate(draw(NAMES), expression(draw, scope), draw(ALIGNS), _flag(draw), _flag(draw), _flag(draw))


Drawer = Callable[[st.DrawFn, Scope], Instruction]

# Control goes on to the next instruction, and nothing is called.
STRAIGHT: dict[type[Instruction], Drawer] = {
    Assign: lambda draw, scope: Assign(draw(NAMES), expression(draw, scope)),
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: lambda draw, scope: Fence(_one(draw, FENCES)),
    Join: lambda draw, scope: Join(_result(draw), expression(draw, scope)),
    Assume: lambda draw, scope: Assume(expression(draw, scope)),
    Assert: lambda draw, scope: Assert(expression(draw, scope), draw(NAMES), _flag(draw)),
    Print: lambda draw, scope: Print(draw(NAMES), _some(draw, lambda: expression(draw, scope))),
    Choose: _choose,
    Allocate: _allocate,
    Free: lambda draw, scope: Free(expression(draw, scope)),
    EndScope: lambda draw, scope: EndScope(draw(NAMES), expression(draw, scope), draw(st.booleans())),
    Detach: lambda draw, scope: Detach(expression(draw, scope)),
    Measure: lambda draw, scope: Measure(draw(NAMES), expression(draw, scope)),
    Recycle: lambda draw, scope: Recycle(draw(NAMES), expression(draw, scope)),
    Renew: lambda draw, scope: Renew(expression(draw, scope), expression(draw, scope), draw(st.booleans())),
}

ENDS: dict[type[Instruction], Drawer] = {
    Call: lambda draw, scope: Call(_result(draw), *_callee(draw, scope)),
    Spawn: lambda draw, scope: Spawn(_result(draw), *_callee(draw, scope)),
    Return: lambda draw, scope: Return(expression(draw, scope) if _flag(draw) else None),
    Exit: lambda draw, scope: Exit(_flag(draw)),
    Refuse: lambda draw, scope: Refuse(draw(NAMES)),
}

JUMPS: dict[type[Instruction], Drawer] = {
    Jump: lambda draw, scope: Jump(_one(draw, scope.labels)),
    Branch: lambda draw, scope: Branch(expression(draw, scope), _one(draw, scope.labels)),
}


def _piece(draw: st.DrawFn, scope: Scope) -> tuple[Instruction, ...]:
    """One instruction, or an atomic section."""
    form = draw(st.integers(0, 7))
    if form == 0:
        body = _some(draw, lambda: _one(draw, STRAIGHT.values())(draw, scope))
        return (AtomicBegin(), *body, AtomicEnd())
    if form == 1:
        return (_one(draw, ENDS.values())(draw, scope),)
    if form == 2 and scope.labels:
        return (_one(draw, JUMPS.values())(draw, scope),)
    return (_one(draw, STRAIGHT.values())(draw, scope),)


# --- programs


def _function(draw: st.DrawFn, name: str, parameters: tuple[str, ...], scope: Scope) -> Function:
    labels = draw(FEW_NAMES)
    inner = Scope(scope.objects, scope.functions, tuple(labels))
    pieces = _some(draw, lambda: _piece(draw, inner), most=6)
    # Labels stand between the pieces: a jump into an atomic section is not valid.
    starts = tuple(sum(map(len, pieces[:index])) for index in range(len(pieces) + 1))
    body = tuple(instruction for piece in pieces for instruction in piece)
    if labels and _flag(draw):
        body = (*body, Await(expression(draw, inner), _one(draw, labels)))
    return Function(name, parameters, body, {label: _one(draw, starts) for label in labels})


def _object(draw: st.DrawFn, name: str, scope: Scope) -> Object:
    cells: list[Cell] = []
    offset = draw(st.integers(0, 4))
    for _ in range(draw(st.integers(0, 8))):
        size = draw(SIZES)
        number = draw(st.integers(-(1 << 8 * size - 1), (1 << 8 * size) - 1))
        value = address(draw, scope) if size >= 4 and _flag(draw) else number
        cells.append(Cell(offset, size, value))
        offset += size + draw(st.integers(0, 4))
    size = offset + draw(st.integers(0, 16))
    return Object(name, size, tuple(draw(st.permutations(cells))), draw(ALIGNS), _shape(draw, size))


def _shape(draw: st.DrawFn, size: int, depth: int = 2) -> Shape | None:
    """Of some objects, and of some of their parts."""
    form = draw(st.integers(0, 3)) if size > 1 and depth else 0
    if form == 1:
        part = draw(st.integers(1, size))
        return ArrayShape(size // part, part, _shape(draw, part, depth - 1))
    if form == 2:
        border = draw(st.integers(1, size - 1))
        first = FieldShape(0, border, draw(NAMES), _shape(draw, border, depth - 1))
        return StructShape((first, FieldShape(border, size - border, draw(NAMES))))
    return None


def _thread(draw: st.DrawFn, name: str, function: Function, scope: Scope) -> Thread:
    others = [register for register in draw(FEW_NAMES) if register not in function.parameters]
    registers = draw(st.permutations([*function.parameters, *others]))
    return Thread(name, function.name, tuple((register, constant(draw, scope)) for register in registers))


def _property(draw: st.DrawFn, threads: int, objects: tuple[Object, ...], scope: Scope) -> Property:
    def observable() -> Observable:
        label = draw(NAMES) if _flag(draw) else ""
        if places and (not threads or _flag(draw)):
            item = _one(draw, places)
            size = _one(draw, (size for size in (1, 2, 4, 8) if size <= item.size))
            return MemoryValue(item.name, draw(st.integers(0, item.size - size)), size, label)
        return RegisterValue(draw(st.integers(0, threads - 1)), draw(NAMES), draw(WIDTHS), label)

    def term() -> Term:
        if scope.symbols and _flag(draw):
            place = address(draw, scope)
            return AddressValue(place.symbol, place.offset)
        return observable() if _flag(draw) else draw(NUMBERS)

    def formula(depth: int = 3) -> Formula:
        if depth == 0 or _flag(draw):
            return Equals(observable(), term()) if observed and _flag(draw) else Truth(_flag(draw))
        form = _one(draw, (Not, And, Or))
        if form is Not:
            return Not(formula(depth - 1))
        operands = _some(draw, lambda: formula(depth - 1))
        return And(operands) if form is And else Or(operands)

    places = tuple(item for item in objects if item.size)
    observed = _some(draw, observable) if threads or places else ()
    condition = Condition(_one(draw, Quantifier), formula()) if _flag(draw) else None
    condition_filter = formula() if _flag(draw) else None
    given = draw(st.lists(st.sampled_from(("getenv", "the arguments of main")), max_size=2))
    return Property(
        condition, condition_filter, tuple(dict.fromkeys(observed)), _flag(draw), _flag(draw), given=tuple(given)
    )
