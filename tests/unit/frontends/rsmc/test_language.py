"""What programs in the language of the RSMC paper mean."""

from __future__ import annotations

import pytest
from tests.unit.frontends.litmus.sequential import execute

from dekker.frontends.rsmc import parse_rsmc
from dekker.ir.expressions import Address, Binary, Const, Reg
from dekker.ir.instructions import Assign, Branch, Fence, Instruction, Jump, Load, Store
from dekker.ir.program import Cell, Program, Thread
from dekker.ir.property import AddressValue, And, Condition, Equals, MemoryValue, Not, Quantifier, RegisterValue
from dekker.ir.text import parse_program, print_program
from dekker.ir.validate import validate
from dekker.source import Source


def parse(text: str) -> Program:
    program = parse_rsmc(Source("folder/test.rsmc", text))
    validate(program)
    return program


def body(text: str) -> tuple[Instruction, ...]:
    """The instructions of a thread over the variables x and y."""
    return parse(f"x = 0 y = 0\nthread P:\n{text}\n").functions[0].body


FIGURE_2 = """x = 0 y = 0

thread P:
L0: r0 := x;
L1: y := r0+1;

thread Q:
L2: r1 := y;
L3: x := 1;
"""


def test_figure_2_as_it_is_printed() -> None:
    program = parse(FIGURE_2)
    assert (program.name, program.architecture) == ("test", "RSMC")
    assert [item.name for item in program.objects] == ["x", "y"]
    assert program.threads == (Thread("P", "P"), Thread("Q", "Q"))
    first, second = program.functions
    assert first.body == (Load("r0", Address("x"), 8), Store(Address("y"), Binary("add", 64, Reg("r0"), Const(1)), 8))
    assert second.body == (Load("r1", Address("y"), 8), Store(Address("x"), Const(1), 8))
    assert (first.labels, second.labels) == ({"L0": 0, "L1": 1}, {"L2": 0, "L3": 1})
    assert [span.text for span in first.spans if span] == ["r0 := x", "y := r0+1"]


def test_a_name_alone_is_short_for_its_place() -> None:
    assert body("r := x; x := 1") == body("r := [&x]; [&x] := 1")


def test_the_instructions() -> None:
    assert body("r := 1; s := r") == (Assign("r", Const(1)), Assign("s", Reg("r")))
    address = Binary("add", 64, Address("x"), Binary("mul", 64, Reg("r"), Const(0)))
    assert body("r := y; s := [&x + r*0]")[1] == Load("s", address, 8)
    assert body("r := y; [&x + r*0] := r")[1] == Store(address, Reg("r"), 8)
    assert body("L: r := y; if r = 1 goto L")[1] == Branch(Binary("eq", 64, Reg("r"), Const(1)), "L")
    assert body("goto L; L: sync; lwsync; isync; eieio") == (
        Jump("L"),
        *(Fence(kind) for kind in ("sync", "lwsync", "isync", "eieio")),
    )


def test_initial_values() -> None:
    objects = parse("a = 7 b = -1; c = &d d = 0x10 e = 0\nthread P: r := a").object_by_name
    assert objects["a"].cells == (Cell(0, 8, 7),)
    assert objects["b"].cells == (Cell(0, 8, (1 << 64) - 1),)
    assert objects["c"].cells == (Cell(0, 8, Address("d")),)
    assert objects["d"].cells == (Cell(0, 8, 16),)
    assert objects["e"].cells == ()


@pytest.mark.parametrize(
    "text",
    [
        "r := x; y := r; sync",
        "r := x\ny := r\nsync",
        "r := x;;\n;y := r; sync;",
        "r := x // loads\ny := r # stores\nsync /* all\nof it */",
        "r /* is */ := x;y:=r;sync;",
        "r :=\nx\ny\n:= r\nsync",
    ],
)
def test_statements_end_with_a_semicolon_or_a_line(text: str) -> None:
    assert body(text) == (Load("r", Address("x"), 8), Store(Address("y"), Reg("r"), 8), Fence("sync"))


def test_a_line_that_begins_with_an_operator_goes_on() -> None:
    assert body("r := 1\n + 2\n[&x] := r") == body("r := 1 + 2; x := r")


def test_labels_are_optional_and_may_stand_at_the_end() -> None:
    function = parse("x = 0\nthread P:\ngoto END\nA:\nB: x := 1;\nEND:\nexists (x=0)").functions[0]
    assert function.labels == {"A": 1, "B": 1, "END": 2}


