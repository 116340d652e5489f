"""The final part: `locations`, `filter`, the condition in all its forms, and what goes wrong in it."""

from __future__ import annotations

import pytest

from dekker.errors import DekkerError, ParseError, UnsupportedError
from dekker.frontends.litmus import parse_litmus
from dekker.ir.program import Program
from dekker.ir.property import (
    AddressValue,
    And,
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
from dekker.source import Source

R1, R2, OTHER = RegisterValue(0, "r1", 32), RegisterValue(0, "r2", 32), RegisterValue(1, "r1", 32)
X, Y = MemoryValue("x"), MemoryValue("y")
A, B, C, D = Equals(R1, 1), Equals(R2, 2), Equals(X, 3), Equals(Y, 4)
ATOMS = {"a": "0:r1=1", "b": "0:r2=2", "c": "x=3", "d": "y=4"}


def parse(final: str, init: str = "x=0; y=0;", architecture: str = "PPC") -> Program:
    return parse_litmus(Source("t.litmus", f"{architecture} t\n{{{init}}}\n P0 | P1 ;\n nop | nop ;\n{final}"))


def prop(final: str, init: str = "x=0; y=0;") -> Property:
    return parse(final, init).property


def formula(text: str, init: str = "x=0; y=0;") -> Formula:
    condition = prop(f"exists ({text})", init).condition
    assert condition is not None
    return condition.formula


def of_atoms(text: str) -> Formula:
    """A formula in which a, b, c and d stand for atoms."""
    return formula("".join(ATOMS.get(character, character) for character in text))


def error(final: str) -> DekkerError:
    with pytest.raises(DekkerError) as caught:
        parse(final, "x=0; y=0; int128_t wide;")
    return caught.value


@pytest.mark.parametrize(
    ("text", "quantifier"),
    [
        ("exists 0:r1=1", Quantifier.EXISTS),
        ("exists(0:r1=1)", Quantifier.EXISTS),
        ("exists\n\n (0:r1=1)", Quantifier.EXISTS),
        ("~exists 0:r1=1", Quantifier.NOT_EXISTS),
        ("~ exists (0:r1=1)", Quantifier.NOT_EXISTS),
        ("not exists 0:r1=1", Quantifier.NOT_EXISTS),
        ("forall 0:r1=1", Quantifier.FORALL),
        ("forall (0:r1=1)", Quantifier.FORALL),
        ("(0:r1=1)", Quantifier.EXISTS),
        ("final (0:r1=1)", Quantifier.EXISTS),
        ("final (0:r1=1);\nwith\ntso: exists;\npower: ~exists;\ndefault: forall;", Quantifier.EXISTS),
        ("final 0:r1=1 with sc: ~exists", Quantifier.EXISTS),
    ],
)
def test_quantifiers(text: str, quantifier: Quantifier) -> None:
    condition = prop(text).condition
    assert condition is not None
    assert (condition.quantifier, condition.formula) == (quantifier, A)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:r1=1", A),
        ("0:r1==1", A),
        ("0 : r1 = 1", A),
        ("P0:r1=1", A),
        ("p0:R1=1", Equals(RegisterValue(0, "r1", 32, "R1"), 1)),
        ("1:r1=-1", Equals(OTHER, -1)),
        ("0:r1=0x10", Equals(R1, 16)),
        ("0:r1=0xffffffff", Equals(R1, -1)),
        ("0:r1=x", Equals(R1, AddressValue("x"))),
        ("0:r1=&x", Equals(R1, AddressValue("x"))),
        ("0:r1=x+8", Equals(R1, AddressValue("x", 8))),
        ("0:r1=x[1]", Equals(R1, AddressValue("x", 4))),
        ("0:r1=NULL", Equals(R1, 0)),
        ("0:r1=0:r2", Equals(R1, R2)),
        ("0:r1=P1:r1", Equals(R1, OTHER)),
        ("0:r1=[x]", Equals(R1, X)),
        ("x=3", C),
        ("[x]=3", C),
        ("[ x ] = 3", C),
        ("*x=3", C),
        ("x=[y]", Equals(X, Y)),
        ("x=*y", Equals(X, Y)),
        ("x=y", Equals(X, AddressValue("y"))),
        ("x=0:r1", Equals(X, R1)),
        ("x[1]=3", Equals(MemoryValue("x", 4, 4, "x[1]"), 3)),
        ("[x[1]]=3", Equals(MemoryValue("x", 4, 4, "x[1]"), 3)),
        ("x={5,6}", And((Equals(MemoryValue("x", 0, 4, "x[0]"), 5), Equals(MemoryValue("x", 4, 4, "x[1]"), 6)))),
        ("x!=3", Not(C)),
        ("x<>3", Not(C)),
        ("0:r1 != 1", Not(A)),
        ("true", Truth(True)),
        ("false", Truth(False)),
    ],
)
def test_atoms(text: str, expected: Formula) -> None:
    assert formula(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a /\ b", And((A, B))),
        (r"a/\b/\c", And((A, B, C))),
        (r"a \/ b \/ c", Or((A, B, C))),
        ("a && b", And((A, B))),
        ("a || b", Or((A, B))),
        (r"a \/ b /\ c", Or((A, And((B, C))))),
        (r"a /\ b \/ c", Or((And((A, B)), C))),
        (r"a /\ b \/ c /\ d", Or((And((A, B)), And((C, D))))),
        (r"a /\ (b \/ c)", And((A, Or((B, C))))),
        (r"~a /\ b", And((Not(A), B))),
        (r"~(a /\ b)", Not(And((A, B)))),
        ("~~a", Not(Not(A))),
        ("not a", Not(A)),
        ("not (a)", Not(A)),
        ("a => b", Or((Not(A), B))),
        (r"a /\ b => c \/ d", Or((Not(And((A, B))), Or((C, D))))),
        ("a => b => c", Or((Not(A), Or((Not(B), C))))),
        ("((((a))))", A),
        (r"true /\ a", And((Truth(True), A))),
    ],
)
def test_connectives(text: str, expected: Formula) -> None:
    assert of_atoms(text) == expected


