"""JSON Schemas (draft 2020-12) of what Dekker writes as JSON: `dekker schema NAME` prints them.

They are strict: a field that is not described here is an error, so that nothing is added without saying what it is.
"""

from __future__ import annotations

from typing import Any

from dekker.errors import InputError
from dekker.execution import BASE_RELATIONS
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Order
from dekker.result import Verdict
from dekker.witness import CLAIMS, FORMAT, VERSION

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = {
    "check": "what `dekker check --json` writes",
    "compare": "what `dekker compare --json` writes",
    "litmus": "a line of what `dekker litmus --json` writes",
    "witness": "what `--witness` writes and `dekker replay` reads",
    "fences": "what `dekker fences --json` writes",
    "modular": "what `dekker modular --json` writes",
    "cycles": "what `dekker show --cycles --json` writes",
}


def json_schema(name: str) -> Schema:
    if name not in NAMES:
        raise InputError(f"there is no schema '{name}'", hint=f"schemas are {', '.join(NAMES)}")
    return {
        "$schema": DIALECT,
        "$id": f"urn:dekker:{name}",
        "title": NAMES[name],
        **_DEFINITIONS[name],
        "$defs": {key: value for key, value in _DEFINITIONS.items() if key != name},
    }


# --- words


def _object(required: Schema, optional: Schema | None = None, title: str = "") -> Schema:
    return {
        **({"description": title} if title else {}),
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Schema, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, **({"maxItems": most} if most is not None else {})}


