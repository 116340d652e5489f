"""Runs one thread of a litmus test alone, so that tests can speak about what instructions compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dekker.frontends.litmus import parse_litmus
from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.conditions import formula_holds
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout, layout
from dekker.ir.program import Program
from dekker.ir.property import Observable, RegisterValue
from dekker.ir.validate import validate
from dekker.source import Source

MAX_STEPS = 1000


@dataclass
class Machine:
    layout: Layout
    registers: dict[str, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)

    def value(self, expression: Expr) -> int:
        match expression:
            case Const(value):
                return value
            case Reg(name):
                return self.registers.get(name, 0)
            case Address():
                return self.layout.resolve(expression)
            case Unary(op, width, operand):
                return evaluate_unary(op, width, self.value(operand))
            case Binary(op, width, left, right):
                return evaluate_binary(op, width, self.value(left), self.value(right))
            case Select(condition, then, other):
                return self.value(then if self.value(condition) else other)

    def read(self, address: int, size: int) -> int:
        return sum(self.memory.get(address + i, 0) << 8 * i for i in range(size))

    def write(self, address: int, size: int, value: int) -> None:
        for i in range(size):
            self.memory[address + i] = value >> 8 * i & 0xFF

    def step(self, item: Instruction) -> str | None:
        """Executes an instruction; the label to go to, if any."""
        match item:
            case Assign(dst, value):
                self.registers[dst] = self.value(value)
            case Load(dst, address, size):
                loaded = self.read(self.value(address), size)
                self.registers[dst] = signed(8 * size, loaded) & mask(64) if item.signed else loaded
            case Store(address, value, size):
                self.write(self.value(address), size, self.value(value))
            case StoreConditional(status, address, value, size):
                self.write(self.value(address), size, self.value(value))
                self.registers[status] = 0
            case Rmw(dst, op, address, operand, size):
                place = self.value(address)
                old = self.read(place, size)
                operand_value = self.value(operand) & mask(8 * size)
                self.write(place, size, RMW_OPERATORS[op](8 * size, old, operand_value))
                if dst is not None:
                    self.registers[dst] = old
            case CompareExchange(dst, _, address, expected, desired, size):
                place = self.value(address)
                old = self.read(place, size)
                if old == self.value(expected) & mask(8 * size):
                    self.write(place, size, self.value(desired))
                if dst is not None:
                    self.registers[dst] = old
            case Branch(condition, target):
                return target if self.value(condition) else None
            case Jump(target):
                return target
            case Fence():
                pass
            case _:
                raise AssertionError(item)
        return None


def parse(architecture: str, cells: str, init: str = "", final: str = "") -> Program:
    """A test of one thread; `cells` are its instructions, separated by `;`."""
    text = f"{architecture} test\n{{{init}}}\n P0 ;\n{cells} ;\n{final}\n"
    program = parse_litmus(Source("test.litmus", text))
    validate(program)
    return program


def runner(architecture: str) -> Callable[..., Machine]:
    def run(cells: str, init: str = "", registers: Mapping[str, int] | None = None) -> Machine:
        return execute(parse(architecture, cells, init), registers or {})

    return run


def execute(program: Program, registers: Mapping[str, int]) -> Machine:
    machine = Machine(layout(program), dict(registers))
    for item in program.objects:
        for cell in item.cells:
            value = cell.value if isinstance(cell.value, int) else machine.layout.resolve(cell.value)
            machine.write(machine.layout.starts[item.name] + cell.offset, cell.size, value)
    for name, initial in program.threads[0].registers:
        machine.registers[name] = machine.value(initial)
    function, position = program.functions[0], 0
    for _ in range(MAX_STEPS):
        if position >= len(function.body) or isinstance(function.body[position], Exit):
            return machine
        target = machine.step(function.body[position])
        position = position + 1 if target is None else function.labels[target]
    raise AssertionError("the thread does not end")


def holds(program: Program) -> bool:
    """Whether the condition of a test of one thread holds at its end."""
    machine = execute(program, {})

    def value(item: Observable) -> int:
        if isinstance(item, RegisterValue):
            return machine.registers.get(item.register, 0) & mask(item.width)
        return machine.read(machine.layout.starts[item.symbol] + item.offset, item.size)

    prop = program.property
    assert prop.condition is not None
    return formula_holds(prop.condition.formula, {item: value(item) for item in prop.observed}, machine.layout)
