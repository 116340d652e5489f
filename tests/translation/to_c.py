"""Litmus tests as C programs, so that the C front end can be held against the litmus front ends.

The translation goes by what the litmus front end made of the test, instruction by instruction:

- a register is a local variable of 64 bits, so that dependencies through registers are those of the C program;
- a plain access is one of a `volatile` number, an annotated one is an `__atomic` operation;
- a fence is inline assembly, or `__atomic_thread_fence` for those of C11;
- branches are `goto`; a thread is a function that `pthread_create` runs;
- registers that the condition asks for are stored to global variables when the thread ends. After it has joined all
  threads, `main` calls `reach_error` if the formula of the condition holds. So executions that satisfy the formula fail
  there, and the others are complete.

C has no load-linked and store-conditional, and no accesses like ARM's LDAPR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Return,
    Rmw,
    Store,
)
from dekker.ir.program import Object, Program, Thread
from dekker.ir.property import (
    AddressValue,
    And,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    RegisterValue,
    Term,
    Truth,
    observables,
)

PRELUDE = """typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long u64;
typedef signed char i8; typedef short i16; typedef int i32; typedef long i64;
typedef unsigned long pthread_t;
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
void reach_error(void);
void __VERIFIER_assume(int);
"""


class Untranslatable(Exception):
    """C has no words for it."""


def translate(program: Program, prefix: str = "") -> str:
    """The text behind `PRELUDE`. All its names, that of `main` too, begin with the prefix."""
    names = _Names(program, prefix)
    asked = _asked(program)
    return "\n".join(
        (
            *(_declaration(item, names) for item in program.objects),
            *(_definition(item, names) for item in program.objects),
            *(f"u64 {names.result[item]};" for item in asked if isinstance(item, RegisterValue)),
            *(_thread(program, number, thread, names) for number, thread in enumerate(program.threads)),
            _main(program, names),
        )
    )


def _asked(program: Program) -> tuple[Observable, ...]:
    prop = program.property
    formulas = [item for item in (prop.filter, prop.condition.formula if prop.condition else None) if item is not None]
    return tuple(dict.fromkeys(item for formula in formulas for item in observables(formula)))


@dataclass
class _Names:
    """Names of C for those of a litmus test, which may be anything."""

    program: Program
    prefix: str
    objects: dict[str, str] = field(init=False)
    result: dict[Observable, str] = field(init=False)

    def __post_init__(self) -> None:
        self.objects = {item.name: f"{self.prefix}g{i}" for i, item in enumerate(self.program.objects)}
        self.result = {item: f"{self.prefix}result{i}" for i, item in enumerate(_asked(self.program))}

    def address(self, symbol: str, offset: int) -> str:
        if symbol not in self.objects:
            raise Untranslatable(f"the address of `{symbol}`")
        return f"((u64)&{self.objects[symbol]} + {offset}ul)" if offset else f"(u64)&{self.objects[symbol]}"


# --- objects


def _declaration(item: Object, names: _Names) -> str:
    """One field for each initial value, and what lies between."""
    fields = []
    for index, (size, cell) in enumerate(_pieces(item)):
        if cell is None:
            fields.append(f"u8 f{index}[{size}];")
        elif isinstance(cell, Address) and size != 8:
            raise Untranslatable("an address in less than 8 bytes")
        else:
            fields.append(f"{'void *' if isinstance(cell, Address) else f'u{8 * size}'} f{index};")
    name = names.objects[item.name]
    kind = f"struct {name} {{ {' '.join(fields)} }} __attribute__((packed, aligned({item.align})))"
    return f"{kind}; extern struct {name} {name};"


def _definition(item: Object, names: _Names) -> str:
    name = names.objects[item.name]
    values = []
    for _, cell in _pieces(item):
        match cell:
            case None:
                values.append("{0}")
            case Address(symbol, offset):
                if symbol not in names.objects:
                    raise Untranslatable(f"the address of `{symbol}`")
                values.append(f"(u8 *)&{names.objects[symbol]} + {offset}")
            case int():
                values.append(f"{cell:#x}ul")
    return f"struct {name} {name} = {{ {', '.join(values)} }};"


def _pieces(item: Object) -> Iterator[tuple[int, int | Address | None]]:
    position = 0
    for cell in sorted(item.cells, key=lambda cell: cell.offset):
        if cell.offset > position:
            yield cell.offset - position, None
        yield cell.size, cell.value if isinstance(cell.value, Address) else cell.value & (1 << 8 * cell.size) - 1
        position = cell.offset + cell.size
    if item.size > position or not item.size:
        yield max(1, item.size - position), None


# --- threads


def _thread(program: Program, number: int, thread: Thread, names: _Names) -> str:
    function = program.function_by_name[thread.function]
    body = _Body(names, {})
    lines = []
    for register, value in thread.registers:
        lines.append(f"{body.register(register)} = {body.expression(value)};")
    at: dict[int, list[str]] = {}
    for index, label in enumerate(function.labels):
        at.setdefault(function.labels[label], []).append(f"L{index}: ;")
        body.labels[label] = f"L{index}"
    for index, instruction in enumerate(function.body):
        lines += at.get(index, [])
        lines.append(body.statement(instruction))
    lines += [*at.get(len(function.body), []), "end: ;"]
    for item in _asked(program):
        if isinstance(item, RegisterValue) and item.thread == number:
            lines.append(f"{names.result[item]} = {body.register(item.register)};")
    variables = "".join(f"  u64 {name} = 0;\n" for name in body.registers.values())
    statements = "".join(f"  {line}\n" for line in lines)
    return f"void *{names.prefix}thread{number}(void *unused) {{\n{variables}{statements}  return 0;\n}}"


@dataclass
class _Body:
    names: _Names
    registers: dict[str, str]
    labels: dict[str, str] = field(default_factory=dict)

    def register(self, name: str) -> str:
        return self.registers.setdefault(name, f"r{len(self.registers)}")

    def statement(self, instruction: Instruction) -> str:
        translation = _STATEMENTS.get(type(instruction))
        if translation is None:
            raise Untranslatable(type(instruction).__name__)
        return translation(self, instruction)

    def expression(self, expression: Expr) -> str:
        """A number of 64 bits."""
        match expression:
            case Const(value):
                return f"{value:#x}ul"
            case Reg(name):
                return self.register(name)
            case Address(symbol, offset):
                return self.names.address(symbol, offset)
            case Unary(op, width, operand):
                return _unary(op, width, self.expression(operand))
            case Binary(op, width, left, right):
                _require_defined(op, width, right)
                return _binary(op, width, self.expression(left), self.expression(right))
            case Select():
                raise Untranslatable("a choice that is no branch")

    def pointer(self, address: Expr, size: int, qualifier: str = "") -> str:
        return f"({qualifier}u{8 * size} *)({self.expression(address)})"


def _require_defined(op: str, width: int, right: Expr) -> None:
    """C leaves open what other shifts and divisions mean."""
    known = right.value if isinstance(right, Const) else None
    if op in _SHIFTS and (known is None or known >= width):
        raise Untranslatable("a shift by an unknown number of bits")
    if op in _DIVISIONS and not (known is not None and 0 < known < 1 << width - 1):
        raise Untranslatable("a division by an unknown number")


def _load(body: _Body, load: Load) -> str:
    if load.exclusive:
        raise Untranslatable("load-linked")
    if load.order is Order.PLAIN:
        value = f"*{body.pointer(load.address, load.size, 'volatile ')}"
    else:
        value = f"__atomic_load_n({body.pointer(load.address, load.size)}, {_order(load.order)})"
    if load.signed:
        value = f"(i64)(i{8 * load.size}){value}"
    return f"{body.register(load.dst)} = (u64){value};"


def _store(body: _Body, store: Store) -> str:
    value = f"(u{8 * store.size})({body.expression(store.value)})"
    if store.order is Order.PLAIN:
        return f"*{body.pointer(store.address, store.size, 'volatile ')} = {value};"
    return f"__atomic_store_n({body.pointer(store.address, store.size)}, {value}, {_order(store.order)});"


def _rmw(body: _Body, update: Rmw) -> str:
    """A plain one is a relaxed one: compilers make the same of it on every processor."""
    if update.op not in _UPDATES:
        raise Untranslatable(f"the update {update.op}")
    order = Order.RELAXED if update.order is Order.PLAIN else update.order
    value = f"(u{8 * update.size})({body.expression(update.operand)})"
    call = f"{_UPDATES[update.op]}({body.pointer(update.address, update.size)}, {value}, {_order(order)})"
    return f"{call};" if update.dst is None else f"{body.register(update.dst)} = (u64){call};"


def _compare_exchange(body: _Body, exchange: CompareExchange) -> str:
    order, failure = (
        Order.RELAXED if order is Order.PLAIN else order for order in (exchange.order, exchange.failure_order)
    )
    kind = f"u{8 * exchange.size}"
    call = (
        f"__atomic_compare_exchange_n({body.pointer(exchange.address, exchange.size)}, &expected, "
        f"({kind})({body.expression(exchange.desired)}), {int(exchange.weak)}, {_order(order)}, {_order(failure)})"
    )
    expected = f"{kind} expected = ({kind})({body.expression(exchange.expected)});"
    success = "" if exchange.success is None else f"{body.register(exchange.success)} = (u64)"
    result = "" if exchange.dst is None else f" {body.register(exchange.dst)} = (u64)expected;"
    return f"{{ {expected} {success}{call};{result} }}"


def _fence(body: _Body, fence: Fence) -> str:
    if fence.kind.startswith("c11."):
        return f"__atomic_thread_fence({_order(Order(fence.kind.removeprefix('c11.')))});"
    return f'__asm__ volatile("{mnemonic(fence.kind)}" ::: "memory");'


def mnemonic(kind: str) -> str:
    word, _, rest = kind.partition(".")
    match word:
        case "compiler":
            return ""
        case "fence" if rest not in ("i", "tso"):
            return f"fence {rest.replace('.', ',')}"
        case "membar" if rest:
            return f"membar #{rest}"
        case "dmb" | "dsb":
            return f"{word} {rest}"
    return kind


def _assign(body: _Body, assign: Assign) -> str:
    return f"{body.register(assign.dst)} = {body.expression(assign.value)};"


def _branch(body: _Body, branch: Branch) -> str:
    return f"if ({body.expression(branch.condition)}) goto {body.labels[branch.target]};"


def _jump(body: _Body, jump: Jump) -> str:
    return f"goto {body.labels[jump.target]};"


def _end(body: _Body, end: Return | Exit) -> str:
    return "goto end;"


_STATEMENTS: dict[type[Instruction], Callable[..., str]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _fence,
    Branch: _branch,
    Jump: _jump,
    Return: _end,
    Exit: _end,
}
_UPDATES = {
    "xchg": "__atomic_exchange_n",
    **{op: f"__atomic_fetch_{op}" for op in ("add", "sub", "and", "or", "xor", "nand")},
}
_SHIFTS = {"shl": "<<", "lshr": ">>", "ashr": ">>"}
_DIVISIONS = {"srem": "%", "sdiv": "/", "urem": "%", "udiv": "/"}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", **_SHIFTS, **_DIVISIONS}
_ORDERINGS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_COMPARISONS = {"eq": "==", "ne": "!=", **{f"{sign}{op}": text for sign in "su" for op, text in _ORDERINGS.items()}}
_SIGNED = frozenset(("ashr", "srem", "sdiv", *(f"s{op}" for op in _ORDERINGS)))
_WIDTHS = (8, 16, 32, 64)


def _order(order: Order) -> str:
    if order in (Order.PLAIN, Order.ACQUIRE_PC):
        raise Untranslatable(f"the order {order.value}")
    return f"__ATOMIC_{order.name}"


def _unary(op: str, width: int, operand: str) -> str:
    match op:
        case "zext" | "freeze":
            return _unsigned(width, operand)
        case "sext":
            return f"((u64){_signed(width, operand)})"
        case "neg" | "not":
            return _unsigned(width, f"({'-' if op == 'neg' else '~'}{operand})")
    raise Untranslatable(f"{op} of {width} bits")


def _binary(op: str, width: int, left: str, right: str) -> str:
    cut = _signed if op in _SIGNED else _unsigned
    left, right = cut(width, left), cut(width, right)
    if op in _COMPARISONS:
        return f"((u64)({left} {_COMPARISONS[op]} {right}))"
    if op not in _SIGNS:
        raise Untranslatable(op)
    return _unsigned(width, f"({left} {_SIGNS[op]} {right})")


def _signed(width: int, operand: str) -> str:
    if width not in _WIDTHS:
        raise Untranslatable(f"a signed number of {width} bits")
    return f"((i64)(i{width}){operand})"


def _unsigned(width: int, operand: str) -> str:
    return f"((u64)(u{width}){operand})" if width in _WIDTHS else f"({operand} & {(1 << width) - 1:#x}ul)"


# --- what is asked in the end


def _main(program: Program, names: _Names) -> str:
    numbers = range(len(program.threads))
    prop = program.property
    lines = [f"pthread_t {', '.join(f't{i}' for i in numbers)};"]
    lines += [f"pthread_create(&t{i}, 0, {names.prefix}thread{i}, 0);" for i in numbers]
    lines += [f"pthread_join(t{i}, 0);" for i in numbers]
    if prop.filter is not None:
        lines.append(f"__VERIFIER_assume({_formula(prop.filter, names)});")
    if prop.condition is not None:
        lines.append(f"if ({_formula(prop.condition.formula, names)}) reach_error();")
    return f"int {names.prefix}main(void) {{\n" + "".join(f"  {line}\n" for line in lines) + "  return 0;\n}\n"


def _formula(formula: Formula, names: _Names) -> str:
    match formula:
        case Equals(left, right):
            width = left.width if isinstance(left, RegisterValue) else 8 * left.size
            return f"{_unsigned(width, _term(left, names))} == {_unsigned(width, _term(right, names))}"
        case Not(operand):
            return f"!({_formula(operand, names)})"
        case And(operands):
            return _joined(" && ", operands, names) or "1"
        case Or(operands):
            return _joined(" || ", operands, names) or "0"
        case Truth(value):
            return str(int(value))


def _joined(word: str, operands: Sequence[Formula], names: _Names) -> str:
    return word.join(f"({_formula(operand, names)})" for operand in operands)


def _term(term: Term, names: _Names) -> str:
    match term:
        case int():
            return f"{term & (1 << 64) - 1:#x}ul"
        case AddressValue(symbol, offset):
            return f"({names.address(symbol, offset)})"
        case RegisterValue():
            return names.result[term]
        case MemoryValue(symbol, offset, size):
            return f"*(u{8 * size} *)({names.address(symbol, offset)})"
