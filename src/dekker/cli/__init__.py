"""The command line: one file per verb. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Loads the verbs only here, so that Ctrl-C is heeded from the beginning."""
    try:
        from dekker.cli.main import main as run  # noqa: PLC0415
    except KeyboardInterrupt:
        print("interrupted: there is no answer yet", file=sys.stderr, flush=True)
        os._exit(3)
    run()


__all__ = ["main"]
