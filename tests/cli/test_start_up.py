"""What a small check need not do: modules that it does not load, and work that was done before."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.calls import dekker

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int flag;
int data;
void *writer(void *unused) { data = 1; atomic_store(&flag, 1); return 0; }
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, writer, 0);
  if (atomic_load(&flag)) assert(data == 1);
  pthread_join(other, 0);
  return 0;
}
"""
MODULES = """\
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from dekker.cli import main
main()
"""
OF_OTHERS = {
    *("dekker.api", "dekker.cluster.crew", "dekker.fuzz", "dekker.generate", "dekker.patch", "dekker.transform"),
    *("dekker.engines.axiomatic.engine", "dekker.engines.modular", "dekker.engines.states.engine"),
    *("dekker.replay", "dekker.run.checkpoint", "dekker.run.sections", "dekker.run.side_by_side", "dekker.run.why"),
    *("dekker.report.counterexample", "dekker.report.html", "dekker.report.picture", "dekker.witness"),
    *("difflib", "hashlib", "logging", "multiprocessing", "rich", "dask", "highspy"),
}
OF_COMPILED_MODELS = {"dekker.cat.compiler", "dekker.cat.parser", "dekker.cat.syntax", "dekker.cat.evaluate"}
"""Needed the first time only."""
OF_COMPILERS = {"dekker.frontends.c", "subprocess", "tempfile"}


COUNTS = """\
import atexit, sys
def show():
    from dekker import records
    print(records._code.cache_info().misses, sum(name.startswith("dekker") for name in sys.modules), file=sys.stderr)
atexit.register(show)
from dekker.cli import main
main()
"""


def loaded_by(cache: Path, *arguments: str, status: int = 0) -> set[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", MODULES, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return set(done.stderr.split())


def test_a_check_loads_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    file = tmp_path / "test.c"
    file.write_text(PROGRAM)
    arguments = ("check", str(file))
    assert not loaded_by(tmp_path, *arguments) & (OF_OTHERS | {"dekker.frontends.litmus", "dekker.frontends.rsmc"})
    again = loaded_by(tmp_path, *arguments)
    assert not again & (OF_COMPILED_MODELS | OF_COMPILERS)
    assert "dekker.frontends.c" not in again


@pytest.mark.parametrize(
    ("first", "most"), [(True, (80, 185)), (False, (50, 105))], ids=["the first time", "the second time"]
)
def test_a_check_counts_its_work(tmp_path: Path, first: bool, most: tuple[int, int]) -> None:
    """Functions that are compiled for records, and modules that are loaded."""
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    file = tmp_path / "test.c"
    file.write_text(PROGRAM)
    if not first:
        work(tmp_path, "check", str(file))
    functions, modules = work(tmp_path, "check", str(file))
    assert functions <= most[0]
    assert modules <= most[1]


def test_a_litmus_test_counts_its_work(tmp_path: Path) -> None:
    arguments = ("litmus", str(EXAMPLES / "litmus" / "dekker-x86-fenced.litmus"))
    functions, modules = [work(tmp_path, *arguments) for _ in range(2)][1]
    assert functions <= 45
    assert modules <= 105


def work(cache: Path, *arguments: str) -> tuple[int, int]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", COUNTS, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    functions, modules = map(int, done.stderr.split())
    return functions, modules


def test_a_violation_loads_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    file = tmp_path / "test.c"
    file.write_text(PROGRAM.replace("data == 1", "data == 2"))
    loaded = [loaded_by(tmp_path, "check", str(file), status=1) for _ in range(2)][1]
    assert not loaded & OF_COMPILED_MODELS
    assert not loaded & {"dekker.engines.axiomatic.engine", "dekker.engines.states.engine", "dekker.report.html"}


def test_a_litmus_test_loads_what_it_needs(tmp_path: Path) -> None:
    arguments = ("litmus", str(EXAMPLES / "litmus" / "dekker-x86-fenced.litmus"))
    assert not loaded_by(tmp_path, *arguments) & (OF_OTHERS | {"dekker.frontends.c", "dekker.ir.text", "subprocess"})
    assert not loaded_by(tmp_path, *arguments) & OF_COMPILED_MODELS


def test_the_collector_is_at_work_again() -> None:
    gc.disable()
    try:
        assert dekker("models").status == 0
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()


def test_what_runs_in_a_process_that_goes_on_stays_garbage() -> None:
    before = gc.get_freeze_count()
    assert dekker("models").status == 0
    assert gc.get_freeze_count() == before
