"""`Witness`: one concrete execution, complete with the texts of its program and model, and its JSON form.

A witness file stands alone: it holds everything that is needed to check it from scratch. `from_json` accepts what has
the shape of a witness; whether it tells the truth is for the replay to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

from dekker.errors import InputError
from dekker.execution import BASE_RELATIONS, FROM_INITIAL, INITIAL_THREAD, Trace, TraceEvent
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Order

FORMAT = "dekker-witness"
VERSION = 1

SATISFIES, VIOLATES, ASSERTION, MEMORY = "satisfies", "violates", "assertion", "memory"
CLAIMS = (SATISFIES, VIOLATES, ASSERTION, MEMORY)

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ProgramText:
    """`front_end` says who reads the text."""

    front_end: str
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class IncludedText:
    """A file that a model includes: `by` is the file that does, `path` what it says."""

    by: str
    path: str
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelText:
    """A built-in model has a name only; a user's model comes with its text and that of what it includes."""

    name: str
    file: str = ""
    text: str | None = None
    includes: tuple[IncludedText, ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessEvent:
    """`index` is the position in program order, `instruction` that in the function that ran; initial writes belong to
    thread -1. `shown` is the value as a person reads it. `line` 0 means that there is no source line."""

    name: str
    kind: str
    thread: int
    index: int
    instruction: int
    location: str
    address: int
    size: int
    value: int
    shown: str
    order: str
    tags: tuple[str, ...]
    fence: str
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """What a `choose` gave; `position` events of the thread come before it."""

    thread: int
    position: int
    instruction: int
    value: int


@dataclass(frozen=True)
class Witness:
    """`claim` says what the execution shows: that the condition's formula holds or does not, or a runtime violation,
    which `violation` describes. Relations hold pairs of positions in `events`; empty ones are left out."""

    name: str
    program: ProgramText
    model: ModelText
    engine: str
    claim: str
    condition: str
    violation: str
    threads: tuple[str, ...]
    events: tuple[WitnessEvent, ...]
    choices: tuple[Choice, ...]
    relations: Mapping[str, tuple[Pair, ...]]
    final: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]

    def trace(self) -> Trace:
        """The execution as engines deliver it. A read that has not exactly one source gets a link to nowhere."""
        steps = list(self._steps())
        position_of = {number: position for position, (number, _) in enumerate(steps) if number >= 0}
        sources: dict[int, list[int]] = {}
        ranks: dict[int, int] = {}
        for write, read in self.relations.get("rf", ()):
            sources.setdefault(read, []).append(write)
        for _, later in self.relations.get("co", ()):
            ranks[later] = ranks.get(later, 0) + 1
        found = []
        for number, step in steps:
            link = ranks.get(number, 0) if step.kind == "W" else 0
            if step.kind == "R":
                link = self._link(sources.get(number, []), position_of)
            found.append(step._replace(link=link))
        return tuple(found)

    def _link(self, sources: list[int], position_of: dict[int, int]) -> int:
        if len(sources) != 1:
            return NOWHERE
        (source,) = sources
        return FROM_INITIAL if self.events[source].thread == INITIAL_THREAD else position_of[source]

    def _steps(self) -> Iterator[tuple[int, TraceEvent]]:
        choices = list(self.choices)
        for thread in range(len(self.threads)):
            position = 0
            own = [(n, event) for n, event in enumerate(self.events) if event.thread == thread]
            for number, event in (*own, (-1, None)):
                while choices and (choices[0].thread, choices[0].position) == (thread, position):
                    choice = choices.pop(0)
                    yield -1, TraceEvent(thread, choice.instruction, "C", value=choice.value)
                if event is not None:
                    access = (event.address, event.size, event.value) if event.kind != "F" else (0, 0, 0)
                    yield number, TraceEvent(thread, event.instruction, event.kind, *access)
                    position += 1


NOWHERE = -2


# --- writing


