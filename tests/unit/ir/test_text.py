"""The printable form: what it looks like, that it parses back, and what the parser says about everything else."""

from __future__ import annotations

import re
import textwrap
import typing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies.ir_programs import ENDS, JUMPS, STRAIGHT, programs

import dekker.ir.text
from dekker.errors import ParseError
from dekker.ir.expressions import MAX_NESTING, Address, Binary, Const, Expr, Reg, Select, Unary, Unset
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Order,
    Print,
    Recycle,
    Refuse,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Cell, Function, Object, Program, Thread
from dekker.ir.property import (
    AddressValue,
    And,
    Condition,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Or,
    Property,
    Quantifier,
    RegisterValue,
    Truth,
)
from dekker.ir.text import (
    parse_program,
    print_expression,
    print_formula,
    print_instruction,
    print_program,
)
from dekker.source import Source

TEXT = """\
program "MP+lwsync+addr"
architecture PPC

object x[8]
object y[24] align 64 = {
  [0].4 = 1, [4].2 = -1, [6].1 = 7, [7].1 = 0,
  [8].8 = &x+4
}

function P0() {
  store.4 [r2] = r1
  fence lwsync
L0:
LC00:
  r3 = load.4 [r4 add.64 8] acquire
  branch (r3 and.32 1) eq.32 0 -> LC00
}

function "weird name"(a, b) {
  return
end:
}

thread P0 runs P0 with r1 = 1, r2 = &x, r4 = &y-8
thread P1 runs P0

~exists (0:r3:32 as "0:%x0" = 1 /\\ [y+8].8 = &x+4) \\/ ~(1:r3 = 0:r3)
filter true
observe 0:r3:32, [x].4
ignore assertions, memory-safety
forbid leaks
"""

PROGRAM = Program(
    "MP+lwsync+addr",
    "PPC",
    (
        Object("x", 8),
        Object(
            "y",
            24,
            (Cell(0, 4, 1), Cell(4, 2, -1), Cell(6, 1, 7), Cell(7, 1, 0), Cell(8, 8, Address("x", 4))),
            align=64,
        ),
    ),
    (
        Function(
            "P0",
            (),
            (
                Store(Reg("r2"), Reg("r1"), 4),
                Fence("lwsync"),
                Load("r3", Binary("add", 64, Reg("r4"), Const(8)), 4, Order.ACQUIRE),
                Branch(Binary("eq", 32, Binary("and", 32, Reg("r3"), Const(1)), Const(0)), "LC00"),
            ),
            {"L0": 2, "LC00": 2},
        ),
        Function("weird name", ("a", "b"), (Return(),), {"end": 1}),
    ),
    (
        Thread("P0", "P0", (("r1", Const(1)), ("r2", Address("x")), ("r4", Address("y", -8)))),
        Thread("P1", "P0"),
    ),
    Property(
        Condition(
            Quantifier.NOT_EXISTS,
            Or(
                (
                    And(
                        (
                            Equals(RegisterValue(0, "r3", 32, "0:%x0"), 1),
                            Equals(MemoryValue("y", 8, 8), AddressValue("x", 4)),
                        )
                    ),
                    Not(Equals(RegisterValue(1, "r3"), RegisterValue(0, "r3"))),
                )
            ),
        ),
        Truth(True),
        (RegisterValue(0, "r3", 32), MemoryValue("x", 0, 4)),
        assertions=False,
        memory_safety=False,
        leaks=True,
    ),
)

