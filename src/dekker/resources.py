"""What the process uses."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


class Command:
    """Whether this process runs a command, which may end it, or belongs to a program that uses Dekker as a library."""

    is_one = False


_STATISTICS = Path("/proc/self/statm")


def resident_mb() -> float:
    """Megabytes in memory, or the most so far where the system does not tell the present number."""
    try:
        pages = int(_STATISTICS.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / 2**20 if sys.platform == "darwin" else most / 2**10
    return pages * resource.getpagesize() / 2**20
