"""Litmus tests translated to C have the same verdicts and as many executions of each kind as in their own language.

So threads that are created and joined add no executions of their own, and dependencies survive the way through
the compiler. Left out: what C cannot say, models that give no meaning to what the litmus test contains, and under POWER
compare-exchanges of other languages than C: there C's are compiled to a pair, those of x86 stay one instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.corpus.expectations import OWN_CORPUS
from tests.translation.batch import Pair, c_answer, compile_pairs, litmus_answer, litmus_program
from tests.translation.to_c import PRELUDE, Untranslatable, mnemonic, translate

from dekker.errors import ModelError
from dekker.frontends.c.lowering.assembly import fence_kind
from dekker.generate import cycle_of_name, enumerate_cycles, generate
from dekker.ir.fences import FENCES
from dekker.ir.instructions import CompareExchange
from dekker.ir.program import Program
from dekker.ir.property import Property
from dekker.models import OF_C
from dekker.task import Limits

pytest.importorskip("ziglang", reason="the compiler is not installed")

MODELS = ("sc", "tso", "pso", "power")
LIMITS = Limits(unroll=2, timeout_s=60, counts_known_rounds=False)
BATCH = 50


EDGES = {
    "PPC": (
        "PodWW PodWR PodRR PodRW SyncdWW SyncdWR LwSyncdWW LwSyncdWR LwSyncdRR LwSyncdRW EieiodWW DpAddrdR DpAddrdW "
        "DpDatadW DpCtrldW DpCtrldR DpCtrlIsyncdR DpCtrlIsyncdW PosRR Rfe Fre Coe Rfi Fri Coi"
    ),
    "X86": "PodWW PodWR PodRR PodRW MFencedWR MFencedWW SFencedWW PosWR Rfe Fre Coe Rfi Rmw",
    "AArch64": (
        "PodWW PodWR PodRR PodRW DMB.SYdWR DMB.STdWW DMB.LDdRR DMB.LDdRW DpAddrdR DpDatadW DpCtrldW DpCtrlIsbdR "
        "Rfe Fre Coe"
    ),
    "RISCV": "PodWR PodRW Fence.rw.rwdWR Fence.w.wdWW Fence.r.rdRR Fence.tsodRW DpAddrdR DpDatadW DpCtrldW Rfe Fre Coe",
    "C": (
        "PodWRScSc PodWWRlxRel PodRRAcqRlx PodWRRlxRlx FenceScdWRRlxRlx FenceReldWWRlxRlx FenceAcqdRRRlxRlx "
        "DpDatadWRlxRlx DpCtrldWRlxRlx FreRlxRlx FreScSc RfeRelAcq RfeRlxRlx CoeRlxRlx Amo.AddRlxRlx"
    ),
}


@dataclass(frozen=True)
class Selection:
    """Of the cycles of at most `size` edges every `step`-th, `count` of them."""

    size: int
    step: int
    count: int


SELECTIONS = {
    "PPC": Selection(5, 11, 300),
    "X86": Selection(6, 7, 150),
    "AArch64": Selection(5, 7, 100),
    "RISCV": Selection(5, 3, 100),
    "C": Selection(5, 1, 100),
}
CAMPAIGN = Selection(6, 13, 2000)


def own_corpus() -> list[Program]:
    files = sorted(OWN_CORPUS.rglob("*.litmus"))
    return translatable(litmus_program(str(file), file.read_text(encoding="utf-8")) for file in files)


def generated(architecture: str, selection: Selection) -> list[Program]:
    cycles = enumerate_cycles(architecture, EDGES[architecture].split(), selection.size)
    chosen = islice(cycles, 0, selection.count * selection.step, selection.step)
    texts = (generate(architecture, cycle) for cycle in chosen)
    return translatable(litmus_program(f"{text.splitlines()[0]}.litmus", text) for text in texts)


def translatable(programs: Iterator[Program]) -> list[Program]:
    return [program for program in programs if _is_translatable(program)]


def _is_translatable(program: Program) -> bool:
    try:
        translate(program)
    except Untranslatable:
        return False
    return True


def compare_all(folder: Path, programs: Sequence[Program]) -> Counter[str]:
    """The number of tests that were compared, by model."""
    compared: Counter[str] = Counter()
    wrong: list[str] = []
    for start in range(0, len(programs), BATCH):
        for pair in compile_pairs(folder, programs[start : start + BATCH]):
            for model in models_for(pair):
                difference = compare(pair, model)
                if difference is not None:
                    compared[model] += 1
                    wrong += [f"{pair.litmus.name} under {model}: {difference}"] if difference else []
    assert not wrong, "\n".join(wrong)
    return compared


def models_for(pair: Pair) -> Sequence[str]:
    architecture, functions = pair.litmus.architecture, pair.litmus.functions
    if architecture == "C":
        return (*MODELS, *OF_C)
    exchanges = any(isinstance(step, CompareExchange) for function in functions for step in function.body)
    return [model for model in MODELS if not (exchanges and model == "power")]


def compare(pair: Pair, model: str) -> str | None:
    """What differs; empty if nothing does, None if the litmus test has no meaning under the model."""
    try:
        expected = litmus_answer(pair.litmus, model, LIMITS)
    except ModelError:
        return None
    found = c_answer(pair.c, model, LIMITS)
    if pair.litmus.property.filter is not None:
        found = replace(found, blocked=expected.blocked)  # in C, what the filter leaves out is blocked
    return "" if found == expected else f"{expected} in the litmus test, {found} in C"


def test_the_own_corpus(tmp_path: Path) -> None:
    compared = compare_all(tmp_path, own_corpus())
    assert compared["sc"] > 300
    assert min(compared[model] for model in MODELS) > 280


@pytest.mark.parametrize("architecture", EDGES)
def test_generated_tests(tmp_path: Path, architecture: str) -> None:
    programs = generated(architecture, SELECTIONS[architecture])
    assert len(programs) == SELECTIONS[architecture].count
    assert set(compare_all(tmp_path, programs).values()) == {len(programs)}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", EDGES)
def test_generated_tests_campaign(tmp_path: Path, architecture: str) -> None:
    programs = generated(architecture, CAMPAIGN)
    assert set(compare_all(tmp_path, programs).values()) == {len(programs)}


@pytest.mark.parametrize(("name", "statuses"), [("MP+lwsync+po", "0001"), ("MP+lwsync+addr", "0000"), ("SB", "0111")])
def test_the_verdict_of_the_command_line(tmp_path: Path, name: str, statuses: str) -> None:
    program = litmus_program(f"{name}.litmus", generate("PPC", cycle_of_name(name, "PPC"), name))
    file = tmp_path / "test.c"
    file.write_text(PRELUDE + translate(program), encoding="utf-8")
    found = [str(dekker("check", str(file), "--model", model).status) for model in MODELS]
    assert "".join(found) == statuses


def test_a_lost_dependency_would_be_seen(tmp_path: Path) -> None:
    """The address dependency of a message-passing test, written so that the C program has none."""
    text = generate("PPC", "LwSyncdWW Rfe DpAddrdR Fre")
    program = litmus_program("MP+lwsync+addr.litmus", text)
    (pair,) = compile_pairs(tmp_path, [program])
    weaker = litmus_program("MP+lwsync+po.litmus", generate("PPC", "LwSyncdWW Rfe PodRR Fre"))
    (weaker_pair,) = compile_pairs(tmp_path, [weaker])
    assert compare(pair, "power") == ""
    assert compare(Pair(program, weaker_pair.c), "power")


@pytest.mark.parametrize("kind", FENCES)
def test_every_fence_has_its_words(tmp_path: Path, kind: str) -> None:
    if kind.startswith("c11."):
        pytest.skip("C11's own fences are no assembly")
    assert fence_kind(mnemonic(kind)) == ("" if kind == "compiler" else kind)


def test_threads_that_are_joined_last(tmp_path: Path) -> None:
    """Without a question in `main` nothing comes behind its joins, and their events are left out."""
    programs = [program for program in own_corpus() if program.property.filter is None]
    silent = [replace(program, property=Property()) for program in programs]
    for start in range(0, len(programs), BATCH):
        for program, pair in zip(
            programs[start:], compile_pairs(tmp_path, silent[start : start + BATCH]), strict=False
        ):
            for model in models_for(pair):
                try:
                    expected = litmus_answer(program, model, LIMITS)
                except ModelError:
                    continue
                found = c_answer(pair.c, model, LIMITS)
                wanted = replace(expected, positive=0, negative=expected.positive + expected.negative)
                assert found == wanted, f"{program.name} under {model}"
