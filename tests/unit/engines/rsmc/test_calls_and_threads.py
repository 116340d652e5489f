"""Programs with functions, threads that are spawned and joined, and allocation; the oracle finds the same."""

from __future__ import annotations

from contextlib import suppress

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.errors import UnsupportedError
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.run.engines import answer
from dekker.source import Source
from dekker.task import Limits, Search, Task

EXPLORED = Search()


def run(
    text: str, model: str = "sc", limits: Limits = Limits(counts_known_rounds=False), search: Search = EXPLORED
) -> Result:
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text}"))
    validate(program)
    task = Task(program, load_model(model), limits, search=search)
    found = rsmc.run(task)
    with suppress(UnsupportedError):
        assert answer(found) == answer(axiomatic.run(task)), "the oracle disagrees"
    return found


STORE_BUFFERING = """
object x[8]
object y[8]

function worker(mine, other) {
  store.4 [mine] = 1 relaxed
  a = load.4 [other] relaxed
  return a
}

function main() {
  first = spawn &worker(&x, &y)
  second = spawn &worker(&y, &x)
  a = join first
  b = join second
  c = load.4 [&x]
}

thread main runs main
observe 0:a, 0:b, 0:c
"""


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_threads_are_as_weak_as_the_model_says(model: str) -> None:
    found = run(STORE_BUFFERING, model)
    both_old = set() if model == "sc" else {(0, 0, 1)}
    assert set(found.states) == {(0, 1, 1), (1, 0, 1), (1, 1, 1)} | both_old
    assert set(found.states.values()) == {1}
    assert (found.blocked, found.statistics["abandoned"], found.flags) == (0, 0, {})


UPDATES_AND_LOOP = """
object x[4]
function once() {
  a, s = cmpxchg.4 [&x] 0 -> 1 acquire/relaxed
}
function retrying() {
again:
  e, s = cmpxchg.4 weak [&x] e -> e add.32 1 acquire/acquire
  branch s -> done
  jump again
done:
}
thread once runs once
thread retrying runs retrying
observe [x].4
"""


@pytest.mark.parametrize("model", ["sc", "tso", "rc11", "power"])
@pytest.mark.parametrize(("unroll", "complete"), [(1, 3), (2, 6), (3, 10)])
def test_an_update_of_another_thread_has_a_say_in_a_loop(model: str, unroll: int, complete: int) -> None:
    limits = Limits(unroll, counts_known_rounds=False)
    found = run(UPDATES_AND_LOOP, model, limits, Search(reduction=False))
    assert found.complete_executions == complete


def test_a_thread_may_have_nothing_to_do() -> None:
    found = run(
        "function nothing() {\n}\nfunction main() {\n  t = spawn &nothing()\n  a = join t\n}\nthread main runs main\n"
    )
    assert found.complete_executions == 1


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_what_a_thread_does_before_it_spawns_and_after_it_ends_is_seen(model: str) -> None:
    found = run(
        """
object x[8]
object y[8]
function worker() {
  a = load.4 [&x]
  store.4 [&y] = a add.32 1
  return 7
}
function main() {
  n = choose 0..1
  store.4 [&x] = 5
  t = spawn &worker()
  r = join t
  b = load.4 [&y]
}
thread main runs main
observe 0:r, 0:b
""",
        model,
    )
    assert found.states == {(7, 6): 2}
    assert not found.flags


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_nothing_is_reached_behind_the_join_of_a_thread_that_does_not_end(model: str) -> None:
    found = run(
        """
object x[8]
function worker() {
  a = load.4 [&x] relaxed
  assume a
}
function main() {
  t = spawn &worker()
  join t
  assert 0, "behind the join"
}
thread main runs main
""",
        model,
    )
    assert not found.violations
    assert (found.complete_executions, found.blocked) == (0, 1)


