"""Limits of time and memory that hold whatever is being done: read, searched, replayed or written.

Engines look at their limits themselves, and so give what they found before. Where something else takes long, or an
engine does not look for too long, a thread of the core (`core/bindings/supervision.cpp`) steps in: a second behind the
time, or where memory goes on growing, it makes `LimitReached` of a signal in the main thread; if that does not help, it
writes the last words and ends the process with status 3.

In a program that uses Dekker as a library there is only the exception, in the main thread, and only as long as the
program has no use for the signal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

from dekker.errors import LimitReached
from dekker.native import end_supervision, limit_that_was_met, supervise
from dekker.resources import Command, resident_mb
from dekker.task import Limits

TIME, MEMORY = "time", "memory"
SIGNAL = signal.SIGALRM
USABLE = 0.95
"""Of what the machine has: without a limit of memory this is one."""

LastWords = Callable[[str], Sequence[tuple[str, str]]]
"""For a limit: files and what is written into them if the process has to end; "" is stdout."""


class _State:
    active = False
    last_words: LastWords | None = None


@contextmanager
def last_words(words: LastWords) -> Iterator[None]:
    """What is written instead of the answer, if it comes to that."""
    before, _State.last_words = _State.last_words, words
    try:
        yield
    finally:
        _State.last_words = before


@contextmanager
def supervised(limits: Limits, *, memory_factor: int = 1) -> Iterator[None]:
    """Raises `LimitReached` if a limit is not kept, also for want of memory where there is none."""
    if _State.active or not _may_supervise(limits):
        yield from _with_memory_errors()
        return
    words = _State.last_words or _unknown
    memory = limits.memory_mb * memory_factor if limits.memory_mb is not None else _most_megabytes()
    earlier = signal.signal(SIGNAL, _raise)
    _State.active = True
    try:
        supervise(
            limits.timeout_s or 0.0,
            int(memory * 2**20),
            limits.memory_mb is not None,
            Command.is_one,
            SIGNAL,
            list(words(TIME)),
            list(words(MEMORY)),
        )
        yield from _with_memory_errors()
    finally:
        _end(earlier)


def _may_supervise(limits: Limits) -> bool:
    if threading.current_thread() is not threading.main_thread():
        return False
    limited = limits.timeout_s is not None or limits.memory_mb is not None
    return Command.is_one or (limited and signal.getsignal(SIGNAL) is signal.SIG_DFL)


def _end(earlier: object) -> None:
    """A signal may come as long as there is supervision; what it would raise is of no use any more."""
    _State.active = False
    while True:
        try:
            end_supervision()
            signal.signal(SIGNAL, signal.SIG_IGN)
            signal.signal(SIGNAL, earlier)  # type: ignore[arg-type]
        except LimitReached:
            continue
        return


def _with_memory_errors() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise LimitReached(MEMORY) from None


def _raise(number: int, frame: FrameType | None) -> None:
    if _State.active:
        raise LimitReached(limit_that_was_met())


def _unknown(reason: str) -> Sequence[tuple[str, str]]:
    return (("", f"UNKNOWN: stopped by {reason}\n"),)


def _most_megabytes() -> float:
    """Where nobody says how many."""
    return _all_megabytes() if Command.is_one else 0.0


@cache
def _all_megabytes() -> float:
    """What this process may hold before the machine, or its container, has nothing left."""
    free = [resident_mb() + kilobytes / 2**10 for kilobytes in (_available_kilobytes(),) if kilobytes]
    limits = [limit / 2**20 for limit in map(_bytes_in, _CONTAINER_FILES) if limit]
    return USABLE * min((*free, *limits), default=2.0**30)


_CONTAINER_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def _available_kilobytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    found = (line.split() for line in lines)
    return next((int(words[1]) for words in found if words[0] == "MemAvailable:"), 0)


def _bytes_in(file: str) -> int:
    try:
        return int(Path(file).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
