"""Runs the first thread of a program alone, step by step: registers, bytes, calls, allocation.

Plain on purpose: it is what the translation of C is compared with native programs through. Other threads do not exist,
so that every access simply reads and writes memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Branch,
    Call,
    Choose,
    CompareExchange,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Jump,
    Load,
    Measure,
    Return,
    Rmw,
    Store,
)
from dekker.ir.layout import Layout, layout
from dekker.ir.program import Function, Program

HEAP_START = 0x4000_0000


class Violation(Exception):
    """The program does something that it must not do."""


class Stuck(Exception):
    """An assumption fails, or the program runs for too long."""


class _Ended(Exception):
    pass


@dataclass
class _Frame:
    function: Function
    registers: dict[str, int]
    result: str | None
    index: int = 0
    objects: list[int] = field(default_factory=list)


@dataclass
class Machine:
    program: Program
    layout: Layout
    bytes: dict[int, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    """Live objects: start and size."""
    kinds: dict[int, bool] = field(default_factory=dict)
    """Of allocated objects: whether they are on the stack."""
    owner: dict[int, int] = field(default_factory=dict)
    """The object of every byte."""
    frames: list[_Frame] = field(default_factory=list)
    free: int = HEAP_START
    value: int = 0
    steps: int = 0

    # --- expressions

    def evaluate(self, expression: Expr) -> int:
        match expression:
            case Const(value):
                return value
            case Reg(name):
                return self.frames[-1].registers.get(name, 0)
            case Address():
                return self.layout.resolve(expression)
            case Unary(op, width, operand):
                return evaluate_unary(op, width, self.evaluate(operand))
            case Binary(op, width, left, right):
                return evaluate_binary(op, width, self.evaluate(left), self.evaluate(right))
            case Select(condition, then, other):
                return self.evaluate(then if self.evaluate(condition) else other)

    # --- memory

    def add_object(self, start: int, size: int) -> None:
        self.sizes[start] = size
        for address in range(start, start + size):
            self.owner[address] = start

    def remove_object(self, start: int) -> None:
        for address in range(start, start + self.sizes.pop(start)):
            del self.owner[address]

    def read(self, address: int, size: int) -> int:
        self.check(address, size)
        return sum(self.bytes.get(address + i, 0) << 8 * i for i in range(size))

    def write(self, address: int, size: int, value: int) -> None:
        self.check(address, size)
        for i in range(size):
            self.bytes[address + i] = value >> 8 * i & 0xFF

    def check(self, address: int, size: int) -> None:
        first, last = self.owner.get(address), self.owner.get(address + size - 1)
        if first is None or first != last:
            raise Violation(f"{size} bytes at {address:#x} are in no object")

    # --- control

    def enter(self, function: Function, arguments: list[int], result: str | None) -> None:
        if len(arguments) != len(function.parameters):
            raise Violation(f"{function.name} is called with {len(arguments)} arguments")
        if len(self.frames) > 1000:
            raise Stuck("too many calls")
        self.frames.append(_Frame(function, dict(zip(function.parameters, arguments, strict=True)), result))

    def leave(self, value: int) -> None:
        frame = self.frames.pop()
        for start in frame.objects:
            self.remove_object(start)
        if not self.frames:
            self.value = value
            raise _Ended
        if frame.result is not None:
            self.frames[-1].registers[frame.result] = value

    def step(self) -> None:
        frame = self.frames[-1]
        if frame.index >= len(frame.function.body):
            self.leave(0)
            return
        instruction = frame.function.body[frame.index]
        frame.index += 1
        _STEPS[type(instruction)](self, frame, instruction)


def run(program: Program, limit: int = 5_000_000) -> Machine:
    """The machine behind the last step. Raises `Violation` or `Stuck`."""
    places = layout(program)
    machine = Machine(program, places)
    for item in program.objects:
        machine.add_object(places.starts[item.name], item.size)
        for cell in item.cells:
            value = places.resolve(cell.value) if isinstance(cell.value, Address) else cell.value
            machine.write(places.starts[item.name] + cell.offset, cell.size, value & mask(8 * cell.size))
    thread = program.threads[0]
    function = program.function_by_name[thread.function]
    machine.enter(function, [0] * len(function.parameters), None)
    machine.frames[-1].registers |= {name: machine.evaluate(value) for name, value in thread.registers}
    try:
        while machine.steps < limit:
            machine.steps += 1
            machine.step()
    except _Ended:
        return machine
    raise Stuck("too many steps")


def memory_of(machine: Machine, symbol: str, offset: int, size: int) -> int:
    return machine.read(machine.layout.starts[symbol] + offset, size)


# --- instructions


def _assign(m: Machine, f: _Frame, i: Assign) -> None:
    f.registers[i.dst] = m.evaluate(i.value)


def _load(m: Machine, f: _Frame, i: Load) -> None:
    value = m.read(m.evaluate(i.address), i.size)
    f.registers[i.dst] = evaluate_unary("sext", 8 * i.size, value) if i.signed else value


def _store(m: Machine, f: _Frame, i: Store) -> None:
    m.write(m.evaluate(i.address), i.size, m.evaluate(i.value))


def _rmw(m: Machine, f: _Frame, i: Rmw) -> None:
    address, width = m.evaluate(i.address), 8 * i.size
    old = m.read(address, i.size)
    m.write(address, i.size, RMW_OPERATORS[i.op](width, old, m.evaluate(i.operand) & mask(width)))
    if i.dst is not None:
        f.registers[i.dst] = old


def _compare_exchange(m: Machine, f: _Frame, i: CompareExchange) -> None:
    address, desired = m.evaluate(i.address), m.evaluate(i.desired)
    old = m.read(address, i.size)
    equal = old == m.evaluate(i.expected) & mask(8 * i.size)
    if equal:
        m.write(address, i.size, desired)
    if i.dst is not None:
        f.registers[i.dst] = old
    if i.success is not None:
        f.registers[i.success] = int(equal)


def _jump(m: Machine, f: _Frame, i: Jump) -> None:
    f.index = f.function.labels[i.target]


def _branch(m: Machine, f: _Frame, i: Branch) -> None:
    if m.evaluate(i.condition):
        f.index = f.function.labels[i.target]


def _call(m: Machine, f: _Frame, i: Call) -> None:
    place = m.layout.locate(m.evaluate(i.function))
    if place is None or place.offset or place.symbol not in m.program.function_by_name:
        raise Violation("a call of something that is no function")
    m.enter(m.program.function_by_name[place.symbol], [m.evaluate(a) for a in i.arguments], i.dst)


def _return(m: Machine, f: _Frame, i: Return) -> None:
    m.leave(0 if i.value is None else m.evaluate(i.value))


def _assume(m: Machine, f: _Frame, i: Assume) -> None:
    if not m.evaluate(i.condition):
        raise Stuck("an assumption fails")


def _assert(m: Machine, f: _Frame, i: Assert) -> None:
    if not m.evaluate(i.condition):
        raise Violation(i.message)


def _choose(m: Machine, f: _Frame, i: Choose) -> None:
    f.registers[i.dst] = i.low & mask(64)


def _allocate(m: Machine, f: _Frame, i: Allocate) -> None:
    size = m.evaluate(i.size)
    start = -(-m.free // i.align) * i.align
    m.free = start + size + 64
    m.add_object(start, size)
    m.kinds[start] = i.stack
    for address in range(start, start + size):
        m.bytes[address] = 0 if i.zeroed else 0xAA
    if i.stack:
        f.objects.append(start)
    f.registers[i.dst] = start


def _end_scope(m: Machine, f: _Frame, i: EndScope) -> None:
    start = m.evaluate(i.address)
    if start:
        m.remove_object(start)
        f.objects.remove(start)
    f.registers[i.dst] = 0


def _free(m: Machine, f: _Frame, i: Free) -> None:
    start = m.evaluate(i.address)
    if start not in m.sizes or m.kinds.get(start, True):
        raise Violation("free of something that is no object of the heap")
    m.remove_object(start)


def _measure(m: Machine, f: _Frame, i: Measure) -> None:
    start = m.evaluate(i.address)
    if start not in m.sizes or m.kinds.get(start, True):
        raise Violation("the size of something that is no object of the heap")
    f.registers[i.dst] = m.sizes[start]


def _exit(m: Machine, f: _Frame, i: Exit) -> None:
    if i.status is not None:
        m.value = m.evaluate(i.status)
    raise _Ended


def _nothing(m: Machine, f: _Frame, i: Instruction) -> None:
    pass


_STEPS: dict[type[Instruction], Callable[[Machine, _Frame, Any], None]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _nothing,
    Jump: _jump,
    Branch: _branch,
    Call: _call,
    Return: _return,
    Assume: _assume,
    Assert: _assert,
    Choose: _choose,
    Allocate: _allocate,
    EndScope: _end_scope,
    Free: _free,
    Measure: _measure,
    AtomicBegin: _nothing,
    AtomicEnd: _nothing,
    Exit: _exit,
}
