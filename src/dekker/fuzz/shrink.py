"""Delta debugging: the smallest part of a program that still shows a problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

INSTRUCTION = re.compile(r"^ +\S")
LITERAL = re.compile(r"(?<![.\w])\d+\b")


def shrink(text: str, still_wrong: Callable[[str], bool], seconds: float) -> str:
    """Takes instructions out of the representation of a program, as many at once as possible, until none can go; and
    then makes numbers smaller. `still_wrong` is asked about each attempt; an attempt that is no program is not."""
    deadline = monotonic() + seconds

    def attempt(candidate: str) -> bool:
        return monotonic() < deadline and still_wrong(candidate)

    return _with_small_numbers(_without_instructions(text, attempt), attempt)


def _without_instructions(text: str, attempt: Callable[[str], bool]) -> str:
    lines = text.splitlines()
    chunk = max(1, len(lines) // 2)
    while True:
        changed = False
        start = 0
        while start < len(lines):
            window = range(start, min(start + chunk, len(lines)))
            kept = [line for at, line in enumerate(lines) if at not in window or not INSTRUCTION.match(line)]
            if len(kept) < len(lines) and attempt("\n".join(kept) + "\n"):
                lines, changed = kept, True
            else:
                start += chunk
        if chunk == 1 and not changed:
            return "\n".join(lines) + "\n"
        chunk = max(1, chunk // 2)


def _with_small_numbers(text: str, attempt: Callable[[str], bool]) -> str:
    """In what is stored, assigned and compared."""
    position = 0
    while True:
        found = LITERAL.search(text, position)
        if found is None:
            return text
        position = found.end()
        line_start = text.rfind("\n", 0, found.start()) + 1
        if not INSTRUCTION.match(text[line_start:]) or int(found.group()) <= 1:
            continue
        candidate = text[: found.start()] + "1" + text[found.end() :]
        if attempt(candidate):
            text, position = candidate, found.start() + 1
