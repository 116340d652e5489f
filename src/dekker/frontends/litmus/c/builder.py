"""The thread under construction: instructions, labels, and what the names in scope stand for.

Values. A value of a type of n bits is an expression whose upper 64-n bits are 0, for signed types too; conversions to a
wider type extend the sign where the type asks for it.

Registers. A local variable lives in a register of its name. One that hides another variable of that name gets a number
(`r1.2`); variables of separate blocks share the register. A condition that says `1:r1` means the variable of that name
that the thread declares last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from dekker.errors import ParseError
from dekker.frontends.litmus.c import syntax
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.types import BOOL, INT, VOID, CType, Pointer, Void
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Address, Binary, Const, Expr, Reg, Unary, evaluate_binary
from dekker.ir.instructions import Assign, Instruction
from dekker.records import dataclass


class Value(NamedTuple):
    expr: Expr
    type: CType


class Local(NamedTuple):
    """A variable in a register."""

    register: str
    type: CType


class Fixed(NamedTuple):
    """A parameter that the thread never assigns: always the address of the global of its name."""

    symbol: str
    type: CType


class Shared(NamedTuple):
    """A global that the thread names directly, without a pointer."""

    symbol: str
    type: CType


class Memory(NamedTuple):
    """A place in memory that can be read and written."""

    address: Expr
    type: CType


Entity = Local | Fixed | Shared
Place = Local | Memory

NOWHERE = Local("", VOID)
"""As the target of an expression: its value is not used."""

MAX_NESTING = 60

Handler = Callable[["Builder", Any, Local | None], Value]


@dataclass(slots=True)
class Builder:
    text: str
    handlers: Mapping[type, Handler]
    scopes: list[dict[str, Entity]]
    body: list[Instruction] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    declared: dict[str, Local] = field(default_factory=dict)
    gotos: list[syntax.Goto] = field(default_factory=list)
    loops: list[tuple[str, str]] = field(default_factory=list)
    numbers: int = 0
    depth: int = 0

    def emit(self, instruction: Instruction, node: Positioned) -> None:
        self.body.append(instruction)
        self.spans.append((node.start, node.end))

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def temporary(self) -> str:
        return f"tmp.{self.number()}"

    def place_label(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def lower(self, node: syntax.Expression, target: Local | None = None) -> Value:
        """The value of an expression, after emitting what it does. An instruction that produces the value puts it into
        `target` if the types allow; the caller compares."""
        if self.depth >= MAX_NESTING:
            raise error("this expression is nested too deeply", node, "split it into several statements")
        self.depth += 1
        value = self.handlers[type(node)](self, node, target)
        self.depth -= 1
        return value

    def destination(self, target: Local | None, kind: CType) -> str:
        """The register for a value of the given type."""
        if target is None or target is NOWHERE or not same_form(target.type, kind):
            return self.temporary()
        return target.register

    def find(self, name: str) -> Entity | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def declare(self, name: str, kind: CType) -> Local:
        """A name declared twice in one block is one variable, as in herd, which knows no blocks."""
        here = self.scopes[-1].get(name)
        if isinstance(here, Local):
            register = here.register
        elif any(isinstance(scope.get(name), Local) for scope in self.scopes):
            register = f"{name}.{self.number()}"
        else:
            register = name
        local = Local(register, kind)
        self.scopes[-1][name] = self.declared[name] = local
        return local


Positioned = (
    syntax.Expression | syntax.Declare | syntax.For | syntax.Leave | syntax.Goto | syntax.Return | syntax.Parameter
)


def error(message: str, node: Positioned, hint: str | None = None) -> CError:
    """What the thread says is not C."""
    return CError(message, node.start, node.end - node.start, hint, ParseError)


# Values


_COMPARISONS = frozenset(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))


def is_truth(expr: Expr) -> bool:
    """Is the expression a comparison, whose value is 0 or 1?"""
    return isinstance(expr, Binary) and expr.op in _COMPARISONS


def same_form(left: CType, right: CType) -> bool:
    """Do values of the two types need no conversion, whatever their signs?"""
    return left.size == right.size and (left is BOOL) == (right is BOOL)


def convert(value: Value, kind: CType, node: Positioned) -> Expr:
    expr, source = value
    if source is kind or source == kind:
        return expr
    if isinstance(source, Void) or isinstance(kind, Void):
        raise error("this has no value", node)
    if kind is BOOL:
        return expr if is_truth(expr) else compare("ne", source.width, expr, ZERO)
    if kind.size == source.size:
        return expr
    if isinstance(expr, Const):
        return Const(_extended(expr.value, source) & mask(kind.width))
    if kind.size < source.size:
        return Unary("zext", kind.width, expr)
    if not source.signed or is_truth(expr):
        return expr
    wide = Unary("sext", source.width, expr)
    return wide if kind.width == 64 else Unary("zext", kind.width, wide)


def _extended(value: int, kind: CType) -> int:
    return value - (1 << kind.width) if kind.signed and value >> (kind.width - 1) else value


def compare(op: str, width: int, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return fold(op, width, left, right)
    return Binary(op, width, left, right)


def fold(op: str, width: int, left: Const, right: Const) -> Const:
    return Const(evaluate_binary(op, width, left.value, right.value))


def truth(value: Value, node: Positioned) -> Expr:
    """An expression that is not 0 exactly if the value is true."""
    if isinstance(value.type, Void):
        raise error("this has no value", node)
    return value.expr


_NEGATED = {"eq": "ne", "slt": "sge", "sgt": "sle", "ult": "uge", "ugt": "ule"}
_NEGATED |= {right: left for left, right in _NEGATED.items()}


def falsity(value: Value, node: Positioned) -> Expr:
    expr = truth(value, node)
    if isinstance(expr, Binary) and expr.op in _NEGATED:
        return Binary(_NEGATED[expr.op], expr.width, expr.left, expr.right)
    return compare("eq", value.type.width, expr, ZERO)


# Places


_ABOUT_PARAMETERS = "shared variables are the parameters of the thread, such as `atomic_int* x`"


def write_local(builder: Builder, local: Local, node: syntax.Expression, origin: Positioned) -> None:
    """Evaluates the expression into the variable."""
    value = builder.lower(node, local)
    expr = convert(value, local.type, node)
    if not (isinstance(expr, Reg) and expr.name == local.register):
        builder.emit(Assign(local.register, expr), origin)


def pointed_at(value: Value, node: Positioned) -> Memory:
    """What a pointer points at. An integer serves as a pointer to int, as in herd, which has no types."""
    expr, kind = value
    if isinstance(expr, Const):
        raise error("a number is not the address of a shared variable", node, _ABOUT_PARAMETERS)
    if isinstance(kind, Pointer):
        return Memory(expr, INT if isinstance(kind.target, Void) else kind.target)
    if isinstance(kind, Void):
        raise error("this has no value", node)
    return Memory(expr, INT)


def address_of(builder: Builder, node: syntax.Expression) -> Memory:
    """The place that an argument such as `x` or `&x` points at."""
    if isinstance(node, syntax.Name):
        entity = builder.find(node.name)
        if isinstance(entity, Shared) and not isinstance(entity.type, Pointer):
            return Memory(Address(entity.symbol), entity.type)
    return pointed_at(builder.lower(node), node)
