"""Several workers find what one does: counts, final states, violations; however the work is split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.corpus.expectations import OWN_CORPUS, SHARED_CORPUS, stratified_sample
from tests.reference.engine_agreement import read_program
from tests.reference.job_agreement import require_same_findings
from tests.strategies import threaded_programs
from tests.strategies.forwarding_chains import forwarding_chains
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, PLAIN_ACCESSES, programs
from tests.strategies.waiting_programs import waiting_programs
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS, NOT_FOR_UPDATES
from dekker.errors import MixedSizes, UnsupportedError
from dekker.frontends import default_model, parse_files
from dekker.fuzz.own_values import Diet, own_values_program
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.models import OF_C, load_model
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

EXAMPLES = 15
CAMPAIGN_EXAMPLES = 500
PARTS = 8
SEEDS = st.integers(1, 1 << 40)
CASES = {
    "plain": (programs(PLAIN_ACCESSES), [model for model in COMMIT_ORDERS if model not in OF_C]),
    "updates": (programs(HARDWARE), [model for model in COMMIT_ORDERS if model not in {*OF_C, *NOT_FOR_UPDATES}]),
    "annotated": (programs(ANNOTATED), ["aarch64", "riscv"]),
    "c11": (programs(C11), list(OF_C)),
    "waiting": (waiting_programs(replace(HARDWARE, max_total=6)), ["sc", "tso", "power", "aarch64", "riscv"]),
    "locks": (waiting_programs(replace(HARDWARE, max_total=6), locks=True), ["sc", "tso", "power", "aarch64"]),
    "chains": (forwarding_chains(may_fail=True), ["sc", "pso", "aarch64", "riscv"]),
    "own values": (st.builds(own_values_program, st.integers(0, 1 << 40), st.just(Diet())), ["aarch64"]),
    "threads": (threaded_programs.programs(), ["sc", "tso", "power", "aarch64", "rc11"]),
}
LOCKS = """
program locks
architecture C
object l[4]

function main() {
  first = spawn &worker(1)
  second = spawn &worker(2)
}

function worker(argument) {
again:
  old, won = cmpxchg.4 [&l] 0 -> 1 acquire/relaxed
  await won -> again
  store.4 [&l] = 0 release
  assert argument ult.64 2, "small"
  return argument
}

thread main runs main
"""
FILES = sorted(Path("examples").glob("litmus/*.litmus")) + sorted(Path("examples").glob("rsmc/*.rsmc"))


def compare(program: Program, model: str, seed: int, limits: Limits = Limits()) -> None:
    try:
        require_same_findings(Task(program, load_model(model), limits, examples=seed % 2 == 0), seed)
    except (rsmc.NeedsGuess, MixedSizes):
        reject()


def compare_drawn(data: st.DataObject, case: str) -> None:
    drawn, models = CASES[case]
    model = data.draw(st.sampled_from(models))
    program = data.draw(drawn)
    prepared = prepare(program, load_model(model)) if case in {"waiting", "locks", "threads"} else program
    compare(prepared, model, data.draw(SEEDS))


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_several_workers_agree(case: str, data: st.DataObject) -> None:
    compare_drawn(data, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_several_workers_agree_campaign(case: str, data: st.DataObject) -> None:
    compare_drawn(data, case)


@pytest.mark.parametrize("seed", range(1, 200, 10))
def test_a_load_that_sleeps_where_a_unit_begins_is_found_again(seed: int) -> None:
    """What another thread writes to its location later wakes it."""
    program = parse_program(Source("locks.ir", LOCKS))
    compare(prepare(program, load_model("power")), "power", seed)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_several_workers_agree_on_examples(file: Path) -> None:
    program = parse_files((str(file),))
    model = default_model(program)
    compare(prepare(program, load_model(model)), model, 2)


def compare_files(files: Sequence[Path]) -> int:
    """How many the engine runs."""
    compared = 0
    for number, file in enumerate(files):
        program = parse_files((str(file),))
        model = load_model(default_model(program))
        try:
            require_same_findings(Task(prepare(program, model), model), number)
        except UnsupportedError:
            continue
        compared += 1
    return compared


def test_several_workers_agree_on_a_slice_of_the_own_corpus() -> None:
    files = sorted(OWN_CORPUS.rglob("*.litmus"))[::12]
    assert compare_files(files) > len(files) // 2


needs_published_tests = pytest.mark.skipif(
    not SHARED_CORPUS.is_dir(), reason="the collection of published litmus tests is not beside the project"
)


@pytest.mark.corpus
@needs_published_tests
@pytest.mark.parametrize("name", ["PPC", "X86", "AARCH64", "RISCV", "C11"])
def test_several_workers_agree_on_a_slice_of_published_tests(name: str) -> None:
    files = [row.path for row in stratified_sample([SHARED_CORPUS / name], 8)]
    assert compare_files(files) > 0


@pytest.mark.slow
@pytest.mark.corpus
@needs_published_tests
@pytest.mark.parametrize("part", range(PARTS))
def test_several_workers_agree_on_published_tests(part: int) -> None:
    files = sorted(SHARED_CORPUS.rglob("*.litmus"))[part::PARTS]
    assert compare_files(files) > 0.9 * len(files)


def compare_c(seed: int, flavour: str, folder: Path) -> None:
    program = read_program(threaded_program(seed, FLAVOURS[flavour]), folder, OBSERVED)
    for model in ("sc", "tso", "power", "aarch64", "rc11"):
        try:
            task = Task(prepare(program, load_model(model)), load_model(model), Limits(4, counts_known_rounds=False))
            require_same_findings(replace(task, examples=seed % 2 == 0), seed)
        except UnsupportedError:
            continue


@needs_compiler
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_several_workers_agree_on_c(flavour: str, tmp_path: Path) -> None:
    compare_c(1, flavour, tmp_path)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(100, 300))
def test_several_workers_agree_on_c_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    compare_c(seed, flavour, tmp_path)
