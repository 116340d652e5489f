from __future__ import annotations

import pytest

from dekker.cat import syntax
from dekker.cat.parser import parse
from dekker.errors import ParseError
from dekker.source import Source


def file(text: str) -> syntax.File:
    return parse(Source("m.cat", text))


def statement(text: str) -> syntax.Statement:
    (only,) = file(text).statements
    return only


def shape(expression: syntax.Expr) -> str:
    """An expression with all its brackets."""
    match expression:
        case syntax.Name() | syntax.Tag():
            return expression.text
        case syntax.Empty():
            return "0"
        case syntax.Universe():
            return "_"
        case syntax.Chain():
            return "(" + f" {expression.operator} ".join(map(shape, expression.operands)) + ")"
        case syntax.Postfix():
            return f"{shape(expression.operand)}{''.join(expression.operators)}"
        case syntax.Complement():
            return f"~{shape(expression.operand)}"
        case syntax.Identity():
            return f"[{shape(expression.operand)}]"
        case syntax.Apply():
            return f"{shape(expression.function)}<{shape(expression.argument)}>"
        case syntax.Tuple():
            return "<" + ", ".join(map(shape, expression.items)) + ">"
        case syntax.Collection():
            return "{" + ", ".join(map(shape, expression.items)) + "}"
        case syntax.Function():
            return f"fun {pattern(expression.parameter)} -> {shape(expression.body)}"
    return type(expression).__name__


def pattern(item: syntax.Pattern) -> str:
    return item.text if isinstance(item, syntax.NamePattern) else "<" + ", ".join(map(pattern, item.items)) + ">"


def expression(text: str) -> str:
    let = statement(f"let it = {text}")
    assert isinstance(let, syntax.Let)
    return shape(let.bindings[0].value)


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        # Each operator against the next tighter one, in both orders.
        ("a | b ++ c", "(a | (b ++ c))"),
        ("a ++ b | c", "((a ++ b) | c)"),
        ("a ++ b ; c", "(a ++ (b ; c))"),
        ("a ; b ++ c", "((a ; b) ++ c)"),
        ("a ; b \\ c", "(a ; (b \\ c))"),
        ("a \\ b ; c", "((a \\ b) ; c)"),
        ("a \\ b & c", "(a \\ (b & c))"),
        ("a & b \\ c", "((a & b) \\ c)"),
        ("a & b * c", "(a & (b * c))"),
        ("a * b & c", "((a * b) & c)"),
        ("~a * b", "(~a * b)"),
        ("a * ~b", "(a * ~b)"),
        ("~a & b", "(~a & b)"),
        ("~a+", "~a+"),
        ("~f x", "~f<x>"),
        ("f x+", "f<x>+"),
        # Chains, and mixtures from published models.
        ("a | b | c", "(a | b | c)"),
        ("a \\ b \\ c", "(a \\ b \\ c)"),
        ("a | b ; c | d", "(a | (b ; c) | d)"),
        ("loc & (W \\ FW) * FW | ppo | rfe", "((loc & ((W \\ FW) * FW)) | ppo | rfe)"),
        (
            "((W * _) | (_ * W)) & loc \\ ((IW * _) | (_ * IW))",
            "((((W * _) | (_ * W)) & loc) \\ ((IW * _) | (_ * IW)))",
        ),
        (
            "propbase & (W * W) | (chapo? ; propbase*; strong; hb*)",
            "((propbase & (W * W)) | (chapo? ; propbase* ; strong ; hb*))",
        ),
        ("po & W*R & ((M * A) | (A * M))", "(po & (W * R) & ((M * A) | (A * M)))"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    assert expression(text) == grouped


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("hb*", "hb*"),
        ("hb* ; x", "(hb* ; x)"),
        ("hb*;hb*", "(hb* ; hb*)"),
        ("(hb*)", "hb*"),
        ("hb* | x", "(hb* | x)"),
        ("hb*+?", "hb*+?"),
        ("r^-1^-1+", "r^-1^-1+"),
        ("r^* (x)", None),
        ("W * (R)", "(W * R)"),
        ("W * _", "(W * _)"),
        ("W * {}", "(W * 0)"),
        ("W * ~R", "(W * ~R)"),
        ("W*f(x)", "(W * f<x>)"),
    ],
)
def test_star_is_a_product_where_an_operand_follows(text: str, grouped: str | None) -> None:
    if grouped is None:
        with pytest.raises(ParseError):
            expression(text)
    else:
        assert expression(text) == grouped


