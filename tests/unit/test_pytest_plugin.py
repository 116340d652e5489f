"""The pytest plug-in, in runs of pytest of their own."""

from __future__ import annotations

import pytest
from tests.unit.test_api import PETERSON, loaded_after

pytest_plugins = "pytester"

LOADED = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")


@pytest.fixture
def programs(pytester: pytest.Pytester) -> pytest.Pytester:
    folder = pytester.mkpydir("suite")
    for file in (PETERSON, PETERSON.parent / "fences.h"):
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    return pytester


def run(programs: pytest.Pytester, text: str) -> pytest.RunResult:
    (programs.path / "suite" / "test_programs.py").write_text(text, encoding="utf-8")
    return programs.runpytest_inprocess(*LOADED, "--strict-markers")


def test_it_loads_nothing_until_a_test_asks() -> None:
    found = {name for name in loaded_after("import dekker.pytest_plugin") if "editable" not in name}
    assert found == {"dekker", "dekker.pytest_plugin"}


def test_a_failure_is_the_counterexample_without_a_traceback(programs: pytest.Pytester) -> None:
    result = run(
        programs,
        """
import pytest

@pytest.mark.dekker("peterson.c", model="tso")
def test_peterson():
    raise SystemError("the body of the test runs only if the program holds")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "UNSAFE under tso: *",
            "*peterson.c:34:3: violation: assertion: the assertion `inside == me` fails",
            "thread 2 runs worker, *",
            "Not in program order (tso does not keep these pairs in order):",
        ]
    )
    for noise in ("Traceback", "pytest_plugin.py", "SystemError", "def _check"):
        result.stdout.no_fnmatch_line(f"*{noise}*")


def test_what_holds_passes_and_gives_its_results(programs: pytest.Pytester) -> None:
    run(
        programs,
        """
import pytest

@pytest.mark.dekker("peterson.c", models=["sc", "tso"], flags=["-DFENCED"])
def test_peterson(dekker_results):
    assert {name: result.verdict.value for name, result in dekker_results.items()} == {"sc": "SAFE", "tso": "SAFE"}
    assert dekker_results["tso"].executions == 4
""",
    ).assert_outcomes(passed=1)


def test_the_fixture(programs: pytest.Pytester) -> None:
    result = run(
        programs,
        """
import pytest

def test_under_sc(dekker_check):
    assert dekker_check("peterson.c", model="sc")["sc"].holds

def test_under_several(dekker_check):
    dekker_check("peterson.c", models=["sc", "tso", "pso"])

@pytest.mark.dekker(model="tso", flags=["-DFENCED"])
def test_what_the_mark_says(dekker_check):
    assert list(dekker_check("peterson.c")) == ["tso"]
    assert list(dekker_check("peterson.c", models=["sc", "power"], expect="SAFE")) == ["sc", "power"]

def test_what_is_to_go_wrong(dekker_check):
    dekker_check("peterson.c", model="tso", expect="UNSAFE")

def test_what_is_to_go_wrong_but_does_not(dekker_check):
    dekker_check("peterson.c", model="sc", expect="UNSAFE")

def test_a_text(dekker_check):
    dekker_check("int main(void) { return 0; }", language="c", model="sc")
""",
    )
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        ["UNSAFE under tso: *", "UNSAFE under pso: *", "expected UNSAFE, but:", "SAFE under sc: *"]
    )
    result.stdout.no_fnmatch_line("UNSAFE under sc*")


def test_an_undecided_program_fails(programs: pytest.Pytester) -> None:
    result = run(
        programs,
        """
def test_too_long(dekker_check):
    dekker_check("peterson.c", model="sc", max_traces=1)
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["UNKNOWN under sc: *stopped by traces*"])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('"no-such-file.c"', "*no-such-file.c*"),
        ('"peterson.c", model="no-such-model"', "*no-such-model*"),
        ('"peterson.c", model="sc", models=["tso"]', "dekker: give either model or models"),
        ('"peterson.c", expect="Safe"', "dekker: there is no verdict 'Safe'; *"),
    ],
)
def test_errors_are_failures_with_their_message(programs: pytest.Pytester, call: str, says: str) -> None:
    result = run(programs, f"def test_it(dekker_check):\n    dekker_check({call})\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])
    result.stdout.no_fnmatch_line("*Traceback*")