INSTRUCTIONS: list[tuple[Instruction, str]] = [
    (Assign("r1", Reg("r2")), "r1 = r2"),
    (Assign("%x0", Const(-1)), "%x0 = -1"),
    (Assign("CR0.eq", Address("x", -4)), "CR0.eq = &x-4"),
    (Assign("r1#2", Unary("sext", 32, Reg("r1"))), "r1#2 = sext.32 r1"),
    (Assign("load", Unary("neg", 8, Unary("not", 64, Reg("add.32")))), '"load" = neg.8 (not.64 "add.32")'),
    (Assign("a b", Select(Reg("c"), Const(1), Reg(""))), '"a b" = c ? 1 : ""'),
    (Load("r1", Address("x"), 4), "r1 = load.4 [&x]"),
    (Load("r1", Reg("r2"), 1, Order.ACQUIRE_PC, signed=True), "r1 = load.1 signed [r2] acquire_pc"),
    (Load("r1", Reg("r2"), 8, signed=True, exclusive=True), "r1 = load.8 signed exclusive [r2]"),
    (Store(Address("x"), Reg("r1"), 4, Order.RELEASE), "store.4 [&x] = r1 release"),
    (StoreConditional("r3", Reg("r1"), Const(1), 4), "r3 = store-conditional.4 [r1] = 1"),
    (Rmw("r0", "add", Address("x"), Const(1), 4, Order.ACQ_REL), "r0 = rmw.add.4 [&x], 1 acq_rel"),
    (Rmw(None, "umax", Address("x"), Const(1), 2), "rmw.umax.2 [&x], 1"),
    (CompareExchange("r0", None, Reg("p"), Const(0), Const(1), 4), "r0 = cmpxchg.4 [p] 0 -> 1"),
    (CompareExchange(None, None, Reg("p"), Const(0), Const(1), 4, Order.RELEASE), "cmpxchg.4 [p] 0 -> 1 release/plain"),
    (
        CompareExchange("r0", "ok", Reg("p"), Const(0), Const(1), 8, Order.SEQ_CST, Order.RELAXED, weak=True),
        "r0, ok = cmpxchg.8 weak [p] 0 -> 1 seq_cst/relaxed",
    ),
    (Fence("fence.rw.rw"), "fence fence.rw.rw"),
    (Jump("L1"), "jump L1"),
    (Branch(Binary("eq", 32, Reg("r1"), Const(0)), "L1"), "branch r1 eq.32 0 -> L1"),
    (Call(None, Address("f"), ()), "call &f()"),
    (Call("r1", Binary("add", 64, Reg("t"), Const(8)), (Reg("a"), Const(2))), "r1 = call (t add.64 8)(a, 2)"),
    (Return(), "return"),
    (Return(Reg("r1")), "return r1"),
    (Spawn("t", Address("f"), (Const(0),)), "t = spawn &f(0)"),
    (Join("v", Reg("t")), "v = join t"),
    (Join(None, Reg("t")), "join t"),
    (Assume(Reg("r1")), "assume r1"),
    (Await(Binary("ne", 32, Reg("r1"), Const(0)), "L1"), "await r1 ne.32 0 -> L1"),
    (Assert(Reg("r1"), 'x is "1"\n'), 'assert r1, "x is \\"1\\"\\n"'),
    (Print("%d %%\n", (Reg("r1"), Const(2))), 'print "%d %%\\n"(r1, 2)'),
    (Print("done"), 'print "done"()'),
    (Choose("r1", -1, 3), "r1 = choose -1..3"),
    (Allocate("p", Const(40)), "p = allocate 40"),
    (Allocate("p", Reg("n"), 64, zeroed=True, stack=True), "p = allocate n align 64 zeroed stack"),
    (Allocate("p", Const(8), permanent=True), "p = allocate 8 permanent"),
    (Allocate("p", Const(8), stack=True, confined=True), "p = allocate 8 stack confined"),
    (EndScope("p", Reg("p")), "p = end-scope p"),
    (EndScope("p", Reg("p"), confined=True), "p = end-scope confined p"),
    (Detach(Reg("t")), "detach t"),
    (Assign("x", Unset()), "x = unset"),
    (Store(Reg("p"), Reg("x"), 4, copy=True), "store.4 copied [p] = x"),
    (Free(Reg("p")), "free p"),
    (Measure("n", Reg("p")), "n = measure p"),
    (Recycle("p", Const(8)), "p = recycle 8"),
    (Renew(Reg("p"), Const(8)), "renew p, 8"),
    (Renew(Reg("p"), Reg("n"), zeroed=True), "renew p, n zeroed"),
    (AtomicBegin(), "atomic-begin"),
    (AtomicEnd(), "atomic-end"),
    (Exit(), "exit"),
    (Choose("r", 0, 3, partial=True), "r = choose 0..3 partial"),
    (Assert(Reg("r"), "never", loose=True), 'assert loose r, "never"'),
    (Refuse("signals"), 'refuse "signals"'),
    (Exit(everything=True), "exit everything"),
    (Exit(True, Reg("r")), "exit everything r"),
]

