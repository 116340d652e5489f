"""`--engine transform` and `dekker instrument` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dekker.cli.main import STATUS_HOLDS, STATUS_INPUT, STATUS_VIOLATED, run_command

EXAMPLES = Path(__file__).parents[2] / "examples"
PETERSON = str(EXAMPLES / "c" / "table1" / "peterson.c")
DEKKER = str(EXAMPLES / "litmus" / "dekker-x86.litmus")


def test_a_store_that_is_delayed_breaks_mutual_exclusion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", PETERSON, "--model", "tso", "--engine", "transform"]) == STATUS_VIOLATED
    assert "assert(inside == me)" in capsys.readouterr().out


def test_fences_restore_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", PETERSON, "--model", "tso", "--engine", "transform", "--", "-DFENCED"]) == STATUS_HOLDS
    assert "SAFE" in capsys.readouterr().out


@pytest.mark.parametrize("example", ["lamport", "szymanski"])
def test_a_violation_that_few_delays_make_is_found_with_few(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(EXAMPLES / "c" / "table1" / f"{example}.c")
    assert run_command(["check", path, "--model", "power", "--engine", "transform"]) == STATUS_VIOLATED
    assert "assert(inside == me)" in capsys.readouterr().out


@pytest.mark.parametrize(("example", "is_bounded"), [("dekker", True), ("peterson", False)])
def test_a_bound_is_named_if_some_run_wants_more(
    example: str, is_bounded: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(EXAMPLES / "c" / "table1" / f"{example}.c")
    arguments = ["check", path, "--model", "power", "--engine", "transform", "--buffer", "1", "--", "-DFENCED"]
    assert run_command(arguments) == STATUS_HOLDS
    said = "threads delay no more than 1 reads and 1 writes (--buffer)" in capsys.readouterr().out
    assert said == is_bounded


AFTER_THREADS = """
#include <assert.h>
#include <pthread.h>
volatile int x, y, a, b;
void *first(void *unused) { x = 1; a = y; return unused; }
void *second(void *unused) { y = 1; b = x; return unused; }
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, first, 0);
  pthread_create(&two, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  assert(CONDITION);
  return 0;
}
"""


@pytest.mark.parametrize("model", ["tso", "pso", "rmo", "power"])
@pytest.mark.parametrize(
    ("condition", "status"),
    [("a + b > 0", STATUS_VIOLATED), ("a + b != 2", STATUS_VIOLATED), ("a + b < 3", STATUS_HOLDS)],
)
def test_what_comes_after_threads_is_reached(model: str, condition: str, status: int, tmp_path: Path) -> None:
    source = tmp_path / "after.c"
    source.write_text(AFTER_THREADS.replace("CONDITION", condition), encoding="utf-8")
    assert run_command(["check", str(source), "--model", model, "--engine", "transform"]) == status


@pytest.mark.parametrize(
    ("fences", "status"),
    [
        ((), STATUS_VIOLATED),
        (("-DFENCE_BEFORE_WAKING",), STATUS_VIOLATED),
        (("-DFENCE_BEHIND_WAIT",), STATUS_VIOLATED),
        (("-DFENCE_BEFORE_WAKING", "-DFENCE_BEHIND_WAIT"), STATUS_HOLDS),
    ],
)
def test_the_workers_of_postgresql_need_both_fences_on_power(fences: tuple[str, ...], status: int) -> None:
    """Threads that are started in a loop get their numbers from it, and index arrays by them."""
    workers = str(EXAMPLES / "pgsql" / "workers.c")
    assert run_command(["check", workers, "--model", "power", "--engine", "transform", "--", *fences]) == status


@pytest.mark.parametrize("strategy", ["weighted", "all-pairs", "every-access", "one-per-cycle"])
def test_every_selection_finds_the_outcome(strategy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = run_command(["litmus", DEKKER, "--model", "pso", "--engine", "transform", "--select", strategy])
    assert status == STATUS_HOLDS
    assert "Positive: 1 Negative: 3" in capsys.readouterr().out


def test_the_model_that_was_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(["check", PETERSON, "--model", "rmo", "--engine", "transform"])
    assert "ghb-rmo" in capsys.readouterr().out


def test_other_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["litmus", DEKKER, "--model", "aarch64", "--engine", "transform"]) == STATUS_INPUT
    assert "the transform engine knows the models tso, pso, rmo, power" in capsys.readouterr().err


def test_instrumented_c_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.c"
    assert run_command(["instrument", DEKKER, "--model", "tso", "-o", str(target)]) == STATUS_HOLDS
    assert "__VERIFIER_atomic_begin" in target.read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "nowhere" / "out.c"
    assert run_command(["instrument", DEKKER, "--model", "tso", "-o", str(target)]) == STATUS_INPUT
    assert "cannot write" in capsys.readouterr().err


def test_what_cannot_be_handled_has_a_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "release.c"
    program.write_text(
        "#include <pthread.h>\n#include <stdlib.h>\nint x, y, a;\n"
        "void *run(void *p) { x = 1; a = y; return 0; }\n"
        "int main(void) { pthread_t t; int *p = malloc(4); pthread_create(&t, 0, run, 0);\n"
        "  y = 1; int b = x; free(p); pthread_join(t, 0); return a + b; }\n"
    )
    assert run_command(["check", str(program), "--model", "power", "--engine", "transform"]) == STATUS_INPUT
    assert "release.c:6:" in capsys.readouterr().err


@pytest.mark.parametrize(("model", "hint"), [("sc", "nothing is delayed"), ("aarch64", "`dekker check` with --engine")])
def test_hints_of_instrument_fit(model: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["instrument", DEKKER, "--model", model]) == STATUS_INPUT
    assert f"hint: {'under sc ' if model == 'sc' else ''}{hint}" in capsys.readouterr().err
