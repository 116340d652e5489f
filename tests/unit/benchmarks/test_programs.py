"""The sets of C programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.row import Options, run_case
from benchmarks.sets import find_cases
from benchmarks.sets.case import Case
from benchmarks.sets.programs import PROGRAMS
from benchmarks.sets.request import Request
from benchmarks.table import COLUMNS

from dekker.errors import InputError

pytest.importorskip("ziglang", reason="the compiler is not installed")


def cases(name: str, *models: str) -> list[Case]:
    return list(find_cases(Request(name, models=models)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_there_and_labels_fit(name: str) -> None:
    found = cases(name)
    assert found
    assert all(Path(file).is_file() for case in found for file in case.files)
    assert all(len(case.label) <= COLUMNS[0].width for case in found)


def test_a_program_is_measured_with_its_flags_and_bound() -> None:
    ticket = next(case for case in cases("structures", "sc") if case.label.startswith("ticket"))
    small = replace(ticket, flags=("-DTHREADS=2",), expected=dict.fromkeys(ticket.files, 2))
    row = run_case(small, Options(repeat=1))
    assert (row.traces, row.problems, row.notes) == (2, (), ())
    assert row.measured.parse_s > 0
    wrong = run_case(replace(small, expected=dict.fromkeys(ticket.files, 3)), Options(repeat=1))
    assert "2 complete traces, expected 3" in wrong.problems[0]


def test_a_program_that_does_not_compile_is_refused() -> None:
    case = replace(cases("structures", "sc")[0], flags=("-include", "no-such-file.h"))
    assert "refused: 1" in run_case(case, Options(repeat=1)).notes[0]


def test_a_set_of_programs_has_no_sizes() -> None:
    with pytest.raises(InputError, match="has no size"):
        find_cases(Request("table1", sizes=(2,)))
