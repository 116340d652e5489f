"""Threads that are started alike: that they change places leaves final states, violations and deadlocks as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.reference.engine_agreement import read_program
from tests.reference.joins_of_some import PROGRAMS as JOINS_OF_SOME
from tests.reference.joins_of_some import program_text
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.states import engine as states
from dekker.fuzz.threaded_c import OBSERVED, alike_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.task import Limits, Search, Task

pytestmark = needs_compiler

MODELS = ("sc", "tso", "pso")
LIMITS = Limits(timeout_s=60, max_traces=50_000)
SEARCHES = {
    "all reductions": Search(),
    "no reduction": Search(reduction=False, static_local=False, dynamic_local=False),
    "depth first": Search(depth_first=True),
}


def findings(task: Task) -> dict[str, object] | None:
    """None if there are too many states."""
    result = states.run(task)
    if result.stopped_by is not None:
        return None
    list(violations_of(task, states.NAME, result))
    return {
        "states": set(result.states),
        "violations": {(violation.kind, violation.span) for violation in result.violations},
        "deadlocks": result.deadlocks > 0,
        "bound": result.bound,
    }


def compare(program: Program, title: str, jobs: int = 1) -> None:
    for name in MODELS:
        model = load_model(name)
        task = Task(prepare(program, model), model, LIMITS, examples=True)
        for kind, search in SEARCHES.items():
            exact, merged = (replace(task, search=replace(search, exact=exact), jobs=jobs) for exact in (True, False))
            expected, found = findings(exact), findings(merged)
            assert None in (expected, found) or found == expected, f"{title} under {name}, {kind}"


COUNTED = Path(__file__).parents[2] / "benchmarks" / "state_spaces" / "alike.c"
WAYS = {"MUTEX": 40, "UPDATE": 12, "EXCHANGE": 4029}
"""States of ten threads under sc, up to renaming."""
VERDICT = Limits(unroll=4, counts_known_rounds=False, stop_at_first=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", MODELS)
def test_ten_threads_count_up(way: str, model: str) -> None:
    report = check((str(COUNTED),), CheckOptions(model, "states", VERDICT, flags=("-DN=10", f"-D{way}")))
    assert report.verdict is Verdict.SAFE
    assert report.result.statistics["merged"]
    assert report.result.statistics["states"] <= WAYS[way]
    three = ("-DN=3", f"-D{way}")
    assert check((str(COUNTED),), CheckOptions(model, "rsmc", VERDICT, flags=three)).verdict is Verdict.SAFE


@pytest.mark.parametrize("way", [*WAYS, "QUEUE"])
def test_counting_up_by_fewer_threads(way: str, tmp_path: Path) -> None:
    text = COUNTED.read_text(encoding="utf-8").replace(
        "#include <assert.h>", f"#include <assert.h>\n#define {way}\n#define N 3"
    )
    compare(read_program(text, tmp_path, ("count",)), way)


def test_what_is_counted_is_exact_where_more_than_the_verdict_is_asked() -> None:
    flags = ("-DN=3", "-DUPDATE")
    cases = ((VERDICT, Search(), 5), (VERDICT, Search(exact=True), 15), (Limits(), Search(), 15))
    for limits, search, n_states in cases:
        report = check((str(COUNTED),), CheckOptions("sc", "states", limits, flags=flags, search=search))
        assert report.result.statistics["states"] == n_states


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", JOINS_OF_SOME)
def test_joining_one_after_the_other(name: str, first: int, tmp_path: Path) -> None:
    compare(read_program(program_text(name, first), tmp_path, ()), name)


def test_exact_states_are_of_threads_told_apart() -> None:
    for option, counted in ((("--exact",), "15 states,"), ((), "5 states up to renaming of threads,")):
        outcome = dekker("check", str(COUNTED), "-m", "sc", "--engine", "states", *option, "--", "-DN=3", "-DUPDATE")
        assert outcome.out.startswith(f"SAFE under sc: {counted}")


PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int n, go, x;
static pthread_t ids[4];
#define THREADS(argument) for (int i = 0; i < 3; ++i) pthread_create(&ids[i], 0, worker, argument)
static void *worker(void *argument);
"""
TOLD_APART = {
    "what is looked at between two joins": """
static void *worker(void *argument) { atomic_fetch_add(&n, 1); return 0; }
int main(void) {
  THREADS(0);
  pthread_join(ids[1], 0); assert(n == 3); pthread_join(ids[0], 0); pthread_join(ids[2], 0);
}
""",
    "what the last one returns": """
static void *worker(void *argument) { return (void *)(long)(atomic_fetch_add(&n, 1) + 1); }
int main(void) {
  THREADS(0);
  void *found; pthread_detach(ids[0]); pthread_join(ids[1], 0); pthread_join(ids[2], &found);
  assert((long)found != 1);
}
""",
    "what threads return": """
static void *worker(void *argument) { return (void *)(long)atomic_fetch_add(&n, 1); }
int main(void) {
  void *a, *b;
  THREADS(0);
  pthread_join(ids[0], &a); pthread_join(ids[1], &b); pthread_join(ids[2], 0);
  assert(!((long)a == 2 && (long)b == 0));
}
""",
    "a thread that joins another": """
static void *worker(void *argument) {
  if (atomic_fetch_add(&n, 1) == 0) { while (!atomic_load(&go)) ; pthread_join(ids[2], 0); x = 1; }
  return 0;
}
int main(void) { THREADS(0); atomic_store(&go, 1); pthread_join(ids[0], 0); pthread_join(ids[1], 0); assert(!x); }
""",
    "a thread that compares identifiers": """
static void *worker(void *argument) {
  while (!atomic_load(&go)) ;
  if (atomic_fetch_add(&n, 1) == 0 && pthread_equal(pthread_self(), ids[1])) assert(0);
  return 0;
}
int main(void) { THREADS(0); atomic_store(&go, 1); for (int i = 0; i < 3; ++i) pthread_join(ids[i], 0); }
""",
    "the end of the program": """
static void *worker(void *argument) { if (atomic_fetch_add(&n, 1) == 1) exit(0); return 0; }
int main(void) { THREADS(0); for (int i = 0; i < 3; ++i) { pthread_join(ids[i], 0); x++; } assert(n == 3); }
""",
    "one that waits for ever": """
static void *worker(void *argument) { if (atomic_fetch_add(&n, 1) == 1) while (!atomic_load(&go)) ; return 0; }
int main(void) { THREADS(0); for (int i = 0; i < 3; ++i) pthread_join(ids[i], 0); }
""",
    "threads that start others": """
static void *inner(void *argument) { atomic_fetch_add(&x, 1); return 0; }
static void *worker(void *argument) {
  pthread_t own;
  if (atomic_fetch_add(&n, 1) < 2) { pthread_create(&own, 0, inner, 0); pthread_join(own, 0); }
  return 0;
}
int main(void) { THREADS(0); for (int i = 0; i < 3; ++i) pthread_join(ids[i], 0); assert(x == 2); }
""",
    "threads that nobody joins": """
static void *worker(void *argument) { int seen = x; x = seen + 1; atomic_fetch_add(&n, 1); return 0; }
int main(void) {
  THREADS(0);
  for (int i = 0; i < 3; ++i) pthread_detach(ids[i]);
  while (atomic_load(&n) != 3) ;
  assert(x > 1);
}
""",
    "nodes of the stack and of the heap": """
struct node { struct node *next; int value; };
static _Atomic(struct node *) top;
static void *worker(void *argument) {
  struct node *mine = malloc(sizeof *mine);
  mine->next = atomic_load(&top);
  while (!atomic_compare_exchange_strong(&top, &mine->next, mine)) ;
  struct node *other = mine->next;
  if (other) atomic_fetch_add(&x, other->next ? 2 : 1);
  return 0;
}
int main(void) { THREADS(0); for (int i = 0; i < 3; ++i) pthread_join(ids[i], 0); assert(x != 3); }
""",
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_what_may_tell_threads_apart(name: str, tmp_path: Path) -> None:
    program = read_program(PRELUDE + TOLD_APART[name], tmp_path, ("n", "x"))
    compare(program, name)
    compare(replace(program, property=replace(program.property, observed=(), leaks=True)), f"{name} with leaks", jobs=2)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    compare(read_program(alike_program(seed), tmp_path, OBSERVED), str(seed), jobs=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1000))
def test_campaign(seed: int, tmp_path: Path) -> None:
    program = read_program(alike_program(seed), tmp_path, OBSERVED)
    if seed % 3 == 0:
        program = replace(program, property=replace(program.property, leaks=True))
    if seed % 5 == 0:
        program = replace(program, property=replace(program.property, observed=()))
    compare(program, str(seed), jobs=1 + seed % 2)
