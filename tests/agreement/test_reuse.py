"""Memory that was freed may be allocated again (`--reuse`): verdicts of data structures, and engines that agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.axiomatic import engine as oracle
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.fuzz.heap import heap_program
from dekker.fuzz.kinds import KINDS
from dekker.ir.passes.reuse import reuse_freed_memory, reuses_freed_memory
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.engines import require_same_states, run_engine
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.source import Source
from dekker.task import Limits, Task

PROGRAMS = Path(__file__).parents[1] / "corpus" / "reuse"
LIMITS = Limits(unroll=4, counts_known_rounds=False, stop_at_first=True)
LIMITS_OF_ALL = Limits(unroll=2, counts_known_rounds=False)
HOLDS, FAILS = Verdict.SAFE, Verdict.UNSAFE

TABLE = {
    # program, flags: without --reuse, with it
    ("treiber", ""): (HOLDS, FAILS),
    ("treiber", "-DCOUNTED"): (HOLDS, HOLDS),
    ("queue", ""): (HOLDS, FAILS),
    ("queue", "-DCOUNTED"): (HOLDS, HOLDS),
    ("pointer_compare", ""): (HOLDS, FAILS),
    ("pointer_compare", "-DALLOCATE(n)=calloc(1,n)"): (HOLDS, FAILS),
    ("pointer_compare", "-DALLOCATE(n)=realloc(0,n)"): (HOLDS, FAILS),
    ("pointer_compare", "-DALLOCATE(n)=aligned_alloc(64,n)"): (HOLDS, FAILS),
    ("pointer_compare", "-DALLOCATE(n)=malloc(2*(n))"): (HOLDS, HOLDS),
    ("hazard", ""): (HOLDS, HOLDS),
    ("hazard", "-DWRONG"): (FAILS, FAILS),
    ("free_list", ""): (HOLDS, HOLDS),
}
ENGINES = (("sc", "rsmc"), ("sc", "states"), ("tso", "rsmc"), ("tso", "states"), ("rc11", "rsmc"))


@needs_compiler
@pytest.mark.parametrize(("model", "engine"), ENGINES)
@pytest.mark.parametrize(("name", "flag"), TABLE)
def test_data_structures(name: str, flag: str, model: str, engine: str) -> None:
    """A violation is one that was replayed."""
    for reuse, expected in zip((False, True), TABLE[name, flag], strict=True):
        options = CheckOptions(model, engine, LIMITS, (flag,) if flag else (), reuse=reuse)
        report = check((str(PROGRAMS / f"{name}.c"),), options)
        assert report.verdict is expected, (reuse, report.verdict)
        assert report.reuse is reuse


@needs_compiler
@pytest.mark.parametrize("model", ["power", "aarch64", "riscv"])
def test_compiled_for_processors(model: str) -> None:
    """What takes a freed object is compiled as other atomics are."""
    for flag, expected in (("", FAILS), ("-DALLOCATE(n)=malloc(2*(n))", HOLDS)):
        options = CheckOptions(model, "rsmc", LIMITS, (flag,) if flag else (), reuse=True)
        assert check((str(PROGRAMS / "pointer_compare.c"),), options).verdict is expected


def program(text: str) -> str:
    return f'program "p" architecture C object top[8] object out[8]\n{text}\nthread main runs main\nobserve [out].8'


def results(text: str, model: str) -> dict[str, Result]:
    found = reuse_freed_memory(parse_program(Source("p.ir", program(text))))
    task = Task(prepare(found, load_model(model)), load_model(model), Limits(counts_known_rounds=False), examples=True)
    runs = {engine.NAME: engine.run(task) for engine in (oracle, rsmc)}
    if model in states.MODELS:
        runs[states.NAME] = states.run(task)
    for name, result in runs.items():
        violations_of(task, name, result)  # which replays them
    return runs


SAME_THREAD = """
function main() {
  p = allocate 8
  store.8 [p] = 5
  free p
  q = allocate 8
  v = load.8 [q]
  store.8 [&out] = (p eq.64 q) add.64 (v shl.64 1)
  exit everything
}
"""

ONLY_ONE_GETS_IT = """
function other() {
  q = allocate 8
  r = q eq.64 0
  return q
}
function main() {
  p = allocate 8
  t = spawn &other()
  free p
  q = allocate 8
  o = join t
  store.8 [&out] = ((p eq.64 q) shl.64 1) add.64 (o eq.64 q)
}
"""

IN_ORDER = """
function other() {
  q = allocate 8
  v = load.8 [q]
  w = load.8 [&top] relaxed
  store.8 [&out] = w shl.64 1
}
function main() {
  p = allocate 8
  t = spawn &other()
  store.8 [p] = 1
  store.8 [&top] = p relaxed
  free p
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "rc11"])
def test_new_memory_or_the_same_with_new_content(model: str) -> None:
    for name, result in results(SAME_THREAD, model).items():
        assert set(result.states) == {(0,), (1,)}, name
        assert not result.violations, name


