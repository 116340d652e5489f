"""What goes wrong in an execution, as a person should read it: what it is about, where, and what it has to do with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from dekker.cat.model import Model
from dekker.execution import DATA_RACE, FROM_INITIAL, USE_BEFORE_ALLOCATION, Event, Execution
from dekker.ir.layout import GAP
from dekker.replay.demangle import demangled
from dekker.replay.frames import function_of_thread, to_frames
from dekker.replay.judge import flagged_pairs
from dekker.replay.machine import POINTER, UNINITIALISED, WAITING, Failure
from dekker.replay.names import Names
from dekker.replay.rebuild import Replayed
from dekker.replay.runtime_steps import TOO_DEEP
from dekker.replay.world import Allocation
from dekker.source import Span
from dekker.witness import DEADLOCK, FLAG, Finding, Note

Claimed = tuple[str, Finding]
"""What a witness may claim, and its description."""

_LIBRARY_CALL = re.compile(r"`(\w+)`: ")
_OVERFLOW = "signed overflow"
_LOCKS = re.compile(r"mutex|lock|mtx")
_LAST_NULL = 4096


def findings(model: Model, replayed: Replayed, names: Names) -> list[Claimed]:
    """Runtime violations first, then the flags that the model raises."""
    found = [(failure.kind, _DESCRIBE[failure.kind](failure, replayed, names)) for failure in replayed.failures]
    flags = flagged_pairs(model, replayed.execution)
    return [*found, *((FLAG, _flag(flag, pairs, replayed, names)) for flag, pairs in flags.items())]


def _finding(failure: Failure, kind: str, message: str, *notes: Note) -> Finding:
    return Finding(kind, message, failure.thread, to_frames(failure.stack), notes)


# --- assertions, calls, threads


def _assertion(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    call = _LIBRARY_CALL.match(failure.message)
    if call is None:
        kind = "overflow" if failure.message.startswith(_OVERFLOW) else "assertion"
        return _finding(failure, kind, failure.message)
    kind = "lock misuse" if _LOCKS.search(call[1]) else "library misuse"
    return _finding(failure, kind, failure.message.replace(call[1], demangled(call[1]), 1))


def _bad_call(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    if failure.message == TOO_DEEP:
        return _finding(failure, "recursion", failure.message)
    what = _pointer_text(failure.address, names)
    return _finding(failure, "invalid call", f"call through {what}, which is no function")


def _bad_join(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    return _finding(failure, "invalid join", failure.message)


def _bad_allocation(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    return _finding(failure, "allocation", f"{failure.message} is more than there is for a thread")


def _deadlock(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    waiting = [run for run in replayed.runs if run.end == WAITING]
    notes = []
    for run in waiting:
        function = function_of_thread(replayed.world, run.thread)
        for_thread = f" for the end of thread {run.waits_for}" if run.waits_for >= 0 else ""
        notes.append(Note(f"thread {run.thread} ({function}) waits{for_thread}", run.thread, to_frames(run.stack)))
    count = "a thread waits" if len(waiting) == 1 else f"{len(waiting)} threads wait"
    return _finding(failure, DEADLOCK, f"{count} for ever", *notes)


# --- memory


def _outside(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    address, size = failure.address, failure.size
    access = f"access to {size} byte{'s' if size != 1 else ''}"
    if address < _LAST_NULL:
        at = f" plus {address}" if address else ""
        return _finding(failure, "null pointer", f"{access} at the null pointer{at}")
    near = _neighbour(address, size, names)
    if near is None:
        return _finding(failure, "wild pointer", f"{access} at {address:#x}, which lie in no object")
    name, where, allocation = near
    notes = [] if allocation is None else [_allocated(allocation, name)]
    return _finding(failure, "out of bounds", f"{access} {where}", *notes)


def _neighbour(address: int, size: int, names: Names) -> tuple[str, str, Allocation | None] | None:
    """The closest object, if it is near: its name, and where the access lies."""
    closest: tuple[int, int, int, str, Allocation | None] | None = None
    for start, length, name, allocation in _objects(names):
        if start - GAP < address + size and address < start + length + GAP:
            distance = max(start - address, address + size - start - length)
            if closest is None or distance < closest[0]:
                closest = distance, start, length, name, allocation
    if closest is None:
        return None
    distance, start, length, name, allocation = closest
    side = "beyond the end" if address + size > start + length else "before the start"
    at = f"`{name}`{address - start:+d}" if address != start else f"`{name}`"
    return name, f"at {at}, {_bytes(distance)} {side} (it has {_bytes(length)})", allocation


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


def _objects(names: Names) -> Iterator[tuple[int, int, str, Allocation | None]]:
    places = names.places
    for item in names.world.program.objects:
        yield places.starts[item.name], places.sizes[item.name], item.name, None
    for start, allocation in names.world.allocations.items():
        yield start, allocation.size, names.labels[start], allocation


def _uninitialised(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    kind = "uninitialised pointer" if failure.message.startswith(POINTER) else "uninitialised value"
    found = replayed.world.allocation_at(failure.address) if failure.address else None
    if found is None:
        return _finding(failure, kind, failure.message)
    message = f"{failure.message}: it comes from `{names.location(failure.address)}`"
    return _finding(failure, kind, message, _allocated(found, names.labels[found.start]))


def _allocated(allocation: Allocation, name: str) -> Note:
    verb = "is declared" if allocation.local else "was allocated"
    return Note(f"`{name}` {verb}", allocation.thread, to_frames(allocation.stack))


def _freed(failure: Failure, replayed: Replayed, names: Names) -> tuple[str, list[Note]]:
    """What was freed, with the places of its allocation and of its release."""
    allocations = replayed.world.allocations.values()
    found = next((item for item in allocations if item.contains(failure.address, 0) or _is_header(item, failure)), None)
    if found is None:
        return "this memory", []
    name = names.labels[found.start]
    notes = [_allocated(found, name)]
    what = "goes out of scope" if found.local else "is freed"
    if found.start in replayed.world.released:
        notes.append(Note(f"`{name}` {what}", 0, to_frames(replayed.world.released[found.start])))
    notes += (
        Note(f"`{name}` {what}", run.thread, to_frames(done.stack))
        for run in replayed.runs
        for done in run.done
        if done.release and done.event.address == found.header and done.stack != failure.stack
    )
    return f"`{name}`", notes


def _is_header(allocation: Allocation, failure: Failure) -> bool:
    return allocation.header == failure.address


def _use_after_free(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    name, notes = _freed(failure, replayed, names)
    access = f"access to {_bytes(failure.size)} of {name}"
    if _is_local(failure, replayed):
        return _finding(failure, "use after scope", f"{access}, a local variable that may be gone by then", *notes)
    return _finding(failure, "use after free", f"{access}, which may be free by then", *notes)


def _is_local(failure: Failure, replayed: Replayed) -> bool:
    found = replayed.world.allocation_at(failure.address)
    return found is not None and found.local


def _double_free(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    name, notes = _freed(failure, replayed, names)
    return _finding(failure, "double free", f"{name} may be free already", *notes)


def _bad_free(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    what = _pointer_text(failure.address, names)
    return _finding(failure, "invalid free", f"free of {what}, which is not the start of an allocated object")


def _leak(failure: Failure, replayed: Replayed, names: Names) -> Finding:
    name = names.labels.get(failure.address, "")
    what = f"the {_bytes(failure.size)} of `{name}`" if name else _bytes(failure.size)
    return _finding(failure, "leak", f"{what}, allocated here, are lost: nothing points to them at the end")


def _pointer_text(address: int, names: Names) -> str:
    shown = names.value(address, 64)
    if address < _LAST_NULL:
        return "a null pointer" if address == 0 else f"the number {address}"
    return f"{address:#x}" if shown.lstrip("-").isdigit() else f"`{shown}`"


# --- flags of models


def kind_of_flag(flag: str) -> str:
    return _FLAG_KINDS.get(flag, flag)


def _flag(flag: str, pairs: list[tuple[int, int]], replayed: Replayed, names: Names) -> Finding:
    if not pairs:
        return Finding(kind_of_flag(flag), f"the model raises the flag '{flag}'", FROM_INITIAL, ())
    if flag == USE_BEFORE_ALLOCATION:
        return _unallocated(min(access for _, access in pairs), replayed, names)
    pairs = _causes(pairs, replayed.execution) if flag == DATA_RACE else pairs
    return _flagged(flag, min(pairs, key=sorted), replayed, names)


def _unallocated(access: int, replayed: Replayed, names: Names) -> Finding:
    """An access that nothing orders after the allocation of its object."""
    event = replayed.execution.events[access]
    found = replayed.world.object_of(event.address)
    assert found is not None, "it is in an object"
    name = names.labels[found.start]
    before, end = ("declaration", "end") if found.local else ("allocation", "free")
    what = f"{end} of" if replayed.done(event).release else f"access to {_bytes(event.size)} of"
    message = f"{what} `{name}`, which nothing orders after its {before}"
    notes = (_allocated(found, name), _access_note(event, replayed, names))
    return Finding(kind_of_flag(USE_BEFORE_ALLOCATION), message, event.thread, notes[1].stack, notes)


def races(model: Model, replayed: Replayed) -> Iterator[tuple[Finding, Span | None]]:
    """All races of an execution, one for each pair of places, those that no other lies behind first, and where they
    are."""
    pairs = flagged_pairs(model, replayed.execution).get(DATA_RACE, [])
    names, causes = Names(replayed.world), set(_causes(pairs, replayed.execution))
    seen = set()
    for pair in sorted(pairs, key=lambda pair: (pair not in causes, sorted(pair))):
        finding = _flagged(DATA_RACE, pair, replayed, names)
        places = tuple(note.stack[:1] for note in finding.notes)
        if places not in seen:
            seen.add(places)
            events = (replayed.execution.events[number] for number in pair)
            yield finding, max(events, key=lambda event: (event.thread, event.index)).span


def _flagged(flag: str, pair: tuple[int, int], replayed: Replayed, names: Names) -> Finding:
    first, second = (replayed.execution.events[number] for number in pair)
    if (first.thread, first.index) > (second.thread, second.index):
        first, second = second, first
    notes = tuple(_access_note(event, replayed, names) for event in (first, second))
    stack = to_frames(replayed.done(second).stack)
    if flag != DATA_RACE:
        return Finding(flag, f"the model raises the flag '{flag}' for these two", second.thread, stack, notes)
    where = names.location(first.address)
    message = f"two threads access `{where}`, at least one writes, not both are atomic, and nothing orders them"
    return Finding("data race", message, second.thread, stack, notes)


def _causes(pairs: list[tuple[int, int]], execution: Execution) -> list[tuple[int, int]]:
    """The races behind which no other lies: none whose accesses both come before one of these."""
    order, reads_from = execution.relations["po"], execution.relations["rf"]
    following = [po | rf for po, rf in zip(order, reads_from, strict=True)]
    behind = {event: _reached(event, following) for event in {event for pair in pairs for event in pair}}
    caused = 0
    for first, second in pairs:
        caused |= behind[first] & behind[second]
    return [pair for pair in pairs if not any(caused >> event & 1 for event in pair)] or pairs


def _reached(event: int, following: Sequence[int]) -> int:
    reached = following[event]
    done = 0
    while reached & ~done:
        lowest = reached & ~done
        lowest &= -lowest
        done |= lowest
        reached |= following[lowest.bit_length() - 1]
    return reached


def _access_note(event: Event, replayed: Replayed, names: Names) -> Note:
    function = function_of_thread(replayed.world, event.thread)
    done = replayed.done(event)
    what = {"R": "reads", "W": "writes", "F": "has a fence"}[event.kind]
    value = f" {names.value(event.value, 8 * event.size)}" if event.accesses_memory else ""
    if done.release or done.renewal:
        found = replayed.world.object_of(event.address)
        ends = "leaves its scope" if found is not None and found.local else "frees it"
        what, value = ends if done.release else "allocates it", ""
    atomic = f", {event.order.value}" if event.order.atomic else ""
    message = f"thread {event.thread} ({function}) {what}{value}{atomic}"
    return Note(message, event.thread, to_frames(done.stack))


_FLAG_KINDS = {DATA_RACE: "data race", USE_BEFORE_ALLOCATION: "use before allocation"}
_DESCRIBE: dict[str, Callable[[Failure, Replayed, Names], Finding]] = {
    "assertion": _assertion,
    "call": _bad_call,
    "join": _bad_join,
    "allocation": _bad_allocation,
    "memory": _outside,
    UNINITIALISED: _uninitialised,
    "use after free": _use_after_free,
    "double free": _double_free,
    "release": _bad_free,
    "leak": _leak,
    DEADLOCK: _deadlock,
}
