"""The C that `dekker instrument` writes: compilers accept it without a warning, and under SC it has the verdict that
the program has under the weak model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agreement.test_transform import MODELS, corpus_tests, own_tests

from dekker.engines.axiomatic import engine as oracle
from dekker.errors import UnsupportedError
from dekker.frontends import parse_files
from dekker.ir.property import Quantifier
from dekker.models import load_model
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.instrument import instrumented_text
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread")
EXAMPLES = Path(__file__).parents[2] / "examples"
SEQUENTIAL = CheckOptions("sc", "states", Limits(counts_known_rounds=False, stop_at_first=True, timeout_s=20))


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
    assert _compare(corpus_tests(4), model, tmp_path) > 200


@pytest.mark.parametrize(
    ("example", "model", "verdict"),
    [
        ("dekker.c", "tso", Verdict.UNSAFE),
        ("pgsql.c", "tso", Verdict.SAFE),
        ("pgsql.c", "pso", Verdict.UNSAFE),
        ("dcl_singleton.c", "pso", Verdict.UNSAFE),
    ],
)
def test_examples(example: str, model: str, verdict: Verdict, tmp_path: Path) -> None:
    target = tmp_path / "out.c"
    _write(EXAMPLES / "c" / "table1" / example, model, target)
    assert check((str(target),), SEQUENTIAL).verdict is verdict


def test_lines_of_the_source_are_kept(tmp_path: Path) -> None:
    source = EXAMPLES / "c" / "table1" / "dekker.c"
    target = tmp_path / "out.c"
    _write(source, "tso", target)
    text = target.read_text(encoding="utf-8")
    lines = source.read_text(encoding="utf-8").splitlines()
    assertion = next(number for number, line in enumerate(lines, 1) if "assert(" in line)
    assert any(line.startswith(f"#line {assertion} ") and line.endswith('dekker.c"') for line in text.splitlines())


def _write(source: Path, model: str, target: Path) -> bool:
    """Whether the program is within the framework."""
    try:
        target.write_text(instrumented_text(parse_files((str(source),)), model, "weighted"), encoding="utf-8")
    except UnsupportedError:
        return False
    return True


def _compare(paths: list[Path], model: str, folder: Path) -> int:
    compared = 0
    for path in paths:
        target = folder / "instrumented.c"
        if not _write(path, model, target):
            continue
        verdict = check((str(target),), SEQUENTIAL).verdict
        if verdict is not Verdict.UNKNOWN:
            assert (verdict is Verdict.UNSAFE) == _is_reached(path, model), (path, model)
            compared += 1
    return compared


def _is_reached(path: Path, model: str) -> bool:
    weak = load_model(f"ghb-{model}")
    program = prepare(parse_files((str(path),)), weak)
    result: Result = oracle.run(Task(program, weak))
    condition = program.property.condition
    assert condition is not None
    return bool(result.violating if condition.quantifier is Quantifier.FORALL else result.satisfying)
