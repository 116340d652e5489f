"""Random C programs with threads: both engines find the same violations, deadlocks, final states and counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reference.engine_agreement import MODELS, compare, read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.axiomatic import growth
from dekker.engines.rsmc import engine as rsmc
from dekker.fuzz.judgement import judge
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.task import Task

pytestmark = needs_compiler


def compare_all(seed: int, flavour: str, folder: Path, timeout_s: float) -> int:
    """How many models there was an answer for from both engines."""
    text = threaded_program(seed, FLAVOURS[flavour])
    program = read_program(text, folder, OBSERVED)
    compared = 0
    for model in MODELS:
        outcome = compare(program, model, timeout_s)
        assert outcome.difference is None, f"{text}\nunder {outcome.difference}"
        compared += outcome.skipped is None
    return compared


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_engines_agree(flavour: str, tmp_path: Path) -> None:
    assert sum(compare_all(seed, flavour, tmp_path, 0.3) for seed in range(3)) > 0


@pytest.mark.parametrize("flavour", ["plain", "heap", "updates"])
def test_what_the_only_thread_does_need_not_be_events(
    flavour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle takes them for events here, the core does not."""
    monkeypatch.setattr(growth, "run_alone", lambda context, path, memory: (path, memory))
    assert sum(compare_all(seed, flavour, tmp_path, 0.3) for seed in range(50, 52)) > 0


PUBLISHED_AND_FREED = """
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
int out0, out1;
_Atomic(int *) shared;
static void *thread0(void *argument) {
  int *mine = malloc(2 * sizeof(int));
  *mine = 1;
  atomic_store_explicit(&shared, mine, memory_order_relaxed);
  free(atomic_exchange_explicit(&shared, 0, memory_order_acq_rel));
  return 0;
}
int main(void) {
  pthread_t t;
  int value = 0;
  pthread_create(&t, 0, thread0, 0);
  int *seen = atomic_load_explicit(&shared, memory_order_consume);
  if (seen) value = seen[INDEX];
  out0 = 4 * value;
  out1 = value ? 1 : 0;
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "aarch64", "cpp20"])
@pytest.mark.parametrize("index", [0, 1])
def test_what_goes_wrong_behind_a_use_after_free(index: int, model: str, tmp_path: Path) -> None:
    """All name the same places, and no others: what was freed, and what may not have been set."""
    program = read_program(PUBLISHED_AND_FREED.replace("INDEX", str(index)), tmp_path, OBSERVED)
    judgement = judge(program, model, 1, timeout_s=30)
    assert (judgement.problem, judgement.violated) == ("", True)
    result = rsmc.run(Task(prepare(program, load_model(model)), load_model(model)))
    found = {(item.kind, item.span.line) for item in result.violations if item.span is not None}
    may_be_unset = index == 1 or model not in ("sc", "tso")
    assert found == {("use after free", 19)} | ({("uninitialised", 20)} if may_be_unset else set())


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    compare_all(seed, flavour, tmp_path, 5)
