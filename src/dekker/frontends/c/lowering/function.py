"""The body of one function.

Registers are not in static single assignment form. A variable that lives in registers is read and written in place, and
a value that is used once, in its own block, becomes part of the expression that uses it: `t += i * n` is one
assignment. If a variable changes while such an expression still waits for its use, the expression is computed first.
Blocks are visited so that definitions come before uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from dekker.errors import DekkerError, InputError, UnsupportedError
from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.body import debug_declaration, is_terminator
from dekker.frontends.c.llvm.syntax import Block, Header, Instruction, Local, Operand
from dekker.frontends.c.llvm.types import DataLayout, SizeUnknown, Type
from dekker.frontends.c.llvm.types import Struct as StructType
from dekker.frontends.c.lowering.arithmetic import Parts
from dekker.frontends.c.lowering.constants import constant_parts
from dekker.frontends.c.lowering.emitter import Emitter, Struct
from dekker.frontends.c.lowering.expressions import depth, is_leaf
from dekker.frontends.c.lowering.poison import POISON, uses_poison
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.lowering.promotion import Promotion, Transit, constant_offset, find_transit, promote
from dekker.ir.expressions import Binary, Const, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import Allocate, Assign, AtomicBegin, Call, Load, Rmw
from dekker.ir.program import Function
from dekker.records import dataclass
from dekker.source import Span

if TYPE_CHECKING:
    from dekker.frontends.c.linking import Linked
    from dekker.frontends.c.lowering.unit import Unit

DEEPEST_EXPRESSION = 16
LARGEST_STRUCT = 4096
"""Of larger ones nobody asks what lies between the fields."""
SELF = "%self"
"""The register with the address of what belongs to the running thread alone."""
DESTRUCTORS = "%destructors"
"""The function that calls those with the attribute `destructor`."""
RESULT = "%result"
"""Where a function leaves all parts of its value but the first."""
VARIADIC = "%variadic"
"""Where a function finds its variable arguments."""

Handler = Callable[["FunctionLowering", Any], None]


@dataclass(slots=True)
class FunctionLowering:
    unit: Unit
    symbol: Linked
    header: Header
    blocks: list[Block]
    handlers: dict[type[Instruction], Handler]
    emitter: Emitter = field(default_factory=Emitter)
    values: dict[str, Parts] = field(default_factory=dict)
    promotion: Promotion = field(default_factory=Promotion)
    transit: Transit = field(default_factory=Transit)
    scoped: set[str] = field(default_factory=set)
    """Variables whose lifetimes are marked: those of blocks."""
    variables: set[str] = field(default_factory=set)
    uses: Counter[str] = field(default_factory=Counter)
    remaining: Counter[str] = field(default_factory=Counter)
    travelling: set[str] = field(default_factory=set)
    waiting: dict[str, set[str]] = field(default_factory=dict)
    definitions: dict[str, Instruction] = field(default_factory=dict)
    by_name: dict[str, Block] = field(default_factory=dict)
    parameters: set[Expr] = field(default_factory=set)
    block: Block = field(default_factory=lambda: Block(""))
    next_block: str | None = None
    atomic: bool = False
    has_waits: bool | None = None
    ended: bool = False
    """Set by an instruction behind which control does not go on, so that the rest of its block is dropped."""

    @property
    def layout(self) -> DataLayout:
        return self.symbol.module.layout

    # --- the whole function

    def run(self) -> Function:
        order = self._prepare()
        self.emitter.span = self.symbol.debug.span(self.header.debug)
        parameters = self._parameters()
        if self.atomic:
            self.emitter.emit(AtomicBegin())
        for index, block in enumerate(order):
            self.block = block
            self.next_block = order[index + 1].name if index + 1 < len(order) else None
            self._lower_block(block)
        return self.emitter.finish(self.symbol.name, parameters)

    def _prepare(self) -> list[Block]:
        for block in self.blocks:
            self._cut(block)
            self.by_name[block.name] = block
        order = self._reverse_postorder()
        self._count_uses(order)
        names = self._variable_names(order)
        self.promotion = promote(order, self.layout, names)
        self.transit = find_transit(order, self.promotion, names)
        self.scoped = {name for block in order for step in block.instructions if (name := _begun(step)) is not None}
        self.variables = {piece.register for pieces in self.promotion.pieces.values() for piece in pieces}
        self.variables |= {register_name(name) for name in self.scoped - self.promotion.pieces.keys()}
        return order

    def _cut(self, block: Block) -> None:
        """Drops what stands behind a terminator, or behind a call that does not return."""
        for index, instruction in enumerate(block.instructions):
            stops = self._never_returns(instruction)
            if stops and isinstance(instruction, syntax.Call):
                instruction.normal = None
            if stops or is_terminator(instruction):
                del block.instructions[index + 1 :]
                return

    def _never_returns(self, instruction: Instruction) -> bool:
        if not isinstance(instruction, syntax.Call) or not isinstance(instruction.callee.value, syntax.Global):
            return False
        return self.unit.never_returns(self.symbol, instruction.callee.value.name)

    def _reverse_postorder(self) -> list[Block]:
        found: list[Block] = []
        seen = {self.blocks[0].name}
        stack: list[tuple[Block, Iterator[str]]] = [(self.blocks[0], iter(_successors(self.blocks[0])))]
        while stack:
            block, targets = stack[-1]
            target = next((name for name in targets if name not in seen), None)
            if target is None:
                found.append(block)
                stack.pop()
                continue
            if target not in self.by_name:
                raise self._error(Problem(f"there is no block `%{target}`"), block.instructions[-1])
            seen.add(target)
            stack.append((self.by_name[target], iter(_successors(self.by_name[target]))))
        return found[::-1]

    def _count_uses(self, order: list[Block]) -> None:
        home: dict[str, str] = {}
        for block in order:
            for instruction in block.instructions:
                if instruction.result is not None:
                    home[instruction.result] = block.name
                    self.definitions[instruction.result] = instruction
        for block in order:
            for instruction in block.instructions:
                for operand, where in _uses(instruction, block.name):
                    for name in _locals(operand):
                        self.uses[name] += 1
                        if home.get(name) != where:
                            self.travelling.add(name)
        self.remaining = self.uses.copy()

    def _variable_names(self, order: list[Block]) -> dict[str, str]:
        """Variables without a name of their own get that of the debug information."""
        taken = {name for name in self.definitions if not name.isdecimal()}
        taken.update(parameter.name for parameter in self.header.parameters)
        names: dict[str, str] = {}
        for block in order:
            for instruction in block.instructions:
                declared = _declaration(instruction)
                if declared is not None and isinstance(declared.address.value, Local):
                    place = declared.address.value.name
                    name = self.symbol.debug.name(declared.variable)
                    if place.isdecimal() and name is not None:
                        names[place] = _free_name(name, taken)
        for name in self.definitions:
            names.setdefault(name, register_name(name))
        for parameter in self.header.parameters:
            if f"{parameter.name}.addr" in names and self.uses[parameter.name] == 1:
                names[f"{parameter.name}.addr"] = parameter.name
        return names

    def _parameters(self) -> tuple[str, ...]:
        names = [SELF] if self.unit.has_context else []
        for parameter in self.header.parameters:
            parts = self.part_names(parameter.name, parameter.type)
            names += parts
            self.values[parameter.name] = tuple(map(Reg, parts))
            self.parameters.update(self.values[parameter.name])
        if self.header.variadic:
            names.append(VARIADIC)
        if len(self.layout.leaves(self.header.result)) > 1:
            names.append(RESULT)
        return tuple(names)

    def _lower_block(self, block: Block) -> None:
        self.emitter.place(register_name(block.name))
        self.ended = False
        for instruction in block.instructions:
            if isinstance(instruction, syntax.Phi):
                continue
            self._lower_instruction(instruction)
            if self.ended:
                return

    def _lower_instruction(self, instruction: Instruction) -> None:
        span = self.symbol.debug.span(instruction.debug)
        if span is not None:
            self.emitter.span = span
        self.unit.runtime.before(self, instruction)
        self.emitter.struct = self._struct_of(instruction)
        if self.symbol.compiled and uses_poison(instruction, self.block, self.by_name):
            self.emitter.require(Const(0), POISON, loose=True)
        try:
            self.handlers[type(instruction)](self, instruction)
        except (Problem, SizeUnknown) as problem:
            raise self._error(problem, instruction) from None
        except (ValueError, IndexError, AttributeError):
            if self.symbol.compiled:
                raise
            message = "this instruction does not fit the types of its operands"
            raise self.position_error(message, "check the file with LLVM's `opt -passes=verify`", instruction) from None

    def _struct_of(self, instruction: Instruction) -> Struct | None:
        """The struct to whose field an access goes."""
        if not isinstance(instruction, syntax.Load | syntax.Store | syntax.AtomicUpdate | syntax.CompareExchange):
            return None
        address = instruction.address.value
        pointer = self.definitions.get(address.name) if isinstance(address, Local) else None
        if not isinstance(pointer, syntax.ElementPointer) or len(pointer.indices) < 2:
            return None
        distance = constant_offset(self.layout, pointer)
        if distance is None or not isinstance(self.layout.resolve(pointer.type), StructType):
            return None
        size = self.layout.size(pointer.type)
        if not 0 < size <= LARGEST_STRUCT:
            return None
        fields = self.layout.field_bytes(pointer.type)
        accessed = (1 << self.layout.store_size(_accessed_type(instruction))) - 1
        return Struct(size, fields) if fields >> distance % size & accessed == accessed else None

    def _error(self, problem: Exception, instruction: Instruction) -> DekkerError:
        message, hint = str(problem), getattr(problem, "hint", None)
        return self.position_error(message, hint, instruction)

    def position_error(self, message: str, hint: str | None, instruction: Instruction) -> InputError:
        """Names the line of the source and, if the user gave a .ll file, the line of that."""
        module = self.symbol.module
        position = self.symbol.debug.span(instruction.debug) or self.emitter.span
        end = module.source.text.find("\n", instruction.offset)
        in_module = Span(module.source, instruction.offset, end if end > 0 else len(module.source.text))
        if position is None:
            return UnsupportedError(message, in_module, hint)
        if self.symbol.compiled:
            return UnsupportedError(message, position, hint)
        return UnsupportedError(f"{message} (from {position})", in_module, hint)

    # --- values

    def part_names(self, name: str, kind: Type) -> list[str]:
        """The registers of a value that has one."""
        count = len(self.layout.leaves(kind))
        base = register_name(name)
        return [base] if count == 1 else [f"{base}%{index}" for index in range(count)]

    def parts(self, operand: Operand) -> Parts:
        value = operand.value
        if isinstance(value, Local):
            return self._use(value.name, operand.type)
        return constant_parts(operand, self.layout, self.global_address)

    def scalar(self, operand: Operand) -> Expr:
        parts = self.parts(operand)
        if len(parts) != 1:
            raise Problem("a single number is expected here")
        return parts[0]

    def global_address(self, name: str) -> Expr:
        return self.unit.global_address(self.symbol, name)

    def _use(self, name: str, kind: Type) -> Parts:
        self.remaining[name] -= 1
        found = self.values.get(name)
        return tuple(map(Reg, self.part_names(name, kind))) if found is None else found

    def define(self, name: str | None, parts: Parts) -> None:
        """Says what a value is. It waits as an expression, or goes into registers."""
        if name is None or self.remaining[name] <= 0:
            return
        mentioned = self.variables and frozenset[str]().union(*map(registers, parts)) & self.variables
        if all(map(is_leaf, parts)) and not mentioned:
            self.values[name] = parts
            self._count_uses_of_copy(name, parts)
            return
        single = self.remaining[name] == 1 or all(map(is_leaf, parts))
        if name in self.travelling or not single or max(map(depth, parts)) > DEEPEST_EXPRESSION:
            self._into_registers(name, parts)
            return
        self.values[name] = parts
        for register in mentioned or ():
            self.waiting.setdefault(register, set()).add(name)

    def _count_uses_of_copy(self, name: str, parts: Parts) -> None:
        """What reads a copy reads the register that it is a copy of; making the copy has been counted already."""
        for part in parts:
            if isinstance(part, Reg):
                self.uses[part.name.removeprefix("%")] += self.remaining[name] - 1

    def _into_registers(self, name: str, parts: Parts) -> None:
        base = register_name(name)
        targets = [base] if len(parts) == 1 else [f"{base}%{index}" for index in range(len(parts))]
        for target, part in zip(targets, parts, strict=True):
            self.emitter.emit(Assign(target, part))
        self.values[name] = tuple(map(Reg, targets))

    def assign_variable(self, register: str, value: Expr, *, fresh: bool = False) -> None:
        """Overwrites a variable; expressions that still need its old value are computed first. `fresh` says that the
        value is a register that nothing else reads."""
        if value == Reg(register):
            return
        self.settle(register)
        if not self._redirect(register, value, fresh):
            self.emitter.emit(Assign(register, value))

    def settle(self, register: str) -> None:
        """Computes the expressions that still need the value of a variable which is about to change."""
        for name in sorted(self.waiting.pop(register, ())):
            if self.remaining[name] > 0 and any(register in registers(part) for part in self.values[name]):
                self._into_registers(name, self.values[name])

    def _redirect(self, register: str, value: Expr, fresh: bool) -> bool:
        """Lets the instruction that has just produced the value put it into the variable at once."""
        body = self.emitter.body
        if not (isinstance(value, Reg) and body) or len(body) in self.emitter.labels.values():
            return False
        last = body[-1]
        if not isinstance(last, Load | Call | Rmw | Allocate) or last.dst != value.name or value.name in self.variables:
            return False
        name = value.name.removeprefix("%")
        own = name in self.definitions and self.uses[name] == 1 and self.values.get(name) in (None, (value,))
        if not (own or fresh):
            return False
        self.emitter.redirect(register)
        return True

    def result_register(self, instruction: Instruction) -> str:
        """The register for a value that an instruction of ours produces."""
        return self.emitter.temporary() if instruction.result is None else register_name(instruction.result)

    def assign_together(self, moves: list[tuple[str, Expr]]) -> None:
        """Assignments that all read first."""
        moves = [(target, value) for target, value in moves if value != Reg(target)]
        while moves:
            ready = next((move for move in moves if not _read_by_others(move, moves)), None)
            if ready is None:
                target = moves[0][0]
                saved = self.emitter.temporary()
                self.emitter.emit(Assign(saved, Reg(target)))
                moves = [(name, _substitute(value, target, Reg(saved))) for name, value in moves]
                continue
            moves.remove(ready)
            self.emitter.emit(Assign(*ready))


def _accessed_type(access: syntax.Load | syntax.Store | syntax.AtomicUpdate | syntax.CompareExchange) -> Type:
    match access:
        case syntax.Load():
            return access.type
        case syntax.Store():
            return access.value.type
        case syntax.AtomicUpdate():
            return access.operand.type
        case syntax.CompareExchange():
            return access.expected.type


def register_name(name: str) -> str:
    """Values that LLVM numbers are `%5`; names from the source stay as they are."""
    return f"%{name}" if name.isdecimal() else name


def _successors(block: Block) -> tuple[str, ...]:
    """Where control goes, last to be visited first; blocks that handle exceptions are never reached."""
    last = block.instructions[-1] if block.instructions else None
    match last:
        case syntax.Jump():
            return (last.target,)
        case syntax.Branch():
            return (last.other, last.then)
        case syntax.Switch():
            return (last.default, *(target for _, target in reversed(last.cases)))
        case syntax.Call() if last.normal is not None:
            return (last.normal,)
    return ()


def _uses(instruction: Instruction, block: str) -> Iterator[tuple[Operand, str]]:
    """Operands, and the block at whose end or in which they are needed."""
    if isinstance(instruction, syntax.Phi):
        yield from instruction.incoming
    else:
        for operand in instruction.operands():
            yield operand, block


def _begun(instruction: Instruction) -> str | None:
    """The variable whose lifetime begins."""
    if not isinstance(instruction, syntax.Call) or not isinstance(instruction.callee.value, syntax.Global):
        return None
    if not instruction.callee.value.name.startswith("llvm.lifetime.start"):
        return None
    value = instruction.arguments[-1].operand.value
    return value.name if isinstance(value, Local) else None


def _locals(operand: Operand) -> tuple[str, ...]:
    return (operand.value.name,) if isinstance(operand.value, Local) else ()


def _declaration(instruction: Instruction) -> syntax.DebugValue | None:
    if isinstance(instruction, syntax.DebugValue):
        return instruction
    if isinstance(instruction, syntax.Call) and instruction.callee.value == syntax.Global("llvm.dbg.declare"):
        return debug_declaration(instruction)
    return None


def _free_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    taken.add(candidate)
    return candidate


def _read_by_others(move: tuple[str, Expr], moves: Iterable[tuple[str, Expr]]) -> bool:
    return any(move[0] in registers(value) for target, value in moves if target != move[0])


def _substitute(expression: Expr, register: str, replacement: Expr) -> Expr:
    match expression:
        case Reg(name):
            return replacement if name == register else expression
        case Unary(op, width, operand):
            return Unary(op, width, _substitute(operand, register, replacement))
        case Binary(op, width, left, right):
            left, right = (_substitute(part, register, replacement) for part in (left, right))
            return Binary(op, width, left, right)
        case Select(condition, then, other):
            parts = [_substitute(part, register, replacement) for part in (condition, then, other)]
            return Select(*parts)
    return expression
