"""Loops that try an update again: a weak compare-exchange that fails by chance and is only tried again is no new
behaviour, one that does anything else is; and no update is explored in vain."""

from __future__ import annotations

from math import factorial
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.models import load_model
from dekker.result import LEFT_OUT, Result
from dekker.run.engines import require_agreement, require_same_states
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

pytestmark = needs_compiler

PRELUDE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#define relaxed memory_order_relaxed
#define release memory_order_release
#define acquire memory_order_acquire
"""
MAIN = """
int main(void) {
  pthread_t t[THREADS];
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, thread, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  CHECK
}
"""
PUSHES = """
struct node { struct node *next; int value; } nodes[THREADS * 2];
_Atomic(struct node *) top;
static void *thread(void *number) {
  for (int i = 0; i < 2; i++) {
    struct node *n = &nodes[(long)number * 2 + i];
    n->value = 1;
    struct node *old = atomic_load_explicit(&top, relaxed);
    do n->next = old; while (!atomic_compare_exchange_KIND_explicit(&top, &old, n, release, relaxed));
  }
  return 0;
}
"""
TICKETS = """
atomic_uint next, owner;
int count;
static void *thread(void *unused) {
  for (int i = 0; i < 2; i++) {
    unsigned own = atomic_fetch_add_explicit(&next, 1, relaxed);
    while (atomic_load_explicit(&owner, acquire) != own) ;
    count++;
    atomic_store_explicit(&owner, own + 1, release);
  }
  return 0;
}
"""


def task_of(folder: Path, text: str, model_name: str, check: str = "", threads: int = 2, unroll: int = 2) -> Task:
    source = PRELUDE + f"#define THREADS {threads}\n" + text + MAIN.replace("CHECK", check)
    model = load_model(model_name)
    return Task(prepare(from_c(folder, source), model), model, Limits(unroll, counts_known_rounds=False))


def agreed(task: Task) -> Result:
    """What `rsmc` finds; the oracle agrees with it."""
    found = rsmc.run(task)
    require_agreement(task, {"rsmc": found, "axiomatic": axiomatic.run(task)})
    return found


@pytest.mark.parametrize("model", ["sc", "cpp20", "rc11"])
def test_a_weak_push_is_as_a_strong_one(tmp_path: Path, model: str) -> None:
    check = "int sum = 0; for (struct node *n = top; n; n = n->next) sum += n->value; assert(sum == 4);"
    weak = rsmc.run(task_of(tmp_path, PUSHES.replace("KIND", "weak"), model, check))
    strong = rsmc.run(task_of(tmp_path, PUSHES.replace("KIND", "strong"), model, check))
    assert (weak.states, weak.cut, weak.violations) == (strong.states, strong.cut, strong.violations)
    assert (sum(weak.states.values()), weak.cut) == (factorial(4) // 2**2, 0)
    assert weak.statistics[LEFT_OUT] > strong.statistics[LEFT_OUT] > 0


LOOP = "atomic_int x, y; int r;\nstatic void *thread(void *number) {{\n  int e = 0, n = 0;\n{body}\n  return 0;\n}}\n"
WEAK = "atomic_compare_exchange_weak_explicit(&x, &e, 1, relaxed, relaxed)"

OVERWRITTEN = f"""
  if (!(long)number) {{ do atomic_store(&y, 1); while (!{WEAK}); return 0; }}
  int a = atomic_load(&y);
  atomic_store(&y, 2);
  r = a == 1 && atomic_load(&y) == 1;
"""


@pytest.mark.parametrize(
    ("body", "check"),
    [
        (f"if ((long)number) return 0; while (!{WEAK}) n++; r = n;", "assert(r == 0);"),
        (f"if ((long)number) return 0; while (!{WEAK}) r = 1;", "assert(r == 0);"),
        (f"if ((long)number) return 0; if (!{WEAK}) r = 1;", "assert(r == 0);"),
        (f"if ((long)number) return 0; while (!{WEAK}) atomic_fetch_add(&y, 1);", "assert(y == 0);"),
        (OVERWRITTEN, "assert(!r);"),
    ],
    ids=["counted", "noted", "once", "added", "store that others overwrite"],
)
@pytest.mark.parametrize("model", ["sc", "cpp20"])
def test_a_failure_by_chance_that_does_something_is_seen(tmp_path: Path, body: str, check: str, model: str) -> None:
    found = agreed(task_of(tmp_path, LOOP.format(body=body), model, check))
    assert found.violations


@pytest.mark.parametrize(
    "body",
    [
        f"do atomic_store(&y, 1); while (!{WEAK});",
        f"while (!{WEAK}) e = 0;",
        f"do e = atomic_load_explicit(&x, relaxed); while (!{WEAK.replace('1,', 'e + 1,', 1)});",
        f"for (;;) {{ if (e > 1) break; if ({WEAK.replace('1,', 'e + 1,', 1)}) break; }}",
        f"do {{ n = e; atomic_store_explicit(&y, n, relaxed); }} while (!{WEAK.replace('1,', 'n + 1,', 1)});",
    ],
)
@pytest.mark.parametrize("model", ["sc", "tso", "cpp20"])
def test_engines_agree_about_retries(tmp_path: Path, body: str, model: str) -> None:
    task = task_of(tmp_path, LOOP.format(body=body), model)
    found = agreed(task)
    if model in states.MODELS:
        require_same_states(task, "rsmc", found, states.run(task))


@pytest.mark.parametrize("model", ["rc11", "power", "aarch64", "riscv"])
def test_tickets_are_not_drawn_in_vain(tmp_path: Path, model: str) -> None:
    """An own update may be read before it is in place: its halves are one step all the same."""
    found = rsmc.run(task_of(tmp_path, TICKETS, model, "assert(count == 6);", threads=3))
    assert (found.statistics["complete"], found.statistics["abandoned"]) == (factorial(6) // 2**3, 0)
    assert not found.violations


QUEUE_LOCK = """
struct node { struct node *_Atomic next; atomic_bool waits; } nodes[THREADS];
_Atomic(struct node *) tail;
int count;
static void *thread(void *number) {
  struct node *own = &nodes[(long)number];
  for (int i = 0; i < 2; i++) {
    atomic_store_explicit(&own->next, 0, relaxed);
    atomic_store_explicit(&own->waits, 1, relaxed);
    struct node *before = atomic_exchange_explicit(&tail, own, memory_order_acq_rel);
    if (before) {
      atomic_store_explicit(&before->next, own, release);
      while (atomic_load_explicit(&own->waits, acquire)) ;
    }
    count++;
    struct node *next = atomic_load_explicit(&own->next, acquire), *expected = own;
    if (!next) {
      if (atomic_compare_exchange_strong_explicit(&tail, &expected, 0, release, relaxed)) continue;
      while (!(next = atomic_load_explicit(&own->next, acquire))) ;
    }
    atomic_store_explicit(&next->waits, 0, release);
  }
  return 0;
}
"""


@pytest.mark.parametrize("model", ["rc11", "power", "aarch64", "riscv"])
def test_a_queue_lock_has_no_dead_ends(tmp_path: Path, model: str) -> None:
    """The write of an update may wait for more than its read, which then waits for that as well."""
    found = rsmc.run(task_of(tmp_path, QUEUE_LOCK, model, "assert(count == 4);"))
    assert (found.statistics["complete"], found.statistics["abandoned"]) == (78, 0)
    assert not found.violations
