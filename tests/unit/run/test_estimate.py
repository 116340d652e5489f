"""Estimates of the number of executions: right on average, and within what they say of themselves."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_files, parse_program
from dekker.models import load_model
from dekker.native import ProbeGuide
from dekker.report.estimate_text import duration, estimate_line, lower_bound_line, rough
from dekker.run.estimate import Estimate, estimate, later_half, summary
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

EXAMPLES = Path(__file__).parents[3] / "examples"


def figure_11(writes: int) -> str:
    """The program of Fig. 11 with so many writes: C(2n, n) orders of them, and three traces in which at most one thread
    comes to them."""
    body = " ".join(["z := 1;"] * writes)
    return f"""x = 0  y = 0  z = 0
thread P:
x := 1; r0 := y; if r0 = 1 goto L; {body}
L: r0 := 0;
thread Q:
y := 1; r1 := x; if r1 = 1 goto M; {body}
M: r1 := 0;
exists (P:r0=0)
"""


def task_of(text: str, model: str) -> Task:
    known = load_model(model)
    return Task(prepare(parse_program(Source("figure.rsmc", text)), known), known)


def task_of_file(path: str, model: str) -> Task:
    known = load_model(model)
    limits = Limits(4, counts_known_rounds=False)
    return Task(prepare(parse_files([str(EXAMPLES / path)]), known), known, limits)


def probed(task: Task, probes: int, seed: int) -> Estimate:
    """From the second half of twice as many probes."""
    runs, stop = rsmc.probe(task, 2 * probes, seed, ProbeGuide())
    assert (len(runs), stop) == (2 * probes, "")
    return summary(later_half(runs), 0.0, False)


@pytest.mark.parametrize("model", ["tso", "power"])
@pytest.mark.parametrize("writes", [1, 2, 3, 4, 5, 6, 8])
def test_figure_11_is_within_the_interval(writes: int, model: str) -> None:
    task, traces = task_of(figure_11(writes), model), math.comb(2 * writes, writes) + 3
    if writes < 6:
        assert rsmc.run(task).complete_executions == traces
    found = [probed(task, 1000, seed) for seed in range(1, 6)]
    within = [item for item in found if item.low <= traces <= item.high]
    assert len(within) >= 4, (traces, [(item.low, item.high) for item in found])


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_the_mean_is_right(writes: int) -> None:
    traces = math.comb(2 * writes, writes) + 3
    assert probed(task_of(figure_11(writes), "tso"), 10_000, 1).mean == pytest.approx(traces, rel=0.05)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("rsmc/one-load-two-stores.rsmc", "power"),
        ("rsmc/load-buffering.rsmc", "power"),
        ("c/table1/peterson.c", "power"),
        ("c/table1/lamport.c", "tso"),
        ("c/table1/stack.c", "sc"),
        ("c/atomics/ticket_lock.c", "sc"),
        ("c/atomics/michael_scott_queue.c", "sc"),
    ],
)
def test_programs_are_within_the_interval(path: str, model: str) -> None:
    """With locks, updates, loops that wait, and ends of threads that others join."""
    task = task_of_file(path, model)
    known = rsmc.run(task)
    found = probed(task, 1000, 1)
    assert found.low <= known.complete_executions <= found.high
    assert found.blocked == pytest.approx(known.blocked, rel=0.5)


def test_a_probe_changes_nothing() -> None:
    """The same probes give the same weights, and exploring afterwards finds what it always does."""
    task = task_of(figure_11(4), "power")
    first, again, other = (rsmc.probe(task, 200, seed, ProbeGuide()) for seed in (7, 7, 8))
    assert first == again
    assert first != other
    assert rsmc.run(task).complete_executions == 73


def test_an_estimate_ends_in_time_or_when_it_is_known_well() -> None:
    small = estimate(task_of(figure_11(1), "tso"))
    assert small.high / small.low < 1.4
    assert small.trusted
    large = estimate(task_of(figure_11(30), "tso"), seconds=0.5)
    assert large.high / large.low > 2
    assert large.probes > 10


def writers(threads: int, writes: int) -> Task:
    """(threads · writes)! / writes!^threads orders of the writes."""
    body = " ".join(["x := 1;"] * writes)
    return task_of("x = 0\n" + "".join(f"thread P{n}:\n{body}\n" for n in range(threads)) + "exists (x=1)\n", "sc")


@pytest.mark.parametrize(("threads", "writes"), [(2, 2), (3, 2), (2, 6), (3, 4), (4, 4), (4, 8)])
def test_what_is_shown_is_true_of_many_writes_to_one_place(threads: int, writes: int) -> None:
    truth = math.factorial(threads * writes) / math.factorial(writes) ** threads
    task = writers(threads, writes)
    found = [probed(task, 1000, seed * 1_000_003) for seed in range(1, 9)]
    assert all(item.at_least <= truth for item in found)
    assert all(item.low <= truth <= item.high for item in found if item.trusted)
    assert all(item.at_least >= truth / 10**6 for item in found)


def readers(reads: int, writes: int) -> tuple[Task, int]:
    """One thread writes, the other reads: as many traces as sequences of values that do not go back."""
    text = " ".join(f"x := {n + 1};" for n in range(writes)), " ".join(f"r{n} := x;" for n in range(reads))
    task = task_of(f"x = 0\nthread P:\n{text[0]}\nthread Q:\n{text[1]}\nexists (x=1)\n", "sc")
    return task, math.comb(reads + writes, writes)


def rings(threads: int, writes: int) -> tuple[Task, int]:
    """Each thread writes to its place and to the next, in turns: places are ordered independently under pso."""
    bodies = [" ".join(f"x{n} := 1; x{(n + 1) % threads} := 2;" for _ in range(writes)) for n in range(threads)]
    start = " ".join(f"x{n} = 0" for n in range(threads))
    text = f"{start}\n" + "".join(f"thread P{n}:\n{body}\n" for n, body in enumerate(bodies)) + "exists (x0=1)\n"
    return task_of(text, "pso"), math.comb(2 * writes, writes) ** threads


def updaters(threads: int, updates: int) -> tuple[Task, int]:
    rows = [" | ".join(f"P{n}" for n in range(threads)), *[" | ".join(["LOCK INC [x]"] * threads)] * updates]
    text = "X86 updates\n{ }\n" + "".join(f" {row} ;\n" for row in rows) + "exists (x=1)\n"
    model = load_model("tso")
    return Task(prepare(parse_program(Source("updates.litmus", text)), model), model), orders(threads, updates)


def known_programs() -> dict[str, tuple[Task, int]]:
    found = {f"writers {t}x{w}": (writers(t, w), orders(t, w)) for t, w in WRITERS}
    for n in (1, 2, 3, 4, 5, 6, 8, 12):
        found[f"figure 11, {n}"] = task_of(figure_11(n), "tso"), math.comb(2 * n, n) + 3
    found |= {f"readers {n}x{m}": readers(n, m) for n, m in READERS}
    found |= {f"updaters {t}x{n}": updaters(t, n) for t, n in [(2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2)]}
    return found | {f"rings {t}x{w}": rings(t, w) for t, w in [(3, 1), (3, 2), (3, 3), (4, 2), (5, 2), (6, 2), (3, 4)]}


WRITERS = [
    *[(2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (2, 8), (2, 10), (2, 12), (3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (3, 6)],
    *[(3, 8), (4, 1), (4, 2), (4, 3), (4, 4), (4, 5), (4, 8), (5, 1), (5, 2), (5, 3), (6, 1), (6, 2), (7, 1)],
]
READERS = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (8, 8), (3, 9), (9, 3), (2, 12), (12, 2)]


def orders(threads: int, writes: int) -> int:
    return math.factorial(threads * writes) // int(math.factorial(writes) ** threads)


@pytest.mark.parametrize("seed", [1, 2])
def test_intervals_hold_the_truth_as_often_as_they_say(seed: int) -> None:
    """19 of 20, and lower bounds nearly always."""
    programs = known_programs()
    assert len(programs) >= 50
    found = {name: (probed(task, 1000, seed), truth) for name, (task, truth) in programs.items()}
    shown = {name: item.low <= truth <= item.high for name, (item, truth) in found.items() if item.trusted}
    assert len(shown) >= 40
    assert sum(shown.values()) >= 0.95 * len(shown), [name for name, holds in shown.items() if not holds]
    too_high = [name for name, (item, truth) in found.items() if item.at_least > truth]
    assert len(too_high) <= 1, too_high


def test_few_probes_that_carry_all_are_not_trusted() -> None:
    assert not any(probed(writers(4, 8), 1000, seed).trusted for seed in range(1, 9))
    assert all(probed(writers(3, 2), 1000, seed).trusted for seed in range(1, 9))


def test_no_complete_probe_is_no_interval() -> None:
    nothing = summary([(0.0, 3.0)] * 100, 0.0, False)
    assert (nothing.trusted, nothing.at_least) == (False, 0.0)
    assert lower_bound_line(nothing.mean, nothing.at_least).startswith("no probe came to a complete execution")


def test_more_than_numbers_can_hold() -> None:
    found = summary([(math.inf, 0.0), (1e200, math.inf)] * 100, 0.0, False)
    assert not found.trusted
    assert 1e100 < found.at_least <= found.mean < math.inf


def test_no_probe_in_time_is_undecided(tmp_path: Path) -> None:
    file = tmp_path / "long.c"
    file.write_text("int x; int main(void) { for (int i = 0; i < 1000000000; i++) x = i; return 0; }", encoding="utf-8")
    outcome = dekker("check", str(file), "--estimate", "--timeout", "0.5", "-m", "sc")
    assert (outcome.status, "UNKNOWN" in outcome.out) == (3, True)


def test_where_threads_wait_there_is_no_interval() -> None:
    assert not estimate(task_of_file("c/table1/stack.c", "sc"), seconds=0.5).trusted


def test_the_command_line() -> None:
    outcome = dekker("check", str(EXAMPLES / "rsmc" / "load-buffering.rsmc"), "--model", "power", "--estimate")
    assert outcome.status == 3
    assert "complete executions (likely " in outcome.out
    waiting = dekker("check", str(EXAMPLES / "c" / "table1" / "stack.c"), "-m", "sc", "--estimate", "--timeout", "1")
    assert "complete executions: more than a guess is not possible" in waiting.out
    assert "random probes in" in outcome.out


def test_numbers_for_a_person() -> None:
    assert [rough(n) for n in (0.4, 7, 999, 1000, 184_759, 2.5e6, 3.14e9, 9.99e11, 1e20)] == [
        *("0", "7", "999", "1 thousand", "180 thousand", "2.5 million", "3.1 billion", "1 trillion", "1.0e+20"),
    ]
    assert (
        estimate_line(184_759, 90_000, 400_000)
        == "about 180 thousand complete executions (likely 90 thousand to 400 thousand)"
    )
    assert [duration(n) for n in (5, 600, 7200, 1e6)] == ["5 s", "10 min", "2 h", "12 days"]
