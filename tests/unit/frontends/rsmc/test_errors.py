"""What the RSMC language refuses, and how it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dekker.errors import DekkerError, ParseError
from dekker.frontends.rsmc import parse_rsmc
from dekker.ir.text import parse_program, print_program
from dekker.ir.validate import validate
from dekker.source import Source

EXAMPLES = Path(__file__).parents[4] / "examples" / "rsmc"


def check_error(text: str, line: int, column: int, message: str, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_rsmc(Source("t.rsmc", text))
    diagnostic = caught.value.diagnostic
    assert message in diagnostic.message
    assert hint in (diagnostic.hint or "")
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "the file is empty", "thread P:"),
        ("// nothing", 1, "the file is empty", "thread P:"),
        ("x = 0", 6, "expected a thread, found the end of the file", "`thread P:`"),
        ("x =", 4, "expected a number", "`&y`"),
        ("x = 1e", 5, "neither a number nor a name", "decimal"),
        ("x 0", 3, "expected `=`, found `0`", "`x = 0`"),
        ("x := 1", 1, "instructions belong to a thread", "`thread P:`"),
        ("L0: x := 1", 1, "instructions belong to a thread", "`thread P:`"),
        ("exists (x=1)", 1, "expected a variable or a thread", "reserved word"),
        ("x = 0, y = 0", 6, "expected a variable or a thread, found `,`", "`x = 0`"),
        ("x = 0 x = 1", 7, "two variables `x`", "line 1, column 1"),
        ("x = &z thread P: r := 1", 6, "no variable `z`", "`z = 0`"),
        ("flag = 0 x = &flg thread P: r := 1", 15, "no variable `flg`", "did you mean `flag`?"),
        ("x = 18446744073709551616", 5, "does not fit into 64 bits", "2⁶⁴-1"),
        ("x = -9223372036854775809", 5, "does not fit into 64 bits", "-2⁶³"),
        ("x = " + "9" * 5000, 5, "neither a number", "decimal"),
        ("thread P: thread Q: r := 1", 11, "expected an instruction of thread P", "one below the other"),
        ("thread P: L: exists (true)", 14, "expected an instruction of thread P", "one below the other"),
        ("thread 1: r := 1", 8, "expected a name or the number 0", "numbered from 0"),
        ("thread P r := 1", 10, "expected `:`", "`thread P:`"),
        ("thread if: r := 1", 8, "expected the name of the thread", "reserved word"),
        ("thread P: r := 1; thread P: r := 1", 26, "two threads `P`", "column 8"),
        ("thread P: r := 1 thread Q: s := 1", 18, "expected `;`", "or with the line"),
        ("thread P: r := é", 16, "unexpected character `é`", "ASCII"),
        ("thread P: r := \0", 16, "unexpected character number 0", "ASCII"),
        ("thread P: r := 1 /* x", 18, "not closed", "`*/`"),
    ],
)
def test_programs(text: str, column: int, message: str, hint: str) -> None:
    check_error(text, 1, column, message, hint)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("r1 := x + 1", 7, "`x` is a shared variable", "`r := x`"),
        ("r1 := 1 + x", 11, "`x` is a shared variable", "`&x`"),
        ("y := x", 6, "`x` is a shared variable", "`r := x`"),
        ("if x goto L0", 4, "`x` is a shared variable", "`r := x`"),
        ("r1 := [x]", 8, "`x` is a shared variable", "`&x`"),
        ("y := [r0]", 6, "expected a number, a register or `&x`, found `[`", "a load stands alone"),
        ("r1 := [&x] + 1", 12, "expected `;`", "a load stands alone"),
        ("r1 := x y := 1", 9, "expected `;`", "a load stands alone"),
        ("r1 := [&x", 10, "expected `]`", "bracket"),
        ("r1 := (1", 9, "expected `)`", "parenthesis"),
        ("r1 := 1)", 8, "expected `;`", "with the line"),
        ("r1 :=", 6, "found the end of the file", "`r0 + 1`"),
        ("r1 := &", 8, "expected the name of a variable", "`&x`"),
        ("r1 := &q", 8, "no variable `q`", "`q = 0`"),
        ("r1 := &r0", 8, "no variable `r0`", "`r0 = 0`"),
        ("r1 = 1", 4, "expected `:=`, found `=`", "`:=`"),
        ("r1 := z", 7, "nothing in thread P assigns the register `z`", "`z = 0`"),
        ("[r0] = 1", 6, "expected `:=`", "`[a] := e`"),
        ("5 := r0", 1, "expected an instruction, found `5`", "`lwsync`"),
        ("if r0 then goto L0", 7, "expected `goto`", "`if r0 = 1 goto L`"),
        ("if r0 goto", 11, "expected a label", "`L:`"),
        ("goto sync", 6, "expected a label, found `sync`", "reserved word"),
        ("goto L9", 6, "no label `L9`", "labels of this thread: `L0`"),
        ("DONE: goto DON", 12, "no label `DON`", "did you mean `DONE`?"),
        ("goto M0", 6, "no label `M0` in thread P", "it is in thread Q"),
        ("L0: r1 := 1", 1, "two labels `L0`", "line 5, column 1"),
        ("M0: r1 := 1", 1, "two labels `M0`", "line 3, column 1"),
        ("lwsinc", 1, "`lwsinc` is not an instruction", "did you mean `lwsync`?"),
        ("mfence;", 1, "`mfence` is not an instruction", "`eieio`"),
        ("sync r0", 6, "expected `;`, found `r0`", "takes no operands"),
        ("r1 r2 := 1", 4, "expected `:=`, found `r2`", "`r := e`"),
        ("r1 := " + "(" * 60 + "1" + ")" * 60, 57, "more than 50 operators", "registers"),
        ("r1 := " + "-" * 60 + "r0", 57, "more than 50 operators", "registers"),
        ("r1 := 1" + "+1" * 60, 108, "more than 50 operators", "registers"),
    ],
)
def test_instructions(text: str, column: int, message: str, hint: str) -> None:
    check_error(f"x = 0 y = 0\nthread Q:\nM0: r2 := x\nthread P:\nL0: r0 := x;\n{text}", 6, column, message, hint)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("exists", 7, "expected the name of a register or location", "`0:r1=1`"),
        ("exists (P:r0=1", 15, "expected `)`", "`0:r1=1`"),
        ("exists (P:r0=1 /\\ )", 19, "found `)`", "join them"),
        ("exists (Q:r0=1)", 9, "there is no thread Q", "threads: `P`; or their numbers"),
        ("exists (1:r0=1)", 9, "there is no thread 1", "threads: `P`"),
        ("exists (P0:r0=1)", 9, "there is no thread P0", "threads: `P`"),
        ("exists (P:r9=1)", 11, "nothing in thread P assigns the register `r9`", "registers of P: `r0`"),
        ("exists (P:x=1)", 11, "nothing in thread P assigns the register `x`", "registers of P: `r0`"),
        ("exists (P:if=1)", 11, "expected a register, found `if`", "reserved word"),
        ("exists (r0=1)", 9, "there is no variable `r0`", "`P:r0`"),
        ("exists (z=1)", 9, "there is no variable `z`", "variables: `x`"),
        ("exists (x=z)", 11, "there is no variable `z`", "variables: `x`"),
        ("exists (x[1]=1)", 9, "there are no arrays", "`exists (P:r0=1"),
        ("exists (x={1,2})", 11, "there are no arrays", "`exists (P:r0=1"),
        ("exists (x<1)", 10, "expected `=`, found `<`", "`x=2`"),
        ("exists (x=18446744073709551616)", 11, "does not fit into 64 bits", "2⁶⁴-1"),
        ("exists (x=1) exists (x=2)", 14, "the test should end here", "join conditions"),
        ("exists (x=1) thread Q: r := 1", 14, "`thread` does not belong in a condition", "before it"),
        ("exists (%x=1)", 9, "`%` does not belong in a condition", "`exists (P:r0=1"),
        ("~ (x=1)", 1, "the test should end here", ""),
        ("locations [x", 13, "expected `;` or `]`", "`locations [x; 0:r1;]`"),
        ("exists " + "(" * 200 + "x=1", 99, "nested too deeply", ""),
    ],
)
def test_conditions(text: str, column: int, message: str, hint: str) -> None:
    check_error(f"x = 0\nthread P:\nL0: r0 := x;\n{text}", 4, column, message, hint)


def test_a_figure_without_its_declarations_is_not_read_as_registers() -> None:
    text = "thread P:\nL0: r := x\nthread Q:\nL1: x := 1\n"
    check_error(text, 2, 10, "nothing in thread P assigns the register `x`", "`x = 0`")


def test_a_defect_of_the_program_shows_its_line_and_a_caret() -> None:
    with pytest.raises(ParseError) as caught:
        parse_rsmc(Source("t.rsmc", "x = 0\nthread P:\n  r := x + 1;\n"))
    assert str(caught.value).splitlines()[:3] == [
        "t.rsmc:3:8: error: `x` is a shared variable, but expressions are over numbers and registers",
        "    r := x + 1;",
        "         ^",
    ]


# Nothing but an error with a position comes out of bad input.

SEEDS = [
    *(file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.rsmc"))),
    """p = &x x = -1; // c
