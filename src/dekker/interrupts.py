"""Ctrl-C as a wish to end. Once a search has begun it is noted and asked for, so that no answer is torn apart."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dekker.records import dataclass


@dataclass
class _Noted:
    begun: bool = False
    seen: bool = False
    raised: bool = False


_noted: _Noted | None = None


@contextmanager
def noted_interrupts() -> Iterator[None]:
    """For a program of its own. Before `search_begins`, and the second time, Ctrl-C is an exception as ever; whatever
    becomes of it on its way, it comes out as one."""
    global _noted  # noqa: PLW0603 — signals are the process's
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not is_ours:
        yield
        return
    noted = _noted = _Noted()

    def note(signum: int, frame: object) -> None:
        if not noted.begun or noted.seen:
            noted.raised = True
            raise KeyboardInterrupt
        noted.seen = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if noted.raised:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _noted = None


def search_begins() -> None:
    """From here on there is something to tell."""
    if _noted is not None:
        _noted.begun = True


def interrupted() -> bool:
    return _noted is not None and _noted.seen


def heeding(progress: Callable[[dict[str, int]], object] | None) -> Callable[[dict[str, int]], bool] | None:
    """Says whether to go on. The core asks Python itself for Ctrl-C where that is an exception."""
    if _noted is None:
        return None if progress is None else lambda counts: progress(counts) is not False

    def go_on(counts: dict[str, int]) -> bool:
        if progress is not None and not interrupted():
            progress(counts)
        return not interrupted()

    return go_on
