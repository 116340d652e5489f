"""All that goes wrong in an execution: in a thread by itself, and where threads meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dekker.execution import Event, Execution, pairs
from dekker.ir.layout import header_address, thread_at
from dekker.replay.machine import COMPLETE, STOPPED, UNBORN, WAITING, Done, Failure, ThreadRun
from dekker.replay.world import World

DEADLOCK = "deadlock"


def failures(world: World, runs: Sequence[ThreadRun], execution: Execution) -> Iterator[Failure]:
    """Accesses outside of objects last, because of what they may be a consequence."""
    yield from (run.failure for run in runs if run.failure is not None)
    yield from _after_release(world, runs, execution)
    if is_deadlock(runs, execution):
        waiting = [run for run in runs if run.end == WAITING]
        first = min(waiting, key=lambda run: run.waits_for >= 0)
        yield Failure(DEADLOCK, "threads wait for ever", first.thread, first.stack)
    for event in execution.events:
        done = _done(runs, event)
        if done is not None and not done.release and _is_outside(world, runs, event):
            message = f"access to {event.size} bytes at {event.address:#x}, which lie in no object"
            yield Failure("memory", message, event.thread, done.stack, event.address, event.size)


def _done(runs: Sequence[ThreadRun], event: Event) -> Done | None:
    return None if event.initial or not event.accesses_memory else runs[event.thread].done[event.index]


def _is_outside(world: World, runs: Sequence[ThreadRun], event: Event) -> bool:
    thread = thread_at(event.address)
    if thread is not None and thread < len(runs):
        return False
    return not world.contains(event.address, event.size)


# --- freed memory


def _after_release(world: World, runs: Sequence[ThreadRun], execution: Execution) -> Iterator[Failure]:
    """A read of what a release wrote, a write or another release behind one."""
    releases = [n for n, event in enumerate(execution.events) if (done := _done(runs, event)) and done.release]
    headers = {header_address(start) for start in world.allocations}
    late: dict[int, None] = {}
    for release in releases:
        late.update(dict.fromkeys(_members(execution.relations["rf"][release])))
        late.update(dict.fromkeys(_members(execution.relations["co"][release])))
    for number in sorted(late):
        event = execution.events[number]
        done = _done(runs, event)
        assert done is not None
        if not done.release:
            message = f"access to memory at {event.address:#x} that may have been freed"
            yield Failure("use after free", message, event.thread, done.stack, event.address, event.size)
        elif event.address in headers:
            message = "this memory may have been freed already"
            yield Failure("double free", message, event.thread, done.stack, event.address)


def _members(row: int) -> list[int]:
    return [target for _, target in pairs([row])]


# --- deadlocks


def is_deadlock(runs: Sequence[ThreadRun], execution: Execution) -> bool:
    """Whether some threads wait and all that have not ended wait for ever: for a thread that does not end, or for
    another value than the last one of everything that was read in the last round."""
    if not any(run.end == WAITING for run in runs):
        return False
    return all(run.end in (COMPLETE, UNBORN) or _waits_for_ever(run, runs, execution) for run in runs)


def _waits_for_ever(run: ThreadRun, runs: Sequence[ThreadRun], execution: Execution) -> bool:
    if run.end != WAITING:
        return False
    if run.waits_for >= 0:
        return runs[run.waits_for].end not in (COMPLETE, STOPPED)
    first = next((n for n, e in enumerate(execution.events) if e.thread == run.thread), 0)
    reads = {first + index for index in range(run.last_round, len(run.done)) if run.done[index].event.kind == "R"}
    sources = [source for source, read in pairs(execution.relations["rf"]) if read in reads]
    return not any(execution.relations["co"][source] for source in sources)
