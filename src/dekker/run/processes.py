"""Processes of this machine that work side by side, and end with what they work for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from dekker.errors import InputError
from dekker.resources import Command


@contextmanager
def worker_processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """They end with this process, and Ctrl-C is left to it. Whoever leaves with an exception does not wait for what
    they are at; it must not cancel that, because the executor fails with promises that are neither kept nor open when
    its processes are gone."""
    with ProcessPoolExecutor(number, initializer=belong_to_the_parent) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise InputError(
                "a worker process was killed, probably for want of memory; what was done before is reported above",
                hint="run with fewer --jobs",
            ) from None
        except BaseException:
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def belong_to_the_parent() -> None:
    """Interrupts are left to it, and nobody works on when it is gone. A limit may end the process."""
    Command.is_one = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
