"""Several workers that search states find what one does: final states, violations, deadlocks, whether a program is
robust; whatever is left out, however they share the work."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.reference.states_job_agreement import require_same_findings
from tests.strategies.random_states import random_program, wide_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.states import engine as states
from dekker.errors import ModelError, UnsupportedError
from dekker.frontends import parse_files
from dekker.frontends.c import Options, parse_c
from dekker.fuzz.kinds import KINDS
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.source import Source
from dekker.task import Limits, Search, Task

MODELS = ("sc", "tso", "pso")
EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED_CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "X86"
LIMITS = Limits(timeout_s=60)
SEARCHES = {
    "all reductions": Search(),
    "no reduction": Search(reduction=False, symmetry=False, static_local=False, dynamic_local=False),
    "no symmetry": Search(symmetry=False),
    "no locals": Search(static_local=False, dynamic_local=False),
    "bounded": Search(buffer=2),
    "robust": Search(robust=True),
    "compact": Search(compact=True),
}


def with_text(program: Program) -> Program:
    """Examples are shown in their source."""
    return replace(program, source=Source("random.ir", print_program(program)))


def tasks(program: Program, models: Iterable[str] = MODELS, searches: Iterable[str] = SEARCHES) -> Iterator[Task]:
    for name in models:
        model = load_model(name)
        prepared = prepare(program, model)
        for search in searches:
            if search != "robust" or name != "sc":
                yield Task(prepared, model, LIMITS, search=SEARCHES[search])


def compare(program: Program, seed: int, searches: Iterable[str] = SEARCHES, models: Iterable[str] = MODELS) -> int:
    """How many tasks were compared."""
    compared = 0
    for task in tasks(program, models, searches):
        require_same_findings(replace(task, examples=seed % 2 == 0 and not task.search.robust), seed)
        compared += 1
    return compared


def compare_random(seed: int, searches: Iterable[str] = SEARCHES) -> int:
    rng = random.Random(seed)
    program = wide_program(rng) if seed % 2 else random_program(rng, mixed=seed % 3 == 0)
    return compare(with_text(program), seed, searches, (rng.choice(MODELS),))


def some_searches(seed: int) -> tuple[str, ...]:
    return tuple(SEARCHES)[seed % len(SEARCHES)], "all reductions"


def test_random_programs() -> None:
    assert sum(compare_random(seed, some_searches(seed)) for seed in range(40)) > 60


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_campaign(part: int) -> None:
    assert sum(compare_random(seed) for seed in range(100 + 100 * part, 200 + 100 * part)) > 500


def compare_kind(kind: str, seed: int) -> int:
    drawn = KINDS[kind].draw(seed)
    model = drawn.model if drawn.model in MODELS else MODELS[seed % 3]
    try:
        return compare(drawn.program, seed, some_searches(seed), (model,))
    except (ModelError, UnsupportedError):
        return 0


@pytest.mark.parametrize("kind", ["plain", "updates", "litmus", "rsmc", "lang"])
def test_kinds_of_random_programs(kind: str) -> None:
    assert sum(compare_kind(kind, seed) for seed in range(5)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("kind", ["plain", "updates", "litmus", "rsmc", "lang"])
def test_campaign_of_kinds(kind: str, part: int) -> None:
    assert sum(compare_kind(kind, seed) for seed in range(100 + 40 * part, 140 + 40 * part)) > 0


LITMUS = sorted((EXAMPLES / "litmus").glob("*.litmus")) + sorted((EXAMPLES / "rsmc").glob("*.rsmc"))


def compare_files(files: Iterable[Path], searches: Iterable[str], models: Iterable[str]) -> int:
    compared = 0
    for number, file in enumerate(files):
        try:
            compared += compare(parse_files((str(file),)), number, searches, models)
        except (ModelError, UnsupportedError):
            continue
    return compared


def test_litmus_examples() -> None:
    assert compare_files(LITMUS, ("all reductions", "robust"), ("tso",)) > len(LITMUS) // 2


def x86_tests() -> list[Path]:
    return sorted(SHARED_CORPUS.rglob("*.litmus"))


@pytest.mark.skipif(not x86_tests(), reason="the shared corpus is not here")
def test_a_slice_of_the_x86_corpus() -> None:
    files = x86_tests()[::25]
    assert compare_files(files, ("all reductions",), ("tso", "pso")) == 2 * len(files)


@pytest.mark.slow
@pytest.mark.skipif(not x86_tests(), reason="the shared corpus is not here")
@pytest.mark.parametrize("part", range(10))
def test_x86_corpus(part: int) -> None:
    files = x86_tests()[part::10]
    assert compare_files(files, ("all reductions", "no reduction", "robust"), MODELS) == 8 * len(files)


def c_examples() -> list[Path]:
    return sorted((EXAMPLES / "c").rglob("*.c"))


def compare_example(file: Path, searches: Iterable[str], models: Iterable[str]) -> None:
    program = parse_c([str(file)], Options(flags=("-DFENCED",)))
    for task in tasks(program, models, searches):
        found = require_same_findings(replace(task, examples=not task.search.robust), len(file.name))
        list(violations_of(task, states.NAME, found[-1]))  # each replays, or this fails


def compare_first_violation(program: Program, model_name: str, seed: int) -> int:
    """Which of several is found depends on the order, but not whether there is one. How many go wrong."""
    model = load_model(model_name)
    task = Task(prepare(program, model), model, Limits(stop_at_first=True, timeout_s=60), examples=True)
    alone = states.run(task)
    for jobs, late in ((2, 0), (2, seed + 1), (8, seed + 1)):
        found = states.run(replace(task, jobs=jobs, split_seed=late))
        assert bool(found.violations or found.deadlocks) == bool(alone.violations or alone.deadlocks)
        assert found.stopped_by == alone.stopped_by
        assert len(found.violations) + (found.deadlocks > 0) <= 1
        if found.violations:
            list(violations_of(task, states.NAME, found))  # replays, or this fails
    return int(bool(alone.violations or alone.deadlocks))


def test_the_first_violation_ends_the_search() -> None:
    programs = [with_text(wide_program(random.Random(seed))) for seed in range(60)]
    assert sum(compare_first_violation(program, "tso", seed) for seed, program in enumerate(programs)) > 10


SHORT = ("treiber", "seqlock", "ring_buffer", "ticket_lock")


@needs_compiler
@pytest.mark.parametrize("file", [file for file in c_examples() if file.stem in SHORT], ids=lambda file: file.stem)
def test_c_examples(file: Path) -> None:
    compare_example(file, ("all reductions",), ("tso",))


@needs_compiler
@pytest.mark.parametrize("name", ["table1/dekker", "unbounded/peterson", "unbounded/chase_lev"])
def test_c_examples_without_their_fences(name: str) -> None:
    assert compare_first_violation(parse_c([str(EXAMPLES / "c" / f"{name}.c")]), "tso", 1)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("file", c_examples(), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_all_c_examples(file: Path) -> None:
    searches = [name for name in SEARCHES if name != "no reduction" or file.stem != "indexer"]
    compare_example(file, searches, MODELS)
    if file.parent.name != "atomics":
        compare_first_violation(parse_c([str(file)]), "tso", 1)


def compare_c(flavour: str, seed: int, folder: Path, searches: Iterable[str]) -> None:
    program = read_program(threaded_program(seed, FLAVOURS[flavour]), folder, OBSERVED)
    leaks = replace(program, property=replace(program.property, leaks=True))
    compare(leaks if seed % 2 else program, seed, searches, (MODELS[seed % 3],))


@needs_compiler
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_random_c_programs(flavour: str, tmp_path: Path) -> None:
    compare_c(flavour, 1, tmp_path, ("all reductions",))


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(300, 360))
def test_campaign_of_random_c_programs(flavour: str, seed: int, tmp_path: Path) -> None:
    compare_c(flavour, seed, tmp_path, SEARCHES)


TREE = """
program tree
architecture none
object x[4]

