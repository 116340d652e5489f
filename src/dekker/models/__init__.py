"""The built-in memory models, one `.cat` file each, and loading a model by name or path.

Adding a model is adding a file here: its name is the file's, its description the title in its first line.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from dekker.cat.canonical import Meaning, meaning
from dekker.cat.model import Model
from dekker.errors import ModelError
from dekker.models.kept import keep_model, read_model
from dekker.source import Source, Span

FOLDER = Path(__file__).resolve().parent

# Strongest first; models not listed follow in the order of their names.
_ORDER = ("sc", "ibm370", "tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv", "cpp20", "rc11")

OF_C = ("cpp20", "rc11")
"""Models of the language; the others are about processors."""


@cache
def model_names() -> tuple[str, ...]:
    names = {path.stem for path in FOLDER.glob("*.cat")}
    return (*(name for name in _ORDER if name in names), *sorted(names.difference(_ORDER)))


def load_model(name_or_path: str) -> Model:
    """A built-in model by its name, or the model in a `.cat` file."""
    if name_or_path.lower() in model_names():
        return _built_in(name_or_path.lower())
    path = Path(name_or_path)
    try:
        modified = path.stat().st_mtime_ns
    except (OSError, ValueError):
        raise _unknown(name_or_path) from None
    if not path.is_file():
        raise _unknown(name_or_path)
    return _from_file(path, modified)


def is_built_in(model: Model) -> bool:
    return _is_in_folder(model.source.name)


def shipped_as(model: Model) -> str | None:
    """The name of the built-in model that says the same, None if there is none. What counts is the compiled form: a
    copy is the model, whatever its file, its title, its definitions and its checks are called and in which order they
    stand, and a file that is only called like a built-in model is not."""
    return model.name if is_built_in(model) else _shipped_names().get(meaning(model.program))


@cache
def _shipped_names() -> dict[Meaning, str]:
    names = reversed(model_names())
    return {meaning(_built_in(name).program): name for name in names}


@cache
def _is_in_folder(file: str) -> bool:
    return Path(file).parent == FOLDER


def describe() -> list[tuple[str, str]]:
    """Name and title of each built-in model."""
    from dekker.cat.files import parse_file  # noqa: PLC0415 — slow to load

    return [(name, parse_file(FOLDER / f"{name}.cat").title) for name in model_names()]


@cache
def _built_in(name: str) -> Model:
    kept = read_model(name)
    if kept is not None:
        return kept
    model = _compiled(FOLDER / f"{name}.cat")
    keep_model(model)
    return model


@lru_cache(maxsize=32)
def _from_file(path: Path, modified: int) -> Model:
    """`modified` makes an edited file a new one."""
    model = _compiled(path)
    return with_checks(model, model.source)


def _compiled(path: Path) -> Model:
    from dekker.cat.compiler import compile_model  # noqa: PLC0415 — slow to load, and most models are kept
    from dekker.cat.files import read_source  # noqa: PLC0415

    return compile_model(read_source(path), path.stem, (FOLDER,))


def with_checks(model: Model, source: Source) -> Model:
    """The same; `ModelError` if it has none."""
    if not model.program.checks:
        raise ModelError(
            "the model has no check, so it would allow everything",
            Span(source, 0, 1),
            "a check is acyclic, irreflexive or empty, a relation, and perhaps a name: `acyclic po | com as sc`",
        )
    return model


def _unknown(name: str) -> ModelError:
    known = f"the models are {', '.join(model_names())}"
    if name.endswith(".cat") or "/" in name:
        return ModelError(f"there is no model file {name!r}", hint=f"{known}; or give the path of a .cat file")
    return ModelError(f"unknown model {name!r}", hint=f"{known}; or give the path of a .cat file")
