"""What the two forms of witnesses of SV-COMP have in common.

Both describe runs under sequential consistency: one step after the other. A run that is no interleaving of its threads
has no such form, and is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from dekker.errors import InputError, UnsupportedError
from dekker.records import dataclass
from dekker.report.check_report import CheckReport, CheckViolation
from dekker.report.run_order import run_order
from dekker.report.run_rows import Row, Rows, user_frames
from dekker.report.violation_text import place_of
from dekker.result import Verdict
from dekker.witness import DEADLOCK, FLAG, Witness

PRODUCER = "Dekker"
NONDET = "__VERIFIER_nondet_"
_SOURCES = (".c", ".i")
_UNSIGNED = re.compile(r"^(u|bool|_Bool|size_t|pointer)")
_DEREFERENCE, _FREE, _TRACK = "valid-deref", "valid-free", "valid-memtrack"
_PROPERTIES = {
    "memory": _DEREFERENCE,
    "use after free": _DEREFERENCE,
    "double free": _FREE,
    "release": _FREE,
    "leak": _TRACK,
    "data race": "! data-race",
}
_CALLED = re.compile(r"`(\w+)` is called")


@dataclass(frozen=True)
class Step:
    """What a thread does next in an interleaving: a row of its run, or a number that the program leaves open."""

    thread: int
    line: int
    row: Row | None = None
    choice: Chosen | None = None


@dataclass(frozen=True)
class Chosen:
    """What a call of a function that gives any number gave; `line` and `column` are those of its closing bracket."""

    function: str
    caller: str
    value: int
    file: str
    line: int
    column: int


@dataclass(frozen=True)
class TaskFiles:
    """The files that were checked, with hashes of their contents."""

    paths: tuple[str, ...]
    hashes: tuple[str, ...]


def task_files(report: CheckReport) -> TaskFiles:
    strangers = [path for path in report.paths if not path.endswith(_SOURCES)]
    if strangers:
        raise UnsupportedError(f"a witness of SV-COMP is about a C program, and '{strangers[0]}' is none")
    try:
        hashes = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in report.paths]
    except OSError as error:
        raise InputError(f"cannot read a file that was checked: {error}") from None
    return TaskFiles(report.paths, tuple(hashes))


def creation_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown_violation(report: CheckReport) -> tuple[CheckViolation, Witness]:
    """The first that has a run which SV-COMP can express."""
    found = next((item for item in report.violations if item.witness is not None), None)
    if found is None or found.witness is None:
        raise UnsupportedError("there is no run that shows a violation, so there is no violation witness")
    if found.order is not None:
        raise UnsupportedError(
            f"the run that shows the violation is none under sc: {report.model} does not keep "
            "accesses in program order there, and a witness of SV-COMP has no words for that",
            hint="--witness FILE writes it as it is; --model sc looks for a run that other tools can follow",
        )
    return found, found.witness


def violated_specification(found: CheckViolation) -> str:
    kind = found.finding.kind
    if kind == "assertion":
        called = _CALLED.fullmatch(found.finding.message)
        by_assert = found.finding.message.startswith(("the assertion", "an assertion"))
        name = called[1] if called is not None else "__assert_fail" if by_assert else None
        return _specification("assert" if name is None else f"! call({name}())")
    if kind in _PROPERTIES:
        return _specification(_PROPERTIES[kind])
    what = {DEADLOCK: "a deadlock", FLAG: "a flag of the model"}.get(kind, f"the violation '{kind}'")
    raise UnsupportedError(f"SV-COMP has no property for {what}, so there is no witness of it")


def kept_specification(report: CheckReport) -> str:
    """What a program that is safe keeps."""
    if report.verdict is not Verdict.SAFE:
        raise UnsupportedError(
            f"the verdict is {report.verdict.value}: only for a program that is SAFE without bound there is a "
            "correctness witness"
        )
    return _specification("! call(reach_error())")


def _specification(formula: str) -> str:
    return f"CHECK( init(main()), LTL(G {formula}) )"


# --- the run as one sequence


def interleaving(witness: Witness) -> list[Step]:
    """The steps of all threads in an order that explains what each read sees, with few changes between threads."""
    rows = Rows(witness)
    chosen = dict(_choices(witness))
    following: dict[int, int] = dict.fromkeys(range(len(witness.threads)), 0)
    steps: list[Step] = []
    told: set[tuple[int, ...]] = set()
    order, explained = run_order(witness)
    if not explained:
        raise UnsupportedError("the run is no interleaving of its threads")
    for number in order:
        event = witness.events[number]
        steps += chosen.pop((event.thread, following[event.thread]), [])
        following[event.thread] += 1
        row = rows.row_of.get(number)
        if row is not None and row.events not in told:
            told.add(row.events)
            place = row.place
            steps.append(Step(row.thread, place.line if place is not None else 0, row))
    return [*steps, *(step for rest in chosen.values() for step in rest)]


def _choices(witness: Witness) -> Iterator[tuple[tuple[int, int], list[Step]]]:
    """By thread and the number of its events before: numbers that the program leaves open, where it is certain which
    call gave them."""
    found: dict[tuple[int, int], list[Step]] = {}
    for choice in witness.choices:
        call = _call(witness, choice.instruction, choice.value)
        if call is not None:
            step = Step(choice.thread, call.line, choice=call)
            found.setdefault((choice.thread, choice.position), []).append(step)
    yield from found.items()


def _call(witness: Witness, instruction: int, value: int) -> Chosen | None:
    calls = []
    for function, positions in witness.program.positions.items():
        if instruction < len(positions) and len(positions[instruction]) == 4:
            number, line, column, _ = positions[instruction]
            source = witness.program.sources[number]
            text = source.text.split("\n")
            named = re.compile(rf"({NONDET}(\w+))\s*\(\s*\)").match(text[line - 1], column - 1)
            if named is not None:
                signed = value if _UNSIGNED.match(named[2]) or value < 1 << 63 else value - (1 << 64)
                calls.append(Chosen(named[1], function, signed, source.file, line, named.end()))
    return calls[0] if len(calls) == 1 else None


def place(found: CheckViolation, witness: Witness) -> tuple[str, int, int, str]:
    """File, line, column and function of the violation."""
    stack = user_frames(found.finding.stack) or next(
        (user_frames(note.stack) for note in found.finding.notes if note.stack), ()
    )
    span = place_of(found)
    if span is not None:
        return span.source.name, span.line, span.column, stack[-1].function if stack else ""
    if not stack or not stack[-1].line:
        raise UnsupportedError("the violation has no place in the source, so there is no witness of SV-COMP")
    return stack[-1].file, stack[-1].line, stack[-1].column, stack[-1].function
