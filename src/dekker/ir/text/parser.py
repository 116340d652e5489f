"""From text to programs. The grammar stands at the head of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from dekker.errors import ParseError
from dekker.ir.arithmetic import RMW_OPERATORS
from dekker.ir.expressions import MAX_NESTING, Address, Binary, Const, Expr, Reg, Select, Unary, Unset
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
from dekker.ir.text.lexer import Tokens, show_text, tokenize, unquote
from dekker.source import Source, Span

T = TypeVar("T")

_ORDERS = {order.value: order for order in Order}
_QUANTIFIERS = {quantifier.value: quantifier for quantifier in Quantifier}


def parse_program(source: Source) -> Program:
    """Raises `ParseError`. What the grammar cannot say is left to `ir.validate`."""
    return _program(_Cursor(tokenize(source)))


class _Cursor:
    """A position in the tokens. Methods move on only past what they return."""

    __slots__ = ("at", "kinds", "source", "starts", "texts")

    def __init__(self, tokens: Tokens) -> None:
        self.source, self.kinds, self.texts, self.starts = tokens.source, tokens.kinds, tokens.texts, tokens.starts
        self.at = 0

    @property
    def kind(self) -> str:
        return self.kinds[self.at]

    def expected(self, what: str, hint: str | None = None) -> ParseError:
        found = "the text ends" if self.kind == "end" else f"found {show_text(self.texts[self.at])}"
        return self.error(f"expected {what}, but {found}", hint)

    def error(self, message: str, hint: str | None = None, *, back: int = 0) -> ParseError:
        start = self.starts[self.at - back]
        return ParseError(message, Span(self.source, start, start + len(self.texts[self.at - back])), hint)

    def accept(self, kind: str) -> bool:
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def expect(self, kind: str) -> None:
        if self.kinds[self.at] != kind:
            raise self.expected(f"`{kind}`")
        self.at += 1

    def name(self, what: str) -> str:
        text = self.texts[self.at]
        if self.kinds[self.at] != "name":
            reserved = text[:1].isalpha() and self.kind != "end"
            raise self.expected(what, f'to use this word as a name, quote it: "{text}"' if reserved else None)
        return self.string(what) if text[0] == '"' else self._take(text)

    def string(self, what: str) -> str:
        text = self.texts[self.at]
        if text[:1] != '"':
            raise self.expected(what)
        try:
            return self._take(unquote(text))
        except ValueError as error:
            hint = 'known escapes: \\" \\\\ \\n \\t \\u{hexadecimal number of a character}'
            raise self.error(str(error), hint) from None

    def number(self, what: str) -> int:
        if self.kinds[self.at] != "number":
            raise self.expected(what)
        return self._integer(self.texts[self.at])

    def size(self, what: str) -> int:
        if self.kinds[self.at] != "size":
            raise self.expected(what)
        return self._integer(self.texts[self.at][1:])

    def suffix(self) -> int:
        """The number after the dot of the word just passed."""
        text = self.texts[self.at - 1]
        digits = text.rpartition(".")[2]
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
            raise self.error(
                f"expected a number behind {show_text(text)}", f"for instance `{text.partition('.')[0]}.4`", back=1
            )
        return int(digits)

    def list_of(self, item: Callable[[], T], end: str) -> tuple[T, ...]:
        """Items with commas between them, up to and with the mark `end`."""
        if self.accept(end):
            return ()
        items = [item()]
        while self.accept(","):
            items.append(item())
        if self.kind != end:
            raise self.expected(f"`,` or `{end}`")
        self.at += 1
        return tuple(items)

    def open_list_of(self, item: Callable[[], T]) -> tuple[T, ...]:
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def _take(self, value: T) -> T:
        self.at += 1
        return value

    def _integer(self, text: str) -> int:
        # Longer texts are out of range, or mostly zeros; int() refuses really long ones.
        value = int(text, 16 if "x" in text or "X" in text else 10) if len(text) <= 40 else 1 << 64
        if not -(1 << 63) <= value < 1 << 64:
            raise self.error("this number does not fit into 64 bits")
        return self._take(value)


def _known(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 — slow to load

    close = get_close_matches(word[:40], known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"


# --- expressions


def _expression(c: _Cursor, nesting: int = 0) -> Expr:
    if c.kinds[c.at] == "unary":
        op, width = _operator(c)
        return Unary(op, width, _operand(c, nesting))
    left = _operand(c, nesting)
    kind = c.kinds[c.at]
    if kind == "binary":
        op, width = _operator(c)
        return Binary(op, width, left, _operand(c, nesting))
    if kind == "?":
        c.at += 1
        then = _operand(c, nesting)
        c.expect(":")
        return Select(left, then, _operand(c, nesting))
    return left


def _operand(c: _Cursor, nesting: int = 0) -> Expr:
    kind = c.kinds[c.at]
    if kind == "name":
        return Reg(c.name("a register"))
    if kind == "number":
        return Const(c.number("a number"))
    if c.accept("unset"):
        return Unset()
    if kind == "&":
        return _address(c)
    if kind == "(":
        _check_nesting(c, nesting)
        c.at += 1
        inner = _expression(c, nesting + 1)
        c.expect(")")
        return inner
    raise c.expected("an expression", "a register, a number, `&object` or an expression in brackets")


def _operator(c: _Cursor) -> tuple[str, int]:
    c.at += 1
    return c.texts[c.at - 1].partition(".")[0], c.suffix()


def _check_nesting(c: _Cursor, nesting: int) -> None:
    if nesting >= MAX_NESTING:
        raise c.error(f"brackets nest deeper than {MAX_NESTING}")


def _address(c: _Cursor) -> Address:
    c.expect("&")
    return Address(c.name("the name of an object or function"), _offset(c))


def _offset(c: _Cursor) -> int:
    return c.number("an offset") if c.kinds[c.at] == "number" and c.texts[c.at][0] in "+-" else 0


def _constant(c: _Cursor) -> int | Address:
    if c.kind == "&":
        return _address(c)
    if c.kind == "number":
        return c.number("a number")
    raise c.expected("a number or `&object`")


# --- instructions


def _place(c: _Cursor) -> Expr:
    c.expect("[")
    address = _expression(c)
    c.expect("]")
    return address


def _order(c: _Cursor) -> Order:
    order = _ORDERS.get(c.kinds[c.at])
    if order is None:
        return Order.PLAIN
    c.at += 1
    return order


def _load(c: _Cursor, dst: str) -> Instruction:
    size = c.suffix()
    signed = c.accept("signed")
    exclusive = c.accept("exclusive")
    loose = c.accept("loose")
    return Load(dst, _place(c), size, _order(c), signed, exclusive, loose)


def _store(c: _Cursor) -> Instruction:
    size = c.suffix()
    copy = c.accept("copied")
    address = _place(c)
    c.expect("=")
    return Store(address, _expression(c), size, _order(c), copy)


def _store_conditional(c: _Cursor, dst: str) -> Instruction:
    size = c.suffix()
    address = _place(c)
    c.expect("=")
    return StoreConditional(dst, address, _expression(c), size, _order(c))


def _rmw(c: _Cursor, dst: str | None) -> Instruction:
    text = c.texts[c.at - 1]
    op = text.split(".")[1] if text.count(".") == 2 else ""
    if op not in RMW_OPERATORS:
        message = f"expected `rmw`, an operator and a size, but found {show_text(text)}"
        raise c.error(message, f"for instance `rmw.add.4`; operators: {', '.join(RMW_OPERATORS)}", back=1)
    size = c.suffix()
    quiet = c.accept("quiet")
    address = _place(c)
    c.expect(",")
    return Rmw(dst, op, address, _expression(c), size, _order(c), quiet)


def _compare_exchange(c: _Cursor, dst: str | None, success: str | None = None) -> Instruction:
    size = c.suffix()
    weak = c.accept("weak")
    address = _place(c)
    expected = _expression(c)
    c.expect("->")
    desired = _expression(c)
    order = failure = Order.PLAIN
    if c.kind in _ORDERS:
        order = _order(c)
        c.expect("/")
        if c.kind not in _ORDERS:
            raise c.expected("the memory order of a failure", f"known: {', '.join(_ORDERS)}")
        failure = _order(c)
    return CompareExchange(dst, success, address, expected, desired, size, order, failure, weak)


def _call(c: _Cursor, dst: str | None) -> Instruction:
    return Call(dst, _operand(c), _arguments(c))


def _spawn(c: _Cursor, dst: str | None) -> Instruction:
    return Spawn(dst, _operand(c), _arguments(c))


def _arguments(c: _Cursor) -> tuple[Expr, ...]:
    c.expect("(")
    return c.list_of(lambda: _expression(c), ")")


def _join(c: _Cursor, dst: str | None) -> Instruction:
    return Join(dst, _expression(c))


def _branch(c: _Cursor) -> Instruction:
    loose = c.accept("loose")
    condition = _expression(c)
    c.expect("->")
    return Branch(condition, c.name("a label"), loose)


def _assume(c: _Cursor) -> Instruction:
    loose = c.accept("loose")
    return Assume(_expression(c), loose)


def _await(c: _Cursor) -> Instruction:
    condition = _expression(c)
    c.expect("->")
    return Await(condition, c.name("a label"))


_MESSAGE = "a message between double quotes"


def _return(c: _Cursor) -> Instruction:
    return Return() if c.kind in ("}", "end") or _line_ends(c) else Return(_expression(c))


def _exit(c: _Cursor) -> Instruction:
    if not c.accept("everything"):
        return Exit()
    return Exit(True) if c.kind in ("}", "end") or _line_ends(c) else Exit(True, _expression(c))


def _assert(c: _Cursor) -> Instruction:
    loose = c.accept("loose")
    condition = _expression(c)
    c.expect(",")
    return Assert(condition, c.string(_MESSAGE), loose)


def _print(c: _Cursor) -> Instruction:
    return Print(c.string("a text between double quotes"), _arguments(c))


def _choose(c: _Cursor, dst: str) -> Instruction:
    low = c.number("the lowest number to choose")
    c.expect("..")
    high = c.number("the highest number to choose")
    return Choose(dst, low, high, c.accept("partial"), c.accept("pointer"))


def _allocate(c: _Cursor, dst: str) -> Instruction:
    size = _expression(c)
    align = c.number("an alignment in bytes") if c.accept("align") else 16
    zeroed = c.accept("zeroed")
    stack = c.accept("stack")
    permanent = c.accept("permanent")
    return Allocate(dst, size, align, zeroed, stack, permanent, c.accept("confined"))


def _end_scope(c: _Cursor, dst: str) -> Instruction:
    confined = c.accept("confined")
    return EndScope(dst, _expression(c), confined)


def _renew(c: _Cursor) -> Instruction:
    address = _expression(c)
    c.expect(",")
    return Renew(address, _expression(c), c.accept("zeroed"))


_WITHOUT_RESULT: dict[str, Callable[[_Cursor], Instruction]] = {
    "store": _store,
    "fence": lambda c: Fence(c.name("the kind of a fence")),
    "jump": lambda c: Jump(c.name("a label")),
    "branch": _branch,
    "return": _return,
    "assume": _assume,
    "await": _await,
    "assert": _assert,
    "refuse": lambda c: Refuse(c.string(_MESSAGE)),
    "print": _print,
    "detach": lambda c: Detach(_expression(c)),
    "free": lambda c: Free(_expression(c)),
    "renew": _renew,
    "atomic-begin": lambda c: AtomicBegin(),
    "atomic-end": lambda c: AtomicEnd(),
    "exit": _exit,
}

_WITH_RESULT: dict[str, Callable[[_Cursor, str], Instruction]] = {
    "load": _load,
    "store-conditional": _store_conditional,
    "choose": _choose,
    "allocate": _allocate,
    "end-scope": _end_scope,
    "measure": lambda c, dst: Measure(dst, _expression(c)),
    "recycle": lambda c, dst: Recycle(dst, _expression(c)),
}

_WITH_OR_WITHOUT: dict[str, Callable[[_Cursor, str | None], Instruction]] = {
    "rmw": _rmw,
    "cmpxchg": _compare_exchange,
    "call": _call,
    "spawn": _spawn,
    "join": _join,
}

_INSTRUCTION_WORDS = (*_WITHOUT_RESULT, *_WITH_OR_WITHOUT)


def _instruction(c: _Cursor) -> Instruction:
    kind = c.kinds[c.at]
    if kind == "name":
        return _defining(c, c.name("a register"))
    c.at += 1
    if kind in _WITHOUT_RESULT:
        return _WITHOUT_RESULT[kind](c)
    if kind in _WITH_OR_WITHOUT:
        return _WITH_OR_WITHOUT[kind](c, None)
    c.at -= 1
    if kind in _WITH_RESULT:
        raise c.expected("a register for the result", f"for instance `r1 = {c.texts[c.at]} …`")
    raise c.expected(
        "an instruction, a label or `}`", f"`register = …`, `label:` or one of {', '.join(_INSTRUCTION_WORDS)}"
    )


def _defining(c: _Cursor, dst: str) -> Instruction:
    if c.accept(","):
        success = c.name("a register that tells whether the exchange succeeded")
        c.expect("=")
        if not c.accept("cmpxchg"):
            raise c.expected("`cmpxchg`", "only a compare-exchange has two results")
        return _compare_exchange(c, dst, success)
    if c.kinds[c.at] != "=":
        word = c.texts[c.at - 1]
        words = (*_INSTRUCTION_WORDS, *_WITH_RESULT)
        raise c.expected(f"`=` or `:` behind {show_text(word)}", _known(word.partition(".")[0], words))
    c.at += 1
    kind = c.kinds[c.at]
    if kind in _WITH_RESULT:
        c.at += 1
        return _WITH_RESULT[kind](c, dst)
    if kind in _WITH_OR_WITHOUT:
        c.at += 1
        return _WITH_OR_WITHOUT[kind](c, dst)
    return Assign(dst, _expression(c))


# --- programs


def _program(c: _Cursor) -> Program:
    c.expect("program")
    name = c.name("the name of the program")
    c.expect("architecture")
    architecture = c.name("the name of an architecture")
    objects: list[Object] = []
    functions: list[Function] = []
    threads: list[Thread] = []
    declarations: dict[str, Callable[[], None]] = {
        "object": lambda: objects.append(_object(c)),
        "function": lambda: functions.append(_function(c)),
        "thread": lambda: threads.append(_thread(c)),
    }
    prop = Property()
    while not c.accept("end"):
        declare = declarations.get(c.kinds[c.at])
        if declare is None:
            prop = _property_item(c, prop)
        else:
            c.at += 1
            declare()
    return Program(name, architecture, tuple(objects), tuple(functions), tuple(threads), prop, c.source)


def _object(c: _Cursor) -> Object:
    name = c.name("the name of an object")
    c.expect("[")
    size = c.number("a size in bytes")
    c.expect("]")
    align = c.number("an alignment in bytes") if c.accept("align") else 8
    shape = _shape(c, 0) if c.accept("as") else None
    if not c.accept("="):
        return Object(name, size, (), align, shape)
    c.expect("{")
    return Object(name, size, c.list_of(lambda: _cell(c), "}"), align, shape)


def _shape(c: _Cursor, nesting: int) -> Shape:
    _check_nesting(c, nesting)
    if c.accept("{"):
        return StructShape(c.list_of(lambda: _field(c, nesting + 1), "}"))
    c.expect("[")
    count = c.number("the number of elements")
    c.expect(",")
    size = c.number("the size of an element in bytes")
    element = _shape(c, nesting + 1) if c.accept(",") else None
    c.expect("]")
    return ArrayShape(count, size, element)


def _field(c: _Cursor, nesting: int) -> FieldShape:
    offset = c.number("the offset of a field")
    size = c.size("the size of the field, such as `.4`")
    name = c.name("the name of a field")
    return FieldShape(offset, size, name, _shape(c, nesting) if c.kind in ("{", "[") else None)


def _cell(c: _Cursor) -> Cell:
    c.expect("[")
    offset = c.number("an offset in bytes")
    c.expect("]")
    size = c.size("the size of the value, such as `.4`")
    c.expect("=")
    return Cell(offset, size, _constant(c))


def _function(c: _Cursor) -> Function:
    name = c.name("the name of a function")
    c.expect("(")
    parameters = c.list_of(lambda: c.name("a parameter"), ")")
    c.expect("{")
    body: list[Instruction] = []
    spans: list[Span] = []
    labels: dict[str, int] = {}
    while not c.accept("}"):
        if c.kinds[c.at] == "name" and c.kinds[c.at + 1] == ":":
            _label(c, labels, len(body))
            continue
        start = c.starts[c.at]
        body.append(_instruction(c))
        spans.append(Span(c.source, start, _end(c)))
        if not _line_ends(c) and c.kind != "}":
            raise c.expected("the end of the line", "one instruction per line")
    return Function(name, parameters, tuple(body), labels, tuple(spans))


def _label(c: _Cursor, labels: dict[str, int], index: int) -> None:
    label = c.name("a label")
    if label in labels:
        raise c.error(f"the label {show_text(label)} stands in this function twice", back=1)
    labels[label] = index
    c.expect(":")


def _end(c: _Cursor) -> int:
    """The end of the token just passed."""
    return c.starts[c.at - 1] + len(c.texts[c.at - 1])


def _line_ends(c: _Cursor) -> bool:
    return c.source.text.find("\n", _end(c), c.starts[c.at]) >= 0


def _thread(c: _Cursor) -> Thread:
    name = c.name("the name of a thread")
    c.expect("runs")
    function = c.name("the name of a function")
    registers = c.open_list_of(lambda: _register(c)) if c.accept("with") else ()
    return Thread(name, function, registers)


def _register(c: _Cursor) -> tuple[str, Const | Address]:
    name = c.name("a register")
    c.expect("=")
    value = _constant(c)
    return name, Const(value) if isinstance(value, int) else value


# --- properties


_ITEMS = ("object", "function", "thread", *_QUANTIFIERS, "filter", "observe", "ignore", "forbid", "given")


def _property_item(c: _Cursor, prop: Property) -> Property:
    kind = c.kind
    if kind in _QUANTIFIERS:
        _only_once(c, "condition", prop.condition)
        return replace(prop, condition=Condition(_QUANTIFIERS[kind], _formula(c)))
    if kind == "filter":
        _only_once(c, "filter", prop.filter)
        return replace(prop, filter=_formula(c))
    if kind == "observe":
        c.at += 1
        return replace(prop, observed=prop.observed + c.open_list_of(lambda: _observable(c)))
    if kind == "ignore":
        c.at += 1
        for flag in c.open_list_of(lambda: _flag(c)):
            prop = replace(prop, assertions=False) if flag == "assertions" else replace(prop, memory_safety=False)
        return prop
    if kind == "forbid":
        c.at += 1
        c.expect("leaks")
        return replace(prop, leaks=True)
    if kind == "given":
        c.at += 1
        return replace(prop, given=prop.given + c.open_list_of(lambda: c.name("what the environment gives")))
    raise c.expected("the next part of the program", f"known: {', '.join(_ITEMS)}")


def _only_once(c: _Cursor, what: str, present: object) -> None:
    if present is not None:
        raise c.error(f"a program has at most one {what}")
    c.at += 1


def _flag(c: _Cursor) -> str:
    kind = c.kind
    if not (c.accept("assertions") or c.accept("memory-safety")):
        raise c.expected("`assertions` or `memory-safety`")
    return kind


def _formula(c: _Cursor, nesting: int = 0) -> Formula:
    first = _test(c, nesting)
    mark = c.kind
    if mark not in ("/\\", "\\/"):
        return first
    tests = [first]
    while c.accept(mark):
        tests.append(_test(c, nesting))
    if c.kind in ("/\\", "\\/"):
        raise c.error("`/\\` and `\\/` side by side", "put brackets around what belongs together")
    return And(tuple(tests)) if mark == "/\\" else Or(tuple(tests))


def _test(c: _Cursor, nesting: int) -> Formula:
    kind = c.kind
    if kind in ("number", "["):
        left = _observable(c)
        c.expect("=")
        return Equals(left, _term(c))
    if kind in ("true", "false"):
        c.at += 1
        return Truth(kind == "true")
    _check_nesting(c, nesting)
    if kind == "~":
        c.at += 1
        return Not(_test(c, nesting if c.kind == "(" else nesting + 1))
    if kind in ("all", "any"):
        c.at += 1
        c.expect("(")
        operands = c.list_of(lambda: _formula(c, nesting + 1), ")")
        return And(operands) if kind == "all" else Or(operands)
    if kind == "(":
        c.at += 1
        inner = _formula(c, nesting + 1)
        c.expect(")")
        return inner
    raise c.expected("a condition", "for instance `0:r1 = 1`, `[x].4 = 1`, `~(…)`, `true`")


def _term(c: _Cursor) -> Term:
    if c.kind == "number" and c.kinds[c.at + 1] != ":":
        return c.number("a number")
    if c.kind == "&":
        address = _address(c)
        return AddressValue(address.symbol, address.offset)
    return _observable(c)


def _observable(c: _Cursor) -> Observable:
    if c.kind == "number":
        thread = c.number("the number of a thread")
        c.expect(":")
        register = c.name("a register")
        width = c.number("a width in bits") if c.accept(":") else 64
        return RegisterValue(thread, register, width, _alias(c))
    if c.kind == "[":
        c.at += 1
        symbol = c.name("the name of an object")
        offset = _offset(c)
        c.expect("]")
        return MemoryValue(symbol, offset, c.size("the size of the value, such as `.4`"), _alias(c))
    raise c.expected("a register or location", "for instance `0:r1` or `[x].4`")


def _alias(c: _Cursor) -> str:
    return c.name("how to show it") if c.accept("as") else ""
