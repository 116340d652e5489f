from __future__ import annotations

import pytest

from dekker.errors import InputError
from dekker.generate import ARCHITECTURES, cycle_of_name, enumerate_cycles, generate, name_of_cycle

NAMED = [
    ("X86", "SB", "PodWR Fre PodWR Fre"),
    ("X86", "SB+mfences", "MFencedWR Fre MFencedWR Fre"),
    ("X86", "SB+rfi-pos", "Rfi PodRR Fre Rfi PodRR Fre"),
    ("X86", "2+2W+mfence-rmw+po", "MFencedWR Rmw Coe PodWW Coe"),
    ("X86", "4.SB", "PodWR Fre PodWR Fre PodWR Fre PodWR Fre"),
    ("PPC", "MP+sync+addr", "SyncdWW Rfe DpAddrdR Fre"),
    ("PPC", "LB+lwsync+ctrl", "LwSyncdRW Rfe DpCtrldW Rfe"),
    ("PPC", "S+lwsync+data", "LwSyncdWW Rfe DpDatadW Coe"),
    ("PPC", "R+syncs", "SyncdWW Coe SyncdWR Fre"),
    ("PPC", "2+2W+lwsyncs", "LwSyncdWW Coe LwSyncdWW Coe"),
    ("PPC", "WRC+sync+addr", "Rfe SyncdRW Rfe DpAddrdR Fre"),
    ("PPC", "RWC+syncs", "Rfe SyncdRR Fre SyncdWR Fre"),
    ("PPC", "WWC+addrs", "Rfe DpAddrdW Rfe DpAddrdW Coe"),
    ("PPC", "WRR+2W+syncs", "Rfe SyncdRR Fre SyncdWW Coe"),
    ("PPC", "WRW+2W+addr+sync", "Rfe DpAddrdW Coe SyncdWW Coe"),
    ("PPC", "WRW+WR+addr+sync", "Rfe DpAddrdW Coe SyncdWR Fre"),
    ("PPC", "ISA2+sync+data+addr", "SyncdWW Rfe DpDatadW Rfe DpAddrdR Fre"),
    ("PPC", "W+RWC+syncs", "SyncdWW Rfe SyncdRR Fre SyncdWR Fre"),
    ("PPC", "Z6.0+sync+addr+sync", "SyncdWW Rfe DpAddrdW Coe SyncdWR Fre"),
    ("PPC", "Z6.1+sync+sync+addr", "SyncdWW Coe SyncdWW Rfe DpAddrdW Coe"),
    ("PPC", "Z6.2+sync+addr+addr", "SyncdWW Rfe DpAddrdW Rfe DpAddrdW Coe"),
    ("PPC", "Z6.3+sync+sync+addr", "SyncdWW Coe SyncdWW Rfe DpAddrdR Fre"),
    ("PPC", "Z6.4+syncs", "SyncdWW Coe SyncdWR Fre SyncdWR Fre"),
    ("PPC", "Z6.5+syncs", "SyncdWW Coe SyncdWW Coe SyncdWR Fre"),
    ("PPC", "3.LB+addrs", "DpAddrdW Rfe DpAddrdW Rfe DpAddrdW Rfe"),
    ("PPC", "3.2W", "PodWW Coe PodWW Coe PodWW Coe"),
    ("PPC", "IRIW+syncs", "Rfe SyncdRR Fre Rfe SyncdRR Fre"),
    ("PPC", "IRWIW+addrs", "Rfe DpAddrdW Coe Rfe DpAddrdW Coe"),
    ("PPC", "IRRWIW+addr+sync", "Rfe DpAddrdR Fre Rfe SyncdRW Coe"),
    ("PPC", "WW+RR+WR+WR+lwsync+addr+sync+sync", "LwSyncdWW Rfe DpAddrdR Fre SyncdWR Fre SyncdWR Fre"),
    ("PPC", "CoRR", "Rfe PosRR Fre"),
    ("PPC", "CoWW", "PosWW Coe"),
    ("PPC", "CoRW1", "PosRW Rfe"),
    ("PPC", "CoRW2", "Rfe PosRW Coe"),
    ("PPC", "CoWR", "Coe PosWR Fre"),
    ("AArch64", "CoRR+dmb.sys", "Rfe DMB.SYsRR Fre"),
    ("AArch64", "MP+dmb.sy+poap", "DMB.SYdWW RfePA PodRRAP Fre"),
    ("AArch64", "RWC+poaa+pola+L", "RfeLA PodRRAA FreAL PodWRLA FreAL"),
    ("AArch64", "IRIW+poaas+NaL", "RfePA PodRRAA FreAL RfeLA PodRRAA FreAP"),
    ("AArch64", "MP+dmb.sy+[fr-rf]-addr", "DMB.SYdWW Rfe FrLeave RfBack DpAddrdR Fre"),
    ("AArch64", "S+dmb.sy+addrpa-amo.swpal", "DMB.SYdWW Rfe DpAddrdRPA Amo.SwpAL CoeLP"),
    ("RISCV", "MP+fence.w.w+fence.r.r", "Fence.w.wdWW Rfe Fence.r.rdRR Fre"),
    ("RISCV", "R+poprl+porlaq", "PodWWPRl CoeRlRl PodWRRlAq FreAqP"),
    ("C", "MP+porlxrel+poacqrlx", "PodWWRlxRel RfeRelAcq PodRRAcqRlx Fre"),
    ("C", "SB+fencescs", "FenceScdWR Fre FenceScdWR Fre"),
]


@pytest.mark.parametrize(("architecture", "name", "cycle"), NAMED)
def test_names_both_ways(architecture: str, name: str, cycle: str) -> None:
    assert name_of_cycle(cycle, architecture) == name
    assert cycle_of_name(name, architecture) == tuple(cycle.split())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_test_has_the_name_of_its_cycle(architecture: str) -> None:
    assert generate(architecture, "PodWW Rfe PodRR Fre").startswith(f"{architecture} MP\n")
    assert generate(architecture, "PodWW Rfe PodRR Fre", "mine").startswith(f"{architecture} mine\n")


def test_the_name_does_not_depend_on_where_the_cycle_starts() -> None:
    words = "SyncdWW Rfe DpDatadW Rfe DpAddrdR Fre".split()
    names = {name_of_cycle(words[i:] + words[:i], "PPC") for i in range(len(words))}
    assert names == {"ISA2+sync+data+addr"}


def test_ws_in_a_name_is_co() -> None:
    assert cycle_of_name("MP+po+po-wsi-po", "X86") == ("PodWW", "Rfe", "PodRW", "Coi", "PodWR", "Fre")


def test_the_cycle_of_a_name_has_that_name() -> None:
    pool = "Rfe Fre Coe Rfi Fri Coi PodRR PodRW PodWR PodWW LwSyncdWW DpAddrdR DpDatadW PosRR".split()
    count = 0
    for words in enumerate_cycles("PPC", pool, 5):
        name = name_of_cycle(words, "PPC")
        assert name_of_cycle(cycle_of_name(name, "PPC"), "PPC") == name
        count += 1
    assert count > 300


@pytest.mark.parametrize("name", ["", "MP+foo+bar", "XY", "MP+po", "MP+po+po+po", "R+R", "CoRR+po"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InputError):
        cycle_of_name(name, "PPC")
