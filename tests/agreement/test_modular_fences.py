"""The rule sets on machine code: all kinds of fences, sizes and read-modify-writes, against store-buffer machines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.agreement.test_operational_machines import FENCES, is_small
from tests.reference import store_buffers
from tests.reference.store_buffers import Buffers
from tests.strategies.critical_cycles import critical_cycles
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, programs

from dekker.engines.modular.code import Visible
from dekker.engines.modular.limits import Watch
from dekker.engines.modular.machine import Machine
from dekker.engines.modular.memory import Memory, NewCells
from dekker.engines.modular.reachability import Reached, reach
from dekker.engines.modular.rules import RULE_SETS
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import mask, signed
from dekker.ir.instructions import Load, StoreConditional
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.ir.property import RegisterValue
from dekker.ir.thread_classes import System, ThreadClass

MODELS = ("sc", "tso", "pso")
PROGRAMS = {
    "random": programs(replace(PLAIN_ACCESSES, fences=FENCES, max_total=7)).filter(is_small),
    "random-updates": programs(replace(HARDWARE, fences=FENCES, max_total=7)).filter(is_small),
    "cycles": critical_cycles(FENCES, updates=False),
    "cycles-updates": critical_cycles(FENCES),
}


def is_linked(program: Program) -> bool:
    steps = [step for function in program.functions for step in function.body]
    return any(isinstance(step, StoreConditional) or (isinstance(step, Load) and step.exclusive) for step in steps)


def reached_by(program: Program, model: str) -> Reached:
    classes = tuple(ThreadClass(item.name, item.function, 1, item.registers) for item in program.threads)
    shown: dict[str, set[str]] = {item.name: set() for item in program.threads}
    for item in program.property.observed:
        if isinstance(item, RegisterValue):
            shown[program.threads[item.thread].name].add(item.register)
    visible = {name: Visible(registers_at_labels=frozenset(names)) for name, names in shown.items()}
    memory = Memory(program)
    while True:
        try:
            machine = Machine(System(program, classes), RULE_SETS[model], memory, visible)
            return reach(machine, list(range(len(classes))), [], Watch(), first_only=False)
        except NewCells:
            continue


def final_states(program: Program, model: str) -> set[tuple[int, ...]]:
    reached = reached_by(program, model)
    machine = reached.machine
    initial = InitialMemory(program, machine.memory.layout)
    found = set()
    for memory, threads in reached.final:
        locals_ = {machine.locals[thread].thread_class: machine.locals[thread] for thread in threads}
        bytes_ = machine.bytes(memory)
        values = []
        for item in program.property.observed:
            if isinstance(item, RegisterValue):
                slot = machine.codes[item.thread].registers[item.register]
                values.append(signed(item.width, locals_[item.thread].registers[slot] & mask(item.width)))
            else:
                start = machine.memory.layout.starts[item.symbol] + item.offset
                parts = (bytes_.get(start + k, initial.read(start + k, 1)) << 8 * k for k in range(item.size))
                values.append(signed(8 * item.size, sum(parts)))
        found.add(tuple(values))
    return found


def require_agreement(program: Program, model: str) -> None:
    if is_linked(program):
        with pytest.raises(UnsupportedError, match=r"load-linked|store-conditional"):
            reached_by(program, model)
        return
    machine = store_buffers.explore(program, Buffers(model)).final
    widths = [item.width if isinstance(item, RegisterValue) else 8 * item.size for item in program.property.observed]
    expected = {
        tuple(signed(width, value & mask(width)) for width, value in zip(widths, state, strict=True))
        for state in machine
    }
    assert final_states(program, model) == expected


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=60)
@given(data=st.data())
def test_final_states(kind: str, model: str, data: st.DataObject) -> None:
    require_agreement(data.draw(PROGRAMS[kind]), model)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=2000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_final_states_campaign(kind: str, model: str, data: st.DataObject) -> None:
    require_agreement(data.draw(PROGRAMS[kind]), model)
