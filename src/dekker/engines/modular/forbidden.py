"""Whether a state is one of those that the property forbids.

A term is split at its conjunctions: what speaks of one thread alone is asked once for each local state, what speaks of
memory alone once for each state of memory, and only the rest for every choice of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product

from dekker.engines.modular.code import Visible
from dekker.engines.modular.machine import GlobalId, LocalId, Machine
from dekker.errors import InputError
from dekker.ir.arithmetic import BINARY_OPERATORS, mask, signed
from dekker.ir.thread_classes import (
    AtLabel,
    ForbiddenState,
    Member,
    MemberRegister,
    Number,
    Operation,
    SharedValue,
    StateTerm,
    System,
    atoms,
    members,
)
from dekker.records import dataclass

Assignment = Mapping[Member, LocalId]


@dataclass
class Forbidden:
    machine: Machine
    state: ForbiddenState
    alone: dict[Member, list[StateTerm]] = field(default_factory=dict)
    of_memory: list[StateTerm] = field(default_factory=list)
    rest: list[StateTerm] = field(default_factory=list)
    fits_alone: dict[tuple[Member, LocalId], bool] = field(default_factory=dict)
    fits_memory: dict[GlobalId, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.members = members(self.state.term)
        self.classes = [_class_number(self.machine.system, member) for member in self.members]
        for part in _conjuncts(self.state.term):
            about = members(part)
            shared = any(isinstance(atom, SharedValue) for atom in atoms(part))
            if not about:
                self.of_memory.append(part)
            elif len(about) == 1 and not shared:
                self.alone.setdefault(about[0], []).append(part)
            else:
                self.rest.append(part)

    def holds(self, memory: GlobalId, threads: tuple[LocalId, ...]) -> bool:
        """Whether some of the threads, as the members, and memory make the term true."""
        if self.state.final and not all(self.machine.has_ended(thread) for thread in threads):
            return False
        choices = [self._fitting(number, threads) for number in range(len(self.members))]
        if not all(choices) or not self._memory_fits(memory):
            return False
        for places in product(*choices):
            if len(set(places)) == len(places):
                chosen = {member: threads[place] for member, place in zip(self.members, places, strict=True)}
                if all(self._value(term, memory, chosen) for term in self.rest):
                    return True
        return False

    def _fitting(self, number: int, threads: tuple[LocalId, ...]) -> list[int]:
        return [place for place, thread in enumerate(threads) if self._fits(number, thread)]

    def _fits(self, number: int, thread: LocalId) -> bool:
        member = self.members[number]
        found = self.fits_alone.get((member, thread))
        if found is None:
            found = self.machine.locals[thread].thread_class == self.classes[number] and all(
                self._value(term, 0, {member: thread}) for term in self.alone.get(member, ())
            )
            self.fits_alone[member, thread] = found
        return found

    def _memory_fits(self, memory: GlobalId) -> bool:
        found = self.fits_memory.get(memory)
        if found is None:
            found = self.fits_memory[memory] = all(self._value(term, memory, {}) for term in self.of_memory)
        return found

    def _value(self, term: StateTerm, memory: GlobalId, chosen: Assignment) -> int:
        match term:
            case Number(value):
                return value
            case AtLabel(member, label):
                local = self.machine.locals[chosen[member]]
                return int(local.position == self.machine.codes[local.thread_class].labels[label])
            case MemberRegister(member, register):
                local = self.machine.locals[chosen[member]]
                return signed(64, local.registers[self.machine.codes[local.thread_class].registers[register]])
            case SharedValue(symbol, index, size):
                return self._shared(symbol, self._value(index, memory, chosen), size, memory)
            case Operation("and", (left, right)):
                return int(bool(self._value(left, memory, chosen) and self._value(right, memory, chosen)))
            case Operation("or", (left, right)):
                return int(bool(self._value(left, memory, chosen) or self._value(right, memory, chosen)))
            case Operation(op, (left, right)):
                sides = [self._value(side, memory, chosen) & mask(64) for side in (left, right)]
                return signed(64, BINARY_OPERATORS[op](64, sides[0], sides[1]))
        raise AssertionError(term)

    def _shared(self, symbol: str, index: int, size: int, memory: GlobalId) -> int:
        layout = self.machine.memory.layout
        if not 0 <= index < layout.sizes[symbol] // size:
            message = f"an index of `{symbol}` is out of range in this forbidden state"
            raise InputError(message, self.state.span, "`&&` guards what stands behind it")
        cell = self.machine.memory.cell(layout.starts[symbol] + size * index, size, self.state.span)
        assert cell is not None
        return signed(8 * size, self.machine.globals[memory][cell])


def _class_number(system: System, member: Member) -> int:
    return next(number for number, item in enumerate(system.classes) if item.name == member.thread_class)


def _conjuncts(term: StateTerm) -> Iterator[StateTerm]:
    if isinstance(term, Operation) and term.op == "and":
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term


def visible_of(system: System) -> dict[str, Visible]:
    """What capture must not run past."""
    labels: dict[str, set[str]] = {}
    left: dict[str, set[str]] = {}
    everywhere: dict[str, set[str]] = {}
    at_labels: dict[str, set[str]] = {}
    for state in system.forbidden:
        parts = list(_conjuncts(state.term))
        required = {part.member for part in parts if isinstance(part, AtLabel)}
        for part in parts:
            for atom in atoms(part):
                if isinstance(atom, AtLabel):
                    labels.setdefault(atom.member.thread_class, set()).add(atom.label)
                    if part is not atom:
                        left.setdefault(atom.member.thread_class, set()).add(atom.label)
                elif isinstance(atom, MemberRegister):
                    seen = at_labels if state.final or atom.member in required else everywhere
                    seen.setdefault(atom.member.thread_class, set()).add(atom.register)
    return {
        item.name: Visible(
            *(frozenset(group.get(item.name, ())) for group in (labels, everywhere, at_labels, left)),
        )
        for item in system.classes
    }
