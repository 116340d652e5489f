"""From columns to threads: rows, labels, symbolic registers, initial registers, flags, errors, and junk."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dekker.errors import DekkerError, ParseError, UnsupportedError
from dekker.frontends.litmus import aarch64, arm, default_model, parse_litmus, riscv, x86
from dekker.frontends.litmus import ppc as ppc_file
from dekker.frontends.litmus.architecture import Architecture
from dekker.ir.expressions import Address, Binary, Const, Reg
from dekker.ir.instructions import Assign, Branch, Fence, Jump, Load, Store
from dekker.ir.program import Program, Thread
from dekker.ir.validate import validate
from dekker.source import Source


def parse(text: str) -> Program:
    program = parse_litmus(Source("t.litmus", text))
    validate(program)
    return program


def ppc(program: str, init: str = "", final: str = "") -> Program:
    return parse(f"PPC t\n{{{init}}}\n{program}\n{final}")


def error(text: str) -> DekkerError:
    with pytest.raises(DekkerError) as caught:
        parse(text)
    return caught.value


def test_message_passing() -> None:
    program = parse(
        """PPC MP+lwsync+addr
{ 0:r2=x; 0:r4=y; 1:r2=y; 1:r5=x; x=7; }
 P0           | P1            ;
 li r1,1      | lwz r1,0(r2)  ;
 stw r1,0(r2) | xor r3,r1,r1  ;
 lwsync       | lwzx r4,r3,r5 ;
 stw r1,4(r4) |               ;
