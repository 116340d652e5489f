"""All that goes wrong in an execution: in a thread by itself, and where threads meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from dekker.execution import Event, Execution, pairs
from dekker.ir.layout import header_address, thread_at
from dekker.replay.claims import Claims
from dekker.replay.machine import (
    COMPLETE,
    ENDED,
    STOPPED,
    UNBORN,
    UNINITIALISED,
    WAITING,
    Done,
    Failure,
    ThreadRun,
)
from dekker.replay.runtime_steps import joined_twice
from dekker.replay.world import Allocation, World

DEADLOCK = "deadlock"


def failures(world: World, runs: Sequence[ThreadRun], execution: Execution) -> Iterator[Failure]:
    """Accesses outside of objects late, because of what they may be a consequence; lost memory last."""
    claims = Claims(world, execution, len(runs))
    yield from (failure for run in runs for failure in _own_failures(run, claims))
    yield from _claimed_twice(world, claims)
    yield from _after_release(world, runs, execution, claims)
    if is_deadlock(runs, execution):
        waiting = [run for run in runs if run.end == WAITING]
        first = min(waiting, key=lambda run: run.waits_for >= 0)
        yield Failure(DEADLOCK, "threads wait for ever", first.thread, first.stack)
    for event in execution.events:
        done = _done(runs, event)
        unset = done is not None and _is_unset(runs[event.thread], done)
        is_access = done is not None and not done.release and not done.renewal and not unset
        if claims.is_behind(event.thread, event.index):
            continue
        if done is not None and is_access and _is_outside(world, runs, event):
            if world.is_released(event.address):
                yield _use_after_free(event, done)
                continue
            message = f"access to {event.size} bytes at {event.address:#x}, which lie in no object"
            yield Failure("memory", message, event.thread, done.stack, event.address, event.size)
    if world.program.property.leaks and _is_over(runs):
        yield from _leaks(world, runs, execution)


def _own_failures(run: ThreadRun, claims: Claims) -> Iterator[Failure]:
    """What a thread does after an access that depends on an indeterminate value is not the program's."""
    for number, failure in enumerate(run.noted):
        if claims.is_behind(run.thread, failure.n_events, number):
            return
        yield failure
        if failure.kind == UNINITIALISED:
            return
    if run.failure is not None and not claims.is_behind(run.thread, len(run.done)):
        yield run.failure


def _done(runs: Sequence[ThreadRun], event: Event) -> Done | None:
    return None if event.initial or not event.accesses_memory else runs[event.thread].done[event.index]


def _is_unset(run: ThreadRun, done: Done) -> bool:
    """Whether that its address is indeterminate was noted."""
    return any(failure.kind == UNINITIALISED and failure.stack == done.stack for failure in run.noted)


def _is_outside(world: World, runs: Sequence[ThreadRun], event: Event) -> bool:
    thread = thread_at(event.address)
    if thread is not None and thread < len(runs):
        return False
    return not world.contains(event.address, event.size)


def _claimed_twice(world: World, claims: Claims) -> Iterator[Failure]:
    """A thread is joined or detached once, and by one."""
    for thread, handle in claims.second():
        yield Failure("join", joined_twice(handle), thread, world.claims[thread, handle].stack, handle)


# --- freed memory


def _after_release(world: World, runs: Sequence[ThreadRun], execution: Execution, claims: Claims) -> Iterator[Failure]:
    """A read of what a release wrote, a write or another release behind one."""
    releases = [
        number
        for number, event in enumerate(execution.events)
        if (world.starts_free(event.address) if event.initial else (done := _done(runs, event)) and done.release)
    ]
    headers = {header_address(start) for start in world.allocations}
    late: dict[int, None] = {}
    for release in releases:
        late.update(dict.fromkeys(_members(execution.relations["rf"][release])))
        late.update(dict.fromkeys(_until_renewal(runs, execution, release)))
    for number in sorted(late):
        event = execution.events[number]
        done = _done(runs, event)
        assert done is not None
        if claims.is_behind(event.thread, event.index):
            continue
        if not done.release:
            yield _use_after_free(event, done)
        elif event.address in headers:
            message = "this memory may have been freed already"
            yield Failure("double free", message, event.thread, done.stack, event.address)


def _until_renewal(runs: Sequence[ThreadRun], execution: Execution, release: int) -> list[int]:
    """The writes behind a release, up to the one with which the memory is in use again."""
    co = execution.relations["co"]
    behind = sorted(_members(co[release]), key=lambda number: co[number].bit_count(), reverse=True)
    return list(takewhile(lambda n: not ((done := _done(runs, execution.events[n])) and done.renewal), behind))


