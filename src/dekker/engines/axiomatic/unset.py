"""Memory that nobody has written, and accesses that depend on what is in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.path import LooseCheck, Path
from dekker.engines.axiomatic.steps import SYNCHRONISATION_START
from dekker.engines.axiomatic.terms import Symbol, Term, resolve
from dekker.execution import Event
from dekker.ir.arithmetic import mask
from dekker.ir.undefined import is_undecided, of_binary, undefined_bits


def unset_byte(paths: Sequence[Path], address: int) -> int:
    """The indeterminate bits of a byte that was never written."""
    for path in paths:
        for start, size in path.objects:
            if start <= address < start + size:
                return 0xFF if start in path.unset else 0
    return 0


def is_shown(paths: Sequence[Path], address: int, size: int, value: Term) -> bool:
    """Whether a value of which nothing is known is stored where other threads may see it: in a global object, or on
    the heap."""
    if undefined_bits(value) & mask(8 * size) != mask(8 * size):
        return False
    for path in paths:
        for start, length in path.objects:
            if start <= address < start + length:
                return start not in path.own_objects
    return address < SYNCHRONISATION_START


def undefined_uses(structure: Structure) -> Collection[Event]:
    """Of each thread, the first access that depends on an indeterminate value: where it is, whether a comparison
    succeeds, what others are to see."""
    found: dict[int, Event] = {}
    for event in structure.events:
        is_access = event.accesses_memory and not event.initial
        if is_access and event.index <= found.get(event.thread, event).index and _uses(structure, event):
            found[event.thread] = event
    return found.values()


def _uses(structure: Structure, event: Event) -> bool:
    source = structure.path_event(event)
    known: dict[Symbol, Term] = structure.known
    if undefined_bits(resolve(source.address.term, known)):
        return True
    value = resolve(source.value.term, known)
    if event.kind == "W":
        return not source.copy and is_shown(structure.paths, event.address, event.size, value)
    if source.compared is None:
        return False
    compared = resolve(source.compared.term, known)
    both = isinstance(value, int) and isinstance(compared, int)
    return both and of_binary("eq", 8 * event.size, value, compared) != 0  # type: ignore[arg-type]


def undecided_checks(structure: Structure) -> Iterator[tuple[int, LooseCheck]]:
    """Of each thread, the first condition asked in advance that turns out to depend on an indeterminate value."""
    for thread, path in enumerate(structure.paths):
        for check in path.loose_checks:
            if is_undecided(resolve(check.condition, structure.known)):
                yield thread, check
                break
