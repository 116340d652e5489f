"""An exploration that many do, some of whom die, finds what one explorer does who does everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agreement.test_jobs import CASES, FILES, LOCKS
from tests.corpus.expectations import OWN_CORPUS
from tests.reference.engine_agreement import read_program
from tests.reference.job_agreement import findings
from tests.reference.simulated_cluster import SimulatedCluster
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.errors import MixedSizes, UnsupportedError
from dekker.frontends import default_model, parse_files
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

EXAMPLES = 15
CAMPAIGN_EXAMPLES = 500
SEEDS = st.integers(1, 1 << 40)
THREE_LOCKS = LOCKS.replace("2)\n}", "2)\n  third = spawn &worker(3)\n}").replace("ult.64 2", "ult.64 4")
RELEASES = """
program releases
architecture C
object x[8]

function main() {
  first = spawn &worker(1)
  second = spawn &worker(2)
}

function worker(argument) {
  p = allocate 16
  store.4 [p] = argument
  store.4 [&x] = argument
  v = load.4 [&x]
  w = load.4 [&x]
  branch v eq.32 argument -> end
  third = spawn &other(p)
  store.4 [(p add.64 8)] = 1
  join third
end:
  free p
  return 0
}

function other(p) {
  store.4 [(p add.64 4)] = 1
  store.4 [&x] = 3
  return 0
}

thread main runs main
observe [x].4
"""


def compare(task: Task, seed: int) -> Counter[str]:
    """What happened."""
    expected = findings(rsmc.run(task))
    cluster = SimulatedCluster(Random(seed))
    found = findings(rsmc.run(replace(task, explorer=cluster)))
    assert found == expected, (seed, cluster.seen)
    return cluster.seen


def compare_drawn(data: st.DataObject, case: str) -> None:
    drawn, models = CASES[case]
    model = load_model(data.draw(st.sampled_from(models)))
    program = data.draw(drawn)
    prepared = prepare(program, model) if case in {"waiting", "locks", "threads"} else program
    seed = data.draw(SEEDS)
    task = Task(prepared, model, examples=seed % 2 == 0)
    try:
        rsmc.run(task)
    except (rsmc.NeedsGuess, MixedSizes) as refusal:
        with pytest.raises(type(refusal)):
            rsmc.run(replace(task, explorer=SimulatedCluster(Random(seed))))
        return
    compare(task, seed)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_cluster_agrees(case: str, data: st.DataObject) -> None:
    compare_drawn(data, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_a_cluster_agrees_campaign(case: str, data: st.DataObject) -> None:
    compare_drawn(data, case)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_cluster_agrees_on_examples(file: Path) -> None:
    program = parse_files((str(file),))
    model = load_model(default_model(program))
    limits = Limits(max_traces=2000)  # some have 184 759 executions
    task = Task(prepare(program, model), model, limits)
    if rsmc.run(task).stopped_by is None:
        compare(replace(task, limits=Limits()), 3)
    else:
        assert rsmc.run(replace(task, explorer=SimulatedCluster(Random(3)))).complete_executions == 2000


def test_a_cluster_agrees_on_a_slice_of_the_own_corpus() -> None:
    compared = 0
    files = sorted(OWN_CORPUS.rglob("*.litmus"))[::9]
    for number, file in enumerate(files):
        program = parse_files((str(file),))
        model = load_model(default_model(program))
        try:
            compare(Task(prepare(program, model), model), number)
        except UnsupportedError:
            continue
        compared += 1
    assert compared > len(files) // 2


def compare_until_seen(text: str, model: str, n_seeds: int, *wanted: str) -> None:
    """So often, or more: what happens depends on how far threads come, too."""
    program = prepare(parse_program(Source("program.ir", text)), load_model(model))
    task = Task(program, load_model(model))
    seen: Counter[str] = Counter()
    for seed in range(20 * n_seeds):
        seen += compare(task, seed)
        if seed + 1 >= n_seeds and all(seen[what] for what in wanted):
            return
    pytest.fail(f"{wanted} did not all happen: {seen}")


def test_reads_sleep_once_whoever_lets_them() -> None:
    deaths = ("dead before", "dead behind", "killed coordinator")
    compare_until_seen(THREE_LOCKS, "power", 30, "asking", "late answer", "second answer", *deaths)


def test_all_start_again_if_what_two_found_does_not_fit() -> None:
    """Which parts of objects are used, who writes where, and which threads there are is found out by the way. That what
    two found contradicts each other happens only on machines that are slow enough; the test of the coordinator makes it
    happen."""
    wanted = ("new knowledge", "unknown thread", "killed coordinator")
    compare_until_seen(RELEASES, "rc11", 60, *wanted)


def compare_c(seed: int, flavour: str, folder: Path) -> Counter[str]:
    program = read_program(threaded_program(seed, FLAVOURS[flavour]), folder, OBSERVED)
    seen: Counter[str] = Counter()
    for model in ("sc", "tso", "power", "aarch64", "rc11"):
        try:
            task = Task(prepare(program, load_model(model)), load_model(model), Limits(4, counts_known_rounds=False))
            seen += compare(replace(task, examples=seed % 2 == 0), seed)
        except UnsupportedError:
            continue
    return seen


@needs_compiler
def test_a_cluster_agrees_on_c(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed, flavour in enumerate(FLAVOURS):
        seen += compare_c(seed, flavour, tmp_path)
    assert seen["units"]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_cluster_agrees_on_c_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    compare_c(seed, flavour, tmp_path)
