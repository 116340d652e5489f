"""The states engine finds what the flusher-thread machine finds, for every buffer bound, whatever it leaves out."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.reference import flusher_threads
from tests.strategies.random_states import random_program, wide_program
from tests.strategies.short_programs import short_program

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.frontends import parse_program
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.models import load_model
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.run.witnesses import checked_witness
from dekker.source import Source
from dekker.task import Limits, Search, Task

MODELS = ("sc", "tso", "pso")
BOUNDS = (1, 2, 4, 32, 0)
CLASSICS = Path(__file__).with_name("tso_outcomes.txt")
SHARED_CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "X86"

SLICE, CAMPAIGN = 60, 20_000
MOST_REFERENCE_STATES = 3_000
LIMITS = Limits(max_traces=6_000)
SEARCHES = {
    "all reductions": {},
    "no reduction": {"reduction": False, "symmetry": False},
    "depth first": {"depth_first": True, "dynamic_local": False, "static_local": False},
}


def search(program: Program, model: str, **options: object) -> Result:
    return states.run(Task(program, load_model(model), LIMITS, search=Search(**options)))  # type: ignore[arg-type]


def classics() -> list[tuple[str, str, frozenset[tuple[int, ...]]]]:
    rows = [line.split("|") for line in CLASSICS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        (name.strip(), text.strip(), frozenset(tuple(map(int, item)) for item in outcomes.split()))
        for name, text, outcomes in rows
    ]


@pytest.mark.parametrize(("name", "text", "outcomes"), classics(), ids=[row[0] for row in classics()])
def test_classics(name: str, text: str, outcomes: frozenset[tuple[int, ...]]) -> None:
    program = short_program(name, text)
    for options in SEARCHES.values():
        assert set(search(program, "tso", **options).states) == outcomes
    assert set(axiomatic.run(Task(program, load_model("tso"))).states) == outcomes
    for model in ("sc", "pso"):
        assert set(search(program, model).states) == flusher_threads.explore(program, model).final


def compare(seed: int) -> int:
    """How many outcome sets were compared."""
    program = random_program(random.Random(seed), mixed=seed % 3 == 0)
    compared = 0
    for model in MODELS:
        for bound in (0,) if model == "sc" else BOUNDS:
            try:
                expected = flusher_threads.explore(program, model, bound, MOST_REFERENCE_STATES)
            except flusher_threads.TooManyStates:
                continue
            for name, options in SEARCHES.items():
                found = search(program, model, buffer=bound, **options)
                assert found.stopped_by is None
                shown = f"seed {seed}, {model}, buffers of {bound}, {name}\n{print_program(program)}"
                assert set(found.states) == expected.final, shown
                assert bool(found.violations) == bool(expected.failed), shown
                compared += 1
    return compared


def compare_with_oracle(seed: int) -> int:
    """Without a bound, and with one that no program fills. Sizes that overlap are not for the oracle."""
    if seed % 3 == 0:
        return 0
    program = random_program(random.Random(seed), mixed=False)
    compared = 0
    for model in MODELS:
        expected = axiomatic.run(Task(program, load_model(model), Limits(timeout_s=0.5, unroll=3)))
        if expected.stopped_by is not None or expected.cut:
            continue
        for bound in (0, 32):
            found = search(program, model, buffer=bound)
            shown = f"seed {seed}, {model}, buffers of {bound}\n{print_program(program)}"
            assert set(found.states) == set(expected.states), shown
            assert bool(found.violations) == bool(expected.violations), shown
            compared += 1
    return compared


def test_a_store_that_nobody_notices_takes_room() -> None:
    assert compare(2807)


def test_a_store_of_another_thread_may_take_own_ones_with_it() -> None:
    assert compare(3480)


def test_random_programs() -> None:
    assert sum(compare(seed) for seed in range(SLICE)) > 20 * SLICE
    assert sum(compare_with_oracle(seed) for seed in range(SLICE)) > 2 * SLICE


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_campaign(part: int) -> None:
    size = CAMPAIGN // 20
    seeds = range(part * size, (part + 1) * size)
    assert sum(compare(seed) for seed in seeds) > 20 * size
    assert sum(compare_with_oracle(seed) for seed in seeds) > 2 * size


def compare_wide(seed: int) -> None:
    """Threads that hardly meet: what is left out there must not matter."""
    program = wide_program(random.Random(seed))
    for model in MODELS:
        for bound in (0,) if model == "sc" else (1, 2, 0):
            found = {name: search(program, model, buffer=bound, **options) for name, options in SEARCHES.items()}
            if any(result.stopped_by for result in found.values()):
                continue
            plain = found["no reduction"]
            for name, result in found.items():
                shown = f"seed {seed}, {model}, buffers of {bound}, {name}\n{print_program(program)}"
                assert set(result.states) == set(plain.states), shown
                assert set(result.violations) == set(plain.violations), shown
                assert bool(result.deadlocks) == bool(plain.deadlocks), shown


def test_programs_whose_threads_hardly_meet() -> None:
    for seed in range(40):
        compare_wide(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_campaign_of_programs_whose_threads_hardly_meet(part: int) -> None:
    for seed in range(1000 * part, 1000 * (part + 1)):
        compare_wide(seed)


def test_growing_buffers_cover_everything() -> None:
    """Without a bound of its own the engine stops at the first one that is large enough."""
    for seed in range(40):
        program = random_program(random.Random(seed), mixed=False)
        grown, unbounded = search(program, "tso"), search(program, "tso", buffer=0)
        if grown.stopped_by is None and unbounded.stopped_by is None:
            assert grown.bound == ""
            assert grown.states == unbounded.states


def test_examples_replay() -> None:
    """What the engine says how a final state comes about, the judge accepts."""
    replayed = 0
    for seed in range(1, 40):
        if seed % 3 == 0:
            continue
        program = random_program(random.Random(seed), mixed=False)
        source = Source("random.ir", print_program(program))
        program = Program(**{**program.__dict__, "source": source})
        for model in MODELS:
            task = Task(program, load_model(model), LIMITS, examples=True)
            for trace in states.run(task).examples.states.values():
                checked_witness(task, states.NAME, trace)
                replayed += 1
    assert replayed > 100


def x86_tests() -> list[Path]:
    return sorted(SHARED_CORPUS.rglob("*.litmus"))


@pytest.mark.skipif(not x86_tests(), reason="the shared corpus is not here")
def test_x86_corpus() -> None:
    tests = x86_tests()
    for file in tests:
        parsed = parse_program(Source(str(file), file.read_text(encoding="utf-8")))
        for name in MODELS:
            model = load_model(name)
            task = Task(prepare(parsed, model), model)
            explored, searched = rsmc.run(task), states.run(task)
            assert set(searched.states) == set(explored.states), (file, name)
            assert bool(searched.deadlocks) == bool(explored.deadlocks), (file, name)
    assert len(tests) > 300
