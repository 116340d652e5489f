from __future__ import annotations

from contextlib import suppress

import pytest

from dekker.errors import InputError
from dekker.frontends.lang import parse_file, parse_lang, parse_system
from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    Check,
    Choose,
    CompareExchange,
    Global,
    If,
    Labelled,
    Num,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)
from dekker.ir.text import parse_program, print_program
from dekker.ir.thread_classes import AtLabel, Member, MemberRegister, Number, Operation, SharedValue
from dekker.ir.validate import validate
from dekker.source import Source

VARIABLES = "var x = 0; var a[1..3] = 7; "


def statements(code: str) -> tuple[Statement, ...]:
    return (
        parse_file(Source("t.lang", f"{VARIABLES}process P with r = 1, s = 2 {{ {code} }}"))
        .processes[0]
        .body.statements
    )


R, S = Register("r"), Register("s")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("r := 1", Assign("r", Num(1))),
        ("r := -3", Assign("r", Num(-3))),
        ("r := choose(-1, 2)", Choose("r", -1, 2)),
        ("read: r := x", Read("r", Variable("x"))),
        ("read: r := a[s + 1]", Read("r", Variable("a", Apply("+", (S, Num(1)))))),
        ("write: x := r", Write(Variable("x"), R)),
        ("write: a[2] := r + 1", Write(Variable("a", Num(2)), Apply("+", (R, Num(1))))),
        ("CMPXCHG(x = r ? x := s : r := x)", CompareExchange(Variable("x"), "r", "s")),
        ("CMPXCHG(a[s] = r ? a[s] := s : r := a[s])", CompareExchange(Variable("a", S), "r", "s")),
        ("barrier", Barrier()),
        ("skip", Block()),
        ("{}", Block()),
        ("assert(r = 1)", Check(Apply("=", (R, Num(1))))),
        ("assume(r)", Check(R, is_assumption=True)),
        ("if(r) skip", If(R, Block())),
        ("if(r) { skip } else r := 1", If(R, Block((Block(),)), Assign("r", Num(1)))),
        ("if(r) skip; else skip", If(R, Block(), Block())),
        ("if(r) if(s) barrier else skip", If(R, If(S, Barrier(), Block()))),
        ("while(r) r := r - 1", While(R, Assign("r", Apply("-", (R, Num(1)))))),
        ("here: barrier", Labelled("here", Barrier())),
        ("here:", Labelled("here", Block())),
    ],
)
def test_statements(code: str, expected: Statement) -> None:
    assert statements(code) == (expected,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 - 3", Apply("-", (Apply("+", (Num(1), Num(2))), Num(3)))),
        ("r = 1 && s = 2 || r", Apply("||", (Apply("&&", (Apply("=", (R, Num(1))), Apply("=", (S, Num(2))))), R))),
        ("not(r) + 1", Apply("+", (Apply("not", (R,)), Num(1)))),
        ("r == 1", Apply("=", (R, Num(1)))),
        ("1 < 2 = 3 > 4", Apply("=", (Apply("<", (Num(1), Num(2))), Apply(">", (Num(3), Num(4)))))),
        ("2 * r % 4", Apply("%", (Apply("*", (Num(2), R)), Num(4)))),
        ("(1 - 2) - (3)", Apply("-", (Apply("-", (Num(1), Num(2))), Num(3)))),
        ("!r", Apply("not", (R,))),
    ],
)
def test_expressions(text: str, expected: object) -> None:
    (assign,) = statements(f"r := {text}")
    assert isinstance(assign, Assign)
    assert assign.value == expected


def test_semicolons_are_optional_behind_braces() -> None:
    assert len(statements("while(r) { r := 0 } if(r) { skip } else { skip } { skip } here: { skip } r := 1;")) == 5


def test_the_file_form() -> None:
    file = parse_file(
        Source(
            "t.lang",
            """
            (* comments *) /* of three */ // kinds
            class c(many) { here: r := 1; }
            class d(2) with r = -5 { s := r }
            var x; var y = -1; var a[-1..1] = 1, 2, 3; var top = 2 versioned 4;
            process P { read: r := x }
            forbidden c@here && c#2@here && (a[0] = 2 || d#2:r < P:r) && a[x + 1] > 0;
            forbidden final not(x);
            """,
        )
    )
    assert file.globals == (
        Global("x", (0,)),
        Global("y", (-1,)),
        Global("a", (1, 2, 3), -1),
        Global("top", (2,), None, 4),
    )
    assert [(item.name, item.count, item.initial) for item in file.processes] == [
        ("c", None, ()),
        ("d", 2, (("r", -5),)),
        ("P", 1, ()),
    ]
    first, second = file.forbidden
    assert (first.final, second.final) == (False, True)
    assert second.term == Operation("eq", (SharedValue("x", Number(0), 8), Number(0)))
    index = Operation("add", (SharedValue("x", Number(0), 8), Number(1)))
    left, last = first.term.operands  # type: ignore[union-attr]
    assert last == Operation("sgt", (SharedValue("a", Operation("sub", (index, Number(-1))), 8), Number(0)))
    labels, either = left.operands  # type: ignore[union-attr]
    assert labels == Operation("and", (AtLabel(Member("c"), "here"), AtLabel(Member("c", 2), "here")))
    assert either.operands[0] == Operation("eq", (SharedValue("a", Number(1), 8), Number(2)))  # type: ignore[union-attr]
    compared = MemberRegister(Member("d", 2), "r"), MemberRegister(Member("P"), "r")
    assert either.operands[1] == Operation("slt", compared)  # type: ignore[union-attr]