def _use_after_free(event: Event, done: Done) -> Failure:
    message = f"access to memory at {event.address:#x} that may have been freed"
    return Failure("use after free", message, event.thread, done.stack, event.address, event.size)


def _members(row: int) -> list[int]:
    return [target for _, target in pairs([row])]


# --- deadlocks


def is_deadlock(runs: Sequence[ThreadRun], execution: Execution) -> bool:
    """Whether some threads wait and all that have not ended wait for ever: for a thread that does not end, or for
    another value than the last one of everything that was read in the last round. What is stored again makes no
    difference."""
    if not any(run.end == WAITING for run in runs) or any(run.end == ENDED for run in runs):
        return False
    return all(run.end in (COMPLETE, UNBORN) or _waits_for_ever(run, runs, execution) for run in runs)


def _waits_for_ever(run: ThreadRun, runs: Sequence[ThreadRun], execution: Execution) -> bool:
    if run.end != WAITING or run.is_idle:
        return False
    if run.waits_for >= 0:
        return runs[run.waits_for].end not in (COMPLETE, STOPPED)
    reads = _last_round(run, execution, "R")
    sources = [source for source, read in pairs(execution.relations["rf"]) if read in reads]
    newer = execution.relations["co"]
    return all(
        _changes_nothing(write, _members(newer[write]), execution)
        for write in (*sources, *_last_round(run, execution, "W"))
    )


def _changes_nothing(write: int, newer: Sequence[int], execution: Execution) -> bool:
    """However often it is done again."""
    return all(execution.events[other].value == execution.events[write].value for other in newer)


def waiting_reads(runs: Sequence[ThreadRun], execution: Execution) -> frozenset[int]:
    """What threads that wait have read in their last round."""
    waiting = (run for run in runs if run.end == WAITING and run.waits_for < 0 and not run.is_idle)
    return frozenset(read for run in waiting for read in _last_round(run, execution, "R"))


def _last_round(run: ThreadRun, execution: Execution, kind: str) -> set[int]:
    first = next((n for n, e in enumerate(execution.events) if e.thread == run.thread), 0)
    return {first + index for index in range(run.last_round, len(run.done)) if run.done[index].event.kind == kind}


# --- lost memory


def _is_over(runs: Sequence[ThreadRun]) -> bool:
    return any(run.end == ENDED for run in runs) or all(run.end in (COMPLETE, UNBORN) for run in runs)


def _leaks(world: World, runs: Sequence[ThreadRun], execution: Execution) -> Iterator[Failure]:
    """Memory of the heap that is not freed and that no pointer leads to which begins in a global object."""
    words = _final_words(world, execution)
    places = world.places
    pending = [(places.starts[item.name], item.size) for item in world.program.objects]
    lost = dict(world.allocations)
    gone = world.released.keys() - world.renewals.keys()
    while pending:
        start, size = pending.pop()
        pointers = {value for address, value in words.items() if start <= address < start + size}
        for found in [item for item in lost.values() if any(item.start <= p < _end(item) for p in pointers)]:
            del lost[found.start]
            pending.append((found.start, found.size))
    last = {
        event.address: done
        for number, event in enumerate(execution.events)
        if (done := _done(runs, event)) and (done.release or done.renewal) and not execution.relations["co"][number]
    }
    for start in lost:
        item = (world.renewals.get(start) or [lost[start]])[-1]
        taken = last.get(item.header)
        is_freed = item.start in gone or (taken is not None and taken.release)
        if not (item.local or item.permanent or is_freed):
            thread, stack = (item.thread, item.stack) if taken is None else (taken.event.thread, taken.stack)
            message = f"the {item.size} bytes that are allocated here are lost: at the end nothing points to them"
            yield Failure("leak", message, thread, stack, item.start, item.size)


def _end(allocation: Allocation) -> int:
    return allocation.start + max(1, allocation.size)


def _final_words(world: World, execution: Execution) -> dict[int, int]:
    """The last values of all words that may hold a pointer."""
    bytes_of = set(world.written) | set(world.initial.known_bytes())
    words = {address & ~7: world.read(address & ~7, 8) for address in bytes_of}
    for number, event in enumerate(execution.events):
        if event.kind == "W" and event.size == 8 and not execution.relations["co"][number]:
            words[event.address] = event.value
    return words
