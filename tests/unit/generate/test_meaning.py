"""Generated tests, run: sequential consistency forbids every cycle, and a model that forbids nothing allows each."""

from __future__ import annotations

from pathlib import Path

import pytest

from dekker.generate import ARCHITECTURES, enumerate_cycles, generate
from dekker.run.batch import BatchOptions, run_file

COMMON = "Rfe Fre Coe Rfi Fri PodRR PodRW PodWR PodWW PosWW FrLeave RfBack".split()
SPECIAL = {
    "PPC": "LwSyncdWW DpAddrdR DpCtrlIsyncdR LxSx",
    "X86": "MFencedWR Rmw",
    "X86_64": "MFencedWR Rmw",
    "ARM": "DMBdWR DpDatadW LxSx",
    "AArch64": "DMB.LDdRR DpCtrldW RfeLA PodWWPL PodRRAP LxSx Amo.SwpAL Amo.Cas Amo.LdAdd PodRRXP",
    "RISCV": "Fence.tsodWR DpDatadW PodWWPRl PodRWPX LxSx Amo.Add Amo.Swp",
    "C": "FenceScdWR PodWWRlxRel PodRRAcqRlx Amo.Swp DpCtrldW DpAddrdR DpDatadW",
}
ANYTHING = '"anything"\nacyclic co | ([A & L & Q & FenceRR]; po) as nothing\n'


@pytest.fixture(scope="module")
def anything(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "anything.cat"
    path.write_text(ANYTHING)
    return str(path)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cycles_are_forbidden_by_sc_alone(architecture: str, anything: str, tmp_path: Path) -> None:
    pool = [*COMMON, *SPECIAL[architecture].split()]
    cycles = list(enumerate_cycles(architecture, pool, 5))
    for cycle in cycles[:: len(cycles) // 20]:
        path = tmp_path / "test.litmus"
        path.write_text(generate(architecture, cycle))
        assert observation(path, "sc") == "Never", cycle
        assert observation(path, anything) == "Sometimes", cycle


def observation(path: Path, model: str) -> str | None:
    record = run_file(str(path), BatchOptions(model=model))
    assert record.error is None, record.error
    return record.observation
