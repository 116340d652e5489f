"""The text of tests: one of each architecture in full, and that every test parses."""

from __future__ import annotations

from textwrap import dedent

import pytest

from dekker.errors import InputError
from dekker.frontends.litmus import parse_litmus
from dekker.generate import ARCHITECTURES, DIALECTS, annotation_names, enumerate_cycles, generate
from dekker.source import Source

TEXTS = {
    ("PPC", "LwSyncdWW Rfe DpAddrdR DpCtrldW Coe"): r"""
        PPC S+lwsync+addr-ctrl
        "LwSyncdWW Rfe DpAddrdR DpCtrldW Coe"
        Cycle=Coe LwSyncdWW Rfe DpAddrdR DpCtrldW
        Com=Rf Co
        Orig=LwSyncdWW Rfe DpAddrdR DpCtrldW Coe
        {
        0:r2=x; 0:r4=y;
        1:r2=y; 1:r5=z; 1:r7=x;
        }
         P0           | P1            ;
         li r1,2      | lwz r1,0(r2)  ;
         stw r1,0(r2) | xor r3,r1,r1  ;
         lwsync       | lwzx r4,r3,r5 ;
         li r3,1      | cmpw r4,r4    ;
         stw r3,0(r4) | beq LC00      ;
                      | LC00:         ;
                      | li r6,1       ;
                      | stw r6,0(r7)  ;
        exists
        (x=2 /\ 1:r1=1)
        """,
    ("PPC", "SyncdWR LxSx Rfe DpDatadW Coe"): r"""
        PPC S+sync-lxsx+data
        "SyncdWR LxSx Rfe DpDatadW Coe"
        Cycle=Coe SyncdWR LxSx Rfe DpDatadW
        Com=Rf Co
        Orig=SyncdWR LxSx Rfe DpDatadW Coe
        {
        0:r2=x; 0:r5=y;
        1:r2=y; 1:r4=x;
        }
         P0             | P1           ;
         li r1,2        | lwz r1,0(r2) ;
         stw r1,0(r2)   | xor r3,r1,r1 ;
         sync           | addi r3,r3,1 ;
         li r3,1        | stw r3,0(r4) ;
         lwarx r4,0,r5  |              ;
         stwcx. r3,0,r5 |              ;
         bne LC00       |              ;
         li r6,1        |              ;
         LC00:          |              ;
        exists
        (x=2 /\ 0:r6=1 /\ 0:r4=0 /\ 1:r1=1)
        """,
    ("X86", "MFencedWR Rmw Coe PodWR Fre"): r"""
        X86 R+mfence-rmw+po
        "MFencedWR Rmw Coe PodWR Fre"
        Cycle=Coe PodWR Fre MFencedWR Rmw
        Com=Co Fr
        Orig=MFencedWR Rmw Coe PodWR Fre
        {
        }
         P0           | P1          ;
         MOV [x],$1   | MOV [y],$2  ;
         MFENCE       | MOV EAX,[x] ;
         MOV EAX,$1   |             ;
         XCHG [y],EAX |             ;
        exists
        (y=2 /\ 0:EAX=0 /\ 1:EAX=0)
        """,
    ("X86_64", "PodWR Fre MFencedWR Fre"): r"""
        X86_64 SB+po+mfence
        "PodWR Fre MFencedWR Fre"
        Cycle=Fre MFencedWR Fre PodWR
        Com=Fr Fr
        Orig=PodWR Fre MFencedWR Fre
        {
        }
         P0            | P1            ;
         movl $1,(x)   | movl $1,(y)   ;
         movl (y),%eax | mfence        ;
                       | movl (x),%eax ;
        exists
        (0:rax=0 /\ 1:rax=0)
        """,
    ("ARM", "DMB.STdWW Rfe DpCtrlIsbdR Fre"): r"""
        ARM MP+dmb.st+ctrlisb
        "DMB.STdWW Rfe DpCtrlIsbdR Fre"
        Cycle=DMB.STdWW Rfe DpCtrlIsbdR Fre
        Com=Rf Fr
        Orig=DMB.STdWW Rfe DpCtrlIsbdR Fre
        {
        %x0=x; %y0=y;
        %y1=y; %x1=x;
        }
         P0           | P1           ;
         MOV R0,#1    | LDR R0,[%y1] ;
         STR R0,[%x0] | CMP R0,R0    ;
         DMB ST       | BNE LC00     ;
         MOV R1,#1    | LC00:        ;
         STR R1,[%y0] | ISB          ;
                      | LDR R1,[%x1] ;
        exists
        (1:R0=1 /\ 1:R1=0)
        """,
    ("AArch64", "PodWWPL Rfe DpAddrdRAA Amo.SwpAL Coe"): r"""
        AArch64 S+popl+addraa-amo.swpal
        "PodWWPL RfeLA DpAddrdRAA Amo.SwpAL CoeLP"
        Cycle=Amo.SwpAL CoeLP PodWWPL RfeLA DpAddrdRAA
        Com=Rf Co
        Orig=PodWWPL RfeLA DpAddrdRAA Amo.SwpAL CoeLP
        {
        0:X1=x; 0:X3=y;
        1:X1=y; 1:X4=x;
        }
         P0           | P1                ;
         MOV W0,#2    | LDAR W0,[X1]      ;
         STR W0,[X1]  | EOR W2,W0,W0      ;
         MOV W2,#1    | MOV W3,#1         ;
         STLR W2,[X3] | ADD X5,X4,W2,SXTW ;
                      | SWPAL W3,W6,[X5]  ;
        exists
        (x=2 /\ 1:X0=1 /\ 1:X6=0)
        """,
    ("RISCV", "Fence.w.wdWW Rfe DpDatadWPX CoeXP"): r"""
        RISCV S+fence.w.w+datapx
        "Fence.w.wdWW Rfe DpDatadWPX CoeXP"
        Cycle=CoeXP Fence.w.wdWW Rfe DpDatadWPX
        Com=Rf Co
        Orig=Fence.w.wdWW Rfe DpDatadWPX CoeXP
        {
        0:x6=x; 0:x8=y;
        1:x6=y; 1:x8=x;
        }
         P0          | P1                ;
         ori x5,x0,2 | lw x5,0(x6)       ;
         sw x5,0(x6) | xor x7,x5,x5      ;
         fence w,w   | ori x7,x7,1       ;
         ori x7,x0,1 | lr.w x9,0(x8)     ;
         sw x7,0(x8) | sc.w x10,x7,0(x8) ;
        exists
        (x=2 /\ 1:x5=1 /\ 1:x10=0 /\ 1:x9=0)
        """,
    ("C", "FenceReldWW Rfe DpCtrldRAcqRlx DpDatadW Coe"): r"""
        C S+fencerel+ctrlacqrlx-data
        "FenceReldWW RfeRlxAcq DpCtrldRAcqRlx DpDatadW Coe"
        Cycle=Coe FenceReldWW RfeRlxAcq DpCtrldRAcqRlx DpDatadW
        Com=Rf Co
        Orig=FenceReldWW RfeRlxAcq DpCtrldRAcqRlx DpDatadW Coe
        {}

        P0 (atomic_int* x, atomic_int* y) {
          atomic_store_explicit(x, 2, memory_order_relaxed);
          atomic_thread_fence(memory_order_release);
          atomic_store_explicit(y, 1, memory_order_relaxed);
        }

        P1 (atomic_int* y, atomic_int* z, atomic_int* x) {
          int r0 = atomic_load_explicit(y, memory_order_acquire);
          if (r0 == r0) {
            int r1 = atomic_load_explicit(z, memory_order_relaxed);
            atomic_store_explicit(x, 1 + (r1 ^ r1), memory_order_relaxed);
          }
        }

        exists
        (x=2 /\ 1:r0=1)
        """,
}


