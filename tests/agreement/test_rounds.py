"""Rounds of loops that are left out: what is left has the same states, violations, races and deadlocks as following
them one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.fuzz.rounds import rounds_program
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.models import OF_C, load_model
from dekker.result import LEFT_OUT, Result
from dekker.run.prepare import prepare
from dekker.run.splitting import run_splitting
from dekker.source import Source
from dekker.task import Limits, Search, Task

MODELS = ("sc", "tso", "pso", *OF_C, "power", "aarch64", "riscv")
PROGRAMS = 40
CAMPAIGN_PROGRAMS = 3000
UNROLL = 2


def explored(program: Program, model_name: str, *, reduction: bool, unroll: int = UNROLL, jobs: int = 1) -> Result:
    """Loops are as they were written."""
    model = load_model(model_name)
    limits = Limits(unroll, 5.0, counts_known_rounds=False)
    search = Search(reduction=reduction)
    task = Task(prepare(program, model, unroll_waits=True), model, limits, search=search, jobs=jobs)
    return run_splitting(rsmc.run, task)[1]


def wrongs(result: Result) -> set[tuple[str, str]]:
    return {(violation.kind, violation.message) for violation in result.violations} | {
        ("flag", f) for f in result.flags
    }


def check(program: Program, model: str, *, jobs: int = 1) -> Result:
    """With less rounds than the bound there is a representative of everything. Where all is cut, nothing is said of
    races, but they are found where a thread waits."""
    left_out = explored(program, model, reduction=True, jobs=jobs)
    followed = explored(program, model, reduction=False)
    if left_out.stopped_by is not None or followed.stopped_by is not None:
        pytest.skip("takes too long")
    assert left_out.states.keys() == followed.states.keys()
    assert wrongs(left_out) >= wrongs(followed)
    assert wrongs(left_out) == wrongs(followed) or followed.cut
    if not left_out.statistics[LEFT_OUT]:
        assert left_out.states == followed.states
    return left_out


@pytest.mark.parametrize("model", MODELS)
def test_random_rounds_make_no_difference(model: str) -> None:
    results = [check(rounds_program(seed), model, jobs=1 + seed % 2) for seed in range(PROGRAMS)]
    assert sum(result.statistics[LEFT_OUT] > 0 for result in results) > PROGRAMS // 4


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_random_rounds_make_no_difference_campaign(model: str) -> None:
    for seed in range(PROGRAMS, PROGRAMS + CAMPAIGN_PROGRAMS):
        check(rounds_program(seed), model)


@pytest.mark.parametrize("model", MODELS)
def test_what_passes_turn_into_awaits_waits_without_them_too(model: str) -> None:
    for seed in range(PROGRAMS):
        program, loaded = rounds_program(seed), load_model(model)
        limits = Limits(UNROLL, 5.0, counts_known_rounds=False)
        awaits = rsmc.run(Task(prepare(program, loaded), loaded, limits, search=Search(reduction=False)))
        found = explored(program, model, reduction=True)
        assert found.deadlocks or not awaits.deadlocks
        assert found.states.keys() == awaits.states.keys()


# --- C programs

PRELUDE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define relaxed memory_order_relaxed
#define release memory_order_release
#define acquire memory_order_acquire
atomic_int x, y;
int n;
"""
MAIN = """
int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, one, 0);
  pthread_create(&second, 0, other, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
"""


def both(one: str, other: str) -> str:
    threads = f"static void *one(void *_) {{ {one} return 0; }}\nstatic void *other(void *_) {{ {other} return 0; }}"
    return f"{PRELUDE}\n{threads}\n{MAIN}"


def of_c(folder: Path, text: str, model: str = "rc11", unroll: int = 3) -> Result:
    return explored(from_c(folder, text), model, reduction=True, unroll=unroll)


