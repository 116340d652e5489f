"""The verdicts on the classics that the literature agrees on, written down by hand: they judge the tables of results.

Sources: the POWER and ARM papers and tutorials of Sarkar, Maranget, Alglave and others, the x86-TSO papers of Sewell,
Owens and others, the ARMv8 and RISC-V manuals, and the RC11 paper.
"""

from __future__ import annotations

import pytest
from tests.corpus.expectations import OWN_CORPUS

from dekker.run.batch import BatchOptions, run_file

ALLOWED = {
    "PPC": (
        "SB SB+lwsyncs SB+lwsync+sync MP MP+lwsync+po MP+lwsync+ctrl MP+sync+ctrl MP+po+addr LB S R R+lwsyncs "
        "R+lwsync+sync 2+2W 2+2W+po+lwsync WRC WRC+addrs RWC IRIW IRIW+addrs IRIW+lwsyncs ISA2 PPOCA RSW "
        "W+RWC+lwsync+addr+sync WRC+data+addr"
    ),
    "X86": "SB SB+po+mfence R R+mfence+po RWC n6 n7 3.SB",
    "X86_64": "SB",
    "ARM": "SB MP MP+dmb+po LB S R 2+2W IRIW IRIW+addrs WRC+addrs PPOCA",
    "AArch64": "SB MP MP+dmb.st+po LB S R 2+2W IRIW PPOCA csel LB+cas.noret-dmb.ld+dmb.sy LB+casa.noret+dmb.sy",
    "RISCV": "SB MP MP+fence.w.w+po LB S R 2+2W IRIW MP+fence.w.w+ctrlfencei",
}
FORBIDDEN = {
    "PPC": (
        "SB+syncs MP+lwsyncs MP+lwsync+addr MP+lwsync+ctrlisync MP+sync+addr LB+addrs LB+datas LB+ctrls LB+lwsyncs "
        "S+lwsyncs S+lwsync+data S+lwsync+addr R+syncs 2+2W+lwsyncs 2+2W+syncs WRC+lwsync+addr WRC+sync+addr "
        "RWC+syncs IRIW+syncs ISA2+lwsync+addr+addr ISA2+sync+data+addr PPOAA DETOUR RDW lwarx-increments pointer "
        "CoRR CoWW CoRW1 CoWR0 CoRW2 3.SB+syncs 3.LB+addrs 3.2W+lwsyncs"
    ),
    "X86": (
        "SB+mfences MP LB S R+mfences R+po+mfence 2+2W IRIW WRC ISA2 RWC+po+mfence 3.SB+mfences n5 SB+xchgs "
        "CoRR CoWW CoRW1 CoWR0 CoRW2 cmpxchg-lock spin-once"
    ),
    "ARM": "SB+dmbs MP+dmbs MP+dmb+addr LB+datas LB+ctrls IRIW+dmbs WRC+dmb+addr CoRR CoWW CoRW1 CoWR0 CoRW2",
    "AArch64": (
        "SB+dmb.sys SB+polas MP+dmb.st+dmb.ld MP+dmb.st+addr MP+popl+addr LB+datas S+dmb.st+data 2+2W+dmb.sts "
        "WRC+addrs IRIW+addrs IRIW+dmb.sys PPOAA swap-lock LB+cas-dmb.ld+dmb.sy LB+casa+dmb.sy "
        "LB+cas.noret-dmb.sy+dmb.sy CoRR CoWW CoRW1 CoWR0 CoRW2"
    ),
    "RISCV": (
        "SB+fence.rw.rws MP+fence.w.w+fence.r.r MP+fence.w.w+addr LB+datas WRC+addrs IRIW+addrs IRIW+fence.rw.rws "
        "lr-sc-increments SB+amos CoRR CoWW CoRW1 CoWR0 CoRW2"
    ),
    "C": "SB+fences",
}
CASES = [
    (architecture, name, allowed)
    for allowed, table in ((True, ALLOWED), (False, FORBIDDEN))
    for architecture, names in table.items()
    for name in names.split()
]


@pytest.mark.parametrize(("architecture", "name", "allowed"), CASES)
def test_classic(architecture: str, name: str, allowed: bool) -> None:
    (file,) = OWN_CORPUS.glob(f"*/{architecture}/{name}.litmus")
    record = run_file(str(file), BatchOptions())
    assert record.error is None, record.error
    assert record.observation == ("Sometimes" if allowed else "Never")
