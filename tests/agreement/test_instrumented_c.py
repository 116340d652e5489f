"""The C that `dekker instrument` writes: compilers accept it without a warning, and under SC it has the verdict that
the program has under the weak model."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agreement.test_transform import MODELS, corpus_tests, own_tests

from dekker.engines.axiomatic import engine as oracle
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.frontends import parse_files
from dekker.ir.property import Quantifier
from dekker.models import load_model
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.instrument import instrumented_text
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread")
EXAMPLES = Path(__file__).parents[2] / "examples"
SEQUENTIAL = CheckOptions("sc", "states", Limits(counts_known_rounds=False, stop_at_first=True, timeout_s=600))


def test_compilers_find_nothing_to_warn_of(tmp_path: Path) -> None:
    tests = own_tests()[::15]
    for number, path in enumerate(tests):
        _write(path, MODELS[number % 4], tmp_path / f"{number}.c")
    files = sorted(str(path) for path in tmp_path.glob("*.c"))
    assert len(files) > 5
    clang = (sys.executable, "-m", "ziglang", "cc")
    gcc = shutil.which("gcc")
    for compiler in (clang, (gcc,) if gcc is not None else ()):
        for file in files if compiler else ():
            command = [*compiler, *FLAGS, "-c", "-o", str(tmp_path / "out.o"), file]
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("model", MODELS)
def test_the_verdict_is_that_of_the_weak_model(model: str, tmp_path: Path) -> None:
    assert _compare(own_tests()[::40], model, tmp_path) > 1


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_verdict_is_that_of_the_weak_model_on_the_corpus(model: str, tmp_path: Path) -> None:
    """Every fourth test: that makes about 500."""
    assert _compare(corpus_tests(4), model, tmp_path) > 400


@pytest.mark.parametrize(
    ("example", "model", "verdict"),
    [
        ("dekker.c", "tso", Verdict.UNSAFE),
        ("pgsql.c", "tso", Verdict.UNKNOWN),  # workers without end: nothing goes wrong, and nothing ends
        ("pgsql.c", "pso", Verdict.UNSAFE),
        ("dcl_singleton.c", "pso", Verdict.UNSAFE),
    ],
)
def test_examples(example: str, model: str, verdict: Verdict, tmp_path: Path) -> None:
    target = tmp_path / "out.c"
    _write(EXAMPLES / "c" / "table1" / example, model, target)
    assert check((str(target),), SEQUENTIAL).verdict is verdict


@pytest.mark.parametrize("example", ["lamport.c", "szymanski.c"])
def test_few_delays_are_enough_to_go_wrong_on_power(example: str, tmp_path: Path) -> None:
    target = tmp_path / "out.c"
    _write(EXAMPLES / "c" / "table1" / example, "power", target, buffer=1)
    assert "what takes longer delays is not covered" in target.read_text(encoding="utf-8")
    assert check((str(target),), replace(SEQUENTIAL, search=Search(depth_first=True))).verdict is Verdict.UNSAFE


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_all_examples_have_the_verdict_of_the_weak_model(model: str) -> None:
    """Those of Table 1, where both searches end. Waiting for ever is no error that the transformation looks for."""
    from benchmarks.emitted import direct, emitted, table1  # noqa: PLC0415

    compared = 0
    for example in table1():
        try:
            answers = {_is_unsafe(search(example, model, 60).verdict) for search in (direct, emitted)}
        except UnsupportedError:
            continue
        assert len(answers - {None}) < 2, (example, model)
        compared += None not in answers
    assert compared >= 10


def _is_unsafe(verdict: str) -> bool | None:
    return None if verdict == Verdict.UNKNOWN.value else verdict == Verdict.UNSAFE.value


SECTIONS = """
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int inside;
void __VERIFIER_assume(int holds) { if (!holds) exit(0); }
_Bool __VERIFIER_nondet_bool(void) { return rand() & 1; }
void __VERIFIER_atomic_begin(void) {
  if (inside) _Exit(99);
  pthread_mutex_lock(&lock);
  inside = 1;
}
void __VERIFIER_atomic_end(void) {
  if (!inside) _Exit(99);
  inside = 0;
  pthread_mutex_unlock(&lock);
}
__attribute__((constructor)) static void seed(void) { srand((unsigned)atoi(getenv("SEED"))); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not there")
@pytest.mark.parametrize("model", MODELS)
def test_sections_begin_and_end_by_turns(model: str, tmp_path: Path) -> None:
    """Checkers want them so. Here it runs, with choices by lot; most runs are given up at an assumption."""
    _write(EXAMPLES / "c" / "table1" / "peterson.c", model, tmp_path / "out.c")
    (tmp_path / "sections.c").write_text(SECTIONS, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("out.c", "sections.c")]
    subprocess.run(["gcc", *FLAGS, "-o", str(tmp_path / "program"), *files], check=True)
    for seed in range(30):
        environment = {**os.environ, "SEED": str(seed)}
        ended = subprocess.run(
            [tmp_path / "program"], env=environment, capture_output=True, timeout=300, check=False
        ).returncode
        assert ended in (0, -signal.SIGABRT), seed


def test_lines_of_the_source_are_kept(tmp_path: Path) -> None:
    source = EXAMPLES / "c" / "table1" / "dekker.c"
    target = tmp_path / "out.c"
    _write(source, "tso", target)
    text = target.read_text(encoding="utf-8")
    lines = source.read_text(encoding="utf-8").splitlines()
    assertion = next(number for number, line in enumerate(lines, 1) if "assert(" in line)
    assert any(line.startswith(f"#line {assertion} ") and line.endswith('dekker.c"') for line in text.splitlines())


def _write(source: Path, model: str, target: Path, buffer: int | None = None) -> bool:
    """Whether the program is within the framework."""
    try:
        text = instrumented_text(parse_files((str(source),)), model, "weighted", buffer)
        target.write_text(text, encoding="utf-8")
    except UnsupportedError:
        return False
    return True


def _compare(paths: list[Path], model: str, folder: Path) -> int:
    compared = 0
    for path in paths:
        target = folder / "instrumented.c"
        if not _write(path, model, target):
            continue
        fails = _fails(target)
        if fails is not None:
            assert fails == _is_reached(path, model), (path, model)
            compared += 1
    return compared


def _fails(target: Path) -> bool | None:
    """As `check` finds out, without the run that it shows: that has thousands of events, and to judge it takes longer
    than to find it. None if the search does not end in time."""
    sequential = load_model("sc")
    program = prepare(parse_files((str(target),)), sequential)
    result = states.run(Task(program, sequential, SEQUENTIAL.limits))
    return True if result.violations else None if result.stopped_by is not None else False


def _is_reached(path: Path, model: str) -> bool:
    weak = load_model(f"ghb-{model}")
    program = prepare(parse_files((str(path),)), weak)
    result: Result = oracle.run(Task(program, weak))
    condition = program.property.condition
    assert condition is not None
    return bool(result.violating if condition.quantifier is Quantifier.FORALL else result.satisfying)
