"""Values in which other threads that are running have no say: those computed from memory that nobody else writes to,
or only a thread that has been joined, or that was read while no other thread was running.

Who writes where is found out by exploring. As long as no write was seen it is assumed that there is none, and whoever
relies on that is remembered; if it turns out wrong, the exploration starts again.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dekker.engines.axiomatic.path import Context, Discovered, Path, PathEvent, World
from dekker.engines.axiomatic.rounds import Entered
from dekker.engines.axiomatic.terms import resolve
from dekker.execution import INITIAL_THREAD
from dekker.ir.layout import thread_at


def own_places(context: Context, path: Path, reads: Set[int], entered: Entered) -> tuple[int, ...] | None:
    """The addresses that values come from which were computed from reads of the thread (by index) and choices, if no
    other thread that is running writes there in any execution. What was read and chosen before does not matter."""
    since = {read for read in reads if is_since(read, entered)}
    world = context.world
    if not since or world is None:
        return None if since else ()
    alone = _alone_since(context.thread, world, path)
    contended: dict[int, bool] = {}
    for index, address in _addresses(context.thread, world, path, since, entered):
        was_contended = alone is None or index < alone
        if address is None or (was_contended and not _is_settled(address, world, context.thread, path)):
            return None
        contended[address] = contended.get(address, False) or was_contended
    for address in (address for address, was_contended in contended.items() if was_contended):
        writer = world.discovered.writers.get(address, context.thread)
        if world.discovered.trusted.setdefault(address, writer) != writer:
            world.discovered.trusted[address] = None
    return tuple(sorted(contended))


def own_writes(context: Context, path: Path, reads: Set[int], entered: Entered) -> Iterator[PathEvent]:
    """What the thread has written since then, of what values that are its own were computed from."""
    since = {read for read in reads if is_since(read, entered)}
    if context.world is None:
        return
    for index, _ in _addresses(context.thread, context.world, path, since, entered):
        source = context.world.sources.get((context.thread, index))
        if source is not None and source[0] == context.thread and source[1] >= entered.events:
            yield path.events[source[1]]


def is_chosen(path: Path, read: int) -> bool:
    """A choice, or the read of a weak compare-exchange: whether that succeeds is chosen."""
    return read < 0 or path.events[read].weak


def is_since(read: int, entered: Entered) -> bool:
    """Whether it is a read or choice that came after the loop was entered."""
    return read >= entered.events if read >= 0 else -1 - read >= entered.choices


def breaks_trust(discovered: Discovered, address: int, thread: int) -> bool:
    """Remembers that a thread writes to the address: does anyone rely on the contrary?"""
    writers, trusted = discovered.writers, discovered.trusted
    if address not in writers:
        writers[address] = thread
    elif writers[address] not in (thread, None):
        writers[address] = None
    else:
        return False
    return address in trusted and (trusted[address] is None or trusted[address] != writers[address])


def _alone_since(thread: int, world: World, path: Path) -> int | None:
    """The number of events after which no other thread was running: all that were started have ended, and it has joined
    them."""
    since = 0
    for number, other in enumerate(world.paths):
        if number == thread or other.status == "unborn":
            continue
        joined = join_of(path, number, world) if other.status == "complete" else None
        if joined is None:
            return None
        since = max(since, joined)
    return since


def _addresses(
    thread: int, world: World, path: Path, reads: Set[int], entered: Entered
) -> Iterator[tuple[int, int | None]]:
    """Where the values came from, with the index of the read; None if others could have a say in one."""
    seen = set(reads)
    pending = list(reads)
    while pending:
        index = pending.pop()
        event = None if is_chosen(path, index) else path.events[index]
        source = world.sources.get((thread, index))
        address = resolve(event.address.term, world.known) if event is not None else None
        if event is None or source is None or event.kind != "R" or event.waits or not isinstance(address, int):
            yield index, None
            return
        yield index, address
        if source[0] == INITIAL_THREAD:
            continue
        written = (path if source[0] == thread else world.path(source[0])).events[source[1]]
        if written.release or "X" in written.tags:
            yield index, None
            return
        if source[0] == thread:
            more = {read for read in written.value.reads | written.value.picked if is_since(read, entered)} - seen
            seen |= more
            pending += more


def _is_settled(address: int, world: World, thread: int, path: Path) -> bool:
    writer = world.discovered.writers.get(address, thread)
    return writer is not None and (writer == thread or join_of(path, writer, world) is not None)


def join_of(path: Path, other: int, world: World) -> int | None:
    """Where in its events the thread has seen the other one end, by itself or through others that it has joined."""
    for index, event in enumerate(path.events):
        address = event.address.term
        if not event.waits or index == 0 or not isinstance(address, int):
            continue
        joined = thread_at(address)
        if joined == other or (joined and join_of(world.path(joined), other, world) is not None):
            return index
    return None