P = "process P { r := 1 } "
WRONG = [
    ("", "1:1", "the file is empty"),
    ("var x = 0;", "1:11", "expected a process"),
    ("x = 0;", "1:1", "expected `var`"),
    ("proces P { }", "1:1", "did you mean `process`"),
    ("var x = 0 " + P, "1:11", "expected `;`"),
    ("var x = y; " + P, "1:9", "expected a number"),
    ("var a[3..1] = 0; " + P, "1:5", "indices from 3 to 1"),
    ("var a[0..2] = 1, 2; " + P, "1:13", "2 values for 3 elements"),
    ("var x = 0; var x = 1; " + P, "1:16", "the name `x` is taken"),
    ("var P = 0; " + P, "1:20", "the name `P` is taken"),
    ("var top = 5 versioned 4; " + P, "1:5", "versions of 4"),
    ("var a[0..1] = 0 versioned 4; " + P, "1:5", "an array has no versions"),
    ("class c { }", "1:9", "expected `(`"),
    ("class c(0) { }", "1:9", "a class of 0 threads"),
    ("class c(few) { }", "1:9", "expected a number"),
    ("process P { r := 1", "1:11", "this brace is not closed"),
    ("process P { r = 1 }", "1:15", "expected `:=`"),
    ("process P { r := 1 s := 2 }", "1:20", "expected `;`"),
    ("process P { r := s }", "1:18", "nothing in P assigns the register `s`"),
    ("process P { barier }", "1:13", "did you mean `barrier`"),
    ("process P { r := }", "1:18", "expected a number or a register"),
    ("process P { r := (1 + 2 }", "1:25", "expected `)`"),
    ("process P { 1 := r }", "1:13", "expected a statement"),
    ("var x = 0; process P { x := 1 }", "1:24", "`x` is a shared variable"),
    ("var x = 0; process P { r := x }", "1:29", "read: r := x"),
    ("process P { read: r := x }", "1:24", "there is no variable `x`"),
    ("var a[0..1] = 0; process P { read: r := a }", "1:41", "`a` is an array"),
    ("var x = 0; process P { read: r := x[0] }", "1:35", "`x` is no array"),
    ("var a[0..1] = 0; process P { read: r := a[2] }", "1:43", "the index 2 is not from 0 to 1"),
    ("process P { read r := x }", "1:18", "expected `:`"),
    ("var x = 0; process P { r := 0; CMPXCHG(x = r ? x := r : s := x) }", "1:57", "this is not `r`"),
    ("var x=0; var y=0; process P { r := 0; CMPXCHG(x = r ? y := r : r := x) }", "1:55", "not the variable"),
    ("var x = 0; process P { r := 0; CMPXCHG(x = 1 ? x := r : r := x) }", "1:44", "expected a register"),
    ("process P { L: r := 1; L: skip }", "1:24", "two labels `L`"),
    ("process P { r := choose(2, 1) }", "1:13", "a choice from 2 to 1"),
    ("process P { r := 99999999999999999999 }", "1:18", "does not fit into 64 bits"),
    ("process P { r := 1 } /* ", "1:22", "this comment is not closed"),
    ("process P { r := 1 $ 2 }", "1:20", "unexpected character"),
    ("process P with r = 1, r = 2 { skip }", "1:23", "stands here twice"),
    (P + "forbidden Q@here;", "1:32", "there is no process, class or variable `Q`"),
    (P + "forbidden P@here;", "1:34", "there is no label `here` in P"),
    (P + "forbidden P:s;", "1:34", "there is no register `s` in P"),
    (P + "forbidden P#2:r;", "1:32", "there is no thread 2 of `P`"),
    (P + "forbidden P:r", "1:35", "expected `;`"),
    (P + "forbidden P;", "1:33", "expected `:`"),
    (P + "forbidden P:r = ;", "1:38", "expected a number"),
    ("process P { " + "{" * 60 + "}" * 60 + " }", "1:54", "statements nest deeper"),
    ("process P { r := " + "(" * 70 + "1" + ")" * 70 + " }", "1:78", "more than 60 operators"),
]


@pytest.mark.parametrize(("text", "position", "message"), WRONG)
def test_errors_say_where(text: str, position: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_file(Source("t.lang", text))
    assert str(caught.value).startswith(f"t.lang:{position}: error: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("text", [text for text, _, _ in WRONG])
def test_prefixes_of_wrong_texts_are_errors_or_programs(text: str) -> None:
    for end in range(0, len(text), 3):
        with suppress(InputError):
            parse_system(Source("t.lang", text[:end]))


def test_a_lowered_program_follows_the_rules_and_has_a_text() -> None:
    text = """
    var x = 0; var a[1..2] = 3, 4;
    class c(2) { L: read: r := a[s]; s := choose(1, 2); while(r > 0) { r := r - 1; write: a[s] := r } }
    process P { r := 1; barrier; CMPXCHG(x = r ? x := r : r := x); if(r) { M: assert(r = 1) } else { assume(0) } }
    forbidden c@L && c#2@L && P@M && P:r = 1;
    """
    program = parse_lang(Source("t.lang", text))
    validate(program)
    assert parse_program(Source("t.ir", print_program(program))) == program
    assert [thread.name for thread in program.threads] == ["c#1", "c#2", "P"]