thread 0:
A: r := [&x + r*0]; if !(r <> 0x1) || r >= -2 && r goto A
[r] := ~r; /* */ goto B
B: # end
locations [x; 0:r;]
filter (0:r=&x)
forall (0:r=1 \\/ x=p => ~ [x]=2)
""",
]
PIECES = [
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ":=",
        "=",
        ";",
        ",",
        "&",
        "&&",
        "~",
        "%",
        "|",
        "^",
        "+",
        "*",
        "$",
        "!",
        "-",
        "/\\",
        "\\/",
        "=>",
        "<<",
        ">>",
    ),
    *("/*", "*/", "//", "#", "\n", " ", "thread", "goto", "if", "exists", "~exists", "forall", "locations", "filter"),
    *("sync", "x", "r", "P", "0", "1", "0x", "99999999999999999999", "L0", "NULL", "true", "not", "é", "\0", "\ufeff"),
]


def check_all_is_told(text: str) -> None:
    try:
        program = parse_rsmc(Source("fuzz.rsmc", text))
    except DekkerError as error:
        told = error
    else:
        validate(program)
        assert parse_program(Source("printed", print_program(program))) == program
        return
    assert told.diagnostic.span is not None
    assert "^" in str(told)


def test_the_seeds_are_good() -> None:
    assert len(SEEDS) == 6
    for seed in SEEDS:
        validate(parse_rsmc(Source("seed.rsmc", seed)))


@pytest.mark.parametrize("seed", SEEDS)
def test_cut_anywhere(seed: str) -> None:
    for end in range(len(seed)):
        check_all_is_told(seed[:end])


@st.composite
def mutations(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from((0, 1, 2, 5, 40))))
        new = draw(st.one_of(st.sampled_from(PIECES), st.just(""), st.just(text[start:end] * 2), st.text(max_size=3)))
        text = text[:start] + new + text[end:]
    return text


@settings(max_examples=600)
@given(mutations())
def test_mutations(text: str) -> None:
    check_all_is_told(text)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_junk(text: str) -> None:
    check_all_is_told("x = 0 thread P: r := x; " + text)
