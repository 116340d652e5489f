"""Things without a declared type are as wide as the program makes them: nothing is cut off without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.frontends.litmus.sequential import execute, holds, parse

from dekker.frontends.litmus import parse_litmus
from dekker.ir.arithmetic import signed
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue
from dekker.source import Source


def sizes(program: Program) -> dict[str, int]:
    return {item.symbol: item.size for item in program.property.observed if isinstance(item, MemoryValue)}


@pytest.mark.parametrize(
    ("architecture", "init", "cells", "holding", "failing"),
    [
        ("AArch64", "0:X1=x;", "MOV X0,#1 ; LSL X0,X0,#32 ; STR X0,[X1]", "x=0x100000000", "x=0"),
        ("PPC", "0:r2=x;", "li r1,1 ; sldi r1,r1,32 ; std r1,0(r2)", "x=0x100000000", "x=0"),
        ("RISCV", "0:x6=x;", "li x5,0x100000000 ; sd x5,0(x6)", "x=0x100000000", "x=0"),
        ("X86_64", "", "movq $0x100000000,%rax ; movq %rax,(x)", "x=0x100000000", "x=0"),
        ("X86_64", "", "movq $0x100000000,%rax ; lock xaddq %rax,(x)", "x=0x100000000", "x=0"),
        ("AArch64", "x=0x100000000; 0:X1=x;", "LDR X0,[X1]", "0:X0=0x100000000", "0:X0=0"),
        ("AArch64", "x=0x100000000; 0:X1=x;", "LDR W0,[X1]", "0:X0=0 /\\ x=0x100000000", "x=0"),
        ("AArch64", "x=-1; 0:X1=x;", "LDR X0,[X1]", "0:X0=-1 /\\ x=-1", "0:X0=0xffffffff"),
        ("PPC", "", "li r1,1 ; sldi r1,r1,32", "0:r1=0x100000000", "0:r1=0"),
        ("PPC", "0:r1=0x100000000;", "nop", "0:r1=0x100000000", "0:r1=0"),
        ("PPC", "", "li r1,-1", "0:r1=-1 /\\ 0:r1=0xffffffff", "0:r1=0"),
        ("PPC", "x=-1; 0:r2=x;", "lwz r1,0(r2)", "0:r1=-1 /\\ 0:r1=0xffffffff", "0:r1=0"),
        ("PPC", "x=-1; 0:r2=x;", "lwz r1,0(r2) ; mr r3,r1", "0:r3=-1", "0:r3=0"),
        ("PPC", "x=-1; 0:r2=x;", "lwz r1,0(r2) ; addi r1,r1,1", "0:r1=0x100000000", "0:r1=0"),
        ("PPC", "x=-1; 0:r2=x;", "ld r1,0(r2)", "0:r1=-1 /\\ x=-1", "0:r1=0xffffffff"),
        ("PPC", "", "li r1,-3 ; li r2,2 ; mullw r1,r1,r2", "0:r1=-6", "0:r1=6"),
        ("PPC", "", "li r1,-1 ; srdi r1,r1,1", "0:r1=0x7fffffffffffffff", "0:r1=-1"),
    ],
)
def test_nothing_is_cut_off(architecture: str, init: str, cells: str, holding: str, failing: str) -> None:
    assert holds(parse(architecture, cells, init, f"exists ({holding})"))
    assert not holds(parse(architecture, cells, init, f"exists ({failing})"))


@pytest.mark.parametrize(
    ("architecture", "init", "cells", "condition", "expected"),
    [
        # x holds an int, y a pointer.
        ("PPC", "0:r2=x; 0:r4=y;", "li r1,-1 ; stw r1,0(r2) ; std r2,0(r4)", "x=-1 /\\ y=x", {"x": 4, "y": 8}),
        # The address comes out of memory, where the thread has put it.
        (
            "PPC",
            "0:r2=x; 0:r4=y; 0:r6=z;",
            "std r2,0(r4) ; ld r5,0(r4) ; std r1,0(r5) ; li r1,-1 ; stw r1,0(r6)",
            "x=0 /\\ z=-1 /\\ y=x",
            {"x": 8, "z": 4, "y": 8},
        ),
        # The address comes out of the initial memory.
        ("AArch64", "p=x; 0:X1=p;", "LDR X2,[X1] ; MOV W3,#-1 ; STR W3,[X2]", "x=-1 /\\ p=x", {"x": 4, "p": 8}),
        # A dependency on an address is not an address.
        (
            "PPC",
            "0:r2=x; 0:r4=y;",
            "ld r1,0(r2) ; xor r3,r4,r4 ; ldx r5,r3,r2 ; li r6,-1 ; stw r6,0(r4)",
            "x=0 /\\ y=-1",
            {"x": 8, "y": 4},
        ),
        ("AArch64", "0:X1=x; 0:X3=y;", "CSEL X4,X1,X3,EQ ; LDR X0,[X4] ; STR W0,[X5]", "x=0 /\\ y=0", {"x": 8, "y": 8}),
        ("AArch64", "0:X1=x; 0:X3=y;", "SWP X4,X2,[X1] ; CAS W0,W2,[X3]", "x=0 /\\ y=0", {"x": 8, "y": 4}),
        ("RISCV", "int x; 0:x5=x; 0:x6=y;", "sd x0,0(x5) ; sd x0,0(x6)", "x=0 /\\ y=0", {"x": 4, "y": 8}),
        ("RISCV", "0:x5=x; 0:x6=y;", "sb x0,0(x5) ; sh x0,0(x6)", "x=0 /\\ y=0", {"x": 4, "y": 4}),
    ],
)
def test_sizes_of_globals(architecture: str, init: str, cells: str, condition: str, expected: dict[str, int]) -> None:
    program = parse(architecture, cells, init, f"exists ({condition})")
    assert sizes(program) == expected
    if "CSEL" not in cells:
        assert holds(program)


def test_pointers_pass_between_threads() -> None:
    text = "PPC t\n{0:r1=x; 0:r2=p; 1:r2=p; 1:r3=y;}\n P0 | P1 ;\n std r1,0(r2) | ld r4,0(r2) ;\n | std r0,0(r4) ;\n"
    program = parse_litmus(Source("t", text + " | stw r0,0(r3) ;\nexists (x=0 /\\ p=0 /\\ y=0)"))
    assert sizes(program) == {"x": 8, "p": 8, "y": 4}


@pytest.mark.parametrize(("load", "step"), [("lwz", 4), ("ld", 8)])
def test_elements_of_untyped_arrays(load: str, step: int) -> None:
    cells = f"{load} r1,0(r2) ; {load} r3,{step}(r2) ; {load} r5,0(r4)"
    init = "x[1]=5; x[0]=y; 0:r2=x; 0:r4=x[1];"
    assert holds(parse("PPC", cells, init, "exists (0:r1=y /\\ 0:r3=5 /\\ 0:r5=5 /\\ x[1]=5 /\\ 0:r4=x[1])"))


@pytest.mark.parametrize(("text", "width"), [("li r1,1", 32), ("lwz r1,0(r2)", 32), ("ld r1,0(r2)", 64)])
def test_registers_are_shown_with_64_bits_where_they_may_need_them(text: str, width: int) -> None:
    program = parse("PPC", text, "0:r2=x;", "exists (0:r1=0)")
    assert [getattr(item, "width", 0) for item in program.property.observed] == [width]


REGISTERS = st.sampled_from(("r1", "r2", "r3"))
NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(1 << 31), (1 << 32) - 1))
OPERATIONS = ("add", "sub", "and", "or", "xor", "nor", "nand", "andc", "mullw", "mulld", "divd", "sld", "srd", "slw")
INSTRUCTIONS = st.one_of(
    st.builds("li {},{}".format, REGISTERS, NUMBERS),
    st.builds("{} {},{},{}".format, st.sampled_from(OPERATIONS), REGISTERS, REGISTERS, REGISTERS),
    st.builds("{} {},{}".format, st.sampled_from(("neg", "not", "extsw", "mr")), REGISTERS, REGISTERS),
    st.builds("{} r1,{},{}".format, st.sampled_from(("sldi", "srdi", "sradi")), REGISTERS, st.integers(0, 40)),
)


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.lists(INSTRUCTIONS, min_size=1, max_size=6))
def test_conditions_see_the_whole_register(start: tuple[int, int, int], instructions: list[str]) -> None:
    """Whatever is computed, 32 bits are looked at only where they tell everything."""
    init = "".join(f"0:r{register}={number};" for register, number in enumerate(start, 1))
    program = parse("PPC", " ; ".join(instructions), init, "exists (0:r1=0)")
    (observed,) = program.property.observed
    value = signed(64, execute(program, {}).registers.get("r1", 0))
    assert getattr(observed, "width", 0) == 64 or -(1 << 31) <= value < 1 << 32
