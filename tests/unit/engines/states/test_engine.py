"""What the states engine does beyond outcome sets: limits, memory, deadlocks, robustness, sections, schedules."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.reference.peak_memory import PRINT_PEAK_MB
from tests.strategies.short_programs import short_program

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine
from dekker.engines.states.footprints import ANYTHING, HEAP, footprints
from dekker.engines.states.locality import local_allocations
from dekker.errors import UnsupportedError
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.result import Result, Verdict, verdict
from dekker.run.prepare import prepare
from dekker.run.violations import _place_is
from dekker.run.witnesses import checked_witness
from dekker.source import Source
from dekker.task import Limits, Search, Task

COUNTER = """
program counter
architecture none
object x[8]
function P0() {
again:
  r0 = load.8 [&x]
  store.8 [&x] = r0 add.64 1
  jump again
}
thread P0 runs P0
thread P1 runs P0
"""
HEADER = "program test\narchitecture none\nobject x[8]\nobject y[8]\n"


def read(text: str) -> Program:
    return parse_program(Source("test.ir", text))


def run(program: Program, model: str = "tso", limits: Limits | None = None, jobs: int = 1, **options: object) -> Result:
    search = Search(**options)  # type: ignore[arg-type]
    return engine.run(Task(program, load_model(model), limits or Limits(), examples=True, search=search, jobs=jobs))


def kinds(result: Result) -> set[str]:
    return {violation.kind for violation in result.violations}


# --- limits


@pytest.mark.parametrize("jobs", [1, 3])
def test_large_allocations_are_refused(jobs: int) -> None:
    text = HEADER + "function P0() {\n  r0 = allocate SIZE\n  store.4 [r0] = 1\n}\nthread P0 runs P0\n"
    assert not kinds(run(read(text.replace("SIZE", str(1 << 28))), jobs=jobs))
    for size in (1 << 28) + 1, 1 << 31:
        program = read(text.replace("SIZE", str(size)))
        assert not rsmc.run(Task(program, load_model("tso"), Limits())).violations
        with pytest.raises(UnsupportedError, match="256 MB"):
            run(program, jobs=jobs)
    for size in 1 << 32, (1 << 64) - 1:
        program = read(text.replace("SIZE", str(size)))
        of_rsmc = rsmc.run(Task(program, load_model("tso"), Limits()))
        assert kinds(run(program, jobs=jobs)) == kinds(of_rsmc) == {"allocation"}


def test_many_objects_are_refused() -> None:
    body = "  r0 = allocate 4\n  store.8 [&x] = r0\n" * 4200
    with pytest.raises(UnsupportedError, match="4095 objects"):
        run(read(f"{HEADER}function P0() {{\n{body}}}\nthread P0 runs P0\n"), "sc")


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    ("limits", "reason"),
    [(Limits(max_traces=1000), "states"), (Limits(timeout_s=2), "time"), (Limits(memory_mb=1), "memory")],
)
def test_limits_end_a_search_without_end(limits: Limits, reason: str, jobs: int) -> None:
    result = run(read(COUNTER), "sc", limits, jobs)
    assert result.stopped_by == reason
    assert verdict(result, None) is Verdict.UNKNOWN
    assert result.statistics["states"] >= (1 if reason == "memory" else 1000)


@pytest.mark.parametrize("jobs", [1, 3])
def test_compact_search_goes_on_and_says_the_chance(jobs: int) -> None:
    result = run(read(COUNTER), "sc", Limits(memory_mb=1, max_traces=100_000), jobs, compact=True)
    assert result.stopped_by in ("memory", "states")
    assert result.statistics["compact"]
    assert "the chance that one was missed is below" in result.bound


IN_A_PROCESS_OF_ITS_OWN = """
import sys
from dekker.engines.states import engine
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.source import Source
from dekker.task import Limits, Search, Task
program = parse_program(Source("test.ir", sys.stdin.read()))
limits, search = Limits(memory_mb=int(sys.argv[1])), Search(compact=sys.argv[2] == "compact")
result = engine.run(Task(program, load_model("sc"), limits, search=search, jobs=3))
print(result.stopped_by, result.statistics["states"], result.statistics["compact"])
"""


@pytest.mark.parametrize("kind", ["plain", "compact"])
def test_several_workers_keep_the_limit_of_memory(kind: str) -> None:
    limit = 100
    call = [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN + PRINT_PEAK_MB, str(limit), kind]
    done = subprocess.run(call, input=COUNTER, capture_output=True, text=True, check=True, timeout=300)
    stopped_by, states, compact = done.stdout.split()
    allowed = 2 * limit if kind == "compact" else limit
    assert (stopped_by, compact) == ("memory", str(int(kind == "compact")))
    assert int(states) > 50_000
    assert 0.6 * allowed < float(done.stderr) < 1.5 * allowed  # on a busy machine the one that looks may be late


def test_other_models_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="sc, tso, pso"):
        run(short_program("SB", "x=1; r0=y // y=1; r0=x"), "power")


def test_the_bound_that_was_covered() -> None:
    endless = read(HEADER + "function P() {\nagain:\n  store.4 [&x] = 1\n  r = load.4 [&y]\n  jump again\n}\n"
                   "function Q() {\nagain:\n  store.4 [&y] = 1\n  r = load.4 [&x]\n  jump again\n}\n"
                   "thread P runs P\nthread Q runs Q\n")  # fmt: skip
    result = run(endless, buffer=2)
    assert result.bound == "store buffers hold no more than 2 entries (--buffer 2)"
    assert verdict(result, None) is Verdict.UNKNOWN
    assert run(endless).statistics["buffer"] == 32
    assert run(endless, "sc").bound == ""


# --- deadlocks


def waiting(first: str, second: str) -> Program:
    thread = "function P{0}() {{\n{1}again:\n  r = load.4 [&{2}]\n  await r -> again\n  store.4 [&{3}] = 1\n}}\n"
    return read(
        HEADER + thread.format(0, first, "x", "y") + thread.format(1, second, "y", "x") +
        "thread P0 runs P0\nthread P1 runs P1\n"
    )  # fmt: skip


def test_threads_that_wait_for_each_other() -> None:
    result = run(waiting("", ""))
    assert result.deadlocks
    assert result.examples.deadlock is not None
    assert not run(waiting("  store.4 [&y] = 1\n", "")).deadlocks


def test_a_store_on_its_way_ends_a_wait_or_begins_one() -> None:
    """One thread may miss that the flag was up for a moment."""
    text = HEADER + (
        "function P() {\n  store.4 [&x] = 1\n  store.4 [&x] = 0\n}\n"
        "function Q() {\nagain:\n  r = load.4 [&x]\n  await r -> again\n}\nthread P runs P\nthread Q runs Q\n"
    )
    for model in ("sc", "tso", "pso"):
        result = run(read(text), model)
        assert result.deadlocks
        assert result.states


def test_a_thread_that_starts_others_does_not_wait() -> None:
    """Its first join returns once the store has arrived; the second thread then finds its buffer full."""
    text = HEADER + (
        "function f() {\n  store.4 [&x] = 1\n}\n"
        "function g() {\n  store.4 [&y] = 1\n  store.4 [&y] = 2\n}\n"
        "function main() {\n  t = spawn &f()\n  join t\n  t = spawn &g()\n  join t\n}\nthread main runs main\n"
    )
    for reduction in (True, False):
        result = run(read(text), "tso", buffer=1, reduction=reduction)
        assert not result.deadlocks
        assert result.states


SPINNING = """
function P0() {
  store.4 [&x] = 1
again:
  %s
  await r0 -> again
}
thread P0 runs P0
thread P1 runs P0
"""


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_a_loop_that_reads_nothing_waits_for_nothing(model: str, jobs: int) -> None:
    """As the other engines have it."""
    idle, waiting = (read(HEADER + SPINNING % step) for step in ("r1 = 1", "r0 = load.4 [&y]"))
    assert not run(idle, model, jobs=jobs).deadlocks
    assert not rsmc.run(Task(idle, load_model(model))).deadlocks
    assert run(waiting, model, jobs=jobs).deadlocks
    assert rsmc.run(Task(waiting, load_model(model))).deadlocks


# --- memory


def allocating(body: str, other: str = "") -> Program:
    return read(
        HEADER + f"function main() {{\n  p = allocate 8\n{body}}}\nfunction f(q) {{\n{other}}}\nthread main runs main\n"
    )


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (allocating("  store.8 [p add.64 8] = 1\n"), "memory"),
        (allocating("  free p\n  r = load.8 [p]\n"), "use after free"),
        (allocating("  free p\n  free p\n"), "double free"),
        (allocating("  free p add.64 4\n"), "release"),
        (allocating("  t = spawn &f(p)\n  free p\n", "  store.8 [q] = 1\n"), "use after free"),
        (allocating("  t = spawn &f(p)\n  free p\n  join t\n", "  r = load.8 [q]\n"), "use after free"),
        (allocating("  join 7\n"), "join"),
    ],
)
def test_memory_errors(program: Program, kind: str) -> None:
    for model in ("sc", "tso", "pso"):
        assert kind in kinds(run(program, model))


def test_no_error_where_threads_wait_for_one_another() -> None:
    program = allocating("  t = spawn &f(p)\n  join t\n  free p\n", "  store.8 [q] = 1\n")
    for model in ("sc", "tso", "pso"):
        result = run(program, model)
        assert not result.violations
        assert verdict(result, None) is Verdict.SAFE


def test_an_object_of_a_call_ends_with_it() -> None:
    text = HEADER + (
        "function inner() {\n  p = allocate 8 stack\n  store.8 [&x] = p\n  return p\n}\n"
        "function main() {\n  q = call &inner()\n  store.8 [q] = 1\n}\nthread main runs main\n"
    )
    assert kinds(run(read(text))) == {"use after free"}


def test_objects_are_numbered_by_reachability() -> None:
    """A loop that allocates and frees has few states, unless the program looks at addresses."""
    loop = "function main() {{\nagain:\n  p = allocate 8\n  store.8 [&x] = p\n{}  free p\n  jump again\n}}\n"
    end = "thread main runs main\nthread other runs other\nfunction other() {\n  r = load.8 [&x]\n}\n"
    limits = Limits(max_traces=5000)
    assert run(read(HEADER + loop.format("") + end), "tso", limits).stopped_by is None
    looks = "  h = p urem.64 7\n"
    assert run(read(HEADER + loop.format(looks) + end), "tso", limits).stopped_by == "states"


# --- robustness


@pytest.mark.parametrize(
    ("text", "tso", "pso"),
    [
        ("x=1; r0=y // y=1; r0=x", False, False),
        ("x=1; mfence; r0=y // y=1; mfence; r0=x", True, True),
        ("x=1; y=1 // r0=y; r1=x", True, False),
        ("x=1; stbar; y=1 // r0=y; r1=x", True, True),
        ("x=1; r0=x // y=1; r0=y", True, True),
    ],
)
def test_robustness(text: str, tso: bool, pso: bool) -> None:
    for model, is_robust in (("sc", True), ("tso", tso), ("pso", pso)):
        result = run(short_program("test", text), model, robust=True)
        assert ("robustness" not in kinds(result)) == is_robust
        assert bool(result.examples.schedule) != is_robust


# --- sections, schedules


def test_nobody_comes_between_in_a_section() -> None:
    def increments(begin: str, end: str) -> Program:
        body = f"{begin}  r = load.4 [&x]\n  store.4 [&x] = r add.32 1\n{end}"
        return read(HEADER + f"function P() {{\n{body}}}\nthread P runs P\nthread Q runs P\nobserve [x].4\n")

    for model in ("sc", "tso", "pso"):
        assert set(run(increments("", ""), model).states) == {(1,), (2,)}
        assert set(run(increments("  atomic-begin\n", "  atomic-end\n"), model).states) == {(2,)}


def test_a_schedule_tells_what_is_in_the_buffers() -> None:
    text = HEADER + (
        "function P() {\n  store.4 [&x] = 1\n  r = load.4 [&y]\n  store.4 [&y] = 2\n  assert r, \"first\"\n}\n"
        "function Q() {\n  store.4 [&y] = 1\n  r = load.4 [&x]\n}\nthread P runs P\nthread Q runs Q\n"
    )  # fmt: skip
    schedule = run(read(text)).examples.schedule
    assert [step.text for step in schedule][-1] == "! assertion"
    assert any(step.buffers == ((0, ("x = 1",)), (1, ("y = 1",))) for step in schedule)
    assert any("thread 1 has y = 1 in its buffer" in step.overtaken for step in schedule)


def test_equal_threads_may_change_places_on_the_way_to_a_violation() -> None:
    text = HEADER + (
        "function P() {\n  r = rmw.add.4 [&x], 1\n  r1 = load.4 [&y]\n  store.4 [&y] = r add.32 1\n"
        '  assert (r1 add.32 r) ne.32 3, "all"\n}\nthread P runs P\nthread Q runs P\nthread R runs P\n'
    )
    for model in ("sc", "tso", "pso"):
        result = run(read(text), model)
        assert kinds(result) == {"assertion"}
        assert all(result.examples.violations.values())


def test_a_violation_on_another_way_to_a_known_state() -> None:
    """Both branches end in the same state; each has a run of its own."""
    text = HEADER + (
        "function P() {\n  r = load.4 [&x]\n  branch r -> other\n  r = load.8 [&x add.64 8]\n  exit\nother:\n"
        "  r = load.8 [&x add.64 16]\n}\nfunction Q() {\n  store.4 [&x] = 1\n  store.4 [&x] = 0\n}\n"
        "thread P runs P\nthread Q runs Q\n"
    )
    for model in ("sc", "tso", "pso"):
        result = run(read(text), model)
        assert len(result.violations) == 2
        for violation, trace in result.examples.violations.items():
            checked_witness(Task(read(text), load_model(model)), "states", trace, _place_is(violation))


# --- what is known from the text


def test_local_allocations() -> None:
    program = read(
        HEADER + "function main() {\n  a = allocate 8\n  b = allocate 8\n  c = b add.64 4\n  store.4 [a] = 1\n"
        "  store.8 [&x] = c\n  r = load.4 [a add.64 4]\n}\nthread main runs main\n"
    )
    assert local_allocations(program.functions[0]) == {0}


def test_footprints() -> None:
    program = read(
        HEADER + "function f(p) {\n  r = load.4 [p]\n  q = load.8 [&x]\n  store.4 [q] = 1\n}\n"
        "function main() {\n  call &f(&y)\n  h = allocate 8\n  store.4 [h] = 1\n}\nthread main runs main\n"
    )
    found = footprints(program)
    assert found.touches["f"] == [2, 1, ANYTHING]
    assert found.future["main"] == [(3, ANYTHING), (0, HEAP), (0, HEAP), (0, 0)]


def test_buffers_that_are_full_of_stores_to_one_place_are_flushed_in_few_ways() -> None:
    """There are 601 080 390 orders, and few different ends."""
    text = "program turns architecture none\nobject x[4]\nfunction P() {\nL:\n  r0 = load.4 [&x]\n"
    text += "  store.4 [&x] = (r0 xor.32 1)\n  branch (r0 ne.32 5) -> L\n}\n"
    program = parse_program(Source("turns.ir", text + "thread P0 runs P\nthread P1 runs P\nobserve [x].4\n"))
    result = engine.run(Task(program, load_model("tso"), search=Search(buffer=16)))
    assert (result.stopped_by, result.statistics["largest_buffer"]) == (None, 16)


# --- threads that never end


RUNS_FOR_EVER = (
    HEADER
    + """
function P0() {
again:
  a = load.4 [&x]
  branch b eq.32 0 -> reads
  jump again
reads:
  b = load.4 [&y]
  jump again
}
thread P0 runs P0
"""
)


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_thread_that_reads_for_ever_does_not_wait(model: str, jobs: int) -> None:
    """It has no await that fails, so that there is no deadlock to be shown."""
    program = prepare(read(RUNS_FOR_EVER), load_model(model))
    result = run(program, model, Limits(timeout_s=100), jobs)
    assert result.stopped_by is None
    assert not result.deadlocks
    assert not result.states
