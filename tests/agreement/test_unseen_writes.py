"""Where only the verdict is asked for, the order of writes that nobody sees is left open: the verdict is the same."""

from __future__ import annotations

from dataclasses import replace
from math import factorial
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.fuzz.judgement import judge
from dekker.fuzz.kinds import KINDS
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.task import Limits, Task

pytestmark = needs_compiler

MODELS = ("sc", "tso", "pso", "ibm370", "cpp20", "rc11")

PRELUDE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#define RELAXED memory_order_relaxed
#define add(place, value) atomic_fetch_add_explicit(&place, value, RELAXED)
#define store(place, value) atomic_store_explicit(&place, value, RELAXED)
#define load(place) atomic_load_explicit(&place, RELAXED)
atomic_int a, b, c, d, x;
int p;
_Atomic(int *) kept;
"""


def program_of(folder: Path, threads: list[str], after: str = "", before: str = "", options: str = "") -> Program:
    functions = "".join(f"static void *f{i}(void *u) {{ {body} return 0; }}\n" for i, body in enumerate(threads))
    starts = "".join(f"pthread_create(&t[{i}], 0, f{i}, 0); " for i in range(len(threads)))
    joins = "".join(f"pthread_join(t[{i}], 0); " for i in range(len(threads)))
    main = f"int main(void) {{ {before} pthread_t t[{len(threads)}]; {starts}{options}{joins}{after} }}\n"
    return read_program(PRELUDE + functions + main, folder, ())


def task_of(program: Program, model: str, *, counts: bool, **more: object) -> Task:
    found = load_model(model)
    limits = Limits(4, 20, counts_known_rounds=False, counts_executions=counts)
    return Task(prepare(program, found), found, limits, **more)  # type: ignore[arg-type]


def both(program: Program, model: str) -> tuple[Result, Result]:
    exact, found = (rsmc.run(task_of(program, model, counts=counts)) for counts in (True, False))
    assert found.violations.keys() == exact.violations.keys()
    assert found.flags.keys() == exact.flags.keys()
    assert bool(found.deadlocks) == bool(exact.deadlocks)
    assert found.states.keys() == exact.states.keys()
    assert not exact.is_up_to_order
    return exact, found


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("threads", "after", "expected"),
    [
        ([f"add(c, {i + 1});" for i in range(4)], "assert(c == 10);", 1),
        ([f"atomic_fetch_sub(&c, {i + 1});" for i in range(4)], "assert(c == -10);", 1),
        ([f"atomic_fetch_or(&c, {1 << i});" for i in range(4)], "assert(c == 15);", 1),
        ([f"store(c, {i + 1});" for i in range(4)], "", 1),
        ([f"store(c, {i + 1});" for i in range(4)], "assert(c != 0);", 4),
        ([f"atomic_exchange_explicit(&c, {i + 1}, RELAXED);" for i in range(4)], "", 1),
        ([f"atomic_store(&c, {i + 1});" for i in range(4)], "assert(c + 0 * c != 0); c = 5; assert(c == 5);", 4),
    ],
)
def test_one_order_stands_for_all(threads: list[str], after: str, expected: int, model: str, tmp_path: Path) -> None:
    exact, found = both(program_of(tmp_path, threads, after), model)
    assert (exact.complete_executions, found.complete_executions) == (factorial(4), expected)
    assert found.is_up_to_order


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("threads", "after"),
    [
        (["add(c, 1);", "add(c, 2);", "assert(add(c, 4) < 8);"], ""),
        (["add(c, 1);", "add(c, 2);", "assert(load(c) < 8);"], ""),
        (["add(c, 1);", "add(c, 2);", "if (load(x)) assert(load(c) < 8);", "store(x, 1);"], ""),
        (["add(c, 1);", "atomic_fetch_or(&c, 2);"], "assert(c < 8);"),
        (["add(c, 1);", "store(c, 2);"], "assert(c < 8);"),
        (["add(c, 1);", "add(c, 2); int e = 0; atomic_compare_exchange_strong(&c, &e, 1);"], ""),
    ],
)
def test_who_sees_an_order_is_shown_all(threads: list[str], after: str, model: str, tmp_path: Path) -> None:
    exact, found = both(program_of(tmp_path, threads, after), model)
    assert exact.complete_executions == found.complete_executions
    assert not found.is_up_to_order


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("threads", "after", "options"),
    [
        # Who reads last tells which was last, under some models only together with what they have seen.
        (["store(c, 1); store(d, 1);", "store(d, 2); store(c, 2);"], "assert(!(c == 1 && d == 2));", ""),
        (["store(c, 1); int r = load(x); assert(r < 2);", "store(x, 1); store(c, 2);"], "assert(c == 2 || !x);", ""),
        (["store(c, 1); store(x, 1);", "if (load(x)) store(c, 2);"], "assert(c == 2);", ""),
        (["add(c, 1); store(c, 7);", "add(c, 2);"], "", "store(c, 4);"),
        (["add(c, 1);", "p = 1; add(c, 2); p = 2;", "add(c, 3); p = 3;"], "assert(c == 6);", ""),
        (["p = 1;", "p = 2;"], "assert(p == 1);", ""),
        (
            ["store(c, 1);", "store(c, 2);"],
            "",
            "pthread_join(t[0], 0); assert(c != 2); pthread_join(t[1], 0); return 0;",
        ),
    ],
)
def test_what_goes_wrong_does_in_either_way(
    threads: list[str], after: str, options: str, model: str, tmp_path: Path
) -> None:
    both(program_of(tmp_path, threads, after, options=options), model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "after",
    [
        "while (c != 2);",
        "while (c != 1);",
        "int e; do e = 2; while (!atomic_compare_exchange_strong(&c, &e, 5));",
        "while (c != 2 || d != 0);",
        "while (d != 0 || c != 2);",
    ],
)
def test_who_waits_for_the_final_value_may_wait_for_ever(after: str, model: str, tmp_path: Path) -> None:
    program = program_of(tmp_path, ["store(c, 1);", "store(c, 2);"], after)
    exact, _ = both(program, model)
    assert exact.deadlocks


@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize("order", ["relaxed", "release", "acquire", "acq_rel", "seq_cst"])
def test_what_updates_synchronise_does_not_race(order: str, model: str, tmp_path: Path) -> None:
    update = f"atomic_fetch_add_explicit(&c, 1, memory_order_{order});"
    threads = [f"p = 1; {update}", f"{update} if (load(x)) p = 2;", f"{update} store(x, 1);"]
    both(program_of(tmp_path, threads), model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", ["relaxed", "acq_rel", "seq_cst"])
def test_updates_keep_what_is_around_them_in_order(order: str, model: str, tmp_path: Path) -> None:
    update = f"atomic_fetch_add_explicit(&c, 1, memory_order_{order});"
    threads = [f"store(x, 1); {update} store(a, load(d) + 1);", f"store(d, 1); {update} store(b, load(x) + 1);"]
    found = both(program_of(tmp_path, threads, "assert(!(a == 1 && b == 1));"), model)[1]
    assert bool(found.violations) == (order == "relaxed" and model in ("cpp20", "rc11"))


@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize(("after", "expected"), [("", 1), (" store(x, 1);", 6), (" add(d, 1);", 6)])
def test_updates_that_synchronise_are_the_last_of_their_threads(
    after: str, expected: int, model: str, tmp_path: Path
) -> None:
    """Other updates of the same place may follow."""
    twice = "store(a, 1); atomic_fetch_add(&c, 1); atomic_fetch_add(&c, 1);"
    exact, found = both(program_of(tmp_path, [twice, f"store(b, 1); {twice[13:]}{after}"], "assert(c == 4);"), model)
    assert exact.complete_executions == 6
    assert found.complete_executions == expected


@pytest.mark.parametrize("model", ["cpp20", "rc11"])
def test_fences_put_updates_in_an_order_that_relaxed_reads_may_not_have(model: str, tmp_path: Path) -> None:
    """Without the updates the assertion could fail."""
    fence = "atomic_thread_fence(memory_order_seq_cst);"
    threads = [
        f"store(x, 1); {fence} add(c, 1); store(a, 1);",
        "if (load(a)) store(b, 1);",
        f"int r = load(b); add(c, 1); {fence} assert(!r || load(x));",
    ]
    _, found = both(program_of(tmp_path, threads), model)
    assert not found.violations
    without = [thread.replace("add(c, 1);", "") for thread in threads]
    assert both(program_of(tmp_path, without), model)[1].violations


@pytest.mark.parametrize("model", ["sc", "rc11"])
def test_what_is_stored_last_keeps_memory(model: str, tmp_path: Path) -> None:
    threads = ["store(kept, malloc(4));", "store(kept, 0);"]
    program = program_of(tmp_path, threads)
    leaking = replace(program, property=replace(program.property, leaks=True))
    assert both(leaking, model)[1].violations


@pytest.mark.parametrize("model", ["sc", "rc11"])
def test_memory_of_counters_is_freed(model: str, tmp_path: Path) -> None:
    before = "kept = calloc(1, 4);"
    count = "atomic_fetch_add_explicit((atomic_int *)load(kept), 1, RELAXED);"
    safe = both(program_of(tmp_path, [count, count], "free(kept);", before), model)[1]
    assert safe.is_up_to_order
    assert safe.complete_executions == 1
    assert both(program_of(tmp_path, [count, f"{count} free(kept);"], "", before), model)[1].violations


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("threads", "after"),
    [
        ([f"add(c, {i + 1}); store(x, {i});" for i in range(3)], "assert(c == 7);"),
        ([f"store(c, {i + 1}); store(d, {i + 1});" for i in range(3)], "assert(!(c == 2 && d == 3));"),
        (["store(c, 1); assert(!load(x));", "store(c, 2); add(c, 3);", "add(c, 5); store(x, 1);"], ""),
    ],
)
def test_what_is_shown_has_an_order(threads: list[str], after: str, model: str, tmp_path: Path) -> None:
    task = task_of(program_of(tmp_path, threads, after), model, counts=False, examples=True)
    result = rsmc.run(task)
    assert result.is_up_to_order
    shown = list(violations_of(task, rsmc.NAME, result))
    assert shown
    assert all(violation.witness is not None for violation in shown)


@pytest.mark.parametrize("jobs", [1, 2])
def test_parts_of_the_exploration_find_the_same(jobs: int, tmp_path: Path) -> None:
    threads = [f"add(c, {i + 1}); assert(load(x) < 9); store(x, {i + 1}); add(d, 1);" for i in range(3)]
    program = program_of(tmp_path, threads, "assert(c == 6 && d == 3);")
    whole = rsmc.run(task_of(program, "rc11", counts=False))
    parts = rsmc.run(task_of(program, "rc11", counts=False, jobs=jobs, split_seed=7))
    assert parts.complete_executions == whole.complete_executions
    assert parts.is_up_to_order


def test_counters_do_not_tell_alike_threads_apart(tmp_path: Path) -> None:
    text = (
        PRELUDE
        + """
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *f(void *u) {
          add(c, 1); pthread_mutex_lock(&m); p++; pthread_mutex_unlock(&m); add(d, 1); return 0;
        }
        int main(void) {
          pthread_t t[4];
          for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);
          for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
          assert(c == 4 && d == 4 && p == 4);
        }
    """
    )
    found = rsmc.run(task_of(read_program(text, tmp_path, ()), "rc11", counts=False))
    assert found.complete_executions == 1
    assert found.is_up_to_order
    assert found.is_up_to_renaming


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_go_wrong_in_the_same_ways(seed: int) -> None:
    drawn = KINDS["counters"].draw(seed)
    problem = judge(drawn.program, drawn.model, seed).problem
    assert not problem, drawn.text
