"""One broken program for every rule, and no complaint about valid ones."""

from __future__ import annotations

import timeit
from dataclasses import replace

import pytest
from hypothesis import given
from tests.strategies.ir_programs import programs

from dekker.errors import ValidationError
from dekker.ir.expressions import MAX_NESTING, Address, Binary, Const, Expr, Reg, Unary
from dekker.ir.instructions import Assign, Call, Choose, CompareExchange, Fence, Instruction, Load, Order, Rmw, Store
from dekker.ir.program import Cell, Function, Object, Program, Thread
from dekker.ir.property import And, Condition, Formula, Property, Quantifier, RegisterValue, Truth
from dekker.ir.text import parse_program, print_instruction
from dekker.ir.validate import validate
from dekker.source import Source

PROGRAM = """
program p architecture PPC
object x[8]
object y[16] = { [0].4 = 1, [8].8 = &x }
function f(a, b) {
  return a add.32 b
}
function P0() {
  r1 = load.4 [&x]
L:
  r2 = call &f(r1, 1)
  store.4 [&y+8] = r2
  branch r2 eq.32 0 -> L
}
thread P0 runs P0 with r3 = 4
exists 0:r1:32 = 1 /\\ [y+8].8 = &x
observe 0:r1:32, [x].4
"""


def parse(text: str) -> Program:
    return parse_program(Source("t.ir", text))


def message(program: Program) -> str:
    with pytest.raises(ValidationError) as caught:
        validate(program)
    return str(caught.value)


@given(programs())
def test_generated_programs_are_valid(program: Program) -> None:
    validate(program)


def test_the_example_is_valid() -> None:
    validate(parse(PROGRAM))


