"""Threads as numbers: each local state, each state of memory, and the moves of a local state, are found once and kept.

There are few local states, and they recur in every global one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from dekker.engines.modular.capture import NOWHERE, Capture, Local
from dekker.engines.modular.code import Barrier, Choice, Code, End, Read, Update, Visible, changed, compile_class
from dekker.engines.modular.memory import Cell, Memory
from dekker.engines.modular.rules import RuleSet
from dekker.engines.modular.rules.candidates import (
    Candidate,
    GoOn,
    ReadMemory,
    ReadOwn,
    TakeEffect,
    UpdateMemory,
    WriteMemory,
    without,
)
from dekker.engines.modular.versions import Versions, versions_of
from dekker.ir.thread_classes import System
from dekker.records import dataclass

LocalId = int
GlobalId = int
Values = tuple[int, ...]
Outcome = tuple[int | None, LocalId]
"""What is written, if anything, and what becomes of the thread."""


@dataclass(slots=True)
class Move:
    """One candidate of a local state. `cell` is None if memory has no part in it; `fixed` are its outcomes if the value
    of the cell does not matter, `by_value` those for each value, as far as they were needed."""

    candidate: Candidate
    cell: Cell | None
    fixed: tuple[Outcome, ...] | None
    by_value: dict[int, tuple[Outcome, ...]] = field(default_factory=dict)


@dataclass
class Machine:
    system: System
    rules: RuleSet
    memory: Memory
    visible: Mapping[str, Visible]
    codes: list[Code] = field(init=False)
    captures: list[Capture] = field(init=False)
    locals: list[Local] = field(default_factory=list)
    local_ids: dict[Local, LocalId] = field(default_factory=dict)
    moves: list[tuple[Move, ...] | None] = field(default_factory=list)
    globals: list[Values] = field(default_factory=list)
    global_ids: dict[Values, GlobalId] = field(default_factory=dict)
    versions: Versions | None = field(init=False)
    shifts: dict[tuple[LocalId, int], LocalId] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program, layout = self.system.program, self.memory.layout
        self.codes = [
            compile_class(program, layout, item, self.visible.get(item.name, Visible())) for item in self.system.classes
        ]
        self.captures = [
            Capture(number, code, self.memory, self.rules.passes_writes, self.rules.keeps_marks)
            for number, code in enumerate(self.codes)
        ]
        self.versions = versions_of(self.system)

    def initial_local(self, thread_class: int) -> LocalId:
        return self.local_id(self._settled(self.captures[thread_class].initial()))

    def initial_global(self) -> GlobalId:
        values = self.memory.initial()
        return self.global_id(values if self.versions is None else self.versions.initial(self.memory, values))

    def local_id(self, local: Local) -> LocalId:
        number = self.local_ids.get(local)
        if number is None:
            number = self.local_ids[local] = len(self.locals)
            self.locals.append(local)
            self.moves.append(None)
        return number

    def global_id(self, values: Values) -> GlobalId:
        number = self.global_ids.get(values)
        if number is None:
            number = self.global_ids[values] = len(self.globals)
            self.globals.append(values)
        return number

    def written(self, before: GlobalId, cell: Cell | None, value: int | None) -> tuple[GlobalId, int]:
        """Memory after a step, and by how much the versions that threads hold have to be shifted."""
        if value is None or cell is None:
            return before, 0
        shift = 0
        if self.versions is not None and cell == self.versions.cell(self.memory):
            value, shift = self.versions.advance(value)
        values = self.globals[before]
        return (before if values[cell] == value else self.global_id(changed(values, cell, value))), shift

    def shifted(self, local: LocalId, by: int) -> LocalId:
        if not by:
            return local
        found = self.shifts.get((local, by))
        if found is None:
            assert self.versions is not None
            cell = self.versions.cell(self.memory)
            assert cell is not None
            state = self.locals[local]
            code = self.codes[state.thread_class]
            found = self.shifts[local, by] = self.local_id(self.versions.shifted(state, code, cell, by))
        return found

    def bytes(self, memory: GlobalId) -> dict[int, int]:
        """The memory by address."""
        return {
            address + place: value >> 8 * place & 0xFF
            for (address, size), value in zip(self.memory.places, self.globals[memory], strict=True)
            for place in range(size)
        }

    def has_ended(self, local: LocalId) -> bool:
        """All its code has taken effect."""
        state = self.locals[local]
        return not state.passed and state.position != NOWHERE and isinstance(self.step_of(state), End)

    def step_of(self, local: Local) -> object:
        return self.codes[local.thread_class].steps[local.position]

    def moves_of(self, local: LocalId) -> tuple[Move, ...]:
        found = self.moves[local]
        if found is None:
            state = self.locals[local]
            selected = self.rules.candidates(state, self.codes[state.thread_class], self.memory)
            found = self.moves[local] = tuple(_MOVES[type(item)](self, state, item) for item in selected)
        return found

    def outcomes(self, local: LocalId, move: Move, memory: GlobalId) -> tuple[Outcome, ...]:
        if move.fixed is not None:
            return move.fixed
        assert move.cell is not None
        value = self.globals[memory][move.cell]
        found = move.by_value.get(value)
        if found is None:
            found = move.by_value[value] = self._reading(self.locals[local], value)
        return found

    def _reading(self, state: Local, value: int) -> tuple[Outcome, ...]:
        """A read or an update that sees a value."""
        step = self.step_of(state)
        if isinstance(step, Read):
            return ((None, self.after(state, read_into(step, state, value))),)
        assert isinstance(step, Update)
        return tuple((new, self.after(state, registers)) for new, registers in step.outcomes(state.registers, value))

    def after(self, state: Local, registers: Values | None = None) -> LocalId:
        """Behind the step at the position."""
        return self.captured(state, state.position + 1, state.registers if registers is None else registers)

    def captured(self, state: Local, position: int, registers: Values) -> LocalId:
        capture = self.captures[state.thread_class]
        return self.local_id(self._settled(capture.capture(position, registers, state.passed)))

    def _settled(self, state: Local) -> Local:
        """A barrier with nothing passed is a local step that nobody sees: it is taken at once."""
        while state.position != NOWHERE and not state.passed and isinstance(self.step_of(state), Barrier):
            state = self.captures[state.thread_class].capture(state.position + 1, state.registers, ())
        return state

    def taken_effect(self, state: Local, index: int) -> LocalId:
        passed = without(state.passed, index)
        if state.position == NOWHERE:
            return self.local_id(state._replace(passed=passed))
        capture = self.captures[state.thread_class]
        return self.local_id(self._settled(capture.capture(state.position, state.registers, passed)))


def read_into(step: Read, state: Local, value: int) -> Values:
    return changed(state.registers, step.register, value if step.extend is None else step.extend(value))


def _take_effect(machine: Machine, state: Local, item: TakeEffect) -> Move:
    return Move(item, item.cell, ((item.value, machine.taken_effect(state, item.index)),))


def _read_memory(machine: Machine, state: Local, item: ReadMemory | UpdateMemory) -> Move:
    return Move(item, item.cell, None)


def _read_own(machine: Machine, state: Local, item: ReadOwn) -> Move:
    step = machine.step_of(state)
    assert isinstance(step, Read)
    return Move(item, None, ((None, machine.after(state, read_into(step, state, item.value))),))


def _write_memory(machine: Machine, state: Local, item: WriteMemory) -> Move:
    return Move(item, item.cell, ((item.value, machine.after(state)),))


def _go_on(machine: Machine, state: Local, item: GoOn) -> Move:
    if not item.choices:
        return Move(item, None, ((None, machine.after(state)),))
    step = machine.step_of(state)
    assert isinstance(step, Choice)
    chosen = (changed(state.registers, step.register, value) for value in item.choices)
    return Move(item, None, tuple((None, machine.after(state, registers)) for registers in chosen))


_MOVES: dict[type, Callable[[Machine, Local, Any], Move]] = {
    TakeEffect: _take_effect,
    ReadMemory: _read_memory,
    UpdateMemory: _read_memory,
    ReadOwn: _read_own,
    WriteMemory: _write_memory,
    GoOn: _go_on,
}
