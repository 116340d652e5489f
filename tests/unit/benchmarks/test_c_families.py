"""The families in C: programs that are right, as many executions as the formulas say, and what others needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.languages import Inexpressible
from benchmarks.measure import Job, Measurement, measure
from benchmarks.peers import Peer, measured_pace, peer_of, peers, ratio
from benchmarks.row import Options, Row, run_case
from benchmarks.sets import find_cases
from benchmarks.sets.c_families import FAMILIES, CFamily
from benchmarks.sets.case import Case
from benchmarks.sets.request import Request
from benchmarks.table import COLUMNS, row_text
from benchmarks.tools import TOOLS

pytest.importorskip("ziglang", reason="the compiler is not installed")

SETS = ("gallery", "families", "state-spaces")
CASES = {(case.label, case.model): case for name in SETS for case in find_cases(Request(name))}


def measured(case: Case) -> Measurement:
    return measure(Job(list(case.files), case.model, case.engine or "rsmc", flags=case.flags, unroll=case.unroll))


@pytest.mark.parametrize("model", ["rc11", "sc"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_smallest_size_holds_and_has_the_expected_number_of_executions(family: CFamily, model: str) -> None:
    case = CASES.get((f"{family.name} {family.sizes[0].label}", model))
    if case is None:
        pytest.skip(f"is not for {model}")
    found = measured(case)
    assert (found.refused, found.unfinished, found.violations) == ({}, [], [])
    assert all(count > 0 for count in found.traces.values())
    assert {**found.traces, **case.expected} == found.traces


def test_what_other_tools_count_is_what_the_formulas_say() -> None:
    compared = [(case, peer) for case in CASES.values() if case.expected and (peer := peer_of(case))]
    assert len(compared) > 20
    for case, peer in compared:
        assert peer.runs in (None, *case.expected.values()), case.label


def test_what_others_needed_is_beside_some_row() -> None:
    labels = {label for label, _ in CASES}
    assert [label for label, _ in peers() if label not in labels] == []
    assert all(len(label) <= COLUMNS[0].width for label in labels)


def row(label: str, seconds: float) -> Row:
    return Row(CASES[label, "rc11"], Measurement(engine_s=[seconds], statistics={"abandoned": 7}))


def test_the_ratio_is_scaled_by_the_pace_of_this_machine() -> None:
    twice_as_slow = measured_pace([CASES["ttas 4", "rc11"]], Options(), lambda case, options: row(case.label, 2 * 2.13))
    assert twice_as_slow == pytest.approx(2.0)
    assert measured_pace([CASES["ttas 2", "rc11"]], Options()) is None
    slow = row("ttas 4", 1.0)
    assert ratio(slow, twice_as_slow) == pytest.approx(1.0 / 2 / 0.10)
    assert row_text(slow, twice_as_slow).split()[-5:] == ["1.00", "genmc", "576+1590", "0.1", "5"]
    assert peer_of(slow.case) == Peer("genmc", 576, 1590, 0.10)


def test_a_program_that_must_hold_and_does_not_fails_its_row(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.c"
    wrong.write_text("#include <assert.h>\nint main(void) { assert(0); }\n", encoding="utf-8")
    found = run_case(Case("gallery", "wrong", "sc", files=(str(wrong),), must_hold=True), Options(repeat=1))
    assert found.problems


def test_genmc_reads_the_same_program_with_its_definitions(tmp_path: Path) -> None:
    case = replace(CASES["ttas 4", "rc11"], flags=("-DN=4", "-DFENCED"))
    *_, file = TOOLS["genmc"].arguments(case, case.files, "rc11", tmp_path)
    assert Path(file).read_text(encoding="utf-8") == f'#define N 4\n#define FENCED 1\n#include "{case.files[0]}"\n'


def test_spin_reads_what_stands_beside_a_program(tmp_path: Path) -> None:
    case = Case("state-spaces", "x", "sc", files=(str(tmp_path / "x.c"),), flags=("-DN=2",))
    with pytest.raises(Inexpressible):
        TOOLS["spin"].arguments(case, case.files, "sc", tmp_path)
    model = tmp_path / "x.pml"
    model.touch()
    assert TOOLS["spin"].arguments(case, case.files, "sc", tmp_path) == [
        "-DN=2",
        "-search",
        "-O2",
        "-m10000000",
        str(model),
    ]
    assert TOOLS["spin"].read("   268091 states, stored\n").traces == 268_091
