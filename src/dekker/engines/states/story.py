"""A schedule as a person reads it: what each thread does, line by line, and what is in the store buffers after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from dekker.engines.states.schedule import function_of
from dekker.ir.layout import Layout
from dekker.ir.program import Program
from dekker.native import VIOLATIONS, Action
from dekker.records import dataclass
from dekker.result import ScheduleStep


@dataclass(frozen=True, slots=True)
class _Entry:
    address: int
    size: int
    value: int
    number: int
    """How many stores were made before it."""


@dataclass
class _Story:
    program: Program
    places: Layout
    names: dict[int, str] = field(default_factory=dict)
    buffers: dict[int, list[_Entry]] = field(default_factory=dict)
    n_stores: int = 0

    def show(self, value: int, width: int = 64) -> str:
        for start, name in self.names.items():
            if start <= value < start + (1 << 28):
                return name if value == start else f"{name}+{value - start}"
        return self.places.show(value, width)

    def entry(self, entry: _Entry) -> str:
        return f"{self.show(entry.address)} = {self.show(entry.value, 8 * entry.size)}"


def story(program: Program, places: Layout, schedule: list[Action]) -> tuple[ScheduleStep, ...]:
    told = _Story(program, places)
    return tuple(step for action in schedule for step in _tell(told, action))


def _tell(told: _Story, action: Action) -> Iterator[ScheduleStep]:
    kind, thread, block, pc, *_ = action
    if kind == "wait":
        return
    span = None if kind == "commit" else function_of(told.program, block).span(pc)
    text, overtaken = _TEXTS[kind](told, action)
    buffers = tuple(
        (number, tuple(told.entry(entry) for entry in buffer))
        for number, buffer in sorted(told.buffers.items())
        if buffer
    )
    yield ScheduleStep(thread, span, text, buffers, overtaken, kind)


Told = tuple[str, str]


def _read(told: _Story, action: Action) -> Told:
    _, thread, _, _, address, size, value = action
    own = [e for e in told.buffers.get(thread, []) if e.address < address + size and address < e.address + e.size]
    waiting = [
        f"thread {number} has {told.entry(entry)} in its buffer"
        for number, buffer in sorted(told.buffers.items())
        if number != thread
        for entry in buffer
        if entry.address < address + size and address < entry.address + entry.size
    ]
    source = " from its own buffer" if own else ""
    return f"reads {told.show(address)} = {told.show(value, 8 * size)}{source}", "; ".join(waiting)


def _write(told: _Story, action: Action) -> Told:
    _, _, _, _, address, size, value = action
    return f"writes {told.show(address)} = {told.show(value, 8 * size)}", ""


def _buffered(told: _Story, action: Action) -> Told:
    _, thread, _, _, address, size, value = action
    entry = _Entry(address, size, value, told.n_stores)
    told.n_stores += 1
    told.buffers.setdefault(thread, []).append(entry)
    return f"puts {told.entry(entry)} into its buffer", ""


def _commit(told: _Story, action: Action) -> Told:
    _, thread, _, _, _, _, position = action
    buffer = told.buffers[thread]
    entry = buffer.pop(position)
    passed = [f"{told.entry(older)} of thread {thread}" for older in buffer[:position]]
    passed += [
        f"{told.entry(other)} of thread {number}"
        for number, others in sorted(told.buffers.items())
        if number != thread
        for other in others
        if other.number < entry.number and other.address < entry.address + entry.size
        if entry.address < other.address + other.size
    ]
    return f"{told.entry(entry)} reaches memory", f"overtakes {', '.join(passed)}" if passed else ""


def _allocate(told: _Story, action: Action) -> Told:
    _, _, _, _, address, _, size = action
    told.names[address] = f"object{len(told.names) + 1}"
    return f"allocates {told.names[address]} ({size} bytes)", ""


_TEXTS: dict[str, Callable[[_Story, Action], Told]] = {
    "read": _read,
    "write": _write,
    "buffered": _buffered,
    "commit": _commit,
    "allocate": _allocate,
    "fence": lambda told, action: ("fence", ""),
    "choice": lambda told, action: (f"chooses {told.show(action[6])}", ""),
    "spawn": lambda told, action: (f"starts thread {action[6]}", ""),
    "join": lambda told, action: (f"joins thread {action[6]}", ""),
    "begin": lambda told, action: ("begins", ""),
    "end": lambda told, action: ("ends", ""),
    "release": lambda told, action: (f"frees {told.show(action[4])}", ""),
    "renew": lambda told, action: (f"allocates {told.show(action[4])} again", ""),
    "failure": lambda told, action: (f"! {VIOLATIONS[action[6]]}", ""),
}
