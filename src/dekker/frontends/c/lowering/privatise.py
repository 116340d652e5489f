"""Local variables that hold the handle of a thread live in registers.

`promotion` does this for other variables, before calls are translated. Then the address of a handle seems to escape, in
`pthread_create(&thread, …)`; afterwards there is only a store. What stays in memory is an event of every execution.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dekker.frontends.c.lowering.expressions import unary
from dekker.ir.expressions import ZERO, Const, Reg, registers
from dekker.ir.flow import defined, used
from dekker.ir.instructions import Allocate, Assign, EndScope, Instruction, Load, Order, Spawn, Store
from dekker.ir.program import Function


def privatise_handles(function: Function) -> Function:
    sizes = _private_sizes(function)
    if not sizes:
        return function
    return replace(function, body=tuple(_rewritten(step, sizes) for step in function.body))


def _private_sizes(function: Function) -> dict[str, int]:
    """By the register with its address, the size of each handle that is only accessed, and always as a whole."""
    spawned = {step.dst for step in function.body if isinstance(step, Spawn)}
    handles = {
        step.address.name
        for step in function.body
        if isinstance(step, Store) and isinstance(step.address, Reg) and getattr(step.value, "name", None) in spawned
    }
    found = {
        step.dst: step.size.value
        for step in function.body
        if isinstance(step, Allocate) and step.dst in handles and step.stack and isinstance(step.size, Const)
    }
    writes = Counter(function.parameters)
    for step in function.body:
        if isinstance(step, EndScope):
            continue
        writes.update(name for name in defined(step) if isinstance(name, str))
        for name in used(step) & found.keys():
            if not _accesses_whole(step, str(name), found[str(name)]):
                del found[str(name)]
    return {name: size for name, size in found.items() if writes[name] == 1 and _value_of(name) not in writes}


def _accesses_whole(step: Instruction, variable: str, size: int) -> bool:
    match step:
        case Load(_, Reg(name), length, Order.PLAIN, _, exclusive):
            return name == variable and length == size and not exclusive
        case Store(Reg(name), value, length, Order.PLAIN):
            return name == variable and length == size and variable not in registers(value)
    return False


def _rewritten(step: Instruction, sizes: dict[str, int]) -> Instruction:
    match step:
        case Allocate(dst) | EndScope(dst) if dst in sizes:
            return Assign(_value_of(dst), ZERO)
        case Load(dst, Reg(name), size, signed=signed) if name in sizes:
            value = Reg(_value_of(name))
            return Assign(dst, unary("sext", 8 * size, value) if signed else value)
        case Store(Reg(name), value, size) if name in sizes:
            return Assign(_value_of(name), unary("zext", 8 * size, value))
    return step


def _value_of(variable: str) -> str:
    return f"{variable}%value"