def test_recursion_and_function_pointers() -> None:
    found = run("""
function factorial(n) {
  branch n sgt.32 1 -> more
  return 1
more:
  r = call &factorial(n sub.32 1)
  return n mul.32 r
}
function apply(f, n) {
  r = call f(n)
  return r
}
function main() {
  a = call &apply(&factorial, 6)
}
thread main runs main
observe 0:a
""")
    assert found.states == {(720,): 1}
    assert found.statistics["commits"] == 0


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("r = call 5()", "call", "no function"),
        ("r = call &main()", "call", "nested too deeply"),
        ("r = join 9", "join", "no thread"),
        ("free 64", "release", "not the start of memory"),
        ("p = allocate 0x7fffffffffff", "allocation", "allocation of"),
        ("p = allocate 8\nv = load.4 [p add.64 8]", "memory", "lie in no object"),
    ],
)
def test_what_goes_wrong_is_named(body: str, kind: str, message: str) -> None:
    found = run(f"function main() {{\n{body}\n}}\nthread main runs main\n")
    (violation,) = found.violations
    assert violation.kind == kind
    assert message in violation.message
    assert violation.span is not None


def test_allocated_memory_is_shared_and_zero() -> None:
    found = run("""
function worker(p) {
  store.8 [p add.64 8] = p
  return 0
}
function main() {
  p = allocate 16 zeroed
  q = allocate 16 zeroed
  t = spawn &worker(p)
  old = load.8 [p]
  x = join t
  new = load.8 [p add.64 8]
  same = new eq.64 p
  other = p eq.64 q
}
thread main runs main
observe 0:old, 0:same, 0:other
""")
    assert found.states == {(0, 1, 0): 1}


LOCKS = """
object a[8]
object b[8]
function lock(m) {
again:
  old, ok = cmpxchg.4 [m] 0 -> 1 acquire / relaxed
  await ok -> again
  return 0
}
function unlock(m) {
  store.4 [m] = 0 release
  return 0
}
function both(m, n) {
  call &lock(m)
  call &lock(n)
  call &unlock(n)
  call &unlock(m)
  return 0
}
function main() {
  s = spawn &both(&a, &b)
  t = spawn &both(FIRST, SECOND)
  x = join s
  y = join t
}
thread main runs main
"""


@pytest.mark.parametrize("model", ["sc", "tso", "rc11", "aarch64"])
def test_a_deadlock_is_found_and_only_where_there_is_one(model: str) -> None:
    crossed = run(LOCKS.replace("FIRST", "&b").replace("SECOND", "&a"), model)
    assert crossed.deadlocks == 1
    assert crossed.complete_executions == 2
    ordered = run(LOCKS.replace("FIRST", "&a").replace("SECOND", "&b"), model)
    assert ordered.deadlocks == 0
    assert ordered.complete_executions == 2


LOOP = """
object x[8]
function worker() {
  store.4 [&x] = 1
  return 0
}
function main() {
  t = spawn &worker()
outer:
  j = 0
inner:
  j = j add.32 1
  branch j slt.32 9 -> inner
  i = i add.32 1
  branch i slt.32 7 -> outer
  BODY
}
thread main runs main
observe 0:i, 0:j
"""


def test_rounds_that_nothing_read_decides_are_not_bounded() -> None:
    found = run(LOOP.replace("BODY", "a = join t"))
    assert (found.states, found.cut) == ({(7, 9): 1}, 0)
    bounded = run(LOOP.replace("BODY", "a = join t"), limits=Limits())
    assert (bounded.states, bounded.cut) == ({}, 1)


def test_a_loop_without_end_is_cut() -> None:
    found = run("function f() {\nreturn 0\n}\nfunction main() {\nr = call &f()\nL:\njump L\n}\nthread main runs main\n")
    assert (found.complete_executions, found.cut) == (0, 1)


FREE = """
object flag[8]
function worker(p) {
  v = load.4 [p]
  FENCE
  store.4 [&flag] = 1 release
  return v
}
function main() {
  p = allocate 16 zeroed
  store.4 [p add.64 4] = 3
  t = spawn &worker(p)
wait:
  f = load.4 [&flag] acquire
  await f -> wait
  free p
  v = join t
}
thread main runs main
observe 0:v
"""


