"""Instructions that only C programs have, on both engines: the end of the program, loose assertions, sizes of objects,
releases before other threads exist, lost memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.source import Source
from dekker.task import Limits, Task

Run = Callable[[Task], Result]
both = pytest.mark.parametrize("engine", [rsmc.run, axiomatic.run], ids=["rsmc", "axiomatic"])


def result(engine: Run, text: str, model: str = "sc") -> Result:
    program = parse_program(Source("test.ir", f"program test\narchitecture C\nobject x[8]\nobject y[8]\n{text}"))
    validate(program)
    return engine(Task(program, load_model(model), Limits(counts_known_rounds=False)))


def kinds(found: Result) -> list[str]:
    return [violation.kind for violation in found.violations]


@both
@pytest.mark.parametrize(
    ("end", "complete", "deadlocks"), [("exit everything", 1, 0), ("exit", 1, 0), ("jump stop", 0, 1)]
)
def test_nobody_joins_a_thread_that_ends_the_program(engine: Run, end: str, complete: int, deadlocks: int) -> None:
    found = result(
        engine,
        f"""
function f() {{
stop:
  r = load.8 [&y]
  {"await r -> stop" if end.startswith("jump") else end}
}}
function main() {{
  t = spawn &f()
  join t
  store.8 [&x] = 1
}}
thread main runs main
observe [x].8""",
    )
    assert (found.complete_executions, found.deadlocks) == (complete, deadlocks)
    assert list(found.states) == ([] if deadlocks else [(0 if "everything" in end else 1,)])


@both
@pytest.mark.parametrize(("word", "outcomes"), [("assert", 3), ("assert loose", 4)])
def test_nothing_depends_on_a_loose_assertion(engine: Run, word: str, outcomes: int) -> None:
    found = result(
        engine,
        f"""
function left() {{
  r = load.8 [&x]
  {word} r ult.64 2, "never"
  store.8 [&y] = 1
}}
function right() {{
  r = load.8 [&y]
  branch r -> end
end:
  store.8 [&x] = 1
}}
thread left runs left
thread right runs right
observe 0:r, 1:r""",
        "aarch64",
    )
    assert len(found.states) == outcomes
    assert ((1, 1) in found.states) == (outcomes == 4)


@both
@pytest.mark.parametrize("word", ["assert", "assert loose"])
@pytest.mark.parametrize("model", ["sc", "power"])
def test_assertions_fail_whether_loose_or_not(engine: Run, word: str, model: str) -> None:
    found = result(
        engine,
        f"""
function left() {{
  r = load.8 [&x]
  {word} r eq.64 0, "seen"
  store.8 [&y] = 1
}}
function right() {{
  store.8 [&x] = 1
}}
thread left runs left
thread right runs right
observe 0:r""",
        model,
    )
    assert kinds(found) == ["assertion"]
    assert list(found.states) == [(0,)]


@both
@pytest.mark.parametrize(
    ("steps", "found_kinds"),
    [
        ("n = measure p\n store.8 [&x] = n", []),
        ("free p\n n = measure p", ["double free"]),
        ("n = measure &x", ["release"]),
        ("q = allocate 8 stack\n n = measure q", ["release"]),
        ("q = allocate 8 stack\n free q", ["release"]),
        ("q = allocate 8 permanent\n free q", ["release"]),
        ("free p\n free p", ["double free"]),
        ("free p\n store.8 [p] = 1", ["use after free"]),
        ("free p\n t = spawn &touch(p)\n join t", ["use after free"]),
        ("t = spawn &touch(p)\n join t\n free p\n free p", ["double free"]),
    ],
)
def test_objects(engine: Run, steps: str, found_kinds: list[str]) -> None:
    text = f"""
function touch(q) {{
  store.8 [q] = 1
}}
function main() {{
  p = allocate 24
  {steps}
  exit everything 0
}}
function caller() {{
  call &main()
}}
thread main runs caller
observe [x].8"""
    found = result(engine, text)
    assert kinds(found) == found_kinds
    if not found_kinds:
        assert list(found.states) == [(24,)]


LEAKING = """
function other(n) {{
  p = allocate n
  {steps}
}}
function main() {{
  t = spawn &other(16)
  join t
  exit everything 0
}}
thread main runs main
forbid leaks"""


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ("store.8 [p] = 1", 1),
        ("free p", 0),
        ("store.8 [&x] = p", 0),
        ("store.8 [&x] = p add.64 8", 0),
        ("store.8 [&x] = p\n store.8 [&x] = 0", 1),
        ("q = allocate 8\n store.8 [p] = q\n store.8 [&x] = p", 0),
        ("q = allocate 8\n store.8 [p] = q\n store.8 [q] = p", 2),
        ("q = allocate 8 permanent", 1),
        ("q = allocate 8 stack\n store.8 [q] = p", 1),
    ],
)
def test_leaks(steps: str, count: int) -> None:
    found = result(rsmc.run, LEAKING.format(steps=steps))
    assert kinds(found) == ["leak"] * count
    assert found.complete_executions == 1
    assert not result(rsmc.run, LEAKING.format(steps=steps).replace("forbid leaks", "")).violations


@both
def test_what_cannot_be_followed_is_an_error_where_an_execution_comes_to_it(engine: Run) -> None:
    text = """
function left() {{
  r = load.8 [&x]
  branch r ne.64 {value} -> end
  refuse "signals"
end:
}}
function right() {{
  store.8 [&x] = 1
}}
thread left runs left
thread right runs right"""
    assert result(engine, text.format(value=2)).complete_executions == 2
    with pytest.raises(UnsupportedError, match="signals"):
        result(engine, text.format(value=1))