TRUE = Truth(True)
FORMULAS: list[tuple[Formula, str]] = [
    (Equals(RegisterValue(0, "r1"), -1), "0:r1 = -1"),
    (Equals(MemoryValue("x", -4, 2, "x[2]"), RegisterValue(1, "2", 8)), '[x-4].2 as "x[2]" = 1:"2":8'),
    (And((TRUE, Or((TRUE, TRUE)), Truth(False))), "true /\\ (true \\/ true) /\\ false"),
    (Or((And((TRUE, TRUE)), And(()))), "(true /\\ true) \\/ all()"),
    (And((Or((TRUE,)),)), "all(any(true))"),
    (Not(Not(And((TRUE, TRUE)))), "~(~(true /\\ true))"),
]


def parse(text: str) -> Program:
    return parse_program(Source("t.ir", text))


def in_body(lines: str) -> str:
    return f"program p architecture a function f() {{\n{lines}\n}}"


def test_a_program_prints_as_documented() -> None:
    assert print_program(PROGRAM) == TEXT


def test_a_program_parses_back() -> None:
    assert parse(TEXT) == PROGRAM


def test_the_documented_example_is_as_printed() -> None:
    documentation = dekker.ir.text.__doc__ or ""
    text = textwrap.dedent(documentation[documentation.index("    program") : documentation.index("Grammar.")])
    assert print_program(parse(text)) == text.rstrip() + "\n"


@pytest.mark.parametrize(("instruction", "text"), INSTRUCTIONS, ids=[text for _, text in INSTRUCTIONS])
def test_instructions(instruction: Instruction, text: str) -> None:
    assert print_instruction(instruction) == text
    assert parse(in_body(text)).functions[0].body == (instruction,)


@pytest.mark.parametrize(("formula", "text"), FORMULAS, ids=[text for _, text in FORMULAS])
def test_formulas(formula: Formula, text: str) -> None:
    assert print_formula(formula) == text
    assert parse(f"program p architecture a filter {text}").property.filter == formula


def test_every_instruction_is_tested() -> None:
    every = set(typing.get_args(Instruction))
    assert {type(instruction) for instruction, _ in INSTRUCTIONS} == every
    assert {*STRAIGHT, *ENDS, *JUMPS, AtomicBegin, AtomicEnd, Await} == every


@given(programs())
def test_every_valid_program_parses_back(program: Program) -> None:
    text = print_program(program)
    assert parse(text) == program
    text.encode()


@given(programs())
def test_spans_of_a_parsed_program_show_its_instructions(program: Program) -> None:
    parsed = parse(print_program(program))
    for function in parsed.functions:
        assert [span.text for span in function.spans if span] == list(map(print_instruction, function.body))
    assert parsed.source is not None


def test_layout_of_the_text_is_free() -> None:
    head = "program p architecture\na // comment\n\nobject\nx [ 0x8 ]\n"
    text = head + "function f ( ) { L: jump L // again\n}\r\n\tthread t runs f"
    jump = Function("f", (), (Jump("L"),), {"L": 0})
    assert parse(text) == Program("p", "a", (Object("x", 8),), (jump,), (Thread("t", "f"),))


def test_parts_may_come_in_any_order() -> None:
    text = "program p architecture a exists true thread t runs f function f() { return } object x[1] observe [x].1"
    program = parse(text)
    assert program.functions[0].body == (Return(),)
    assert program.property.condition == Condition(Quantifier.EXISTS, TRUE)


# --- errors


