"""What Lang programs reach, by the modular engine and by the others, in one form."""

from __future__ import annotations

from contextlib import suppress

from tests.reference import printed_rules

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.modular.code import Visible
from dekker.engines.modular.limits import Watch
from dekker.engines.modular.machine import Machine
from dekker.engines.modular.memory import Memory, NewCells
from dekker.engines.modular.reachability import Reached, reach
from dekker.engines.modular.rules import RULE_SETS
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.frontends.lang.instances import assigned_registers, program_of, system_of
from dekker.frontends.lang.syntax import LangFile
from dekker.ir.arithmetic import signed
from dekker.ir.program import Program
from dekker.ir.property import RegisterValue
from dekker.models import load_model
from dekker.task import Limits, Task

Outcomes = set[tuple[int, ...]]
ENGINES = {"axiomatic": axiomatic.run, "rsmc": rsmc.run, "states": states.run}
UNROLL = 12


def by_engine(file: LangFile, model: str, engine: str = "axiomatic") -> Outcomes:
    """All final states that an engine finds."""
    result = ENGINES[engine](Task(program_of(file), load_model(model), Limits(unroll=UNROLL)))
    assert not result.cut
    assert result.stopped_by is None
    return {tuple(signed(64, value & (1 << 64) - 1) for value in state) for state in result.states}


def by_candidates(file: LangFile, model: str) -> Outcomes:
    program = program_of(file)
    reached = explored(file, model)
    return {_observed(program, reached, *state) for state in reached.final}


def by_printed_rules(file: LangFile) -> Outcomes:
    program = program_of(file)
    found: Outcomes = set()
    for memory, registers in printed_rules.explore(file).final:
        values = []
        for item in program.property.observed:
            if isinstance(item, RegisterValue):
                values.append(dict(registers[item.thread]).get(item.register, 0))
            else:
                values.append(dict(memory)[item.symbol, item.offset // 8])
        found.add(tuple(values))
    return found


def explored(file: LangFile, model: str) -> Reached:
    """Everything, with all registers and variables in sight."""
    system = system_of(file)
    visible = {
        item.name: Visible(
            registers_at_labels=frozenset(assigned_registers(system.program.function_by_name[item.function]))
        )
        for item in system.classes
    }
    memory = Memory(system.program)
    for item in system.program.objects:
        for offset in range(0, item.size, 8):
            _touch(memory, memory.layout.starts[item.name] + offset)
    machine = Machine(system, RULE_SETS[model], memory, visible)
    return reach(machine, list(range(len(system.classes))), [], Watch(), first_only=False)


def _touch(memory: Memory, address: int) -> None:
    with suppress(NewCells):
        memory.cell(address, 8, None)


def _observed(program: Program, reached: Reached, memory: int, threads: tuple[int, ...]) -> tuple[int, ...]:
    machine = reached.machine
    locals_ = {machine.locals[thread].thread_class: machine.locals[thread] for thread in threads}
    values = []
    for item in program.property.observed:
        if isinstance(item, RegisterValue):
            slot = machine.codes[item.thread].registers[item.register]
            values.append(signed(64, locals_[item.thread].registers[slot]))
        else:
            cell = machine.memory.numbers[machine.memory.layout.starts[item.symbol] + item.offset, 8]
            values.append(signed(64, machine.globals[memory][cell]))
    return tuple(values)
