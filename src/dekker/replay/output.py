"""What a program prints: the directives of C's `printf`, filled in."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from dekker.ir.arithmetic import mask, signed
from dekker.replay.names import Names

_DIRECTIVE = re.compile(r"%([-+ #0']*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|q|j|z|t|L)?([a-zA-Z%])")
_WIDTHS = {"hh": 8, "h": 16, "l": 64, "ll": 64, "q": 64, "j": 64, "z": 64, "t": 64}
UNKNOWN = "…"


def printed_text(text: str, values: tuple[int, ...], names: Names) -> str:
    """A directive without a value, or of a text that is not known, is shown as …"""
    following = iter(values)
    return _DIRECTIVE.sub(lambda match: _shown(match, following, names), text)


def _shown(match: re.Match[str], values: Iterator[int], names: Names) -> str:
    flags, width, precision, length, kind = match.groups()
    if kind == "%":
        return "%"
    try:
        head = f"%{flags.replace(chr(39), '')}{_number(width, values)}"
        head += "" if precision is None else f".{_number(precision, values)}"
        return _directive(head, kind, _WIDTHS.get(length, 32), next(values), names)
    except (StopIteration, ValueError, OverflowError):
        return UNKNOWN


def _number(text: str | None, values: Iterator[int]) -> str:
    return str(signed(32, next(values) & mask(32))) if text == "*" else text or ""


def _directive(head: str, kind: str, width: int, value: int, names: Names) -> str:
    if kind in "di":
        return f"{head}d" % signed(width, value & mask(width))
    if kind in "uxXo":
        return f"{head}{'d' if kind == 'u' else kind}" % (value & mask(width))
    if kind in "eEfFgGaA":
        number: float = struct.unpack("<d", struct.pack("<Q", value & mask(64)))[0]
        return f"{head}{kind if kind not in 'aA' else 'g'}" % number
    if kind == "c":
        return f"{head}c" % (value & 0xFF)
    if kind == "p":
        return f"{head}s" % names.value(value, 64)
    if kind == "s":
        found = names.text_at(value)
        return f"{head}s" % (UNKNOWN if found is None else found)
    return UNKNOWN