def to_json(witness: Witness) -> str:
    """One line for each event and each relation, so that a person can read it and tools can compare it."""
    plain: dict[str, Any] = {"format": FORMAT, "version": VERSION, **_plain(witness)}
    lines = [f"{_dump(key)}: {_value_text(key, value)}" for key, value in plain.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return value


def _value_text(key: str, value: Any) -> str:
    if key in ("events", "choices") and value:
        return "[\n" + ",\n".join(f"  {_dump(item)}" for item in value) + "\n]"
    if key == "relations" and value:
        return "{\n" + ",\n".join(f"  {_dump(name)}: {_dump(found)}" for name, found in value.items()) + "\n}"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- reading

MAX_THREADS = 1_000
MAX_EVENTS = 10_000


def from_json(text: str, file: str = "<witness>") -> Witness:
    """`InputError` for whatever is no witness, or one of another version."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise _refused(file, "it is nested too deeply") from None
    except ValueError as error:
        raise _refused(file, f"it is no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            f"'{file}' is no witness: it has no field format with the value {FORMAT!r}",
            hint="'dekker litmus TEST --witness FILE' writes one",
        )
    if content.get("version") != VERSION or isinstance(content.get("version"), bool):
        raise InputError(f"'{file}' has version {content.get('version')!r}; this Dekker reads version {VERSION}")
    try:
        return _witness(content)
    except _Damage as damage:
        raise _refused(file, str(damage)) from None


def _refused(file: str, reason: str) -> InputError:
    return InputError(f"'{file}' is no witness, or a damaged one: {reason}")


class _Damage(Exception):
    pass


Read = Callable[[Any, str], Any]


def _expected(what: str, path: str, value: Any) -> NoReturn:
    shown = json.dumps(value)
    shown = shown if len(shown) <= 40 else f"{shown[:39]}…"
    raise _Damage(f"{path}: expected {what}, found {shown}")


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        _expected("a text", path, value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _Damage(f"{path}: not a text in Unicode") from None
    return value


def _number(low: int, high: int) -> Read:
    def read(value: Any, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            _expected(f"a number from {low} to {high}", path, value)
        return value

    return read


def _one_of(choices: tuple[str, ...]) -> Read:
    def read(value: Any, path: str) -> str:
        if not isinstance(value, str) or value not in choices:
            _expected(f"one of {', '.join(choice or 'nothing' for choice in choices)}", path, value)
        return value

    return read


def _optional_text(value: Any, path: str) -> str | None:
    return None if value is None else _text(value, path)


def _list_of(read_item: Read, most: int = 1_000_000) -> Read:
    def read(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            _expected("a list", path, value)
        if len(value) > most:
            raise _Damage(f"{path}: more than {most} entries")
        return tuple(read_item(item, f"{path}[{i}]") for i, item in enumerate(value))

    return read


def _pair_of(read_item: Read) -> Read:
    def read(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != 2:
            _expected("a pair", path, value)
        return tuple(read_item(item, path) for item in value)

    return read


def _record(kind: type, readers: Mapping[str, Read]) -> Read:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            _expected("an object", path, value)
        for key in readers:
            if key not in value:
                raise _Damage(f"{path}: the field {key} is missing")
        return kind(**{key: reader(value[key], f"{path}.{key}") for key, reader in readers.items()})

    return read


_ANY = _number(0, (1 << 64) - 1)
_SMALL = _number(0, 1 << 31)
_THREAD = _number(0, MAX_THREADS)

_PROGRAM = _record(ProgramText, {"front_end": _text, "file": _text, "text": _text})
_INCLUDED = _record(IncludedText, {"by": _text, "path": _text, "file": _text, "text": _text})
_MODEL = _record(ModelText, {"name": _text, "file": _text, "text": _optional_text, "includes": _list_of(_INCLUDED)})
_EVENT = _record(
    WitnessEvent,
    {
        "name": _text,
        "kind": _one_of(("R", "W", "F")),
        "thread": _number(INITIAL_THREAD, MAX_THREADS),
        "index": _SMALL,
        "instruction": _number(-1, 1 << 31),
        "location": _text,
        "address": _ANY,
        "size": _number(0, 8),
        "value": _ANY,
        "shown": _text,
        "order": _one_of(tuple(order.value for order in Order)),
        "tags": _list_of(_text),
        "fence": _one_of(("", *FENCES)),
        "line": _SMALL,
        "column": _SMALL,
        "text": _text,
    },
)
_CHOICE = _record(Choice, {"thread": _THREAD, "position": _SMALL, "instruction": _SMALL, "value": _ANY})


def _relations(value: Any, path: str) -> dict[str, tuple[Pair, ...]]:
    if not isinstance(value, dict):
        _expected("an object", path, value)
    for name in value:
        if name not in BASE_RELATIONS:
            raise _Damage(f"{path}: {name!r} is no base relation")
    read = _list_of(_pair_of(_number(0, MAX_EVENTS)))
    return {name: read(found, f"{path}.{name}") for name, found in value.items()}


_FIELDS: dict[str, Read] = {
    "name": _text,
    "program": _PROGRAM,
    "model": _MODEL,
    "engine": _text,
    "claim": _one_of(CLAIMS),
    "condition": _text,
    "violation": _text,
    "threads": _list_of(_text, MAX_THREADS),
    "events": _list_of(_EVENT, MAX_EVENTS),
    "choices": _list_of(_CHOICE, MAX_EVENTS),
    "relations": _relations,
    "final": _list_of(_pair_of(_text)),
    "flags": _list_of(_text),
}


def _witness(content: dict[str, Any]) -> Witness:
    witness: Witness = _record(Witness, _FIELDS)(content, "witness")
    _demand_order(witness)
    for name, found in witness.relations.items():
        if any(number >= len(witness.events) for pair in found for number in pair):
            raise _Damage(f"witness.relations.{name}: it names an event that does not exist")
    return witness


def _demand_order(witness: Witness) -> None:
    """Initial writes first, then the threads one after the other, each in program order."""
    following = dict.fromkeys(range(INITIAL_THREAD, len(witness.threads)), 0)
    last = INITIAL_THREAD
    for event in witness.events:
        if event.thread < last or following.get(event.thread) != event.index:
            raise _Damage(f"the event {event.name} is out of order")
        if event.thread == INITIAL_THREAD and event.kind != "W":
            raise _Damage(f"the event {event.name} belongs to no thread and is no write")
        last = event.thread
        following[last] += 1
    places = [(choice.thread, choice.position) for choice in witness.choices]
    if places != sorted(places) or any(position > following.get(thread, -1) for thread, position in places):
        raise _Damage("the choices are out of order")