def _table(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(*values: object) -> Schema:
    return {"enum": list(values)}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _pair(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "integer"}
SECONDS: Schema = {"type": "number", "minimum": 0}
THREAD: Schema = {"type": "integer", "minimum": -1}
PLACE = {"file": TEXT, "line": COUNT, "column": COUNT}
VERDICT = _one_of(*(verdict.value for verdict in Verdict))
FRAMES = _list(_ref("frame"))

# --- check and compare

_NOTE = _object({"message": TEXT, "thread": THREAD, "stack": FRAMES})
_VIOLATION = {
    "kind": TEXT,
    "message": TEXT,
    **{name: _or_null(schema) for name, schema in PLACE.items()},
    "thread": _or_null(COUNT),
    "function": _or_null(TEXT),
    "stack": FRAMES,
    "notes": _list(_ref("note")),
}
_STEP = _object(
    {
        "thread": COUNT,
        "file": _or_null(TEXT),
        "line": _or_null(COUNT),
        "text": TEXT,
        "overtaken": TEXT,
        "buffers": _table(_list(TEXT)),
    }
)
_CHECK = {
    "verdict": VERDICT,
    "model": TEXT,
    "engine": TEXT,
    "complete": FLAG | {"description": "nothing was cut, stopped or bounded"},
    "bounds": _object(
        {
            "unroll": COUNT,
            "cut": _list(_object(PLACE)),
            "nondet": _list(_pair(NUMBER)),
            "reuse": _or_null(FLAG),
            "stopped_by": _or_null(TEXT),
        },
        {"other": TEXT, "too_long_at": _object(PLACE)},
    ),
    "stats": {
        "type": "object",
        "properties": {"choice": TEXT, "time_s": SECONDS, "violations": COUNT},
        "required": ["time_s", "violations"],
        "additionalProperties": COUNT,
    },
    "violation": _or_null(
        _object(
            {**_VIOLATION, "witness": _or_null(_ref("witness"))},
            {"others": _list(_object(_VIOLATION))},
            "the first, with the run that shows it, and the others",
        )
    ),
}
_MAYBE = {
    "undecided": TEXT | {"description": "why, if the verdict is UNKNOWN"},
    "unchecked": _list(TEXT) | {"description": "what may go wrong in C, and is not looked for"},
    "schedule": _list(_ref("step")),
}

# --- litmus

_RESULT = _object(
    {
        **dict.fromkeys(("file", "name", "model", "engine"), TEXT),
        "observation": _one_of("Always", "Sometimes", "Never"),
        **dict.fromkeys(("positive", "negative", "states"), COUNT),
        "verdict": _one_of("Ok", "No", "Undef", "Unknown"),
        "condition": TEXT,
        "outcomes": _list(_object({"state": _table(TEXT), "count": COUNT})),
        "time_s": SECONDS,
    },
    {
        **dict.fromkeys(("flags", "notes"), _list(TEXT)),
        **dict.fromkeys(("cut", "blocked", "deadlocks", "abandoned"), COUNT),
        **dict.fromkeys(("stopped_by", "witness", "explanation"), TEXT),
    },
)
_ERROR = _object(
    {
        "file": TEXT,
        "model": _or_null(TEXT),
        "engine": _or_null(TEXT),
        "error": _object({"message": TEXT}, {"line": COUNT, "column": COUNT, "hint": TEXT}),
    },
    title="a test that could not be run",
)

# --- witnesses

_EVENT = _object(
    {
        "name": TEXT,
        "kind": _one_of("R", "W", "F"),
        "thread": THREAD,
        "index": COUNT,
        "instruction": {"type": "integer", "minimum": -1},
        "location": TEXT,
        "address": COUNT,
        "size": {"type": "integer", "minimum": 0, "maximum": 8},
        "value": COUNT,
        "shown": TEXT,
        "order": _one_of(*(order.value for order in Order)),
        "tags": _list(TEXT),
        "fence": _one_of("", *FENCES),
        "function": TEXT,
        **PLACE,
        "text": TEXT,
        "callers": FRAMES,
    }
)
_WITNESS = _object(
    {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "name": TEXT,
        "program": _object(
            {
                **dict.fromkeys(("front_end", "file", "text"), TEXT),
                "sources": _list(_object({"file": TEXT, "text": TEXT})),
                "positions": _table(_list(_list(COUNT, 4))),
            }
        ),
        "model": _object(
            {
                "name": TEXT,
                "file": TEXT,
                "text": _or_null(TEXT),
                "includes": _list(_object(dict.fromkeys(("by", "path", "file", "text"), TEXT))),
            }
        ),
        "engine": TEXT,
        "claim": _one_of(*CLAIMS),
        "condition": TEXT,
        "violation": _or_null(
            _object({"kind": TEXT, "message": TEXT, "thread": THREAD, "stack": FRAMES, "notes": _list(_ref("note"))})
        ),
        "threads": _list(
            _object({"name": TEXT, "function": TEXT, "parent": THREAD, "created": FRAMES, "end": TEXT, "stack": FRAMES})
        ),
        "alone": COUNT,
        "events": _list(_ref("event")),
        "choices": _list(_object(dict.fromkeys(("thread", "position", "instruction", "value"), COUNT))),
        "output": _list(_object({"thread": COUNT, "position": COUNT, "text": TEXT, "stack": FRAMES})),
        "relations": {
            "type": "object",
            "properties": {name: _list(_pair(COUNT)) | {"description": says} for name, says in BASE_RELATIONS.items()},
            "additionalProperties": False,
        },
        "final": _list(_pair(TEXT)),
        "flags": _list(TEXT),
    }
)

# --- fences, cycles, any number of threads

_ACCESS = _object({"direction": _one_of("R", "W"), "location": TEXT, "function": TEXT, "places": _list(_object(PLACE))})
_CYCLE = _object(
    {
        "idiom": TEXT,
        "critical": FLAG,
        "alike": COUNT,
        "threads": _list(_object({"thread": TEXT, "unsafe": FLAG, "accesses": _list(_ref("access"))})),
        "links": _list(_object({"kind": TEXT, "early": FLAG})),
    }
)
_FENCE = _object(
    {
        "file": TEXT,
        "line": COUNT,
        "column": COUNT,
        "after": FLAG,
        "where": TEXT,
        "function": TEXT,
        "kind": TEXT,
        "text": TEXT,
        "cost": SECONDS,
        "breaks": _list(_ref("cycle")),
        "breaks_more": COUNT,
    },
    {"without": TEXT},
)
_FENCES = _object(
    {
        **dict.fromkeys(("program", "model", "outcome"), TEXT),
        "cost": SECONDS,
        "minimal": FLAG,
        "fences": _list(_FENCE),
        "verified": _or_null(TEXT),
        "notes": _list(TEXT),
        "cycles": COUNT,
        "complete": FLAG,
        "checks": COUNT,
        "time_s": SECONDS,
    }
)
_THREAD_COUNTS = _table({"anyOf": [COUNT, {"const": "many"}]})
_MODULAR = _object(
    {
        "verdict": VERDICT,
        "model": TEXT,
        "engine": {"const": "modular"},
        "covers": TEXT,
        "threads": _THREAD_COUNTS,
        "concrete": _or_null(COUNT),
        "states": COUNT,
        "statistics": _table(NUMBER),
        "stopped_by": _or_null(TEXT),
        "unbounded": _list(_object({"class": TEXT, "loop": _or_null(TEXT), "why": TEXT})),
        "instance": _or_null(_THREAD_COUNTS),
        "tried": _or_null(_THREAD_COUNTS),
        "notes": _list(TEXT),
        "findings": _list(
            _object(
                {
                    "kind": TEXT,
                    "message": TEXT,
                    "position": _or_null(TEXT),
                    "memory": _table({}),
                    "threads": _table({}),
                    "steps": _list(
                        _object({"thread": TEXT, "text": TEXT, "position": _or_null(TEXT), "arrives": TEXT})
                    ),
                }
            )
        ),
        "time_s": SECONDS,
    }
)

_DEFINITIONS: dict[str, Schema] = {
    "check": _object(_CHECK, _MAYBE),
    "compare": _object(
        {
            "files": _list(TEXT),
            "models": _list(
                _object(
                    {**_CHECK, "traces": _or_null(COUNT), "blocked": _or_null(COUNT), "error": _or_null(TEXT)},
                    _MAYBE,
                )
            ),
        }
    ),
    "litmus": {"anyOf": [_RESULT, _ERROR]},
    "witness": _WITNESS,
    "fences": _FENCES,
    "modular": _MODULAR,
    "cycles": _object({"program": TEXT, "model": TEXT, "complete": FLAG, "cycles": _list(_ref("cycle"))}),
    "frame": _object({"function": TEXT, **PLACE}),
    "note": _NOTE,
    "step": _STEP,
    "event": _EVENT,
    "access": _ACCESS,
    "cycle": _CYCLE,
}