function main() {
  first = spawn &inner(1)
  second = spawn &inner(2)
}

function inner(argument) {
  leaf = spawn &leaf(argument)
  join leaf
}

function leaf(argument) {
  old = rmw.add.4 [&x], argument
}

thread main runs main
observe [x].4
"""


def test_threads_that_spawn_threads_are_searched_by_one_worker() -> None:
    """Their numbers would depend on who comes first."""
    program = parse_program(Source("tree.ir", TREE))
    (task,) = tasks(program, ("tso",), ("all reductions",))
    alone, several = (states.run(replace(task, jobs=jobs, split_seed=jobs)) for jobs in (1, 4))
    assert several.statistics == alone.statistics
    assert several.states == alone.states == {(3,): 1}


@needs_compiler
@pytest.mark.parametrize("jobs", [1, 2])
def test_check_takes_jobs(jobs: int) -> None:
    file = str(EXAMPLES / "c" / "unbounded" / "peterson.c")
    options = CheckOptions("tso", "states", Limits(stop_at_first=True), jobs=jobs)
    assert check((file,), replace(options, flags=("-DFENCED",))).verdict is Verdict.SAFE
    wrong = check((file,), options)
    assert wrong.verdict is Verdict.UNSAFE
    assert wrong.violations[0].witness is not None
