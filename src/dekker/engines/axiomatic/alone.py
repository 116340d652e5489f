"""What the only thread does before it starts another: all see it as if it had been there from the start, so it is no
event.

It ends with the first instruction that starts a thread or has a choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dekker.engines.axiomatic.path import Context, Path, Value, evaluate, fail, goto, set_register
from dekker.engines.axiomatic.steps import UNINITIALISED, advance, at_head
from dekker.engines.axiomatic.unset import is_shown, unset_byte
from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import Expr, evaluate_unary
from dekker.ir.instructions import (
    Choose,
    CompareExchange,
    Fence,
    Free,
    Instruction,
    Load,
    Recycle,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import FREED_WORD
from dekker.ir.memory import InitialMemory
from dekker.ir.passes.reuse import reuses_freed_memory
from dekker.ir.undefined import of_binary, of_unary, partly, undefined_bits

Access = Load | Store | Rmw | CompareExchange


def run_alone(context: Context, path: Path, memory: InitialMemory) -> tuple[Path, InitialMemory]:
    """The path where events begin, and memory at that point."""
    path = replace(path, is_alone=True)
    while path.status == "running":
        frame = path.frames[-1]
        instruction = frame.function.body[frame.pc] if frame.pc < len(frame.function.body) else None
        if instruction is not None and _ends_it(instruction, context, path):
            break
        if isinstance(instruction, Fence | Free | Load | Store | Rmw | CompareExchange):
            path = replace(at_head(context, path), alone=path.alone + 1)
        if isinstance(instruction, Fence):
            path = goto(path, frame.pc + 1)
        elif isinstance(instruction, Free):
            path = _free(context, path, instruction)
        elif isinstance(instruction, Recycle):
            path = set_register(goto(at_head(context, path), frame.pc + 1), instruction.dst, Value(0))
        elif isinstance(instruction, Load | Store | Rmw | CompareExchange):
            path, memory = _access(context, path, memory, instruction)
        else:
            (path,) = advance(context, path)
    return replace(path, is_alone=False), memory


def _ends_it(instruction: Instruction, context: Context, path: Path) -> bool:
    match instruction:
        case Recycle(_, size):
            wanted = evaluate(size, path, context).term
            return any(start in path.released and length == wanted for start, length in path.objects)
        case Load(exclusive=exclusive):
            return exclusive
        case CompareExchange(weak=weak):
            return weak
    return isinstance(instruction, StoreConditional | Choose | Spawn)


def _free(context: Context, path: Path, instruction: Free) -> Path:
    span = path.frames[-1].function.span(path.frames[-1].pc)
    start = evaluate(instruction.address, path, context).term
    assert isinstance(start, int), "nothing is unknown to the only thread"
    path = goto(path, path.frames[-1].pc + 1)
    if undefined_bits(start):
        return fail(path, UNINITIALISED, "the value was never set", span)
    if start == 0:
        return path
    if start in path.released:
        return fail(path, "double free", "this memory may have been freed already", span)
    if start in path.own_objects or all(start != known for known, _ in path.objects):
        return fail(path, "release", f"free of {start:#x}, which is not the start of memory that was allocated", span)
    return replace(path, released=path.released | {start})


def _access(context: Context, path: Path, memory: InitialMemory, instruction: Access) -> tuple[Path, InitialMemory]:
    frame, size = path.frames[-1], instruction.size
    span = frame.function.span(frame.pc)
    path = goto(path, frame.pc + 1)

    def now(expression: Expr) -> int:
        term = evaluate(expression, path, context).term
        assert isinstance(term, int), "nothing is unknown to the only thread"
        return term

    address = now(instruction.address)
    if undefined_bits(address):
        return fail(path, UNINITIALISED, "the value was never set", span), memory
    if not _is_in_object(context, path, address, size):
        if was_released(path, address):
            message = f"access to memory at {address:#x} that may have been freed"
            return fail(path, "use after free", message, span), memory
        message = f"access to {size} bytes at {address:#x}, which lie in no object"
        return fail(path, "memory", message, span), memory
    old = memory.read(address, size)
    if context.may_be_undefined:
        old = partly(old, memory.undefined(address, size, unset_byte((path,), address)))
    if isinstance(instruction, CompareExchange) and of_binary("eq", 8 * size, old, now(instruction.expected)):
        return fail(path, UNINITIALISED, "the value was never set", span), memory
    results, new = _effect(instruction, old, now)
    is_copy = isinstance(instruction, Store) and instruction.copy
    if new is not None and not is_copy and is_shown((path,), address, size, new):
        return fail(path, UNINITIALISED, "the value was never set", span), memory
    for register, value in results.items():
        path = set_register(path, register, Value(value))
    return path, memory if new is None else memory.written(int(address), size, new)


def _effect(instruction: Access, old: int, now: Callable[[Expr], int]) -> tuple[dict[str, int], int | None]:
    """New values of registers, and of memory if it is written."""
    width = 8 * instruction.size
    match instruction:
        case Load(dst, signed=signed):
            return {dst: signed_extension(old, width) if signed and width < 64 else old}, None
        case Store(value=value):
            return {}, now(value)
        case Rmw(dst, op, operand=operand):
            given = now(operand)
            new = RMW_OPERATORS[op](width, int(old), int(given) & mask(width))
            new = partly(new, of_binary(op, width, old, given))
            return ({} if dst is None else {dst: old}), new
        case CompareExchange(dst, success, expected=expected, desired=desired):
            succeeds = int(now(expected)) & mask(width) == int(old)
            status = {} if success is None else {success: int(succeeds)}
            return ({} if dst is None else {dst: old}) | status, now(desired) if succeeds else None


def signed_extension(value: int, width: int) -> int:
    return partly(evaluate_unary("sext", width, int(value)), of_unary("sext", width, value))


def _is_in_object(context: Context, path: Path, address: int, size: int) -> bool:
    present = (item for item in path.objects if item[0] not in path.released)
    inside = any(start <= address and address + size <= start + length for start, length in present)
    return inside or context.layout.contains(address, size) or _is_freed_word(context, path, address)


def _is_freed_word(context: Context, path: Path, address: int) -> bool:
    return reuses_freed_memory(context.program) and any(start + FREED_WORD == address for start, _ in path.objects)


def was_released(path: Path, address: int) -> bool:
    """Whether the address lies in an object that was freed before there were other threads."""
    return any(start in path.released and start <= address < start + size for start, size in path.objects)