exists (1:r1=1 /\\ 1:r4=7)
"""
    )
    assert (program.name, program.architecture) == ("MP+lwsync+addr", "PPC")
    assert program.threads == (
        Thread("P0", "P0", (("r2", Address("x")), ("r4", Address("y")))),
        Thread("P1", "P1", (("r2", Address("y")), ("r5", Address("x")))),
    )
    first, second = program.functions
    assert first.body == (
        Assign("r1", Const(1)),
        Store(Reg("r2"), Reg("r1"), 4),
        Fence("lwsync"),
        Store(Binary("add", 64, Reg("r4"), Const(4)), Reg("r1"), 4),
    )
    assert second.body == (
        Load("r1", Reg("r2"), 4),
        Assign("r3", Binary("xor", 64, Reg("r1"), Reg("r1"))),
        Load("r4", Binary("add", 64, Reg("r3"), Reg("r5")), 4),
    )
    assert [item.name for item in program.objects] == ["x", "y"]


def test_spans() -> None:
    program = ppc(" P0 | P1 ;\n nop | lwsync ;\n li r1,1 | L: li r2,2 ;", final="exists 0:r1=1")
    spans = [program.functions[1].span(index) for index in range(2)]
    assert [(span.text, span.line, span.column) for span in spans if span] == [("lwsync", 4, 8), ("L: li r2,2", 5, 12)]


def test_columns_in_any_order() -> None:
    program = ppc(" P1 | P0 ;\n lwsync | sync ;")
    assert [function.body for function in program.functions] == [(Fence("sync"),), (Fence("lwsync"),)]
    assert [thread.name for thread in program.threads] == ["P0", "P1"]


@pytest.mark.parametrize("header", [" P0 | P1 ;", "p0|p1;", "\tP0\t|\tP1\t;", "0 | 1 ;", ";\n P0 | P1 ;"])
def test_headers(header: str) -> None:
    assert len(ppc(f"{header}\n sync | sync ;").threads) == 2


def test_short_rows_and_empty_cells() -> None:
    program = ppc(" P0 | P1 | P2 ;\n sync ;\n | sync ;\n | | sync ;\n ;\n sync | | ;")
    assert [len(function.body) for function in program.functions] == [2, 1, 1]


def test_no_instructions() -> None:
    assert ppc(" P0 ;").functions[0].body == ()


def test_rows_on_one_line() -> None:
    assert len(ppc(" P0 | P1 ; sync | sync ; isync | ; sync | isync ;").functions[0].body) == 3


def test_labels() -> None:
    program = ppc(" P0 ;\n A: B: C : li r1,1 ;\n D: ;\n b A ;\n b E ;\n bne F-1/x ;\n F-1/x: E: ;")
    function = program.functions[0]
    assert function.labels == {"A": 0, "B": 0, "C": 0, "D": 1, "F-1/x": 4, "E": 4}
    assert function.body[1:3] == (Jump("A"), Jump("E"))


def test_symbolic_registers_belong_to_the_threads_that_use_them() -> None:
    program = ppc(" P0 | P1 ;\n lwz r1,0(%x) | stw %one,0(%y) ;\n stw %one,0(%x) | ;", "%x=a; %y=b; %one=1; %unused=c;")
    assert program.threads[0].registers == (("%x", Address("a")), ("%one", Const(1)))
    assert program.threads[1].registers == (("%y", Address("b")), ("%one", Const(1)))


def test_globals_of_instructions_become_objects() -> None:
    program = parse("X86 t\n{y=1;}\n P0 ;\n MOV [x],$1 ;\n MOV EAX,[y] ;\nexists (z=0)")
    assert [item.name for item in program.objects] == ["y", "x", "z"]


def test_flags_that_nobody_reads_are_left_out() -> None:
    program = ppc(" P0 | P1 ;\n cmpw r1,r2 | cmpw r1,r2 ;\n L: | cmpw cr1,r1,r2 ;\n | beq L ;\n | L: ;")
    assert program.functions[0].body == ()
    assert program.functions[0].labels == {"L": 0}
    assert program.functions[1].body == (
        Assign("CR0.eq", Binary("eq", 32, Reg("r1"), Reg("r2"))),
        Branch(Reg("CR0.eq"), "L"),
    )
    assert program.functions[1].labels == {"L": 2}
    assert len(program.functions[1].spans) == 2


def test_lock_may_be_followed_by_a_semicolon() -> None:
    program = parse("X86_64 t\n{}\n P0 | P1 ;\n lock; incl (x) | movl $1,(x) ;\n mfence | ;\n")
    assert [len(function.body) for function in program.functions] == [2, 1]


def test_equal_cells_share_their_instructions() -> None:
    program = ppc(" P0 | P1 ;\n lwz r1,0(r2) | lwz r1,0(r2) ;")
    assert program.functions[0].body[0] is program.functions[1].body[0]


@pytest.mark.parametrize(
    ("word", "architecture", "model"),
    [
        ("PPC", "PPC", "power"),
        ("power", "PPC", "power"),
        ("PPC64", "PPC", "power"),
        ("X86", "X86", "tso"),
        ("x86_64", "X86_64", "tso"),
        ("ARM", "ARM", "armv7"),
        ("ARMv7", "ARM", "armv7"),
        ("AArch64", "AArch64", "aarch64"),
        ("AARCH64", "AArch64", "aarch64"),
        ("RISCV", "RISCV", "riscv"),
        ("RISC-V", "RISCV", "riscv"),
        ("C", "C", "cpp20"),
    ],
)
def test_architectures_and_their_models(word: str, architecture: str, model: str) -> None:
    body = "P0 () { }" if architecture == "C" else " P0 ;\n nop ;"
    program = parse(f"{word} t\n{{}}\n{body}\nexists (x=0)\n")
    assert program.architecture == architecture
    assert default_model(program.architecture) == model


@pytest.mark.parametrize(
    "architecture",
    [
        ppc_file.ARCHITECTURE,
        x86.ARCHITECTURE,
        x86.ARCHITECTURE_64,
        arm.ARCHITECTURE,
        aarch64.ARCHITECTURE,
        riscv.ARCHITECTURE,
    ],
    ids=lambda architecture: architecture.name,
)
def test_other_names_of_architectures(architecture: Architecture) -> None:
    for word in (architecture.name, *architecture.aliases):
        assert parse(f"{word} t\n{{}}\n P0 ;\n nop ;\n").architecture == architecture.name
    assert default_model(architecture.name) == architecture.default_model


@pytest.mark.parametrize(
    ("program", "message", "place"),
    [
        ("", "expected the names of the threads", None),
        (" Q0 ;\n nop ;", "expected the names of the threads", "3:2"),
        (" P0 | ;\n nop ;", "expected the names of the threads", None),
        (" P0 | P0 ;\n nop ;", "there is no place for thread 0", "3:7"),
        (" P0 | P2 ;\n nop ;", "there is no place for thread 2", "3:7"),
        (" P0 ", "not finished", None),
        (" P0 ;\n nop ;\n nop", "not finished", "5:2"),
        (" P0 ;\n nop | nop ;", "2 cells, but there are 1 threads", "4:6"),
        (" P0 ;\n L: ;\n L: nop ;", "`L` is defined twice", "5:2"),
        (" P0 ;\n b L ;\n K: ;", "there is no label `L`", "4:2"),
        (" P0 | P1 ;\n b L | L: ;", "there is no label `L`", "4:2"),
    ],
)
def test_broken_programs(program: str, message: str, place: str | None) -> None:
    found = error(f"PPC t\n{{}}\n{program}\nexists (x=0)\n")
    assert isinstance(found, ParseError)
    assert message in str(found)
    if place:
        assert str(found).startswith(f"t.litmus:{place}: ")


def test_unknown_label_lists_the_known_ones() -> None:
    assert "labels of this thread: K, M" in str(error("PPC t\n{}\n P0 ;\n K: M: b L ;\n"))


@pytest.mark.parametrize(
    ("cell", "place", "message"),
    [
        ("frob r1,r2", "4:7", "unknown PPC instruction `frob`"),
        ("L: lwzz r1,0(r2)", "4:10", "did you mean"),
        ("lwz r1,0(q2)", "4:16", "expected a register"),
        ("L: li r1", "4:10", "takes 2 operands"),
        ("bl f", "4:7", "there are no calls"),
    ],
)
def test_broken_instructions(cell: str, place: str, message: str) -> None:
    found = error(f"PPC t\n{{}}\n P0 | P1 ;\n nop |{cell} ;\nexists (x=0)\n")
    assert isinstance(found, UnsupportedError)
    assert str(found).startswith(f"t.litmus:{place}: ")
    assert message in str(found)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("3:r1=x", "there is no thread 3"),
        ("0:EAX=x", "`EAX` is not a register of PPC"),
        ("0:r1={1,2}", "cannot hold an array"),
        ("mystery x", "the type `mystery` is not known"),
        ("0:r1=x; 0:r1=y", "`r1` has another initial value already"),
        ("0:r1=1; 0:R1=2", "`R1` has another initial value already"),
        ("0:%a=1; 0:%a=2", "`%a` has another initial value already"),
    ],
)
def test_broken_initial_states(init: str, message: str) -> None:
    found = error(f"PPC t\n{{{init}}}\n P0 ;\n nop ;\nexists (x=0)\n")
    assert message in str(found)
    assert str(found).startswith("t.litmus:2:")


@pytest.mark.parametrize("init", ["0:rax=1; 0:eax=2", "0:eax=y; 1:eax=x; 0:eax=x"])
def test_contradictions_between_parts_of_a_register(init: str) -> None:
    found = error(f"X86_64 t\n{{{init}}}\n P0 | P1 ;\n nop | nop ;\nexists (x=0)\n")
    assert "the first one is in line 2, column 4" in str(found)


def test_registers_may_be_initialised_twice_alike() -> None:
    assert ppc(" P0 ;\n nop ;", "0:r1=x; 0:r1=x;").threads[0].registers == (("r1", Address("x")),)


@pytest.mark.parametrize(
    ("word", "cells"),
    [
        ("PPC", "nop 1|sync 2|hwsync 0|lwsync 0|eieio 17|isync foo|blr 1|dcbf r1|dcbf r1,foo|dcbt 1,2"),
        ("X86", "MFENCE EAX|SFENCE 1|LFENCE x|NOP x|NOP 1|PAUSE 1|RET 1"),
        ("X86_64", "mfence %eax|nopw foo|nopl $1|pause x|endbr64 1"),
        ("ARM", "NOP 1|YIELD R1|WFE R0|SEV foo|ISB 1|ISB ISH|PLD|PLD foo|PLD [R1],[R2]|DMB foo"),
        ("AArch64", "NOP 1|YIELD X0|WFE X1|SEV #1|ISB #1|HINT|HINT foo|HINT #128|HLT #1|.p2align x|RET X1"),
        ("RISCV", "nop 1|pause 1|fence.i 0|fence.tso rw,rw|ret x1|fence rw"),
    ],
)
def test_operands_that_do_not_belong(word: str, cells: str) -> None:
    for cell in cells.split("|"):
        found = error(f"{word} t\n{{}}\n P0 ;\n {cell} ;\nexists (x=0)\n")
        assert isinstance(found, UnsupportedError)
        assert str(found).startswith("t.litmus:4:")


def test_unknown_architecture() -> None:
    found = error("Alpha t\n{}\n P0 ;\n nop ;\n")
    assert str(found).startswith("t.litmus:1:1: error: the architecture `Alpha` is not known")
    assert "PPC, X86, X86_64, ARM, AArch64, RISCV, C" in str(found)


# Junk. Whatever happens to a test, it is parsed or there is an error for the user.

TESTS = (
    """PPC MP