WAITS = {
    "read before": "int p = atomic_load(&x); while (!p) p = atomic_load(&x);",
    "other number": "int p = atomic_load(&x); while (p != 1) p = atomic_load(&x);",
    "flag": "int ok = 0; while (!ok) ok = atomic_load(&x);",
    "flag of another value": "int ok = 0; while (ok != 1) ok = atomic_load(&x);",
    "fence": "int ok = 0; while (!ok) { atomic_thread_fence(memory_order_seq_cst); ok = atomic_load(&x); }",
    "assembly": 'int ok = 0; while (!ok) { __asm__ volatile("" ::: "memory"); ok = atomic_load(&x); }',
    "two places": "while (!(atomic_load(&x) || atomic_load(&y))) ;",
    "attempt": "int e = 1; while (!atomic_compare_exchange_strong(&x, &e, 2)) e = 1;",
    "weak attempt": "int e = 1; while (!atomic_compare_exchange_weak(&x, &e, 2)) e = 1;",
}


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loop", WAITS.values(), ids=WAITS.keys())
def test_loops_wait(tmp_path: Path, loop: str, model: str) -> None:
    """Nothing is cut; and if nobody comes, they wait for ever."""
    found = of_c(tmp_path, both(loop, "atomic_store(&x, 1);"), model)
    assert (found.cut, found.deadlocks) == (0, 0)
    alone = of_c(tmp_path, both(loop, ""), model)
    assert (alone.cut, bool(alone.deadlocks)) == (0, True)


STORES = {
    "behind the look": "while (atomic_load(&x)) n = 2;",
    "atomic": "while (atomic_load(&x)) atomic_store_explicit(&y, 2, relaxed);",
    "on both sides": "do { n = 2; if (!atomic_load_explicit(&x, relaxed)) break; n = 2; } while (1);",
    "two": "while (atomic_load(&x)) { n = 2; atomic_store_explicit(&y, 2, relaxed); }",
    "to one place": "do { n = 2; n = 2; } while (atomic_load(&x));",
}
BACK_AND_FORTH = {
    "on both sides": "do { n = 1; if (!atomic_load_explicit(&x, relaxed)) break; n = 2; } while (1);",
    "to one place": "do { n = 1; n = 2; } while (atomic_load(&x));",
    "behind the look": "n = 0; while (atomic_load(&x)) { n = 1; n = 2; n = 1; }",
}


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loop", STORES.values(), ids=STORES.keys())
def test_loops_wait_that_store_behind_their_last_look(tmp_path: Path, loop: str, model: str) -> None:
    alone = of_c(tmp_path, both(loop, "").replace("int x,", "int x = 1,"), model)
    assert (alone.states, alone.cut, bool(alone.deadlocks)) == ({}, 0, True)
    freed = of_c(tmp_path, both(loop, "atomic_store(&x, 0);").replace("int x,", "int x = 1,"), model)
    assert (bool(freed.states), freed.cut, freed.deadlocks) == (True, 0, 0)


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loop", BACK_AND_FORTH.values(), ids=BACK_AND_FORTH.keys())
def test_who_changes_memory_and_changes_it_back_does_not_wait(tmp_path: Path, loop: str, model: str) -> None:
    alone = of_c(tmp_path, both(loop, "").replace("int x,", "int x = 1,"), model)
    assert (alone.states, alone.deadlocks) == ({}, 0)


@needs_compiler
@pytest.mark.parametrize("loop", STORES.values(), ids=STORES.keys())
def test_how_they_wait_is_shown(tmp_path: Path, loop: str) -> None:
    file = tmp_path / "program.c"
    file.write_text(both(loop, "").replace("int x,", "int x = 1,"), encoding="utf-8")
    done = dekker("check", str(file), "--model", "rc11", "--engine", "rsmc")
    assert done.out.startswith("UNSAFE"), done.err
    assert "for ever" in done.out


BACK_OFF = """
int pause = 1;
while (atomic_exchange(&x, 1)) {
  for (int i = 0; i < pause; i++) ;
  if (pause < 8) pause *= 2;
}
n++;
atomic_store(&x, 0);
"""


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
def test_back_off_is_no_difference_between_rounds(tmp_path: Path, model: str) -> None:
    loaded = load_model(model)
    program = prepare(from_c(tmp_path, both(BACK_OFF, BACK_OFF)), loaded)
    found = rsmc.run(Task(program, loaded, Limits(1, counts_known_rounds=False)))
    assert (found.statistics["complete"], found.cut) == (2, 0)
    assert not found.flags


COUNTS = {
    "tries": "for (int i = 0; i < 3; i++) { int e = 1; if (atomic_compare_exchange_strong(&x, &e, 2)) return 0; }"
    " n = 1;",
    "counted": "int i = 0; while (!atomic_load(&x)) i++; n = i;",
    "noted": "while (!atomic_load(&x)) n = 1;",
}