def test_star_before_a_negated_check_is_a_closure() -> None:
    let, check = file("let r = po*\n~empty r").statements
    assert isinstance(let, syntax.Let)
    assert shape(let.bindings[0].value) == "po*"
    assert isinstance(check, syntax.Check)
    assert check.negated


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("f x", "f<x>"),
        ("f(x)", "f<x>"),
        ("f (a,b)", "f<<a, b>>"),
        ("f a b", "f<a><b>"),
        ("f(g(x))", "f<g<x>>"),
        ("f 0", "f<0>"),
        ("f [A];po", "(f<[A]> ; po)"),
        ("f 'tag", "f<tag>"),
        ("f()", "f<<>>"),
        ("f begin a | b end", "f<(a | b)>"),
        ("[A | B];po;[C]", "([(A | B)] ; po ; [C])"),
        ("{a, b}", "{a, b}"),
        ("{a}", "{a}"),
        ("a, b", "<a, b>"),
        ("fun (x, y) -> x;y", "fun <x, y> -> (x ; y)"),
        ("fun _ -> po", "fun _ -> po"),
    ],
)
def test_applications_and_atoms(text: str, grouped: str) -> None:
    assert expression(text) == grouped


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('"X86 TSO" let a = po', "X86 TSO"),
        ("C RC11 let a = po", "C RC11"),
        ("Partial\nlet a = po", "Partial"),
        ('(* licence *) "ARMv8  AArch64"\nwithco let a = po', "ARMv8 AArch64"),
        ("let a = po", ""),
        ("", ""),
    ],
)
def test_title(text: str, title: str) -> None:
    assert file(text).title == title


@pytest.mark.parametrize(
    ("text", "patterns", "values"),
    [
        ("let a = po", ["a"], ["po"]),
        ("let a = po in", ["a"], ["po"]),
        ("let a = po and b = rf", ["a", "b"], ["po", "rf"]),
        ("let f(x) = x", ["f"], ["fun x -> x"]),
        ("let f x = x", ["f"], ["fun x -> x"]),
        ("let f x y = x;y", ["f"], ["fun x -> fun y -> (x ; y)"]),
        ("let f(x, y) = x;y", ["f"], ["fun <x, y> -> (x ; y)"]),
        ("let f () = po", ["f"], ["fun <> -> po"]),
        ("let (a, b) = c", ["<a, b>"], ["c"]),
        ("let a, b = c, d", ["<a, b>"], ["<c, d>"]),
    ],
)
def test_let(text: str, patterns: list[str], values: list[str]) -> None:
    let = statement(text)
    assert isinstance(let, syntax.Let)
    assert [pattern(binding.pattern) for binding in let.bindings] == patterns
    assert [shape(binding.value) for binding in let.bindings] == values


def test_let_rec_with_a_test() -> None:
    let = statement("let rec a = b | (a;a) and b = po when acyclic a as ok")
    assert isinstance(let, syntax.Let)
    assert let.recursive
    assert let.when is not None
    assert let.when.name == "ok"