def test_labels_variables_and_threads_do_not_get_into_each_others_way() -> None:
    program = parse("x = 0\nthread x:\nx: x := 1; goto x\nthread r: r: r := x\nexists (r:r=0 /\\ x=1)")
    assert program.functions[0].body == (Store(Address("x"), Const(1), 8), Jump("x"))
    assert program.functions[1].body == (Load("r", Address("x"), 8),)


def test_registers_belong_to_their_thread() -> None:
    prop = parse("x = 0\nthread P: r := x\nthread Q: r := 2\nexists (P:r=1 /\\ Q:r=2)").property
    assert prop.observed == (RegisterValue(0, "r"), RegisterValue(1, "r"))


def test_a_program_computes() -> None:
    program = parse(
        """n = 5 result = 0 p = &n
        thread P:
              q := p; i := [q]; product := 1
        LOOP: if i <= 1 goto DONE
              product := product * i; i := i - 1
              goto LOOP
        DONE: result := product"""
    )
    machine = execute(program, {})
    assert machine.read(machine.layout.starts["result"], 8) == 120


# Conditions


def condition(text: str) -> Condition | None:
    return parse(f"x = 0 y = 0\nthread P: r := x\nthread Q: s := y\n{text}").property.condition


R, S, X, Y = RegisterValue(0, "r"), RegisterValue(1, "s"), MemoryValue("x", 0, 8), MemoryValue("y", 0, 8)


def test_conditions() -> None:
    assert condition("") is None
    assert condition("exists (P:r=1)") == Condition(Quantifier.EXISTS, Equals(R, 1))
    assert condition("~exists P:r=1") == Condition(Quantifier.NOT_EXISTS, Equals(R, 1))
    assert condition("not exists (x=-1)") == Condition(Quantifier.NOT_EXISTS, Equals(X, -1))
    assert condition("forall (1:s=2 /\\ [y]=0x3)") == Condition(Quantifier.FORALL, And((Equals(S, 2), Equals(Y, 3))))
    assert condition("exists (P:r=&x)") == Condition(Quantifier.EXISTS, Equals(R, AddressValue("x")))
    assert condition("exists (P:r=Q:s)") == Condition(Quantifier.EXISTS, Equals(R, S))
    assert condition("exists (x=[y]) // the values") == Condition(Quantifier.EXISTS, Equals(X, Y))
    assert condition("exists (~ x!=18446744073709551615)") == Condition(Quantifier.EXISTS, Not(Not(Equals(X, -1))))


def test_a_thread_is_known_by_its_name_before_its_number() -> None:
    prop = parse("thread P1: r := 1\nthread P0: r := 2\nexists (P1:r=1 /\\ 1:r=2)").property
    assert prop.observed == (RegisterValue(0, "r"), RegisterValue(1, "r"))


def test_threads_may_be_numbered() -> None:
    program = parse("thread 0: r := 1\nthread 1: r := 2\nexists (1:r=2)")
    assert [thread.name for thread in program.threads] == ["0", "1"]
    assert program.property.observed == (RegisterValue(1, "r"),)


def test_locations_and_filter() -> None:
    prop = parse("x = 0\nthread P: r := x\nlocations [x; P:r]\nfilter (P:r=0)\nexists (x=1)").property
    assert prop.observed == (MemoryValue("x", 0, 8), RegisterValue(0, "r"))
    assert prop.filter == Equals(RegisterValue(0, "r"), 0)


def test_without_a_condition_everything_is_observed() -> None:
    prop = parse("x = 0\nthread P: r := x; s := 1; x := s").property
    assert prop.condition is None
    assert prop.observed == (RegisterValue(0, "r"), RegisterValue(0, "s"), MemoryValue("x", 0, 8))


@pytest.mark.parametrize("text", ["\ufeff" + FIGURE_2, FIGURE_2.replace("\n", "\r\n"), FIGURE_2.rstrip()])
def test_marks_and_line_ends_of_other_systems(text: str) -> None:
    assert parse(text) == parse(FIGURE_2)


@pytest.mark.parametrize(
    "text",
    [
        FIGURE_2 + "exists (P:r0=1 /\\ Q:r1=2)",
        "load = 1 store = &load\nthread exit: fence: jump := load; if !jump || ~jump & 3 goto fence\nforall (load=1)",
        "thread 0: r := -5 / 2 % 3 << 1 >> 1 ^ 7 | 1 < 2\nlocations [0:r]",
    ],
)
def test_the_printed_form_parses_back(text: str) -> None:
    program = parse(text)
    assert parse_program(Source("printed", print_program(program))) == program
