"""Operands and instructions of LLVM IR, as read."""

from __future__ import annotations

from dataclasses import field

from dekker.frontends.c.llvm.types import Type
from dekker.records import dataclass

# --- operands


@dataclass(frozen=True, slots=True)
class Local:
    name: str


@dataclass(frozen=True, slots=True)
class Global:
    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """An integer, already cut to the width of its type; floating-point constants are their bit patterns."""

    value: int


@dataclass(frozen=True, slots=True)
class Zero:
    """`null`, `zeroinitializer`, `none`, `undef` or `poison`; the last two are `undefined`."""

    undefined: bool = False
    poison: bool = False


@dataclass(frozen=True, slots=True)
class Bytes:
    """A constant array of bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Aggregate:
    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class ConstantExpression:
    """`op` is that of an instruction. `types` has the types that it names: the element type of `getelementptr`, the
    target of a cast."""

    op: str
    operands: tuple[Operand, ...]
    types: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Assembly:
    template: str
    constraints: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """Something of debug information; never a value."""

    text: str


Value = Local | Global | Number | Zero | Bytes | Aggregate | ConstantExpression | Assembly | Metadata


@dataclass(frozen=True, slots=True)
class Operand:
    type: Type
    value: Value


# --- instructions


@dataclass(slots=True, kw_only=True)
class Instruction:
    """`result` is the name of the local value, without `%`. `offset` is the position in the text of the module."""

    offset: int
    result: str | None = None
    debug: str | None = None
    layout: str | None = None
    """Numbers of the metadata for the source position, and of the fields that a copy of a struct consists of."""

    def operands(self) -> tuple[Operand, ...]:
        return ()


@dataclass(slots=True, kw_only=True)
class Binary(Instruction):
    """`is_signed`: of signed numbers, whose overflow is undefined."""

    op: str
    left: Operand
    right: Operand
    is_signed: bool = False

    def operands(self) -> tuple[Operand, ...]:
        return (self.left, self.right)


@dataclass(slots=True, kw_only=True)
class Unary(Instruction):
    """`fneg` and `freeze`."""

    op: str
    operand: Operand

    def operands(self) -> tuple[Operand, ...]:
        return (self.operand,)


@dataclass(slots=True, kw_only=True)
class Compare(Instruction):
    """`icmp` and `fcmp`."""

    op: str
    predicate: str
    left: Operand
    right: Operand

    def operands(self) -> tuple[Operand, ...]:
        return (self.left, self.right)


@dataclass(slots=True, kw_only=True)
class Cast(Instruction):
    op: str
    operand: Operand
    type: Type

    def operands(self) -> tuple[Operand, ...]:
        return (self.operand,)


@dataclass(slots=True, kw_only=True)
class Alloca(Instruction):
    type: Type
    count: Operand | None
    align: int

    def operands(self) -> tuple[Operand, ...]:
        return () if self.count is None else (self.count,)


@dataclass(slots=True, kw_only=True)
class Load(Instruction):
    """`order` is empty for accesses that are not atomic."""

    type: Type
    address: Operand
    order: str = ""
    volatile: bool = False
    align: int = 0

    def operands(self) -> tuple[Operand, ...]:
        return (self.address,)


@dataclass(slots=True, kw_only=True)
class Store(Instruction):
    value: Operand
    address: Operand
    order: str = ""
    volatile: bool = False
    align: int = 0

    def operands(self) -> tuple[Operand, ...]:
        return (self.value, self.address)


@dataclass(slots=True, kw_only=True)
class ElementPointer(Instruction):
    type: Type
    base: Operand
    indices: tuple[Operand, ...]

    def operands(self) -> tuple[Operand, ...]:
        return (self.base, *self.indices)


@dataclass(slots=True, kw_only=True)
class CompareExchange(Instruction):
    address: Operand
    expected: Operand
    desired: Operand
    order: str
    failure_order: str
    weak: bool
    single_thread: bool

    def operands(self) -> tuple[Operand, ...]:
        return (self.address, self.expected, self.desired)


@dataclass(slots=True, kw_only=True)
class AtomicUpdate(Instruction):
    op: str
    address: Operand
    operand: Operand
    order: str
    single_thread: bool

    def operands(self) -> tuple[Operand, ...]:
        return (self.address, self.operand)


@dataclass(slots=True, kw_only=True)
class Fence(Instruction):
    order: str
    single_thread: bool


@dataclass(slots=True, kw_only=True)
class Extract(Instruction):
    """`extractvalue`."""

    aggregate: Operand
    path: tuple[int, ...]

    def operands(self) -> tuple[Operand, ...]:
        return (self.aggregate,)


@dataclass(slots=True, kw_only=True)
class Insert(Instruction):
    """`insertvalue`."""

    aggregate: Operand
    element: Operand
    path: tuple[int, ...]

    def operands(self) -> tuple[Operand, ...]:
        return (self.aggregate, self.element)


@dataclass(slots=True, kw_only=True)
class ExtractElement(Instruction):
    vector: Operand
    index: Operand

    def operands(self) -> tuple[Operand, ...]:
        return (self.vector, self.index)


@dataclass(slots=True, kw_only=True)
class InsertElement(Instruction):
    vector: Operand
    element: Operand
    index: Operand

    def operands(self) -> tuple[Operand, ...]:
        return (self.vector, self.element, self.index)


@dataclass(slots=True, kw_only=True)
class Select(Instruction):
    condition: Operand
    then: Operand
    other: Operand

    def operands(self) -> tuple[Operand, ...]:
        return (self.condition, self.then, self.other)


@dataclass(slots=True, kw_only=True)
class Phi(Instruction):
    type: Type
    incoming: tuple[tuple[Operand, str], ...]

    def operands(self) -> tuple[Operand, ...]:
        return tuple(operand for operand, _ in self.incoming)


@dataclass(frozen=True, slots=True)
class Argument:
    """`by_value` is the type of a struct that is copied for the call; `align` is what is said of a pointer."""

    operand: Operand
    by_value: Type | None = None
    align: int = 1


@dataclass(slots=True, kw_only=True)
class Call(Instruction):
    """`fixed` is the number of parameters of a variadic function, without the variable ones. `normal` and `unwind` are
    the blocks that an `invoke` goes on with."""

    type: Type
    callee: Operand
    arguments: tuple[Argument, ...]
    fixed: int | None = None
    normal: str | None = None
    unwind: str | None = None

    def operands(self) -> tuple[Operand, ...]:
        return (self.callee, *(argument.operand for argument in self.arguments))


@dataclass(slots=True, kw_only=True)
class VariadicArgument(Instruction):
    """`va_arg`."""

    list: Operand
    type: Type

    def operands(self) -> tuple[Operand, ...]:
        return (self.list,)


@dataclass(slots=True, kw_only=True)
class Return(Instruction):
    value: Operand | None

    def operands(self) -> tuple[Operand, ...]:
        return () if self.value is None else (self.value,)


@dataclass(slots=True, kw_only=True)
class Jump(Instruction):
    target: str


@dataclass(slots=True, kw_only=True)
class Branch(Instruction):
    condition: Operand
    then: str
    other: str

    def operands(self) -> tuple[Operand, ...]:
        return (self.condition,)


@dataclass(slots=True, kw_only=True)
class Switch(Instruction):
    value: Operand
    default: str
    cases: tuple[tuple[int, str], ...]

    def operands(self) -> tuple[Operand, ...]:
        return (self.value,)


@dataclass(slots=True, kw_only=True)
class Unreachable(Instruction):
    pass


@dataclass(slots=True, kw_only=True)
class Unsupported(Instruction):
    """Read, but without a meaning here: an error only if control can reach it."""

    op: str
    terminator: bool = False


@dataclass(slots=True, kw_only=True)
class DebugValue(Instruction):
    """`llvm.dbg.declare` in either form: the variable whose place the address is."""

    address: Operand
    variable: str


@dataclass(slots=True)
class Block:
    name: str
    instructions: list[Instruction] = field(default_factory=list)


# --- module level


@dataclass(frozen=True, slots=True)
class Parameter:
    type: Type
    name: str
    by_value: Type | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a function."""

    name: str
    result: Type
    parameters: tuple[Parameter, ...]
    variadic: bool
    linkage: str
    debug: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A global variable. `initial` is missing for declarations."""

    name: str
    type: Type
    initial: Operand | None
    linkage: str
    align: int
    thread_local: bool
    constant: bool
    offset: int
    debug: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    name: str
    target: Operand
    linkage: str
    offset: int