@pytest.mark.parametrize(
    ("model", "fence", "kinds"),
    [
        ("sc", "f = 0", set()),
        ("tso", "f = 0", set()),
        ("rc11", "f = 0", set()),
        ("aarch64", "f = 0", set()),
        # A load may be satisfied after a later store on POWER, which knows no release.
        ("power", "f = 0", {"use after free"}),
        ("power", "fence sync", set()),
    ],
)
def test_use_after_free_is_a_matter_of_the_model(model: str, fence: str, kinds: set[str]) -> None:
    """The writes of `free` are behind the load of the flag in all models: they depend on it."""
    found = run(FREE.replace("FENCE", fence), model)
    assert {violation.kind for violation in found.violations} == kinds


@pytest.mark.parametrize("model", ["sc", "tso", "power", "aarch64"])
def test_double_free_and_use_after_free_in_one_thread(model: str) -> None:
    found = run(
        "function main() {\np = allocate 8\nstore.8 [p] = 1\nfree p\nfree p\nstore.8 [p] = 2\nv = load.8 [p]\n}\n"
        "thread main runs main\n",
        model,
    )
    assert {violation.kind for violation in found.violations} == {"double free", "use after free"}


def test_a_field_that_is_found_late_is_freed_too() -> None:
    found = run("""
object x[8]
function worker(p) {
  a = load.4 [&x]
  branch a eq.32 0 -> skip
  v = load.2 [p add.64 6]
skip:
  return 0
}
function main() {
  p = allocate 16
  t = spawn &worker(p)
  free p
  store.4 [&x] = 1
  r = join t
}
thread main runs main
""")
    assert {violation.kind for violation in found.violations} == {"use after free"}


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_nothing_goes_wrong_behind_a_join_that_never_ends(model: str) -> None:
    """Where accesses overtake one another, too: what stands behind the join is not executed."""
    found = run(
        """
object x[8]
function worker() {
again:
  a = load.4 [&x]
  await a -> again
  return 0
}
function main() {
  t = spawn &worker()
  r = join t
  assert 0, "never"
}
thread main runs main
""",
        model,
    )
    assert (list(found.violations), found.deadlocks, found.complete_executions) == ([], 1, 0)


def test_the_loops_that_were_cut_have_a_place() -> None:
    found = run(
        "object x[8]\nfunction main() {\n  t = spawn &w()\nagain:\n  a = load.4 [&x]\n  n = n add.32 1\n"
        "  branch a eq.32 0 -> again\n}\nfunction w() {\n  store.4 [&x] = 1 relaxed\n}\nthread main runs main\n"
    )
    assert [span.text for span in found.cut_at] == ["branch a eq.32 0 -> again"]


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_what_is_called_is_a_control_dependency(model: str) -> None:
    """Load buffering: the store behind the call waits for the load of the function pointer."""
    found = run(
        """
object callee[8]
object x[8]
function first() {
  return 1
}
function second() {
  store.4 [&x] = 1
  return 2
}
function main() {
  store.8 [&callee] = &first
  t = spawn &worker()
  f = load.8 [&callee]
  a = call f()
  store.4 [&x] = 1
  r = join t
}
function worker() {
  v = load.4 [&x]
  branch v eq.32 0 -> end
  store.8 [&callee] = &second
end:
  return v
}
thread main runs main
observe 0:a, 0:r
""",
        model,
    )
    assert set(found.states) == {(1, 0), (1, 1)}


@pytest.mark.parametrize("model", ["sc", "tso", "power", "aarch64", "rc11"])
def test_what_a_misled_thread_does_is_not_reported(model: str) -> None:
    found = run(
        """
function worker(p) {
  free p
  return 0
}
function main() {
  p = allocate 8
  t = spawn &worker(p)
  r = join t
  v = load.8 [p]
  free p
  w = load.8 [v]
  assert v, "zero"
}
thread main runs main
""",
        model,
    )
    assert [(violation.kind, violation.span.line) for violation in found.violations if violation.span] == [
        ("use after free", 12)
    ]
    assert found.complete_executions == 0