def test_values_that_need_more_bits() -> None:
    wide = RegisterValue(0, "r1", 64)
    assert formula(r"0:r1=1 \/ 0:r1=0x100000000") == Or((Equals(wide, 1), Equals(wide, 1 << 32)))
    assert formula("x=-9000000000", "int64_t x;") == Equals(MemoryValue("x", 0, 8), -9_000_000_000)
    assert formula("x=0xffffffffffffffff", "int64_t x;") == Equals(MemoryValue("x", 0, 8), -1)


def test_declared_types_give_the_width() -> None:
    assert formula("x=255", "char x;") == Equals(MemoryValue("x", 0, 1), -1)
    assert formula("x=255", "uint64_t x;") == Equals(MemoryValue("x", 0, 8), 255)
    assert formula("0:r1=-1", "int64_t 0:r1;") == Equals(RegisterValue(0, "r1", 64), -1)


def test_globals_met_in_the_condition_only() -> None:
    program = parse(r"exists (z=0 /\ 0:r1=w)")
    assert [item.name for item in program.objects] == ["x", "y", "z", "w"]


def test_observed_in_order_without_repetition() -> None:
    found = prop("locations [y; 1:r1; x;]\nexists (0:r1=1 /\\ x=1 /\\ 0:r1=0:r2)")
    assert found.observed == (Y, OTHER, X, R1, R2)


def test_filter_is_not_observed() -> None:
    found = prop("filter (0:r1=1)\nexists (x=3)")
    assert (found.filter, found.observed) == (A, (X,))


def test_locations_and_filter_in_either_order() -> None:
    for text in ("locations [x] filter 0:r1=1 exists x=3", "filter (0:r1=1) locations [x;] exists x=3"):
        found = prop(text)
        assert (found.filter, found.observed) == (A, (X,))


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("locations []", ()),
        ("locations [x]", (X,)),
        ("locations [ x ; 0:r1 ; ]", (X, R1)),
        ("locations [x int; 0:r1 int*; P1:r1; x[1]]", (X, R1, OTHER, MemoryValue("x", 4, 4, "x[1]"))),
        ("", ()),
    ],
)
def test_no_condition(text: str, observed: tuple[RegisterValue | MemoryValue, ...]) -> None:
    assert prop(text) == Property(None, None, observed)


def test_observed_states() -> None:
    found = prop("observed\n0:r1=1; x=3;\nand 0:r1=1; y=4;")
    assert found.condition is not None
    assert found.condition.formula == Or((And((A, C)), And((A, D))))


