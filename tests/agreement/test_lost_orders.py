"""Executions that are possible because something orders less than it seems to: a store-conditional that fails is no
access, and reads of atomic instructions without a result are not ordered by `DMB LD`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker


def litmus_text(architecture: str, init: str, threads: tuple[str, str], condition: str) -> str:
    columns = [[line.strip() for line in thread.split(";")] for thread in threads]
    height = max(map(len, columns))
    rows = zip(*(column + [""] * (height - len(column)) for column in columns), strict=True)
    lines = "\n".join(f" {left} | {right} ;" for left, right in rows)
    return f"{architecture} test\n{{ {init} }}\n P0 | P1 ;\n{lines}\nexists ({condition})\n"


PPC_INIT = "x=0; y=0; z=0; 0:r20=x; 0:r21=y; 0:r22=z; 1:r20=x; 1:r21=y; 0:r11=3; 0:r12=1;"
PPC_OTHER = "lwz r1,0(r21); sync; li r11,2; stw r11,0(r20)"
PPC_READ = "0:r1=2 /\\ 1:r1=1"
ARM_INIT = "x=0; y=0; z=0; 0:X20=x; 0:X21=y; 0:X22=z; 1:X20=x; 1:X21=y; 0:X11=3; 0:X12=1; 0:X5=4; 1:X11=2;"
ARM_OTHER = "LDR W1,[X21]; DMB SY; STR W11,[X20]"
ARM_READ = "0:X1=2 /\\ 1:X1=1"
ARM_ADDED = "1:X1=1 /\\ x=6"
RISCV_INIT = "x=0; y=0; z=0; 0:x20=x; 0:x21=y; 0:x22=z; 1:x20=x; 1:x21=y; 0:x11=3; 0:x12=1; 1:x11=2;"
RISCV_OTHER = "lw x5,0(x21); fence rw,rw; sw x11,0(x20)"
RISCV_READ = "0:x5=2 /\\ 1:x5=1"

POSSIBLE = {
    "power, address from its load": (
        "PPC",
        PPC_INIT,
        (
            "lwarx r1,r0,r20; xor r9,r1,r1; add r10,r20,r9; stwcx. r11,r0,r10; stw r12,0(r21)",
            PPC_OTHER,
        ),
        PPC_READ,
    ),
    "power, address from another load": (
        "PPC",
        PPC_INIT,
        (
            "lwz r1,0(r20); xor r9,r1,r1; lwarx r2,r0,r22; add r10,r22,r9; stwcx. r11,r0,r10; stw r12,0(r21)",
            PPC_OTHER,
        ),
        PPC_READ,
    ),
    "power, another location": (
        "PPC",
        PPC_INIT,
        (
            "lwarx r1,r0,r20; xor r9,r1,r1; add r10,r22,r9; stwcx. r11,r0,r10; stw r12,0(r21)",
            PPC_OTHER,
        ),
        PPC_READ,
    ),
    "power, eieio behind it": (
        "PPC",
        PPC_INIT,
        (
            "lwarx r1,r0,r20; xor r9,r1,r1; add r10,r20,r9; stwcx. r11,r0,r10; eieio; stw r12,0(r21)",
            PPC_OTHER,
        ),
        PPC_READ,
    ),
    "power, it goes where the last store goes": (
        "PPC",
        PPC_INIT,
        (
            "lwz r1,0(r20); lwarx r2,r0,r21; xor r9,r1,r1; add r10,r21,r9; stwcx. r11,r0,r10; stw r12,0(r21)",
            PPC_OTHER,
        ),
        PPC_READ,
    ),
    "aarch64, address from its load": (
        "AArch64",
        ARM_INIT,
        (
            "LDXR W1,[X20]; EOR W9,W1,W1; ADD X10,X20,W9,SXTW; STXR W8,W11,[X10]; STR W12,[X21]",
            ARM_OTHER,
        ),
        ARM_READ,
    ),
    "aarch64, the read of an update that releases": (
        "AArch64",
        ARM_INIT,
        ("LDR W1,[X20]; LDAXR W2,[X22]; STLXR W3,W11,[X22]; STR W12,[X21]", ARM_OTHER),
        ARM_READ,
    ),
    "riscv, the read of an update that releases": (
        "RISCV",
        RISCV_INIT,
        ("lw x5,0(x20); lr.w.aq x6,0(x22); sc.w.rl x7,x11,0(x22); sw x12,0(x21)", RISCV_OTHER),
        RISCV_READ,
    ),
    "aarch64, a release that fails": (
        "AArch64",
        ARM_INIT,
        (
            "LDXR W1,[X20]; EOR W9,W1,W1; ADD X10,X20,W9,SXTW; STLXR W8,W11,[X10]; STR W12,[X21]",
            ARM_OTHER,
        ),
        ARM_READ,
    ),
    "aarch64, address from another load": (
        "AArch64",
        ARM_INIT,
        (
            "LDR W1,[X20]; LDXR W2,[X22]; EOR W9,W1,W1; ADD X10,X22,W9,SXTW; STXR W8,W11,[X10]; DMB ST; STR W12,[X21]",
            ARM_OTHER,
        ),
        ARM_READ,
    ),
    "aarch64, STADD": ("AArch64", ARM_INIT, ("STADD W5,[X20]; DMB LD; STR W12,[X21]", ARM_OTHER), ARM_ADDED),
    "aarch64, STADDL": ("AArch64", ARM_INIT, ("STADDL W5,[X20]; DMB LD; STR W12,[X21]", ARM_OTHER), ARM_ADDED),
    "aarch64, LDADD to WZR": ("AArch64", ARM_INIT, ("LDADD W5,WZR,[X20]; DSB LD; STR W12,[X21]", ARM_OTHER), ARM_ADDED),
    "aarch64, DMB LD and DMB ISHLD": (
        "AArch64",
        ARM_INIT,
        ("STADD W5,[X20]; DMB LD; DMB ISHLD; STR W12,[X21]", ARM_OTHER),
        ARM_ADDED,
    ),
    "riscv, address from its load": (
        "RISCV",
        RISCV_INIT,
        ("lr.w x5,(x20); xor x9,x5,x5; add x10,x20,x9; sc.w x8,x11,(x10); sw x12,0(x21)", RISCV_OTHER),
        RISCV_READ,
    ),
    "riscv, address from another load": (
        "RISCV",
        RISCV_INIT,
        ("lw x5,0(x20); lr.w x6,(x22); xor x9,x5,x5; add x10,x22,x9; sc.w x8,x11,(x10); sw x12,0(x21)", RISCV_OTHER),
        RISCV_READ,
    ),
}
IMPOSSIBLE = {
    "power, the address of the load": (
        "PPC",
        PPC_INIT,
        ("lwz r1,0(r20); xor r9,r1,r1; add r10,r22,r9; lwarx r2,r0,r10; stwcx. r11,r0,r10; stw r12,0(r21)", PPC_OTHER),
        PPC_READ,
    ),
    "power, lwsync": (
        "PPC",
        PPC_INIT,
        ("lwarx r1,r0,r20; xor r9,r1,r1; add r10,r20,r9; stwcx. r11,r0,r10; lwsync; stw r12,0(r21)", PPC_OTHER),
        PPC_READ,
    ),
    "aarch64, STADD and DMB SY": (
        "AArch64",
        ARM_INIT,
        ("STADD W5,[X20]; DMB SY; STR W12,[X21]", ARM_OTHER),
        ARM_ADDED,
    ),
    "aarch64, LDADD with a result": (
        "AArch64",
        ARM_INIT,
        ("LDADD W5,W6,[X20]; DMB LD; STR W12,[X21]", ARM_OTHER),
        ARM_ADDED,
    ),
    "riscv, address and the status": (
        "RISCV",
        RISCV_INIT,
        ("lr.w x5,(x20); xor x9,x5,x5; add x10,x20,x9; sc.w x8,x11,(x10); fence r,w; sw x12,0(x21)", RISCV_OTHER),
        RISCV_READ,
    ),
}


def observation(text: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith("Observation"))
    return line.split()[2:]


def written(folder: Path, test: tuple[str, str, tuple[str, str], str]) -> str:
    file = folder / "test.litmus"
    file.write_text(litmus_text(*test), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("name", [*POSSIBLE, *IMPOSSIBLE])
def test_engines_agree(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, (POSSIBLE | IMPOSSIBLE)[name])
    oracle, rsmc = (observation(dekker("litmus", file, "--engine", engine).out) for engine in ("axiomatic", "rsmc"))
    assert rsmc == oracle
    assert oracle[0] == ("Sometimes" if name in POSSIBLE else "Never")


@pytest.mark.parametrize("name", ["power, address from its load", "aarch64, address from its load", "aarch64, STADD"])
def test_fences_are_found(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, POSSIBLE[name])
    found = dekker("fences", file, "--model", name.split(",", maxsplit=1)[0])
    assert found.status == 0, found.err
    assert "no fence is needed" not in found.out
    assert "1 fence" in found.out


def test_the_run_that_is_shown_has_a_failed_store(tmp_path: Path) -> None:
    """Only the one in which the store-conditional fails has the outcome."""
    text = dekker("explain", written(tmp_path, POSSIBLE["power, address from its load"]), "--model", "power").out
    assert "is possible" in text
    assert "R x=2" in text
    assert "W x=3" not in text
    shown = dekker("litmus", written(tmp_path, POSSIBLE["aarch64, address from its load"]), "--explain").out
    assert "W x=3" not in shown


ADDRESS_THEN_STORE = (
    "PPC",
    "x=0; y=0; z=0; 0:r20=x; 0:r21=y; 0:r22=z; 0:r12=1; 1:r20=x; 1:r21=y;",
    ("lwz r1,0(r20); xor r9,r1,r1; lwzx r2,r9,r22; FENCE; stw r12,0(r21)", PPC_OTHER),
    PPC_READ,
)


def address_then_store(folder: Path, between: str) -> str:
    architecture, init, (first, second), condition = ADDRESS_THEN_STORE
    steps = first.replace("FENCE; ", between)
    return written(folder, (architecture, init, (steps, second), condition))


def test_rmo_does_not_keep_a_store_behind_an_address(tmp_path: Path) -> None:
    """The SPARC manual has no such rule; the others have it."""
    file = address_then_store(tmp_path, "")
    assert observation(dekker("litmus", file, "--model", "rmo").out)[0] == "Sometimes"
    for model in ("pso", "power", "armv7", "aarch64", "riscv"):
        assert observation(dekker("litmus", file, "--model", model).out)[0] == "Never"
    refused = dekker("litmus", file, "--model", "rmo", "--engine", "rsmc")
    assert refused.status == 2
    assert (
        "7:2: error: 'rmo' lets this store be seen before the address of the access of line 6 is known" in refused.err
    )


@pytest.mark.parametrize("between", ["lwsync; ", "cmpw r2,r2; beq L; L: ", "add r12,r12,r9; "])
def test_rsmc_runs_rmo_where_something_else_keeps_the_order(tmp_path: Path, between: str) -> None:
    file = address_then_store(tmp_path, between)
    found = [observation(dekker("litmus", file, "--model", "rmo", "--engine", e).out) for e in ("axiomatic", "rsmc")]
    assert found[0] == found[1]
    assert found[0][0] == "Never"
