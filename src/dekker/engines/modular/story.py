"""A bad state and the way to it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dekker.engines.modular.capture import NOWHERE, PassedWrite
from dekker.engines.modular.machine import GlobalId, LocalId, Machine
from dekker.engines.modular.paths import Environment, Taken, path_to
from dekker.engines.modular.reachability import Bad, Reached
from dekker.engines.modular.rules.candidates import (
    GoOn,
    ReadMemory,
    ReadOwn,
    TakeEffect,
    UpdateMemory,
    WriteMemory,
)
from dekker.engines.modular.thread_modular import Covered
from dekker.modular_result import Finding, PathStep

MOST_FINDINGS = 20


def findings(found: Reached | Covered) -> tuple[Finding, ...]:
    """One for each forbidden state and each error of a thread."""
    first: dict[object, Bad] = {}
    for bad in found.bad:
        failure = bad.finale if bad.thread is None else found.machine.locals[bad.thread].failure
        first.setdefault(bad.forbidden if bad.forbidden is not None else failure, bad)
    return tuple(_finding(found, bad) for bad in list(first.values())[:MOST_FINDINGS])


def _finding(found: Reached | Covered, bad: Bad) -> Finding:
    machine = found.machine
    teller = _Teller(machine)
    steps = tuple(teller.steps(path_to(found.parents, bad.state), _start(found, bad)))
    memory, _ = bad.state
    values = tuple((teller.name(cell), teller.show(cell, value)) for cell, value in enumerate(machine.globals[memory]))
    threads = tuple((name, teller.place(thread)) for name, thread in zip(teller.names, teller.threads, strict=True))
    if bad.forbidden is not None:
        item = machine.system.forbidden[bad.forbidden]
        text = "a forbidden state" if item.span is None else f"`{' '.join(item.span.text.split())}` is reached"
        return Finding("forbidden", text, item.span, steps, values, threads)
    if bad.finale is not None:
        return Finding("assertion", *bad.finale, steps, values, threads)
    assert bad.thread is not None
    failure = machine.locals[bad.thread].failure
    assert failure is not None
    return Finding(failure.kind, failure.message, failure.span, steps, values, threads)


def _start(found: Reached | Covered, bad: Bad) -> tuple[LocalId, ...]:
    state = bad.state
    while (step := found.parents[state]) is not None:
        state = step.before
    return state[1]


class _Teller:
    """Follows the threads of a path by name."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.threads: list[LocalId] = []
        self.names: list[str] = []

    def steps(self, path: list[Any], start: tuple[LocalId, ...]) -> Iterator[PathStep]:
        self.threads = list(start)
        self.names = self._names(start)
        memory = self.machine.initial_global()
        for step in path:
            yield from self._environment(step, memory) if isinstance(step, Environment) else self._own(step, memory)
            self.threads = [self.machine.shifted(thread, step.shift) for thread in self.threads]
            memory = step.memory

    def _names(self, threads: tuple[LocalId, ...]) -> list[str]:
        classes = [self.machine.locals[thread].thread_class for thread in threads]
        names = []
        for place, number in enumerate(classes):
            name = self.machine.system.classes[number].name
            alone = classes.count(number) == 1
            names.append(name if alone else f"{name}#{classes[: place + 1].count(number)}")
        return names

    def _own(self, step: Taken, memory: GlobalId) -> Iterator[PathStep]:
        place = self.threads.index(step.thread)
        self.threads[place] = step.becomes
        local = self.machine.locals[step.thread]
        code = self.machine.codes[local.thread_class]
        reads = not isinstance(step.move.candidate, TakeEffect)
        span = code.spans[local.position] if reads and local.position != NOWHERE else None
        text = _TEXTS[type(step.move.candidate)](self, step, memory)
        before, after = self._label(step.thread), self._label(step.becomes)
        yield PathStep(self.names[place], text, span, after if after != before else "")

    def _environment(self, step: Environment, memory: GlobalId) -> Iterator[PathStep]:
        local = self.machine.locals[step.thread]
        name = self.machine.system.classes[local.thread_class].name
        yield PathStep(f"another {name}", self._difference(memory, step.memory))

    def _difference(self, before: GlobalId, after: GlobalId) -> str:
        pairs = enumerate(zip(self.machine.globals[before], self.machine.globals[after], strict=True))
        changes = [f"{self.name(cell)} = {self.show(cell, new)}" for cell, (old, new) in pairs if old != new]
        return f"makes {', '.join(changes)}" if changes else "writes what is there, as a new version"

    def _label(self, thread: LocalId) -> str:
        local = self.machine.locals[thread]
        labels = self.machine.codes[local.thread_class].labels
        return next((name for name, position in labels.items() if position == local.position), "")

    def place(self, thread: LocalId) -> str:
        """Where a thread is, and what of it has yet to take effect."""
        local = self.machine.locals[thread]
        code = self.machine.codes[local.thread_class]
        where = self._label(thread)
        if local.failure is not None:
            where = "has failed"
        elif where:
            where = f"at {where}"
        elif self.machine.has_ended(thread) or local.position == len(code.steps) - 1:
            where = "at its end"
        elif local.position == NOWHERE:
            where = "stopped"
        else:
            span = code.spans[local.position]
            where = "" if span is None else f"before line {span.line}"
        writes = [f"{self.name(i.cell)} = {self.show(*i)}" for i in local.passed if isinstance(i, PassedWrite)]
        return where + (f"; yet to take effect: {', '.join(writes)}" if writes else "")

    def name(self, cell: int) -> str:
        return self.machine.memory.name(cell)

    def show(self, cell: int, value: int) -> str:
        """Without its version, if it has one."""
        versions = self.machine.versions
        if versions is not None and cell == versions.cell(self.machine.memory):
            return str(value % versions.modulus)
        return self.machine.memory.show(cell, value)

    def value_of(self, cell: int, memory: GlobalId) -> str:
        return self.show(cell, self.machine.globals[memory][cell])


def _take_effect(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    item = step.move.candidate
    assert isinstance(item, TakeEffect)
    return f"{teller.name(item.cell)} = {teller.value_of(item.cell, step.memory)} takes effect"


def _write(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    item = step.move.candidate
    assert isinstance(item, WriteMemory)
    return f"writes {teller.name(item.cell)} = {teller.value_of(item.cell, step.memory)}"


def _read(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    item = step.move.candidate
    assert isinstance(item, ReadMemory)
    return f"reads {teller.name(item.cell)} = {teller.value_of(item.cell, memory)}"


def _read_own(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    item = step.move.candidate
    assert isinstance(item, ReadOwn)
    return (
        f"reads its own {teller.name(item.cell)} = {teller.show(item.cell, item.value)}, which has yet to take effect"
    )


def _update(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    item = step.move.candidate
    assert isinstance(item, UpdateMemory)
    name, old = teller.name(item.cell), teller.value_of(item.cell, memory)
    if memory == step.memory and not step.shift:
        return f"finds {name} = {old}, which stays"
    return f"finds {name} = {old} and makes it {teller.value_of(item.cell, step.memory)}"


def _go_on(teller: _Teller, step: Taken, memory: GlobalId) -> str:
    return "goes on"


_TEXTS: dict[type, Callable[[_Teller, Taken, GlobalId], str]] = {
    TakeEffect: _take_effect,
    WriteMemory: _write,
    ReadMemory: _read,
    ReadOwn: _read_own,
    UpdateMemory: _update,
    GoOn: _go_on,
}
