"""The command line: one file per verb. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> None:
    """Ctrl-C while the rest is loaded ends it at once: an exception in the middle of an import may become another."""
    gc.disable()  # until the verb is loaded, which makes no garbage
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _end)
    from dekker.cli.main import main as run  # noqa: PLC0415

    if is_heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _end(signum: int, frame: object) -> None:
    print("interrupted: there is no answer yet", file=sys.stderr, flush=True)
    os._exit(3)


__all__ = ["main"]
