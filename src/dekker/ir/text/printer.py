"""From programs to text. Prints any program, valid or not: messages about invalid ones show their instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, Unset
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
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    Property,
    RegisterValue,
    Term,
    Truth,
)
from dekker.ir.shapes import ArrayShape, FieldShape, Shape
from dekker.ir.text.lexer import name_text, quote

CELLS_PER_LINE = 4


def print_program(program: Program) -> str:
    blocks = [
        [f"program {name_text(program.name)}", f"architecture {name_text(program.architecture)}"],
        [_object(item) for item in program.objects],
        *([_function(function)] for function in program.functions),
        [_thread(thread) for thread in program.threads],
        list(_property(program.property)),
    ]
    return "\n".join("\n".join(block) + "\n" for block in blocks if block)


def print_instruction(instruction: Instruction) -> str:
    return _INSTRUCTIONS[type(instruction)](instruction)


def print_expression(expression: Expr) -> str:
    match expression:
        case Reg(name):
            return name_text(name)
        case Unset():
            return "unset"
        case Const(value):
            return str(value if value < 1 << 63 else value - (1 << 64))
        case Address(symbol, offset):
            return _address(symbol, offset)
        case Unary(op, width, operand):
            return f"{op}.{width} {_operand(operand)}"
        case Binary(op, width, left, right):
            return f"{_operand(left)} {op}.{width} {_operand(right)}"
        case Select(condition, then, other):
            return f"{_operand(condition)} ? {_operand(then)} : {_operand(other)}"


def print_formula(formula: Formula) -> str:
    match formula:
        case Equals(left, right):
            return f"{_term(left)} = {_term(right)}"
        case Not(operand):
            return f"~({print_formula(operand)})"
        case And(operands):
            return _connective(operands, " /\\ ", "all")
        case Or(operands):
            return _connective(operands, " \\/ ", "any")
        case Truth(value):
            return "true" if value else "false"


def _operand(expression: Expr) -> str:
    text = print_expression(expression)
    return f"({text})" if isinstance(expression, Unary | Binary | Select) else text


def _address(symbol: str, offset: int) -> str:
    return f"&{name_text(symbol)}{offset:+d}" if offset else f"&{name_text(symbol)}"


def _place(address: Expr) -> str:
    return f"[{print_expression(address)}]"


def _order(order: Order) -> str:
    return "" if order is Order.PLAIN else f" {order.value}"


def _target(dst: str | None) -> str:
    return "" if dst is None else f"{name_text(dst)} = "


def _flags(**flags: bool) -> str:
    return "".join(f" {name}" for name, value in flags.items() if value)


def _list(expressions: Iterable[Expr]) -> str:
    return ", ".join(map(print_expression, expressions))


def _load(i: Load) -> str:
    flags = _flags(signed=i.signed, exclusive=i.exclusive, loose=i.loose)
    return f"{name_text(i.dst)} = load.{i.size}{flags} {_place(i.address)}{_order(i.order)}"


def _store(i: Store) -> str:
    return f"store.{i.size}{_flags(copied=i.copy)} {_place(i.address)} = {print_expression(i.value)}{_order(i.order)}"


def _store_conditional(i: StoreConditional) -> str:
    target = f"{name_text(i.status)} = store-conditional.{i.size} {_place(i.address)}"
    return f"{target} = {print_expression(i.value)}{_order(i.order)}"


def _rmw(i: Rmw) -> str:
    operation = f"{_target(i.dst)}rmw.{i.op}.{i.size}{_flags(quiet=i.quiet)}"
    return f"{operation} {_place(i.address)}, {print_expression(i.operand)}{_order(i.order)}"


def _compare_exchange(i: CompareExchange) -> str:
    results = ", ".join(name_text(name) for name in (i.dst, i.success) if name is not None)
    head = f"{results}{' = ' if results else ''}cmpxchg.{i.size}{_flags(weak=i.weak)} {_place(i.address)}"
    plain = i.order is i.failure_order is Order.PLAIN
    orders = "" if plain else f" {i.order.value}/{i.failure_order.value}"
    return f"{head} {print_expression(i.expected)} -> {print_expression(i.desired)}{orders}"


def _exit(i: Exit) -> str:
    status = "" if i.status is None else f" {print_expression(i.status)}"
    return f"exit everything{status}" if i.everything else "exit"


def _allocate(i: Allocate) -> str:
    align = "" if i.align == 16 else f" align {i.align}"
    flags = _flags(zeroed=i.zeroed, stack=i.stack, permanent=i.permanent, confined=i.confined)
    return f"{name_text(i.dst)} = allocate {print_expression(i.size)}{align}{flags}"


_INSTRUCTIONS: dict[type[Instruction], Callable[[Any], str]] = {
    Assign: lambda i: f"{name_text(i.dst)} = {print_expression(i.value)}",
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: lambda i: f"fence {name_text(i.kind)}",
    Jump: lambda i: f"jump {name_text(i.target)}",
    Branch: lambda i: f"branch{_flags(loose=i.loose)} {print_expression(i.condition)} -> {name_text(i.target)}",
    Call: lambda i: f"{_target(i.dst)}call {_operand(i.function)}({_list(i.arguments)})",
    Return: lambda i: "return" if i.value is None else f"return {print_expression(i.value)}",
    Spawn: lambda i: f"{_target(i.dst)}spawn {_operand(i.function)}({_list(i.arguments)})",
    Join: lambda i: f"{_target(i.dst)}join {print_expression(i.thread)}",
    Detach: lambda i: f"detach {print_expression(i.thread)}",
    Assume: lambda i: f"assume{_flags(loose=i.loose)} {print_expression(i.condition)}",
    Await: lambda i: f"await {print_expression(i.condition)} -> {name_text(i.target)}",
    Assert: lambda i: f"assert{_flags(loose=i.loose)} {print_expression(i.condition)}, {quote(i.message)}",
    Refuse: lambda i: f"refuse {quote(i.message)}",
    Print: lambda i: f"print {quote(i.text)}({_list(i.arguments)})",
    Choose: lambda i: f"{name_text(i.dst)} = choose {i.low}..{i.high}{_flags(partial=i.partial, pointer=i.pointer)}",
    Allocate: _allocate,
    Free: lambda i: f"free {print_expression(i.address)}",
    EndScope: lambda i: f"{name_text(i.dst)} = end-scope{_flags(confined=i.confined)} {print_expression(i.address)}",
    Measure: lambda i: f"{name_text(i.dst)} = measure {print_expression(i.address)}",
    Recycle: lambda i: f"{name_text(i.dst)} = recycle {print_expression(i.size)}",
    Renew: lambda i: f"renew {print_expression(i.address)}, {print_expression(i.size)}{_flags(zeroed=i.zeroed)}",
    AtomicBegin: lambda i: "atomic-begin",
    AtomicEnd: lambda i: "atomic-end",
    Exit: _exit,
}


def _object(item: Object) -> str:
    align = "" if item.align == 8 else f" align {item.align}"
    shape = "" if item.shape is None else f" as {_shape(item.shape)}"
    head = f"object {name_text(item.name)}[{item.size}]{align}{shape}"
    if not item.cells:
        return head
    cells = list(map(_cell, item.cells))
    if len(cells) <= CELLS_PER_LINE:
        return f"{head} = {{ {', '.join(cells)} }}"
    rows = (", ".join(cells[row : row + CELLS_PER_LINE]) for row in range(0, len(cells), CELLS_PER_LINE))
    return f"{head} = {{\n  " + ",\n  ".join(rows) + "\n}"


def _shape(shape: Shape) -> str:
    if isinstance(shape, ArrayShape):
        element = "" if shape.element is None else f", {_shape(shape.element)}"
        return f"[{shape.count}, {shape.size}{element}]"
    return f"{{{', '.join(map(_field, shape.fields))}}}"


def _field(field: FieldShape) -> str:
    inner = "" if field.shape is None else f" {_shape(field.shape)}"
    return f"{field.offset} .{field.size} {name_text(field.name)}{inner}"


def _cell(cell: Cell) -> str:
    value = _address(cell.value.symbol, cell.value.offset) if isinstance(cell.value, Address) else cell.value
    return f"[{cell.offset}].{cell.size} = {value}"


def _function(function: Function) -> str:
    labels: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        labels.setdefault(index, []).append(label)
    lines = [f"function {name_text(function.name)}({', '.join(map(name_text, function.parameters))}) {{"]
    for index, instruction in enumerate(function.body):
        lines += (f"{name_text(label)}:" for label in labels.get(index, ()))
        lines.append(f"  {print_instruction(instruction)}")
    lines += (f"{name_text(label)}:" for label in labels.get(len(function.body), ()))
    lines.append("}")
    return "\n".join(lines)


def _thread(thread: Thread) -> str:
    head = f"thread {name_text(thread.name)} runs {name_text(thread.function)}"
    registers = ", ".join(f"{name_text(name)} = {print_expression(value)}" for name, value in thread.registers)
    return f"{head} with {registers}" if registers else head


def _property(item: Property) -> Iterator[str]:
    if item.condition is not None:
        yield f"{item.condition.quantifier.value} {print_formula(item.condition.formula)}"
    if item.filter is not None:
        yield f"filter {print_formula(item.filter)}"
    if item.observed:
        yield f"observe {', '.join(map(_observable, item.observed))}"
    flags = {"assertions": item.assertions, "memory-safety": item.memory_safety}
    ignored = [name for name, checked in flags.items() if not checked]
    if ignored:
        yield f"ignore {', '.join(ignored)}"
    if item.leaks:
        yield "forbid leaks"
    if item.given:
        yield f"given {', '.join(map(name_text, item.given))}"


def _connective(operands: tuple[Formula, ...], mark: str, word: str) -> str:
    if len(operands) < 2:
        return f"{word}({', '.join(map(print_formula, operands))})"
    return mark.join(_test(operand) for operand in operands)


def _test(formula: Formula) -> str:
    text = print_formula(formula)
    return f"({text})" if isinstance(formula, And | Or) and len(formula.operands) > 1 else text


def _term(term: Term) -> str:
    match term:
        case int(value):
            return str(value)
        case AddressValue(symbol, offset):
            return _address(symbol, offset)
        case _:
            return _observable(term)


def _observable(item: Observable) -> str:
    label = f" as {name_text(item.label)}" if item.label else ""
    match item:
        case RegisterValue(thread, register, width):
            return f"{thread}:{name_text(register)}{'' if width == 64 else f':{width}'}{label}"
        case MemoryValue(symbol, offset, size):
            return f"[{_address(symbol, offset)[1:]}].{size}{label}"
