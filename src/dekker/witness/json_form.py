"""The JSON form of a witness. What is read has the shape of one; whether it tells the truth the replay must say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NoReturn

from dekker.errors import InputError
from dekker.execution import BASE_RELATIONS, INITIAL_THREAD
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Order
from dekker.witness.execution_record import (
    CLAIMS,
    Choice,
    Finding,
    IncludedText,
    ModelText,
    Note,
    Output,
    Pair,
    ProgramText,
    SourceText,
    Witness,
    WitnessEvent,
    WitnessFrame,
    WitnessThread,
)

FORMAT = "dekker-witness"
VERSION = 2

# --- writing


def to_json(witness: Witness) -> str:
    """One line for each event and each relation, so that a person can read it and tools can compare it."""
    lines = [f"{_dump(key)}: {_value_text(key, value)}" for key, value in to_plain(witness).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def to_plain(witness: Witness) -> dict[str, Any]:
    """What `json` can write."""
    return {"format": FORMAT, "version": VERSION, **_plain(witness)}


def texts_to_plain(program: ProgramText, model: ModelText) -> dict[str, Any]:
    """For other files that stand alone as well."""
    return {"program": _plain(program), "model": _plain(model)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    return value


def _value_text(key: str, value: Any) -> str:
    if key in ("events", "choices", "threads", "output") and value:
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


def _table_of(read_item: Read) -> Read:
    def read(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            _expected("an object", path, value)
        return {key: read_item(item, f"{path}.{key}") for key, item in value.items()}

    return read


def _optional(read_item: Read) -> Read:
    return lambda value, path: None if value is None else read_item(value, path)


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

_SOURCE = _record(SourceText, {"file": _text, "text": _text})
_PROGRAM = _record(
    ProgramText,
    {
        "front_end": _text,
        "file": _text,
        "text": _text,
        "sources": _list_of(_SOURCE),
        "positions": _table_of(_list_of(_list_of(_SMALL, 4))),
    },
)
_FRAME = _record(WitnessFrame, {"function": _text, "file": _text, "line": _SMALL, "column": _SMALL})
_FRAMES = _list_of(_FRAME)
_ANY_THREAD = _number(INITIAL_THREAD, MAX_THREADS)
_WITNESS_THREAD = _record(
    WitnessThread,
    {"name": _text, "function": _text, "parent": _ANY_THREAD, "created": _FRAMES, "end": _text, "stack": _FRAMES},
)
_NOTE = _record(Note, {"message": _text, "thread": _ANY_THREAD, "stack": _FRAMES})
_FINDING = _record(
    Finding, {"kind": _text, "message": _text, "thread": _ANY_THREAD, "stack": _FRAMES, "notes": _list_of(_NOTE)}
)
_OUTPUT = _record(Output, {"thread": _THREAD, "position": _SMALL, "text": _text, "stack": _FRAMES})
_INCLUDED = _record(IncludedText, {"by": _text, "path": _text, "file": _text, "text": _text})
_MODEL = _record(ModelText, {"name": _text, "file": _text, "text": _optional(_text), "includes": _list_of(_INCLUDED)})
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
        "function": _text,
        "file": _text,
        "line": _SMALL,
        "column": _SMALL,
        "text": _text,
        "callers": _FRAMES,
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
    "violation": _optional(_FINDING),
    "threads": _list_of(_WITNESS_THREAD, MAX_THREADS),
    "alone": _number(0, 1 << 31),
    "events": _list_of(_EVENT, MAX_EVENTS),
    "choices": _list_of(_CHOICE, MAX_EVENTS),
    "output": _list_of(_OUTPUT),
    "relations": _relations,
    "final": _list_of(_pair_of(_text)),
    "flags": _list_of(_text),
}


def texts_from_plain(content: dict[str, Any]) -> tuple[ProgramText, ModelText]:
    """`ValueError` if that is not what it is."""
    try:
        return _PROGRAM(content["program"], "program"), _MODEL(content["model"], "model")
    except (_Damage, KeyError) as damage:
        raise ValueError(str(damage)) from None


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
