"""The compiled forms of the built-in models, kept from one run to the next.

What is kept is found again by a fingerprint of all that it depends on: the texts of the models, and of the modules that
compile them. What is not kept, or damaged, is compiled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import source_hash
from pathlib import Path
from typing import Any

from dekker.cache import keep, read_kept
from dekker.cat.model import Include, Model
from dekker.cat.relational import Check, Fixpoint, Input, Op, RelationalProgram, Step
from dekker.source import Source

KIND = "models"
PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = tuple(PACKAGE / name for name in ("", "cat", "cat/library", "ir", "models"))
"""Of the files that a compiled model depends on, and a few more."""


def read_model(name: str) -> Model | None:
    kept = read_kept(KIND, _file(name))
    return None if kept is None else from_plain(json.loads(kept))


def keep_model(model: Model) -> None:
    keep(KIND, _file(model.name), json.dumps(to_plain(model)).encode())


def _file(name: str) -> str:
    return f"{name}-{_fingerprint()}.json"


@cache
def _fingerprint() -> str:
    """Names belong to it, too: models know the files they come from."""
    texts = (f"{file}\0".encode() + file.read_bytes() for file in dependencies())
    return source_hash(b"".join((sys.version.encode(), *map(source_hash, texts)))).hex()


def dependencies() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from sorted(file for file in folder.iterdir() if file.suffix in (".py", ".cat"))


def to_plain(model: Model) -> dict[str, Any]:
    program = model.program
    return {
        "name": model.name,
        "title": model.title,
        "source": (model.source.name, model.source.text),
        "kinds": program.kinds,
        "inputs": [(item.slot, item.name, item.kind) for item in program.inputs],
        "steps": [_plain_step(step) for step in program.steps],
        "checks": [(item.kind, item.slot, item.name, item.negated, item.flag) for item in program.checks],
        "names": list(model.names.items()),
        "includes": [(item.by, item.path, item.source.name, item.source.text, item.shipped) for item in model.includes],
    }


def from_plain(plain: dict[str, Any]) -> Model:
    inputs = tuple(Input(*item) for item in plain["inputs"])
    checks = tuple(Check(*item) for item in plain["checks"])
    return Model(
        name=plain["name"],
        title=plain["title"],
        source=Source(*plain["source"]),
        program=RelationalProgram(tuple(plain["kinds"]), inputs, tuple(map(_step, plain["steps"])), checks),
        checks=tuple(check.name for check in checks),
        uses=frozenset(item.name for item in inputs),
        names=dict(plain["names"]),
        includes=tuple(
            Include(by, path, Source(file, text), shipped) for by, path, file, text, shipped in plain["includes"]
        ),
    )


def _plain_step(step: Step) -> tuple[object, ...]:
    if isinstance(step, Op):
        return step.dst, step.code, step.args
    return step.variables, [_plain_step(inner) for inner in step.body], step.results


def _step(plain: list[Any]) -> Step:
    first, second, third = plain
    if isinstance(second, str):
        return Op(first, second, tuple(third))
    return Fixpoint(tuple(first), tuple(map(_step, second)), tuple(third))
