"""Values in which other threads have no say: those computed from memory that nobody else writes to.

Who writes where is found out by exploring. As long as no write was seen it is assumed that there is none, and whoever
relies on that is remembered; if it turns out wrong, the exploration starts again.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from dekker.engines.axiomatic.path import Context, Discovered, Path, PathEvent, World
from dekker.engines.axiomatic.terms import resolve
from dekker.execution import INITIAL_THREAD


def own_places(context: Context, path: Path, reads: Set[int]) -> tuple[int, ...] | None:
    """The addresses that values come from which were computed from reads of the thread (by index), if no other thread
    writes there in any execution."""
    world = context.world
    if not reads or world is None:
        return None if reads else ()
    addresses: list[int] = []
    for address in _addresses(context.thread, world, path, reads):
        if address is None:
            return None
        addresses.append(address)
    for address in addresses:
        reader = world.discovered.trusted.setdefault(address, context.thread)
        if reader != context.thread:
            world.discovered.trusted[address] = None
    return tuple(sorted(addresses))


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


def _addresses(thread: int, world: World, path: Path, reads: Set[int]) -> Iterator[int | None]:
    """Where the values came from; None if others could have a say in one."""
    seen = set(reads)
    pending = list(reads)
    while pending:
        index = pending.pop()
        event = path.events[index] if index >= 0 else None
        source = world.sources.get((thread, index))
        address = resolve(event.address.term, world.known) if event is not None else None
        if event is None or source is None or not _is_private(event, address, world, thread):
            yield None
            return
        assert isinstance(address, int)
        yield address
        if source[0] == INITIAL_THREAD:
            continue
        written = path.events[source[1]] if source[0] == thread else None
        if written is None or written.release or "X" in written.tags:
            yield None
            return
        more = (written.value.reads | written.value.picked) - seen
        seen |= more
        pending += more


def _is_private(event: PathEvent, address: object, world: World, thread: int) -> bool:
    if event.kind != "R" or event.waits or not isinstance(address, int):
        return False
    writers = world.discovered.writers
    return address not in writers or writers[address] == thread