"doc"
Com=Rf
{
0:r2=x; 0:r4=y;
1:r2=y; int z[2]={1,2};
}
 P0             | P1              ;
 li r1,1        | L: lwz r1,0(r2) ;
 stw r1,0(r2)   | cmpw r1,r1      ;
 lwsync         | bne L           ;
 stwcx. r1,0,r2 | lwzx r4,r1,r2   ;
locations [x; 1:r4;]
exists (1:r1=1 /\\ ~(1:r4=0 \\/ x={1,2}))
""",
    """X86 n7 (tex) "doc"
{x=0; P0:EAX=1};
 P0           | P1           ;
 mov [x],$1   | XCHG EAX,[y] ;
 lock inc [x] | MFENCE       ;
 CMP EAX,$-1  | L: JNE L     ;
final (P0:EAX=1 /\\ x=2);
with
tso: ~exists;
<< show 0 >>
""",
    """X86_64 t
{int64_t 0:rax=x;}
 P0                       ;
 movl $1,(x)              ;
 lock; cmpxchgl (x),%ebx  ;
 addq 8(%rax,%rbx,4),%rcx ;
forall 0:rax=1
""",
    """ARM t
{%x0=x; %y0=y;}
 P0                           | P1                ;
 LDR R0,[%x0] (* a (* b *) *) | STREX R0,R1,[R2]  ;
 EORS R1,R0,R0                | CMP R0,#0         ;
 DMB ISH                      | STRNE R1,[R2,#4]! ;
 B L                          | L:                ;
 L:                           |                   ;
filter (0:R0=1)
~exists (0:R0=1 => x=y)
""",
    """AArch64 t
{0:X1=x; 1:X1=x;}
 P0               | P1           ;
 MOV W0,#1        | LDAR W0,[X1] ;
 STLR W0,[X1]     | CBNZ W0,L    ;
 DMB LD           | L: ISB       ;
 SWPAL W0,W2,[X1] | EOR W1,W0,W0 ;
exists (1:X0=1)
""",
    """RISCV t
{0:x5=x; 1:x5=x;}
 P0                      | P1               ;
 ori x6,x0,1             | lw x6,0(x5)      ;
 sw x6,0(x5)             | bne x6,x0,L      ;
 fence rw,w              | L: fence.i       ;
 amoswap.w.aq x7,x6,(x5) | sc.w x8,x6,(x5)  ;
exists (1:x6=1)
""",
    """C t
{ [x]=0; int y; }
P0 (atomic_int* x, int* y) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  if (r0 == 1) { *y = (*y) + 2; } // comment
}
P1 (atomic_int* x) {
  atomic_store(x, 1); /* more */
}
exists (0:r0=1 /\\ [y]=2)
""",
)


def survives(text: str) -> None:
    found: DekkerError | None = None
    try:
        validate(parse_litmus(Source("junk.litmus", text)))
    except DekkerError as caught:
        found = caught
    if found is not None:
        span = found.diagnostic.span
        assert str(found)
        assert span is None or 0 <= span.start <= span.end <= len(text)


@pytest.mark.parametrize("text", TESTS, ids=lambda text: text.split()[0])
def test_the_seeds_of_junk_are_valid(text: str) -> None:
    parse(text)


@pytest.mark.parametrize("text", TESTS, ids=lambda text: text.split()[0])
def test_every_truncation(text: str) -> None:
    for length in range(len(text)):
        survives(text[:length])
        survives(text[length:])


CHARACTERS = st.one_of(st.sampled_from('{}[]()|;:=,.*/\\~"#%$&+-<> \n\t0159xXrRPLabIil'), st.characters())


@given(st.data())
def test_random_edits(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TESTS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        text = text[:start] + data.draw(st.text(CHARACTERS, max_size=4)) + text[end:]
    survives(text)


@given(st.data())
def test_lines_lost_swapped_and_mixed(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(TESTS)).split("\n") + data.draw(st.sampled_from(TESTS)).split("\n")
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=25))
    survives("\n".join(chosen))
    survives("\n".join([lines[0], "{}", " P0 | P1 ;", *chosen]))


@given(st.sampled_from(TESTS), st.randoms(use_true_random=False))
def test_shuffled_words(text: str, chooser: random.Random) -> None:
    words = text.split(" ")
    first, second = chooser.randrange(len(words)), chooser.randrange(len(words))
    words[first], words[second] = words[second], words[first]
    survives(" ".join(words))


@given(st.text(CHARACTERS, max_size=60))
@example("A[²")
@example("²")
@example("x=²")
def test_junk_everywhere(junk: str) -> None:
    survives(junk)
    for word in ("PPC", "X86", "X86_64", "ARM", "AArch64", "RISCV", "C"):
        survives(f"{word} t\n{junk}")
        survives(f"{word} t\n{{{junk}}}\n P0 ;\n nop ;\nexists (x=0)\n")
        survives(f"{word} t\n{{}}\n P0 ;\n {junk} ;\nexists (x=0)\n")
        survives(f"{word} t\n{{}}\nP0 () {{ {junk} }}\nexists (x=0)\n")
        survives(f"{word} t\n{{}}\n P0 ;\n nop ;\nexists {junk}")