def test_a_message_names_the_instruction_and_points_at_it() -> None:
    program = parse(PROGRAM.replace("-> L", "-> M"))
    assert message(program) == (
        "t.ir:13:3: error: function `P0`, instruction 3, `branch r2 eq.32 0 -> M`: there is no label `M`\n"
        "    branch r2 eq.32 0 -> M\n"
        "    ^^^^^^^^^^^^^^^^^^^^^^\n"
        "\n"
        "hint: known: L"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("object y", "object x", "two objects have the name `x`"),
        ("function f", "function P0", "two functions have the name `P0`"),
        ("thread", "thread P0 runs P0\nthread", "two threads have the name `P0`"),
        ("(a, b)", "(a, a)", "function `f`: two parameters have the name `a`"),
        ("[8].8 = &x", "[8].8 = &z", "object `y`: there is no object or function `z`"),
        ("[8].8 = &x", "[9].8 = &x", "8 bytes at 9 are not inside the 16 bytes of `y`"),
        ("[8].8 = &x", "[-1].1 = 0", "1 bytes at -1 are not inside"),
        ("[8].8 = &x", "[2].8 = &x", "object `y`: the cells at 0 and 2 overlap"),
        ("[8].8 = &x", "[8].2 = &x", "an address does not fit into 2 bytes"),
        ("[8].8 = &x", "[8].3 = 0", "an access of 3 bytes"),
        ("[0].4 = 1", "[0].1 = 256", "the number 256 does not fit into 8 bits"),
        ("[0].4 = 1", "[0].1 = -129", "the number -129 does not fit into 8 bits"),
        ("x[8]", "x[-8]", "object `x`: the size -8 is negative"),
        ("x[8]", "x[8] align 3", "the alignment 3 is not a power of two"),
        ("x[8]", "x[8] align 0", "the alignment 0 is not a power of two"),
        ("x[8]", "x[0x70000000]", "the objects do not fit into memory"),
        ("runs P0", "runs P2", "thread `P0`: there is no function `P2`"),
        ("runs P0", "runs f", "the parameter `a` of `f` has no value"),
        ("r3 = 4", "r3 = 4, r3 = 5", "thread `P0`: two registers have the name `r3`"),
        ("r3 = 4", "r3 = &z", "thread `P0`: there is no object or function `z`"),
        ("0:r1:32 = 1", "1:r1:32 = 1", "property: there is no thread 1"),
        ("0:r1:32 = 1", "0:r1:65 = 1", "property: the width 65 is not from 1 to 64"),
        ("[y+8].8 =", "[y+9].8 =", "property: 8 bytes at 9 are not inside"),
        ("[y+8].8 = &x", "[y+8].8 = &z", "property: there is no object or function `z`"),
        ("[y+8].8 = &x", "[P0].8 = &x", "property: there is no object `P0`"),
        ("exists", "filter [z].4 = 0\nexists", "property: there is no object `z`"),
        ("[x].4\n", "[z].4\n", "property: there is no object `z`"),
        ("[x].4\n", "0:r1:32\n", "property: something is observed twice"),
    ],
)
def test_rules_of_programs(old: str, new: str, expected: str) -> None:
    assert old in PROGRAM
    assert expected in message(parse(PROGRAM.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("jump M", "there is no label `M`"),
        ("branch r1 -> M", "there is no label `M`"),
        ("branch &z -> L", "there is no object or function `z`"),
        ("await r1 -> M", "there is no label `M`"),
        ("await r1 -> L", "an await goes back, but the label `L` stands behind it"),
        ("fence snyc", "there is no fence `snyc`"),
        ("r1 = load.3 [&x]", "an access of 3 bytes"),
        ("r1 = load.16 [&x]", "an access of 16 bytes"),
        ("r1 = load.4 [&x] release", "a load cannot have the order `release`"),
        ("store.4 [&x] = 1 acquire", "a store cannot have the order `acquire`"),
        ("store.4 [&x] = 1 consume", "a store cannot have the order `consume`"),
        ("r1 = store-conditional.4 [&x] = 1 acquire_pc", "a store-conditional cannot have the order"),
        ("rmw.add.4 [&x], 1 acquire_pc", "a read-modify-write cannot have the order"),
        ("r1 = cmpxchg.4 [&x] 0 -> 1 seq_cst/release", "a failed compare-exchange cannot have the order `release`"),
        ("r1, r1 = cmpxchg.4 [&x] 0 -> 1", "both results go to the register `r1`"),
        ("r1 = r2 add.0 r3", "the width 0 is not from 1 to 64"),
        ("r1 = sext.65 r3", "the width 65 is not from 1 to 64"),
        ("r1 = r2 ? 1 : &z", "there is no object or function `z`"),
        ("store.4 [(&z add.64 1)] = 1", "there is no object or function `z`"),
        ("store.4 [&x] = &z", "there is no object or function `z`"),
        ("r2 = call &f(r1)", "the function `f` has 2 parameters, but this passes 1"),
        ("r2 = spawn &f(r1, 2, 3)", "the function `f` has 2 parameters, but this passes 3"),
        ("call &x()", "`x` is an object, not a function"),
        ("call &f+1(1, 2)", "this is not the start of the function `f`"),
        ("call r1(&z)", "there is no object or function `z`"),
        ("return &z", "there is no object or function `z`"),
        ("join &z", "there is no object or function `z`"),
        ("assume &z", "there is no object or function `z`"),
        ('assert &z, "no"', "there is no object or function `z`"),
        ("free &z", "there is no object or function `z`"),
        ("r1 = choose 3..2", "there is no number from 3 to 2"),
        ("r1 = allocate 8 align 12", "the alignment 12 is not a power of two"),
        ("r1 = allocate &z", "there is no object or function `z`"),
    ],
)
def test_rules_of_instructions(line: str, expected: str) -> None:
    text = message(parse(PROGRAM.replace("L:\n", f"  {line}\nL:\n")))
    assert expected in text
    assert f"function `P0`, instruction 1, `{line.replace('(&z add.64 1)', '&z add.64 1')}`: " in text
    assert "t.ir:10:3: " in text


@pytest.mark.parametrize(
    "line",
    [
        "r1 = load.4 [&x] acq_rel",
        "store.4 [&x] = 1 acq_rel",
        "r1 = load.4 exclusive [&x] release",
        "r1 = load.4 [&x] acquire_pc",
        "r1 = store-conditional.4 [&x] = 1 acquire",
        "rmw.xchg.8 [&x], 1 consume",
        "r1 = cmpxchg.4 [&x] 0 -> 1 release/acquire",
        "r1 = choose -5..-5",
        "call r1(1, 2, 3)",
        "r1 = &x+100",
        "r1 = &f",
    ],
)
def test_valid_instructions(line: str) -> None:
    validate(parse(PROGRAM.replace("L:\n", f"  {line}\nL:\n")))


def with_body(*body: Instruction, **fields: object) -> Program:
    function = replace(Function("f", (), body), **fields)  # type: ignore[arg-type]
    return Program("p", "C", (Object("x", 8),), (function,), (Thread("t", "f"),))


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        (Assign("r", Unary("inc", 64, Reg("r"))), "there is no operator `inc`"),
        (Assign("r", Binary("pow", 64, Reg("r"), Reg("r"))), "there is no operator `pow`"),
        (Assign("r", Binary("add", -1, Reg("r"), Reg("r"))), "the width -1"),
        (Assign("r", Address("x", 1 << 64)), "does not fit into 64 bits"),
        (Rmw(None, "mul", Address("x"), Const(1), 4), "there is no operator `mul`"),
        (Choose("r", 0, 1 << 64), "does not fit into 64 bits"),
        (Fence(""), "there is no fence ``"),
        (Store(Address("x"), Const(1), 0), "an access of 0 bytes"),
    ],
)
def test_rules_of_instructions_that_no_text_breaks(instruction: Instruction, expected: str) -> None:
    text = message(with_body(instruction))
    assert expected in text
    assert print_instruction(instruction) in text


