"""How much memory a process of its own has needed at most.

Not `ru_maxrss`: a child begins with that of the process that started it.
"""

from __future__ import annotations

PRINT_PEAK_MB = """
import sys
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) / 1024, file=sys.stderr)
"""
"""To be executed at the end."""
