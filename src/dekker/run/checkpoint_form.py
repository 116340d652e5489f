"""How far an exploration has come, as JSON has it."""

from __future__ import annotations

import reprlib
from base64 import b85decode, b85encode
from dataclasses import fields
from functools import cache
from itertools import repeat
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dekker.native import COUNTED, NOTHING_KNOWN, Exploration, Rest, merge_known
from dekker.run.slices import Progress

SMALLEST, LARGEST = -(1 << 63), (1 << 64) - 1
MOST_WORDS = 512
NOT_KEPT = ("rest", "started_again", "asking")
REFUSALS = ("mixed_sizes", "guess", "unknown_thread")
"""Explorations that end so are not written."""


def to_plain(progress: Progress) -> dict[str, Any]:
    kept = [item.name for item in fields(Exploration) if item.name not in NOT_KEPT]
    rest = {item.name: getattr(progress.rest, item.name) for item in fields(Rest)}
    return {
        "digest": progress.digest,
        "finished": progress.finished,
        "found": {name: getattr(progress.found, name) for name in kept},
        "rest": {
            **rest,
            "units": [(b85encode(unit).decode(), depth, sleep_id) for unit, depth, sleep_id in progress.rest.units],
        },
    }


def from_plain(content: Any) -> Progress:
    """`ValueError` if that is not what it is."""
    if not isinstance(content, dict):
        raise _unfit(content, "an object")
    found, rest = _record(Exploration, content.get("found")), _record(Rest, content.get("rest"))
    if any(getattr(found, name) is not None for name in REFUSALS):
        raise ValueError("it goes on after a refusal")
    if not found.statistics.keys() >= set(COUNTED) or min(found.statistics.values()) < 0:
        raise _unfit(found.statistics, "what is counted")
    finished = read_as(bool, content.get("finished"))
    _require_rest(rest, finished)
    return Progress(read_as(str, content.get("digest")), found, rest, finished)


def _require_rest(rest: Rest, finished: bool) -> None:
    numbers = (rest.words, rest.next_id, *rest.slept, *(number for unit in rest.units for number in unit[1:]))
    if min(numbers) < 0 or rest.words > MOST_WORDS:
        raise ValueError("a number of what is left is out of range")
    if not rest.units and not finished:
        raise ValueError("it is not finished, and nothing is left")
    try:
        merge_known(rest.known, NOTHING_KNOWN)
    except TypeError:
        raise ValueError("a number of what is known is out of range") from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if name not in NOT_KEPT}


def _record(kind: type, content: Any) -> Any:
    hints = _hints(kind)
    if not isinstance(content, dict) or content.keys() != hints.keys():
        raise _unfit(content, f"an object with {', '.join(hints)}")
    return kind(**{name: read_as(hint, content[name]) for name, hint in hints.items()})


def read_as(hint: Any, content: Any) -> Any:
    """What has that type; tuples are lists in JSON, and bytes are text. `ValueError` if it has not."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        (other,) = (part for part in parts if part is not NoneType)
        return None if content is None else read_as(other, content)
    if origin is dict:
        if not isinstance(content, dict):
            raise _unfit(content, "an object")
        return {name: read_as(parts[1], item) for name, item in content.items()}
    if origin in (list, tuple):
        return _sequence(origin, parts, content)
    if hint is bytes and isinstance(content, str):
        return b85decode(content)
    if type(content) is not hint or (hint is int and not SMALLEST <= content <= LARGEST):
        raise _unfit(content, "a number" if hint is int else f"a {hint.__name__}")
    return content


def _sequence(origin: Any, parts: tuple[Any, ...], content: Any) -> Any:
    if not isinstance(content, list):
        raise _unfit(content, "a list")
    is_open = origin is list or parts[-1] is Ellipsis
    if not is_open and len(content) != len(parts):
        raise _unfit(content, f"{len(parts)} things")
    if set(parts) <= {int, Ellipsis}:  # which most are: events of traces
        return origin(_numbers(content))
    return origin(map(read_as, repeat(parts[0]) if is_open else parts, content))


def _numbers(content: list[Any]) -> list[int]:
    are_numbers = {int}.issuperset(map(type, content))
    if not are_numbers or min(content, default=0) < SMALLEST or max(content, default=0) > LARGEST:
        raise _unfit(content, "a list of numbers")
    return content


def _unfit(content: Any, expected: str) -> ValueError:
    return ValueError(f"{reprlib.repr(content)} is not {expected}")