@pytest.mark.parametrize(
    "rest",
    [
        "",
        ";",
        " ; ",
        "\n<< show 0 >>",
        ";\n<<\nshow\n>>\n",
        " << x >>",
        "\n;",
        " (* comment *)",
        "\n<< a >>\n(* b *)\n<< c\n>> ;\n\n",
        "\nwith tso: ~exists; sc: forall",
    ],
)
def test_text_after_the_condition(rest: str) -> None:
    condition = prop(f"exists (0:r1=1){rest}").condition
    assert condition is not None
    assert condition.formula == A


@pytest.mark.parametrize(
    ("final", "message", "place"),
    [
        ("exists", "expected the name", None),
        ("exists (", "expected the name", None),
        ("exists ()", "expected the name", "5:9"),
        ("exists (0:r1)", "expected `=`", "5:13"),
        ("exists (0:r1=)", "expected the name", "5:14"),
        ("exists (0:r1=1", "expected `)`", None),
        ("exists (0:r1=1))", "should end here", "5:16"),
        ("exists (0:r1=1)\nforall (0:r1=1)", "should end here, found `forall`", "6:1"),
        ("exists (0:r1=1)\nlocations [x]", "should end here, found `locations`", "6:1"),
        ("exists (0:r1=1)\ngarbage here", "should end here, found `garbage`", "6:1"),
        (r"exists (0:r1=1); /\ (0:r1=9)", r"should end here, found `/\`", "5:18"),
        ("exists (0:r1=1)\n<< show 0", "should end here, found `<`", "6:1"),
        ("exists (0:r1=1)\n<< show 0 >> x", "should end here, found `x`", "6:14"),
        ("locations [x] y", "should end here, found `y`", "5:15"),
        ("filter (x=1)\nfilter (y=1)\nexists (x=1)", "there is a filter already", "6:1"),
        ("locations [x, y, 0:r1;]\nexists (x=1)", "expected `;` or `]`, found `,`", "5:13"),
        ("locations [x y; 0:r1;]\nexists (x=1)", "`y` is not a type", "5:14"),
        ("exists (x=0x100000000)", "4294967296 does not fit into the 4 bytes of `x`", "5:11"),
        ("exists (x[1]=-0x80000001)", "does not fit into the 4 bytes of `x[1]`", "5:14"),
        ("exists (x={1,0x100000000})", "does not fit into the 4 bytes of `x[1]`", "5:14"),
        ("exists (0:r1=0x10000000000000000)", "does not fit into 64 bits", "5:14"),
        ("exists (x=-9223372036854775809)", "does not fit into 64 bits", "5:11"),
        ("exists 0:r1=1 x=2", "should end here", "5:15"),
        (r"exists (0:r1=1 /\ )", "expected the name", "5:19"),
        ("exists (2:r1=1)", "there is no thread 2", "5:11"),
        ("exists (9999:r1=1)", "there is no thread 9999", None),
        ("exists (0:EAX=1)", "`EAX` is not a register of thread 0", "5:11"),
        ("exists (0:r1=3:r1)", "there is no thread 3", None),
        ("exists (x=-y)", "expected a number", None),
        ("exists (0:r1={1,2})", "does not hold an array", None),
        ("exists (x={1 2})", "expected `}`", None),
        ("exists (x[70000]=1)", "expected a number up to 65535", "5:11"),
        ("exists (x[-1]=1)", "expected a number up to 65535", None),
        ("locations x;", "expected `[`", "5:11"),
        ("locations [x; 0:r1", "expected `;` or `]`", None),
        ("filter exists x=1", "expected `=`", None),
        ("exists (" + "(" * 5000 + "x=1" + ")" * 5000 + ")", "nested too deeply", None),
        ("exists " + "~" * 5000 + "x=1", "nested too deeply", None),
        ("exists " + "x=1 => " * 5000 + "x=1", "nested too deeply", None),
    ],
)
def test_errors(final: str, message: str, place: str | None) -> None:
    found = error(final)
    assert isinstance(found, ParseError)
    assert message in str(found)
    if place is not None:
        assert str(found).startswith(f"t.litmus:{place}: ")


@pytest.mark.parametrize(
    "final",
    [
        "exists (fault(P0,x))",
        "exists (~Fault(P0:L0))",
        "locations [fault(P0)]",
        "exists ([PTE(x)]=1)",
        "exists (0:r1=PA(x))",
        "exists (wide=1)",
    ],
)
def test_unsupported(final: str) -> None:
    found = error(final)
    assert isinstance(found, UnsupportedError)
    assert "are not supported" in str(found)


def test_long_conjunctions_are_not_nested() -> None:
    assert formula(r" /\ ".join(["0:r1=1"] * 3000)) == And((A,) * 3000)
