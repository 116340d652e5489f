"""The states engine through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker

LOOP = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
extern _Bool __VERIFIER_nondet_bool(void);
atomic_int wants[2];
volatile int inside;
static void *run(void *argument) {
  int me = argument != 0;
  while (__VERIFIER_nondet_bool()) {
    atomic_store_explicit(&wants[me], 1, ORDER);
    if (atomic_load_explicit(&wants[1 - me], ORDER) == 0) {
      inside = me;
      assert(inside == me);
    }
    atomic_store_explicit(&wants[me], 0, ORDER);
  }
  return 0;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, (void *)1L);
  run(0);
}
"""
RELAXED, STRONG = "-DORDER=memory_order_relaxed", "-DORDER=memory_order_seq_cst"
LITMUS = "examples/litmus/dekker-x86.litmus"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "loop.c"
    path.write_text(LOOP, encoding="utf-8")
    return str(path)


def test_auto_says_why(file: str) -> None:
    outcome = dekker("check", file, "-m", "tso", "--engine", "auto", "--", STRONG)
    assert (outcome.status, outcome.out.split(":")[0]) == (0, "SAFE under tso")
    assert "(states)" in outcome.out
    assert "this engine, because a loop in 'run'" in outcome.out


def test_a_violation_is_told_step_by_step(file: str, tmp_path: Path) -> None:
    witness = tmp_path / "witness.json"
    outcome = dekker("check", file, "-m", "tso", "--engine", "auto", "--witness", str(witness), "--", RELAXED)
    assert outcome.status == 1
    assert "Step by step:" in outcome.out
    assert "wants = 1 in its buffer)" in outcome.out or "wants+4 = 1 in its buffer)" in outcome.out
    assert dekker("replay", str(witness)).status == 0


def test_json(file: str) -> None:
    answer = json.loads(dekker("check", file, "-m", "pso", "--engine", "auto", "--json", "-", "--", RELAXED).out)
    assert (answer["verdict"], answer["engine"]) == ("UNSAFE", "states")
    assert answer["stats"]["states"] > 10
    assert answer["schedule"][-1]["text"] == "! assertion"


def test_robustness(file: str) -> None:
    assert dekker("check", file, "-m", "tso", "--robust", "--", STRONG).status == 0
    outcome = dekker("check", file, "-m", "tso", "--robust", "--", RELAXED)
    assert outcome.status == 1
    assert "violation: robustness" in outcome.out
    refused = dekker("check", file, "-m", "tso", "--robust", "--engine", "rsmc", "--", RELAXED)
    assert (refused.status, "only the states engine" in refused.err) == (2, True)


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_all_engines_agree(model: str) -> None:
    for engine in ("states", "all"):
        assert dekker("litmus", LITMUS, "--engine", engine, "-m", model).status in (0, 1)


def test_limits(file: str) -> None:
    outcome = dekker("check", file, "-m", "tso", "--engine", "states", "--max-traces", "5", "--", STRONG)
    assert outcome.status == 3
    assert "stopped by states" in outcome.out
    refused = dekker("check", file, "-m", "power", "--engine", "states", "--", STRONG)
    assert (refused.status, "sc, tso, pso" in refused.err) == (2, True)


def test_reductions_change_no_verdict(file: str) -> None:
    for switch in ("--no-static-local", "--no-dynamic-local", "--no-reduction", "--no-symmetry", "--depth-first"):
        assert dekker("check", file, "-m", "tso", "--engine", "states", switch, "--", STRONG).status == 0
        assert dekker("check", file, "-m", "tso", "--engine", "states", switch, "--", RELAXED).status == 1


WEAK = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
static void *run(void *argument) { assert(x WHAT); return 0; }
int main(void) {
  int expected = 0;
  atomic_compare_exchange_weak(&x, &expected, 2);
  pthread_t other;
  pthread_create(&other, 0, run, 0);
  pthread_join(other, 0);
  return 0;
}
"""


@pytest.mark.parametrize(("model", "what"), [("sc", "!= 0"), ("sc", "!= 2"), ("tso", "!= 2")])
def test_a_weak_exchange_before_threads_start_replays(model: str, what: str, tmp_path: Path) -> None:
    """It is a choice of the first thread, so it belongs to the run that is shown, whether it fails or not."""
    path, witness = tmp_path / "weak.c", tmp_path / "run.json"
    path.write_text(WEAK.replace("WHAT", what), encoding="utf-8")
    found = dekker("check", str(path), "-m", model, "--engine", "states", "--witness", str(witness))
    assert found.status == 1
    assert dekker("replay", str(witness)).status == 0


def test_a_weak_exchange_is_one_locked_instruction_under_tso(tmp_path: Path) -> None:
    path = tmp_path / "weak.c"
    path.write_text(WEAK.replace("WHAT", "!= 0"), encoding="utf-8")
    assert dekker("check", str(path), "-m", "tso", "--engine", "states").status == 0


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_exchange_for_ever_are_in_a_deadlock(model: str, threads: int, tmp_path: Path) -> None:
    program = tmp_path / "spin.c"
    program.write_text(
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int lock = THREADS == 1;\n"
        "static void *run(void *a) { while (atomic_exchange(&lock, 1)); return 0; }\n"
        "int main(void) {\n  pthread_t t[THREADS];\n"
        "  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, run, 0);\n"
        "  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);\n}\n",
        encoding="utf-8",
    )
    outcome = dekker("check", str(program), "-m", model, "--engine", "states", "--", f"-DTHREADS={threads}")
    assert (outcome.status, "violation: deadlock" in outcome.out) == (1, True), outcome
