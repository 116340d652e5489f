"""`Tool`: another program that can run what Dekker runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.languages.assembly import Inexpressible
from benchmarks.languages.c import THREADS, Phrases
from benchmarks.languages.posix import write_program
from benchmarks.sets.case import Case
from benchmarks.sketch import Sketch


@dataclass(frozen=True)
class Counts:
    """What a tool says it did; None where it does not say."""

    traces: int | None = None
    blocked: int | None = None


@dataclass(frozen=True)
class Tool:
    """`program` is looked for on PATH. `models` has the options for each model that the tool knows. `write` puts the
    input into a folder, or finds it, and says what stands for it on the command line; `Inexpressible` says why it
    cannot. `statuses` are those with which the tool ends when all went well."""

    name: str
    program: str
    models: Mapping[str, Sequence[str]]
    write: Callable[[Case, Sequence[str], Path], Sequence[str]]
    read: Callable[[str], Counts]
    statuses: frozenset[int] = frozenset((0,))

    def arguments(self, case: Case, files: Sequence[str], model: str, folder: Path) -> list[str]:
        if model not in self.models:
            raise Inexpressible(f"knows no model {model}")
        return [*self.models[model], *self.write(case, files, folder)]


def program_of(case: Case, files: Sequence[str], phrases: Phrases = THREADS) -> str:
    """In C: what the harness makes of a sketch, or a file with the definitions of its flags in front."""
    if case.sketch is not None:
        return write_program(case.sketch, phrases)
    if len(files) != 1 or not files[0].endswith(".c") or any(not flag.startswith("-D") for flag in case.flags):
        raise Inexpressible("reads only what the harness writes for it")
    if case.engine == "states":
        raise Inexpressible("explores executions, of which this has no end")
    defines = (flag.removeprefix("-D").partition("=") for flag in case.flags)
    return "".join(f"#define {name} {value or 1}\n" for name, _, value in defines) + f'#include "{files[0]}"\n'


def sketch_of(case: Case) -> Sketch:
    if case.sketch is None:
        raise Inexpressible("reads only what the harness writes for it")
    return case.sketch


def write_text(folder: Path, case: Case, text: str) -> str:
    file = folder / (case.label.replace(" ", "-") + ".c")
    file.write_text(text, encoding="utf-8")
    return str(file)


def rephrased(phrases: Phrases, **changes: str) -> Phrases:
    """Names of statements with a blank in them are given with an underscore."""
    statements = {name.replace("_", " "): text for name, text in changes.items()}
    return Phrases(phrases.place, {**phrases.statements, **statements})
