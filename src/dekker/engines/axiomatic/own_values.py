"""Values in which other threads that are running have no say: those computed from memory that nobody else writes to,
or only a thread that has been joined.

Who writes where is found out by exploring. As long as no write was seen it is assumed that there is none, and whoever
relies on that is remembered; if it turns out wrong, the exploration starts again.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dekker.engines.axiomatic.path import Context, Discovered, Path, World
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
    addresses: list[int] = []
    for address in _addresses(context.thread, world, path, since, entered):
        if address is None:
            return None
        addresses.append(address)
    for address in addresses:
        writer = world.discovered.writers.get(address, context.thread)
        if world.discovered.trusted.setdefault(address, writer) != writer:
            world.discovered.trusted[address] = None
    return tuple(sorted(addresses))


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


def _addresses(thread: int, world: World, path: Path, reads: Set[int], entered: Entered) -> Iterator[int | None]:
    """Where the values came from; None if others could have a say in one."""
    seen = set(reads)
    pending = list(reads)
    while pending:
        index = pending.pop()
        event = None if is_chosen(path, index) else path.events[index]
        source = world.sources.get((thread, index))
        address = resolve(event.address.term, world.known) if event is not None else None
        if event is None or source is None or event.kind != "R" or event.waits or not isinstance(address, int):
            yield None
            return
        if not _is_settled(address, world, thread, path):
            yield None
            return
        yield address
        if source[0] == INITIAL_THREAD:
            continue
        written = (path if source[0] == thread else world.path(source[0])).events[source[1]]
        if written.release or "X" in written.tags:
            yield None
            return
        if source[0] == thread:
            more = {read for read in written.value.reads | written.value.picked if is_since(read, entered)} - seen
            seen |= more
            pending += more


def _is_settled(address: int, world: World, thread: int, path: Path) -> bool:
    writer = world.discovered.writers.get(address, thread)
    return writer is not None and (writer == thread or _has_joined(path, writer, world))


def _has_joined(path: Path, other: int, world: World) -> bool:
    """Whether the thread has seen the other one end, by itself or through others that it has joined."""
    addresses = (event.address.term for event in path.events[1:] if event.waits)
    joined = {thread_at(address) for address in addresses if isinstance(address, int)} - {None}
    return other in joined or any(_has_joined(world.path(thread), other, world) for thread in joined if thread)