@pytest.mark.parametrize(
    ("text", "kind", "negated", "role", "name"),
    [
        ("acyclic po", "acyclic", False, "check", None),
        ("irreflexive po as n-1", "irreflexive", False, "check", "n-1"),
        ("~empty po", "empty", True, "check", None),
        ("flag ~empty po as race", "empty", True, "flag", "race"),
        ("undefined_unless empty po as Dr", "empty", False, "undefined_unless", "Dr"),
        ("assert empty po", "empty", False, "assert", None),
    ],
)
def test_checks(text: str, kind: str, negated: bool, role: str, name: str | None) -> None:
    check = statement(text)
    assert isinstance(check, syntax.Check)
    assert (check.kind, check.negated, check.role, check.name) == (kind, negated, role, name)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("show a, b", syntax.Ignored),
        ("show (si \\ id) as si", syntax.Ignored),
        ("unshow a", syntax.Ignored),
        ("debug po", syntax.Ignored),
        ("instructions R[{'once, 'acquire}]", syntax.Ignored),
        ("default W['plain]", syntax.Ignored),
        ('include "cos.cat"', syntax.Include),
        ("enum Kinds = 'a || 'b", syntax.Enum),
        ("enum Kinds = || 'a || 'b", syntax.Enum),
        ("with co from generate_cos(co0)", syntax.With),
        ("procedure p(a, b) = empty a \\ b end", syntax.Procedure),
        ("procedure p x = let y = x acyclic y end", syntax.Procedure),
        ("call p(po, rf) as incl", syntax.Call),
        ("call p po", syntax.Call),
        ("forall x in {po, rf} do acyclic x end", syntax.Forall),
        ('if "mixed" include "a.cat" else include "b.cat" end', syntax.IfStatement),
        ('if "mixed" then begin acyclic po end else begin acyclic rf end', syntax.IfStatement),
        ('if not "a" && ("b" || not "c") acyclic po end', syntax.IfStatement),
        ("match t with || 'a -> acyclic po || _ -> acyclic rf end", syntax.MatchStatement),
    ],
)
def test_other_statements(text: str, kind: type) -> None:
    assert isinstance(statement(text), kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("let x = po in x;x", syntax.LetIn),
        ("let x = po in let y = rf in x;y", syntax.LetIn),
        ("let rec x = po | (x;x) in x", syntax.LetIn),
        ("try DMB.ISH with emptyset", syntax.Try),
        ('if "mixed" then po else rf', syntax.If),
        ('if not "ExS" || "EOS" then po else {}', syntax.If),
        ("if a = b then po else rf", syntax.If),
        ("if (a | b) subset c then po else rf", syntax.If),
        ("match t with 'a -> po || _ -> rf end", syntax.Match),
        ("match S with {} -> {} || e ++ es -> f e ++ g es end", syntax.MatchElements),
        ("match S with || e ++ es -> es || {} -> {} end", syntax.MatchElements),
        ("match S with || a | e ++ b -> a || {} -> {} end", syntax.MatchElements),
    ],
)
def test_other_expressions(text: str, kind: type) -> None:
    let = statement(f"let it = {text}")
    assert isinstance(let, syntax.Let)
    assert isinstance(let.bindings[0].value, kind)


def test_spans_cover_what_they_name() -> None:
    let = statement("let it = a | [B];c*")
    assert isinstance(let, syntax.Let)
    chain = let.bindings[0].value
    assert isinstance(chain, syntax.Chain)
    assert [operand.span.text for operand in chain.operands] == ["a", "[B];c*"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("let = po", 5, "expected a name, found `=`"),
        ("let a po", 9, "expected a name, found the end of the file"),
        ("let a =", 8, "expected a set or a relation, found the end of the file"),
        ("let a = (po", 12, "expected `)`, found the end of the file"),
        ("let a = [po)", 12, "expected `]`, found `)`"),
        ("let a = po | | rf", 14, "expected a set or a relation, found `|`"),
        ("acyclic", 8, "expected a set or a relation, found the end of the file"),
        ("flag po", 6, "expected `acyclic`, `irreflexive` or `empty`, found `po`"),
        ("include cos.cat", 9, 'expected the name of a file in quotes, as in include "cos.cat", found `cos.cat`'),
        ("let a = po )", 12, "expected a statement, found `)`"),
        ("title only = po", 12, "expected a statement, found `=`"),
        ("let a = A * B * C", 9, "a product has two operands"),
        ("procedure p(x) = acyclic x", 27, "expected `end`, found the end of the file"),
        ('let a = if "v" then po', 23, "expected `else`, found the end of the file"),
        ("let a = if b then po else rf", 14, "expected `=`, `subset` or `in`, found `then`"),
    ],
)
def test_errors_say_where_and_what(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        file(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert diagnostic.span.column == column


@pytest.mark.parametrize("opening", ["(", "[", "~(", "f(", "let x = ", "if not ", "fun x -> ", "{"])
def test_deep_nesting_is_an_error(opening: str) -> None:
    with pytest.raises(ParseError):
        file("let a = " + opening * 5000)


def test_long_chains_are_no_problem() -> None:
    long = "let a = " + " | ".join(["po"] * 5000) + "\nlet b = po" + "?" * 5000 + "\nlet c = " + "~" * 5001 + "po"
    assert len(file(long).statements) == 3
