"""C programs with threads: states finds what rsmc finds, whatever it leaves out, and what it shows replays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.engines import require_same_states
from dekker.run.prepare import prepare
from dekker.run.splitting import run_splitting
from dekker.run.violations import violations_of
from dekker.task import Limits, Search, Task

pytestmark = needs_compiler

MODELS = ("sc", "tso", "pso")
LIMITS = Limits(unroll=6, timeout_s=5, counts_known_rounds=False)
SEARCHED = replace(LIMITS, timeout_s=300)
"""On a busy machine: a search that does not end is a failure."""
SEARCHES = {
    "all reductions": Search(),
    "no reduction": Search(reduction=False, symmetry=False, static_local=False, dynamic_local=False),
    "depth first": Search(depth_first=True),
    "no dynamic locals": Search(dynamic_local=False),
}
PROGRAMS = Path(__file__).parents[1] / "corpus" / "threads" / "programs.txt"
PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); void __VERIFIER_assume(int);
#define T(name) static void *name(void *argument)
#define GO(thread, name) pthread_t thread; pthread_create(&thread, 0, name, 0)
#define END(thread) pthread_join(thread, 0)
"""


def programs() -> dict[str, str]:
    parts = PROGRAMS.read_text(encoding="utf-8").split("\n=== ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def compare(program: Program, title: str) -> int:
    """How many searches were compared."""
    compared = 0
    for name in MODELS:
        model = load_model(name)
        task = Task(prepare(program, model), model, LIMITS, examples=True)
        explored = _explored(task)
        found: list[Result] = []
        for kind, search in SEARCHES.items():
            searched = states.run(replace(task, limits=SEARCHED, search=replace(search, exact_sections=False)))
            assert searched.stopped_by is None, f"{title} under {name}, {kind}"
            assert searched.bound == "", f"{title} under {name}, {kind}"
            list(violations_of(task, states.NAME, searched))
            found.append(searched)
            if explored is not None:
                require_same_states(task, rsmc.NAME, explored, searched)
                compared += 1
        for other in found[1:]:
            require_same_states(task, "other reductions", found[0], other)
    return compared


def looking_for_leaks(program: Program) -> Program:
    return replace(program, property=replace(program.property, leaks=True))


def _explored(task: Task) -> Result | None:
    """Accesses of different sizes that race are not for rsmc."""
    try:
        _, result = run_splitting(rsmc.run, task)
    except UnsupportedError:
        return None
    return result if result.stopped_by is None else None


@pytest.mark.parametrize("name", programs())
def test_programs(name: str, tmp_path: Path) -> None:
    observed = ("x", "y", "sum", "n", "r0", "r1")
    program = read_program(PRELUDE + programs()[name], tmp_path, observed)
    compare(program, name)
    compare(looking_for_leaks(program), f"{name} with leaks")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_random_programs(flavour: str, tmp_path: Path) -> None:
    for seed in range(4):
        program = read_program(threaded_program(seed, FLAVOURS[flavour]), tmp_path, OBSERVED)
        assert compare(looking_for_leaks(program) if seed % 2 else program, f"{flavour} {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(100, 300))
def test_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    program = read_program(threaded_program(seed, FLAVOURS[flavour]), tmp_path, OBSERVED)
    compare(looking_for_leaks(program) if seed % 2 else program, f"{flavour} {seed}")


SECTIONS = """
#include <assert.h>
#include <pthread.h>
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
volatile int x;
void *changes(void *unused) {
  __VERIFIER_atomic_begin();
  x = 1;
  x = 0;
  __VERIFIER_atomic_end();
#ifdef WRONG
  x = 2;
#endif
  return unused;
}
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, changes, 0);
  pthread_create(&second, 0, changes, 0);
  int seen = x;
  assert(seen == 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_nobody_sees_an_atomic_section_half_done(model: str, tmp_path: Path) -> None:
    """Other engines take them for critical sections; what they find in this way is no violation."""
    source = tmp_path / "sections.c"
    source.write_text(SECTIONS, encoding="utf-8")
    limits = Limits(counts_known_rounds=False, stop_at_first=True)
    assert check((str(source),), CheckOptions(model, "states", limits)).verdict is Verdict.SAFE
    assert check((str(source),), CheckOptions(model, "rsmc", limits)).verdict is Verdict.UNKNOWN
    assert check((str(source),), CheckOptions(model, None, limits)).verdict is Verdict.SAFE
    wrong = check((str(source),), CheckOptions(model, "states", limits, flags=("-DWRONG",)))
    assert wrong.verdict is Verdict.UNSAFE
    assert wrong.violations[0].witness is not None
    assert wrong.violations[0].witness.violation is not None