def error(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.diagnostic.span is not None
    return caught.value


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("r1 = r2 r3", 9, "expected the end of the line, but found `r3`", "one instruction per line"),
        ("laod.4 [x]", 8, "expected `=` or `:` behind `laod.4`", "did you mean `load`?"),
        ("load.4 [x]", 1, "expected a register for the result", "r1 = load.4"),
        ("r1 = load [x]", 6, "expected a number behind `load`", "load.4"),
        ("r1 = load.x [x]", 6, "expected a number behind `load.x`", "load.4"),
        ("r1 = load.4 x", 13, "expected `[`, but found `x`", None),
        ("rmw.mul.4 [x], 1", 1, "expected `rmw`, an operator and a size", "operators: xchg, add"),
        ("r1 = exists", 6, "expected an expression, but found `exists`", "a register, a number"),
        ("jump exists", 6, "expected a label, but found `exists`", 'quote it: "exists"'),
        ("a, b = load.4 [x]", 8, "expected `cmpxchg`", "two results"),
        ("a = cmpxchg.4 [x] 0 -> 1 seq_cst/", 0, "expected the memory order of a failure", "seq_cst"),
        ("assert r1, oops", 12, "expected a message between double quotes", None),
        ('jump "abc', 6, "this string has no end on its line", None),
        ('jump "a\\qc"', 6, "unknown escape \\q", "known escapes"),
        ('jump "\\u{110000}"', 6, "there is no character 110000", None),
        ("jump !", 6, "unexpected character `!`", "quote unusual names"),
        ("r1 = 18446744073709551616", 6, "does not fit into 64 bits", None),
        ("r1 = " + 5000 * "9", 6, "does not fit into 64 bits", None),
        ("r1 = r2 add." + 5000 * "9" + " r2", 9, "expected a number behind", None),
        ("r1 = " + 5000 * "(", 6 + MAX_NESTING, f"brackets nest deeper than {MAX_NESTING}", None),
        ("L:\nL:", 1, "the label `L` stands in this function twice", None),
        ("call &f", 0, "expected `(`", None),
        ("call &f(1 2)", 11, "expected `,` or `)`", None),
        (": x", 1, "expected an instruction, a label or `}`", "store, fence"),
    ],
)
def test_errors_in_functions(text: str, column: int, message: str, hint: str | None) -> None:
    diagnostic = error(in_body(text)).diagnostic
    assert diagnostic.span is not None
    assert message in diagnostic.message
    assert hint is None or hint in (diagnostic.hint or "")
    if column:
        assert diagnostic.span.column == column


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected `program`, but the text ends"),
        ("program", "expected the name of the program"),
        ("program p", "expected `architecture`"),
        ("program p architecture a function f() {", "but the text ends"),
        ("program p architecture a junk", "expected the next part of the program"),
        ("program p architecture a exists true forall true", "at most one condition"),
        ("program p architecture a filter true filter true", "at most one filter"),
        ("program p architecture a ignore all", "expected `assertions` or `memory-safety`"),
        ("program p architecture a object x[8] = { [0] = 1 }", "expected the size of the value"),
        ("program p architecture a exists true /\\ true \\/ true", "side by side"),
        ("program p architecture a exists " + 5000 * "~", "nest deeper"),
        ("program p architecture a exists " + 5000 * "all(", "nest deeper"),
        ("program p architecture a exists " + 5000 * "~(", "nest deeper"),
        ("program p architecture a exists x", "expected a condition"),
        ("program p architecture a thread t runs f with r = r2", "expected a number or `&object`"),
    ],
)
def test_errors_elsewhere(text: str, message: str) -> None:
    assert message in str(error(text))


def deep(levels: int) -> tuple[Expr, Formula]:
    expression: Expr = Reg("r")
    formula: Formula = TRUE
    for level in range(levels):
        expression = Unary("not", 64, expression)
        formula = Not(formula) if level % 2 else And((formula,))
    return expression, formula


def test_the_deepest_expressions_and_formulas_parse_back() -> None:
    expression, formula = deep(MAX_NESTING)
    text = f"{in_body('call (' + print_expression(expression) + ')()')} filter {print_formula(formula)}"
    program = parse(text)
    assert print_instruction(program.functions[0].body[0]) == f"call ({print_expression(expression)})()"
    assert program.property.filter == formula


def problem_of(text: str) -> ParseError | None:
    try:
        parse(text)
    except ParseError as problem:
        return problem
    return None


def assert_parses_or_explains(text: str) -> None:
    problem = problem_of(text)
    assert problem is None or re.match(r"t\.ir:\d+:\d+: error: .", str(problem))


PIECES = re.findall(r"\w+|\W", TEXT + "\n".join(text for _, text in INSTRUCTIONS))


@given(st.integers(0, len(TEXT)))
def test_truncated_texts_never_crash_the_parser(length: int) -> None:
    assert_parses_or_explains(TEXT[:length])


@given(st.integers(0, len(TEXT)), st.integers(0, 3), st.one_of(st.text(max_size=3), st.sampled_from(PIECES)))
def test_edited_texts_never_crash_the_parser(position: int, removed: int, inserted: str) -> None:
    assert_parses_or_explains(TEXT[:position] + inserted + TEXT[position + removed :])


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@example('"')
@example('"\\')
def test_junk_never_crashes_the_parser(junk: str) -> None:
    assert_parses_or_explains(junk)
    assert_parses_or_explains(in_body(junk))
    assert_parses_or_explains("program p architecture a " + junk)