@needs_compiler
@pytest.mark.parametrize("loop", COUNTS.values(), ids=COUNTS.keys())
def test_who_counts_does_not_wait(tmp_path: Path, loop: str) -> None:
    program = from_c(
        tmp_path, both(loop, "atomic_store(&x, 1);").replace("return 0;\n}\n", "assert(n == 0); return 0;\n}\n")
    )
    assert explored(program, "sc", reduction=True, unroll=4).violations


CHANGES = {
    "there and back": ("", "int p = load(&y), q = load(&y); assert(!(p && !q)); atomic_store(&x, 1);"),
    "seen only late": ("store(&z, 1);", "if (load(&z)) { int q = load(&y); assert(q); } atomic_store(&x, 1);"),
}


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("more", "other"), CHANGES.values(), ids=CHANGES.keys())
def test_a_round_that_stores_twice_to_one_place_is_followed(tmp_path: Path, more: str, other: str, model: str) -> None:
    """The place goes from 1 to 0 only in the second round."""
    one = f"do {{ store(&y, 0); store(&y, 1); {more} }} while (!load(&x));"
    text = both(one, other).replace("load(&", "LOAD(&").replace(" store(&", " STORE(&")
    macros = """atomic_int z;
    #define LOAD(place) atomic_load_explicit(place, relaxed)
    #define STORE(place, value) atomic_store_explicit(place, value, relaxed)
    """
    program = from_c(tmp_path, text.replace("int n;", f"int n;\n{macros}"))
    assert explored(program, model, reduction=True).violations
    check(program, model)


RACES = {
    "what is read is not written yet": (
        """int e = atomic_load_explicit(&y, relaxed);
        while (!e) { int r = n; (void)r; e = atomic_load_explicit(&y, relaxed); }
        atomic_store_explicit(&x, 1, relaxed);""",
        """atomic_store_explicit(&y, 1, relaxed);
        if (atomic_load_explicit(&x, relaxed)) n = 7;""",
    ),
    "what is read is written again": (
        """int e = atomic_load_explicit(&y, acquire);
        while (!(e & 2)) { if (e) { int r = *(volatile int *)&n; (void)r; } e = atomic_load_explicit(&y, acquire); }
        atomic_store_explicit(&x, 1, relaxed);""",
        """n = 3; atomic_store_explicit(&y, 1, release); atomic_store_explicit(&y, 2, relaxed);
        if (atomic_load_explicit(&x, relaxed)) n = 7;""",
    ),
}


@needs_compiler
@pytest.mark.parametrize(("one", "other"), RACES.values(), ids=RACES.keys())
def test_races_with_what_a_thread_does_later_are_found(tmp_path: Path, one: str, other: str) -> None:
    """The only write that races with a read of a failed round comes behind what the thread does in the end."""
    assert "data-race" in of_c(tmp_path, both(one, other)).flags


SEQUENCE_LOCK = """
static int left, right;
static atomic_int l, r;
static void *write_both(void *value) {
  int now;
  do now = atomic_load_explicit(&x, relaxed) & ~1;
  while (!atomic_compare_exchange_strong_explicit(&x, &now, now + 1, acquire, relaxed));
  atomic_thread_fence(release);
  WRITE
  atomic_store_explicit(&x, now + 2, release);
  return 0;
}
static void *read_both(void *_) {
  int begun, a, b;
  do {
    while ((begun = atomic_load_explicit(&x, acquire)) % 2) ;
    READ
    atomic_thread_fence(acquire);
  } while (atomic_load_explicit(&x, relaxed) != begun);
  assert(a == b);
  return 0;
}
int main(void) {
  pthread_t threads[5];
  for (long i = 0; i < 5; i++) pthread_create(&threads[i], 0, i < READERS ? read_both : write_both, (void *)i);
  for (int i = 0; i < 5; i++) pthread_join(threads[i], 0);
  return 0;
}
"""
ATOMIC_WRITE = "atomic_store_explicit(&l, (long)value, relaxed); atomic_store_explicit(&r, (long)value, relaxed);"
ATOMIC_READ = "a = atomic_load_explicit(&l, relaxed); b = atomic_load_explicit(&r, relaxed);"


def sequence_lock(readers: int, write: str, read: str) -> str:
    text = SEQUENCE_LOCK.replace("WRITE", write).replace("READERS", str(readers)).replace("READ", read)
    return f"#include <assert.h>\n{PRELUDE}\n{text}"


