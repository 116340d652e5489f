"""Dekker: can this concurrent program go wrong on this memory model, and if so, how?

`check`, `compare` and `litmus` answer; docs/api.md describes them. Names are loaded when they are first used, so that
importing the package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers take it; `typing` takes longer to load than all of this

if TYPE_CHECKING:
    from dekker.api import LitmusResult, Result, Violation, check, compare, litmus
    from dekker.errors import DekkerError, InputError, ModelError, ParseError, UnsupportedError
    from dekker.result import Verdict
    from dekker.witness import Witness

__all__ = [
    "DekkerError",
    "InputError",
    "LitmusResult",
    "ModelError",
    "ParseError",
    "Result",
    "UnsupportedError",
    "Verdict",
    "Violation",
    "Witness",
    "check",
    "compare",
    "litmus",
]

_HOMES = {
    **dict.fromkeys(("LitmusResult", "Result", "Violation", "check", "compare", "litmus"), "dekker.api"),
    **dict.fromkeys(("DekkerError", "InputError", "ModelError", "ParseError", "UnsupportedError"), "dekker.errors"),
    "Verdict": "dekker.result",
    "Witness": "dekker.witness",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dekker' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted((*globals(), *__all__))
