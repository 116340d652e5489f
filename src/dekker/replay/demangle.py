"""Names of C++ functions without their parameters: `_ZN5Queue4pushEi` is `Queue::push`.

Only what names are made of: nested names, templates (whose arguments are not shown), constructors, destructors,
lambdas. A name that has anything else in it is shown as it is.
"""

from __future__ import annotations

import re

_LENGTH = re.compile(r"\d+")
_QUALIFIERS = re.compile(r"[rVKRO]*")
_LAMBDA = re.compile(r"Ul.*?E\d*_")
_SUBSTITUTION = re.compile(r"S[0-9A-Z]*_")
_INLINE_NAMESPACES = ("__1", "__cxx11")
_SPOKEN = {"__shared_mutex_base": "shared_mutex", "~__shared_mutex_base": "~shared_mutex"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string"}


def demangled(name: str) -> str:
    if not name.startswith("_Z"):
        return name
    is_local = name.startswith("_ZZ")
    start = 3 if is_local else 2
    parts = _nested(name, start + 1) if name.startswith("N", start) else _plain(name, start)
    shown = "::".join(_SPOKEN.get(part, part) for part in parts or () if part not in _INLINE_NAMESPACES)
    if is_local and shown:
        return f"{'lambda' if '$_' in name or 'Ul' in name else 'function'} in {shown}"
    return shown or name


def _plain(name: str, at: int) -> list[str] | None:
    parts: list[str] = []
    if name.startswith("St", at):
        parts, at = ["std"], at + 2
    found = _word(name, at)
    return None if found is None else [*parts, found[0]]


def _word(name: str, at: int) -> tuple[str, int] | None:
    length = _LENGTH.match(name, at)
    if length is None:
        return None
    end = length.end() + int(length[0])
    return (name[length.end() : end], end) if end <= len(name) else None


def _nested(name: str, at: int) -> list[str] | None:
    qualifiers = _QUALIFIERS.match(name, at)
    at = qualifiers.end() if qualifiers is not None else at
    parts: list[str] = []
    while at < len(name) and name[at] != "E":
        word = _word(name, at)
        marker = name[at : at + 2]
        if word is not None:
            parts.append(word[0])
            at = word[1]
        elif marker in _STANDARD:
            parts.append(_STANDARD[marker])
            at += 2
        elif marker in ("C1", "C2", "C3", "D0", "D1", "D2") and parts:
            parts.append(parts[-1] if marker[0] == "C" else f"~{parts[-1]}")
            at += 2
        elif name[at] == "I":
            at = _behind_arguments(name, at + 1)
        elif (found := _LAMBDA.match(name, at) or _SUBSTITUTION.match(name, at)) is not None:
            parts += ["lambda"] if found[0].startswith("Ul") else []
            at = found.end()
        elif name[at] == "B" and (tag := _word(name, at + 1)) is not None:
            at = tag[1]
        elif marker == "cl":
            parts.append("operator()")
            at += 2
        else:
            return None
    return parts or None


def _behind_arguments(name: str, at: int) -> int:
    """Template arguments may contain names and further arguments; each `I`, `N`, `X`, `L`, `J` has its `E`."""
    depth = 1
    while at < len(name) and depth:
        word = _word(name, at)
        if word is not None:
            at = word[1]
            continue
        depth += (name[at] in "INXLJF") - (name[at] == "E")
        at += 1
    return at