@needs_compiler
@pytest.mark.parametrize("model", ["sc", "tso", "rc11"])
def test_readers_that_fail_are_not_combined(tmp_path: Path, model: str) -> None:
    """Three readers see one of three states each; that one fails is seen beside two that succeed."""
    found = of_c(tmp_path, sequence_lock(3, ATOMIC_WRITE, ATOMIC_READ), model)
    assert (found.statistics["complete"], found.cut, found.violations) == (2 * 3**3, 0, {})
    assert found.statistics["blocked"] < 500


@needs_compiler
@pytest.mark.parametrize("readers", [1, 3])
@pytest.mark.parametrize("model", ["sc", "tso", "rc11"])
def test_what_goes_wrong_in_a_round_in_vain_is_found(tmp_path: Path, readers: int, model: str) -> None:
    found = of_c(tmp_path, sequence_lock(readers, ATOMIC_WRITE, f"{ATOMIC_READ} assert(a == b);"), model)
    assert any(violation.kind == "assertion" for violation in found.violations)
    plain = of_c(tmp_path, sequence_lock(readers, "left = right = 1;", "a = left; b = right;"), model)
    assert ("data-race" in plain.flags) == (model == "rc11")


STACK = """
struct node { struct node *next; int value; };
static _Atomic(struct node *) top;
static void push(struct node *node) {
  node->next = atomic_load_explicit(&top, relaxed);
  while (!atomic_compare_exchange_weak_explicit(&top, &node->next, node, ORDER, relaxed)) ;
}
static struct node *pop(void) {
  struct node *seen = atomic_load_explicit(&top, acquire);
  while (seen && !atomic_compare_exchange_weak_explicit(&top, &seen, seen->next, acquire, acquire)) ;
  return seen;
}
"""
USE = "struct node *mine = malloc(sizeof *mine); mine->value = 1; push(mine); struct node *got = pop();"


def stack(use: str, order: str) -> str:
    return both(use, use).replace("static void *one", STACK.replace("ORDER", order) + "static void *one")


@needs_compiler
@pytest.mark.parametrize("model", ["sc", "rc11", "power", "aarch64"])
def test_a_stack_that_frees_its_nodes_is_wrong(tmp_path: Path, model: str) -> None:
    found = of_c(tmp_path, stack(f"{USE} free(got);", "release"), model)
    assert "use after free" in {violation.kind for violation in found.violations}


@needs_compiler
@pytest.mark.parametrize("model", ["sc", "rc11", "power", "aarch64"])
def test_a_stack_has_few_executions(tmp_path: Path, model: str) -> None:
    found = of_c(tmp_path, stack(f"{USE} assert(got->value == 1);", "release"), model)
    assert (found.statistics["complete"], found.cut, found.violations) == (10, 0, {})


@needs_compiler
@pytest.mark.parametrize("model", ["power", "aarch64", "riscv"])
def test_a_store_that_is_overwritten_in_the_next_attempt_may_be_seen(tmp_path: Path, model: str) -> None:
    """Nothing orders it before the node is there for others to see."""
    use = "struct node *mine = malloc(sizeof *mine); mine->value = 1; mine->next = 0; push(mine); pop();"
    program = from_c(tmp_path, stack(use, "relaxed"))
    check(program, model)


@pytest.mark.parametrize("model", ["sc", "power", "aarch64", "riscv"])
def test_the_oracle_counts_rounds_as_rsmc_does(model: str) -> None:
    """The first read stands in front of the loop, so that the engines follow its rounds."""
    text = """
        program rounds architecture C
        object x[8]
        function P0() {
          r1 = load.4 [&x] acquire
        L0:
          branch r1 eq.32 1 -> E1
          r2, r3 = cmpxchg.4 weak [&x] r1 -> r1 add.32 1 release/relaxed
          branch r3 -> E1
          r1 = r2
          jump L0
        E1:
        }
        thread P0 runs P0
        observe [x].4, 0:r1
    """
    found = load_model(model)
    program = prepare(parse_program(Source("rounds", text)), found)
    task = Task(program, found, Limits(2, 20, counts_known_rounds=False))
    expected, exact = axiomatic.run(task), rsmc.run(task)
    assert expected.states.keys() == exact.states.keys()
    assert exact.statistics["left_out"] or expected.states == exact.states
    assert model == "sc" or not exact.statistics["left_out"]