def test_rules_of_functions_that_no_text_breaks() -> None:
    span = parse(PROGRAM).functions[0].spans[0]
    assert "the label `L` is at 2, outside the 1 instructions" in message(with_body(Fence("sync"), labels={"L": 2}))
    assert "the label `L` is at -1" in message(with_body(Fence("sync"), labels={"L": -1}))
    assert "there are 2 spans for 1 instructions" in message(with_body(Fence("sync"), spans=(span, span)))
    validate(with_body(Fence("sync"), labels={"L": 1, "M": 0}, spans=(None,)))


def deep(levels: int) -> tuple[Expr, Formula]:
    expression: Expr = Reg("r")
    formula: Formula = Truth(True)
    for _ in range(levels):
        expression, formula = Unary("not", 64, expression), And((formula,))
    return expression, formula


def test_nesting_is_bounded() -> None:
    expression, formula = deep(MAX_NESTING)
    validate(replace(with_body(Assign("r", expression)), property=Property(filter=formula)))
    expression, formula = deep(MAX_NESTING + 1)
    assert f"an expression nests deeper than {MAX_NESTING}" in message(with_body(Assign("r", expression)))
    condition = Condition(Quantifier.FORALL, formula)
    assert "property: a formula nests deeper" in message(replace(with_body(), property=Property(condition)))


def test_an_object_hides_the_function_of_its_name() -> None:
    program = replace(with_body(Load("r", Address("f"), 4)), objects=(Object("f", 4, (Cell(0, 4, 7),)),))
    validate(program)
    called = replace(program, functions=(Function("f", (), (Call(None, Address("f"), ()),)),))
    assert "`f` is an object, not a function" in message(called)


def test_property_numbers_fit_into_64_bits() -> None:
    program = parse(PROGRAM)
    observed = (RegisterValue(0, "r1"), RegisterValue(-1, "r1"))
    assert "there is no thread -1" in message(replace(program, property=Property(observed=observed)))


# --- atomic sections

SECTIONS = """
program p architecture C
object x[8]
function begin() {{
  atomic-begin
}}
function end() {{
  atomic-end
  return
}}
function t() {{
{}
}}
thread t runs t
"""


@pytest.mark.parametrize(
    "body",
    [
        "atomic-begin\nstore.4 [&x] = 1\natomic-end\natomic-begin\natomic-end",
        "branch r -> L\natomic-begin\nr = 1\natomic-end\nL:",
        "call &begin()\nr = 1\ncall &end()",
        "atomic-begin\ncall &end()",
        "L:\natomic-begin\natomic-end\njump L",
        "atomic-begin\nexit everything",
        # Only some paths are wrong, and they may never be taken.
        "branch r -> L\natomic-begin\nL:\nr = 1\nbranch r -> M\natomic-end\nM:",
        "L:\natomic-begin\nbranch r -> L\natomic-end",
    ],
)
def test_valid_atomic_sections(body: str) -> None:
    validate(parse(SECTIONS.format(body)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("atomic-begin\natomic-begin\natomic-end", "instruction 1, `atomic-begin`: an atomic section begins inside"),
        ("atomic-end", "instruction 0, `atomic-end`: an atomic section ends that has not begun"),
        ("atomic-begin\nreturn", "instruction 1, `return`: the thread ends inside an atomic section"),
        ("atomic-begin\nexit", "instruction 1, `exit`: the thread ends inside an atomic section"),
        ("atomic-begin\nr = 1", "function `t`: the thread ends inside an atomic section"),
    ],
)
def test_invalid_atomic_sections(body: str, expected: str) -> None:
    assert expected in message(parse(SECTIONS.format(body)))


def test_orders_of_updates() -> None:
    update = CompareExchange("r", None, Address("x"), Const(0), Const(1), 4, Order.ACQ_REL, Order.ACQ_REL)
    validate(with_body(update))


def test_validation_takes_little_time() -> None:
    """A generous bound, against accidents such as quadratic work: some thirty instructions in well under 1 ms."""
    program = parse(PROGRAM)
    body = program.functions[1].body * 8
    program = replace(program, functions=(program.functions[0], Function("P0", (), body, {"L": 0})))
    validate(program)
    assert min(timeit.repeat(lambda: validate(program), number=10, repeat=5)) / 10 < 1e-3