@pytest.mark.parametrize(("architecture", "cycle"), TEXTS)
def test_text(architecture: str, cycle: str) -> None:
    assert generate(architecture, cycle) == dedent(TEXTS[architecture, cycle]).lstrip()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_edge_gives_tests_that_parse(architecture: str) -> None:
    """Each edge of the architecture, plain and with each pair of annotations, in some cycle."""
    vocabulary = DIALECTS[architecture].vocabulary
    annotations = annotation_names(architecture)
    closing = ["Rfe", "Fre", "Coe", "PodRR", "PodWW", "PosRR", "RfBack", "CoBack", "FrLeave", "CoLeave", "RfLeave"]
    for name, edge in vocabulary.edges.items():
        fitting = [
            first + second
            for first, second in vocabulary.annotation_pairs.values()
            if edge.source in annotations[first] and edge.target in annotations[second]
        ]
        if edge.name in vocabulary.atomics:
            fitting = ["".join(pair) for pair in vocabulary.atomic_pairs]
        for suffix in ["", *fitting]:
            cycle = next(c for c in enumerate_cycles(architecture, [name + suffix, *closing], 5) if name + suffix in c)
            program = parse_litmus(Source(f"{name}{suffix}", generate(architecture, cycle)))
            assert len(program.threads) >= 1


def test_registers_can_run_out() -> None:
    with pytest.raises(InputError, match="P1 needs more registers"):
        generate("X86", "PodWW Rfe " + "PodRR " * 7 + "Fre")