ONLY_IF_THE_SAME = """
function other(p) {
  store.8 [p] = 5
  free p
}
function main() {
  p = allocate 8
  t = spawn &other(p)
  join t
  q = allocate 8 CONTENT
  branch p ne.64 q -> end
  v = load.8 [q]
  branch v eq.64 0 -> end
  store.8 [&out] = 1
end:
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "rc11", "power", "aarch64"])
@pytest.mark.parametrize(("content", "kinds"), [("", {"uninitialised"}), ("zeroed", set())])
def test_what_memory_held_before_is_gone(model: str, content: str, kinds: set[str]) -> None:
    for name, result in results(ONLY_IF_THE_SAME.replace("CONTENT", content), model).items():
        assert {item.kind for item in result.violations} == kinds, name
        assert set(result.states) <= {(0,)}, name


@pytest.mark.parametrize("model", ["sc", "tso", "rc11", "power", "aarch64"])
def test_a_freed_object_is_allocated_once(model: str) -> None:
    for name, result in results(ONLY_ONE_GETS_IT, model).items():
        assert set(result.states) == {(0,), (2,)}, name
        assert not result.violations, name


@pytest.mark.parametrize("model", ["rc11", "power", "aarch64", "riscv", "sc"])
def test_what_was_done_before_the_free_is_done_before_the_allocation(model: str) -> None:
    """So there is no race on the content, and no use after free."""
    for name, result in results(IN_ORDER, model).items():
        assert not result.violations, name
        assert not result.flags, name


STALE = """
function other() {
  s = load.8 [&top] acquire
  branch s eq.64 0 -> end
  v = load.8 [s]
end:
  return 0
}
function main() {
  p = allocate 8
  store.8 [&top] = p release
  t = spawn &other()
  free p
  q = allocate 8
  store.8 [q] = 1
  join t
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "rc11", "power"])
def test_use_after_free_is_found_as_without(model: str) -> None:
    for name, result in results(STALE, model).items():
        assert "use after free" in {item.kind for item in result.violations}, name


DOUBLE_FREE = """
function main() {
  p = allocate 8
  free p
  q = allocate 8
  free q
  free p
  exit everything
}
"""


def test_double_free_of_what_was_allocated_again() -> None:
    for name, result in results(DOUBLE_FREE, "sc").items():
        assert {item.kind for item in result.violations} == {"double free"}, name


GIVEN_AWAY = """
function other() {
  q = allocate 8 zeroed
  store.8 [&top] = q relaxed
  return 0
}
function main() {
  p = allocate 8
  store.8 [p] = 7
  free p
  t = spawn &other()
  s = load.8 [&top] relaxed
  branch s eq.64 0 -> end
  v = load.8 [s]
end:
  join t
}
"""


@pytest.mark.parametrize(
    ("model", "kinds"), [("tso", set()), ("pso", {"use after free"}), ("power", {"use after free"})]
)
def test_an_object_may_be_seen_before_it_is_in_use_again(model: str, kinds: set[str]) -> None:
    """The states engine does not delay what an allocation writes, and says so under pso."""
    for name, result in results(GIVEN_AWAY, model).items():
        if name == states.NAME:
            assert bool(result.bound) is (model == "pso")
        else:
            assert {item.kind for item in result.violations} == kinds, name
    task = Task(reuse_freed_memory(parse_program(Source("p.ir", program(GIVEN_AWAY)))), load_model(model), Limits())
    assert bool(run_engine("all", task)[1].violations) is bool(kinds)


LEAK = """
function main() {
  p = allocate 8
  free p
  q = allocate 8
  exit everything
}
"""


def test_what_was_allocated_again_can_be_lost() -> None:
    found = parse_program(Source("p.ir", program(LEAK)))
    found = reuse_freed_memory(replace(found, property=replace(found.property, leaks=True)))
    task = Task(found, load_model("sc"), Limits(counts_known_rounds=False), examples=True)
    for engine in (oracle, rsmc, states):
        result = engine.run(task)
        assert {item.kind for item in result.violations} == {"leak"}
        assert list(violations_of(task, engine.NAME, result))


DELAYS = """
function other() {
  store.8 [&out] = 1
  v = load.8 [&top]
}
function main() {
  p = allocate 8
  t = spawn &other()
  store.8 [&top] = 1
  v = load.8 [&out]
  free p
  q = allocate 8
}
"""


@pytest.mark.parametrize(("number", "model"), [(3_500_001_624, "sc"), (3_000_038_192, "riscv")])
def test_memory_is_lost_where_it_was_taken_last(number: int, model: str) -> None:
    """Several threads take the same memory in turn: the order of what they write to it tells who was last."""
    drawn = KINDS["reuse"].draw(number)
    assert drawn.model == model
    task = Task(prepare(drawn.program, load_model(model)), load_model(model), LIMITS_OF_ALL, examples=True)
    found = list(violations_of(task, rsmc.NAME, rsmc.run(task)))
    assert "leak" in {violation.finding.kind for violation in found}
    assert all(violation.witness is not None for violation in found)


def test_transform_says_what_it_does_not_handle() -> None:
    found = reuse_freed_memory(parse_program(Source("p.ir", program(DELAYS))))
    task = Task(found, load_model("tso"), Limits())
    with pytest.raises(UnsupportedError, match="--reuse"):
        run_engine("transform", task)


def test_nothing_changes_where_nothing_is_freed() -> None:
    text = program("function main() {\n  p = allocate 8\n}")
    found = parse_program(Source("p.ir", text))
    assert reuse_freed_memory(found) is found
    assert not reuses_freed_memory(found)


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "rc11", "aarch64", "power"])
def test_random_programs(model: str) -> None:
    """The oracle and rsmc count the same executions, and states finds the same final states."""
    compared = 0
    for seed in range(40):
        task = Task(prepare(heap_program(seed), load_model(model)), load_model(model), Limits(timeout_s=2))
        explored, enumerated = rsmc.run(task), oracle.run(task)
        if explored.stopped_by is None and enumerated.stopped_by is None:
            compared += 1
            assert explored.states == enumerated.states, seed
            assert set(explored.violations) == set(enumerated.violations), seed
        if model in states.MODELS and explored.stopped_by is None:
            require_same_states(task, rsmc.NAME, explored, states.run(task))
    assert compared > 20
