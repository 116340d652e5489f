"""The frame of a litmus file: header, comments, initial state, and where the parts are."""

from __future__ import annotations

import pytest

from dekker.errors import DekkerError, ParseError, UnsupportedError
from dekker.frontends.litmus.format import Globals, InitEntry, LitmusFile, parse_number, split_litmus, type_size
from dekker.ir.expressions import Address
from dekker.ir.program import Cell, Object
from dekker.ir.property import MemoryValue
from dekker.source import Source

BODY = "{ x=1; }\n P0 ;\n nop ;\nexists (x=1)\n"


def split(text: str, name: str = "folder/file.litmus") -> LitmusFile:
    return split_litmus(Source(name, text))


def program_text(test: LitmusFile) -> str:
    return test.text[test.program[0] : test.program[1]].strip()


def final_text(test: LitmusFile) -> str:
    return test.text[test.final :].strip()


def init(text: str) -> tuple[InitEntry, ...]:
    return split(f"PPC test\n{{{text}}}\n P0 ;\n").init


def error(text: str) -> DekkerError:
    with pytest.raises(DekkerError) as caught:
        split(text)
    return caught.value


# Header


@pytest.mark.parametrize(
    ("first_line", "name"),
    [
        ("PPC MP+sync+addr", "MP+sync+addr"),
        ("PPC   spaced   ", "spaced"),
        ("\n\n PPC late", "late"),
        ('PPC "quoted name"', "quoted name"),
        ("PPC x86/n7 (xEightySixNSeven)", "x86/n7"),
        ('PPC name (tex) "what it shows"', "name"),
        ('PPC [odd]"name"', '[odd]"name"'),
        ("PPC", "file"),
        ("PPC --", "file"),
        ("\ufeffPPC marked", "marked"),
    ],
)
def test_name(first_line: str, name: str) -> None:
    assert split(f"{first_line}\n{BODY}").name == name


def test_architecture_is_the_first_word() -> None:
    assert split(f"X86_64 test\n{BODY}").architecture == "X86_64"


def test_all_on_one_line() -> None:
    test = split("X86 test {x=0;} P0; MFENCE; exists (x=0)")
    assert (test.name, program_text(test), final_text(test)) == ("test", "P0; MFENCE;", "exists (x=0)")


def test_information_lines() -> None:
    header = 'PPC t\n"Rfe PodWW"\nCycle=Rfe PodWW\nfree text = not a key\nCom=Rf Fr\nOrig={not the state}\n'
    test = split(header + BODY)
    assert test.info == {"Cycle": "Rfe PodWW", "Com": "Rf Fr", "Orig": "{not the state}"}
    assert test.description == "Rfe PodWW"


def test_documentation_may_span_lines_and_contain_braces() -> None:
    test = split('PPC t\n"one {\n two"\n' + BODY)
    assert test.description == "one {\n two"
    assert [entry.name for entry in test.init] == ["x"]


def test_documentation_with_a_single_quotation_mark() -> None:
    assert split('PPC t\n5" of rain\n' + BODY).init[0].name == "x"


def test_windows_line_ends() -> None:
    test = split(('PPC t\n"doc"\nKey=value\n' + BODY).replace("\n", "\r\n"))
    assert (test.name, test.info, test.init[0].name) == ("t", {"Key": "value"}, "x")
    assert program_text(test).startswith("P0")


# Parts


@pytest.mark.parametrize(
    "final",
    [
        "exists (x=1)",
        "~exists (x=1)",
        "~ exists (x=1)",
        "not exists (x=1)",
        "forall (x=1)",
        "final (x=1)",
        "locations [x;] exists (x=1)",
        "filter (x=1)",
        "Observed x=1;".lower(),
    ],
)
@pytest.mark.parametrize("gap", ["\n", " ", "\n\n  ", "\t"])
def test_where_the_final_part_starts(final: str, gap: str) -> None:
    test = split(f"PPC t\n{{}}\n P0 ;\n nop ;{gap}{final}\n")
    assert final_text(test) == final
    assert program_text(test) == "P0 ;\n nop ;"


def test_condition_without_a_keyword() -> None:
    assert final_text(split("PPC t\n{}\n P0 ;\n nop ;\n(x=1)\n")) == "(x=1)"


def test_names_that_start_like_keywords() -> None:
    test = split("PPC t\n{}\n P0 ;\nexists_not: nop ;\nforall x=1\n")
    assert final_text(test) == "forall x=1"


def test_labels_that_are_keywords() -> None:
    test = split("PPC t\n{}\n P0 ;\nexists: nop ;\nfinal : nop ;\nforall x=1\n")
    assert final_text(test) == "forall x=1"


@pytest.mark.parametrize(
    "body",
    [
        "{ int final;\nfinal = 1;\n}",
        "{\nfinal:\nexists: ; forall : goto final;\n}",
        "{ int filter; { int locations;\nfilter = 1; }\nlocations = 2; }",
        "{ char c = '}';\nfinal = 1; }",
    ],
)
@pytest.mark.parametrize("final", ["exists (x=1)", "~exists (x={1,2})", "filter (x=1) forall (x=1)"])
def test_the_final_part_of_c_is_behind_the_threads(body: str, final: str) -> None:
    threads = f"P0 (int* x) {body}\nP1 (int* filter) {body}"
    test = split(f"C t\n{{}}\n{threads}\n{final}\n")
    assert (program_text(test), final_text(test)) == (threads, final)


def test_no_final_part() -> None:
    test = split("PPC t\n{}\n P0 ;\n nop ;\n")
    assert final_text(test) == ""


def test_semicolon_after_the_initial_state() -> None:
    assert program_text(split("PPC t\n{x=1;};\n P0 ;\n nop ;\n")) == "P0 ;\n nop ;"


# Comments


def test_comments_become_blanks_of_the_same_shape() -> None:
    header = "PPC t (* a (* nested *)\n comment *)\n{x=1; (* y=2; } *) z=3;}\n"
    source = header + " P0 (* | P1 ; *) ;\n nop ;\nexists (* ! *) x=1\n"
    test = split(source)
    assert len(test.text) == len(source)
    assert test.text.count("\n") == source.count("\n")
    assert [entry.name for entry in test.init] == ["x", "z"]
    assert program_text(test).split() == ["P0", ";", "nop", ";"]
    assert final_text(test).split() == ["exists", "x=1"]


def test_comment_to_the_end_of_the_line() -> None:
    test = split(
        "PPC t\nUrl=http://a.b\n{x=1; // y=2;\n}\n P0 ;\n nop // idle ;\n // nothing\n nop ;\nexists x=1 // done\n"
    )
    assert [entry.name for entry in test.init] == ["x"]
    assert program_text(test).split() == ["P0", ";", "nop", ";", "nop", ";"]
    assert test.info == {"Url": "http://a.b"}


def test_hash_at_the_start_of_a_line() -> None:
    test = split("ARM t\n# { not this }\n{\n# y=2;\nx=1;}\n P0 ;\n MOV R0,#1 ;\nexists x=1\n")
    assert [entry.name for entry in test.init] == ["x"]
    assert "#1" in program_text(test)


def test_hash_behind_a_row() -> None:
    test = split("X86 t\n{}\n P0 ;\n MOV [x],$1 ; #(a)Wx1 | ;\n MFENCE ;#fence\nexists x=1\n")
    assert program_text(test).split() == ["P0", ";", "MOV", "[x],$1", ";", "MFENCE", ";"]


def test_pointers_in_c_are_no_comments() -> None:
    code = "P0 (int* x, int* y) { int r = (*x) + (*y); /* (* */ } (* between *)\nP1 (int* x) { *x = 1; // (*\n}"
    test = split(f"C t\n{{ (* none *) }}\n{code}\nexists (0:r=1)\n")
    text = program_text(test)
    assert "(*x) + (*y)" in text
    assert "between" not in text
    assert "/*" not in text
    assert "//" not in text
    assert test.init == ()


@pytest.mark.parametrize(("mark", "missing"), [("(*", "*)"), ("/*", "*/")])
@pytest.mark.parametrize("architecture", ["PPC", "C"])
def test_comment_that_is_not_closed(architecture: str, mark: str, missing: str) -> None:
    found = error(f"{architecture} t\n{{}}\n {mark} P0 ;\n nop ;\nexists x=1\n")
    assert "not closed" in str(found)
    assert f"`{missing}` is missing" in str(found)
    assert found.diagnostic.span is not None
    assert (found.diagnostic.span.line, found.diagnostic.span.column) == (3, 2)


def test_headers_may_contain_the_start_of_a_comment() -> None:
    assert split("PPC t\nFrom=tests/*.litmus\n" + BODY).info == {"From": "tests/*.litmus"}


# The initial state


def entry(text: str) -> InitEntry:
    (only,) = init(text)
    return only


@pytest.mark.parametrize(
    ("text", "name", "thread", "value"),
    [
        ("x=1", "x", None, 1),
        ("x=1;", "x", None, 1),
        (" x = -1 ; ", "x", None, -1),
        ("[x]=0x10;", "x", None, 16),
        ("[ x ] = 3", "x", None, 3),
        ("x=0b101", "x", None, 5),
        ("x=010", "x", None, 10),
        ("x=5UL", "x", None, 5),
        ("0:r1=x", "r1", 0, Address("x")),
        ("P3:r1=x", "r1", 3, Address("x")),
        ("0 : r1 = x", "r1", 0, Address("x")),
        ("0:X1=-5", "X1", 0, -5),
        ("%x0=x", "%x0", None, Address("x")),
        ("0:%x0=x", "%x0", 0, Address("x")),
        ("p=&x", "p", None, Address("x")),
        ("0:r1=x+4", "r1", 0, Address("x", 4)),
        ("0:r1=(x+4)", "r1", 0, Address("x", 4)),
        ("0:r1=x-4", "r1", 0, Address("x", -4)),
        ("0:r1=x[2]", "r1", 0, Address("x", 8)),
        ("0:r1=&x[2]", "r1", 0, Address("x", 8)),
        ("p=(int*)x", "p", None, Address("x")),
        ("p=NULL", "p", None, 0),
        ("_a.b_1=c.d", "_a.b_1", None, Address("c.d")),
    ],
)
def test_untyped_entries(text: str, name: str, thread: int | None, value: int | Address) -> None:
    found = entry(text)
    assert (found.name, found.thread, found.values, found.type) == (name, thread, (value,), "")


@pytest.mark.parametrize(
    ("text", "kind", "size", "length", "values"),
    [
        ("int x", "int", 4, None, ()),
        ("int x=5", "int", 4, None, (5,)),
        ("uint64_t x=5", "uint64_t", 8, None, (5,)),
        ("unsigned char x=5", "unsigned char", 1, None, (5,)),
        ("unsigned long long x", "unsigned long long", 8, None, ()),
        ("volatile int x=1", "int", 4, None, (1,)),
        ("atomic_int x = 0", "atomic_int", 4, None, (0,)),
        ("_Atomic int x = 0", "int", 4, None, (0,)),
        ("atomic_uint_fast64_t x", "atomic_uint_fast64_t", None, None, ()),
        ("int x = ATOMIC_INIT(7)", "int", 4, None, (7,)),
        ("int *x = y", "int*", 8, None, (Address("y"),)),
        ("int* x = &y", "int*", 8, None, (Address("y"),)),
        ("int ** x", "int**", 8, None, ()),
        ("int x[2]={1,2}", "int", 4, 2, (1, 2)),
        ("int x[2]={1,2,}", "int", 4, 2, (1, 2)),
        ("int x[]={1,2,3}", "int", 4, 3, (1, 2, 3)),
        ("int x[3]", "int", 4, 3, ()),
        ("int *x[2]={y,&z}", "int*", 8, 2, (Address("y"), Address("z"))),
    ],
)
def test_typed_entries(
    text: str, kind: str, size: int | None, length: int | None, values: tuple[int | Address, ...]
) -> None:
    found = entry(text)
    assert (found.name, found.type, found.size, found.length, found.values) == ("x", kind, size, length, values)


def test_type_of_a_register() -> None:
    found = entry("int64_t 0:X1=3")
    assert (found.name, found.thread, found.size, found.values) == ("X1", 0, 8, (3,))


def test_type_of_a_symbolic_register() -> None:
    (first, second) = init("uint64_t %P0_x=x;uint64_t %P0_y=y")
    assert (first.name, first.thread, second.name, second.values) == ("%P0_x", None, "%P0_y", (Address("y"),))


def test_elements_are_scaled_by_the_type_of_the_array() -> None:
    (_, register) = init("uint64_t x[4]; 0:X1=x[3]")
    assert register.values == (Address("x", 24),)


def test_entries_keep_where_they_stand() -> None:
    (_, second) = init("x=1;\n 0:r1=y")
    assert (second.span.text, second.span.line) == ("r1", 3)


def test_nothing_between_semicolons() -> None:
    assert init(" ;; ;\n") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{=1}", "expected an entry"),
        ("{x=}", "expected a value"),
        ("{x=1 y=2}", "not understood"),
        ("{x[1}", "expected `]`"),
        ("{int x[2]={1 2}}", "expected `}`"),
        ("{0:X1=P1:L0}", "not understood"),
        ('{0:r1=instr:"nop"}', "not understood"),
        ("{x=(valid:0)}", "expected `)`"),
        ("{x=" + "9" * 10_000 + "}", "does not fit into 64 bits"),
        ("{x=0x10000000000000000;}", "does not fit into 64 bits"),
        ("{0:r1=-9223372036854775809;}", "does not fit into 64 bits"),
        ("{0:r1=x+99999999999999999999;}", "does not fit into 64 bits"),
        ("{x[]=1}", "expected a number up to 65535, found `]`"),
        ("{[x[]]=1}", "expected a number up to 65535, found `]`"),
        ("{x[99999999]=1}", "expected a number up to 65535"),
        ("{0:r1=x[]}", "expected a number up to 65535"),
        ("{x=1", "not closed"),
        ("", "there is no initial state"),
    ],
)
def test_broken_initial_states(text: str, message: str) -> None:
    found = error(f"PPC t\n{text}")
    assert message in str(found)
    assert "file.litmus:" in str(found)


# Files that are something else


@pytest.mark.parametrize("text", ["", "  \n\t\n", "\0\1\2", "%!$", "123 abc {}"])
def test_not_a_litmus_file(text: str) -> None:
    found = error(text)
    assert isinstance(found, ParseError)
    assert found.diagnostic.span is not None
    assert found.diagnostic.hint


# Numbers and types


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("007", 7), ("0xfF", 255), ("-0x10", -16), ("0o17", 15)])
def test_numbers(text: str, value: int) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("name", "size"), [("char", 1), ("int16_t", 2), ("int**", 8), ("long int", 8), ("thing", None)]
)
def test_type_sizes(name: str, size: int | None) -> None:
    assert type_size(name) == size


# Memory


def test_objects_in_order_of_appearance() -> None:
    memory = Globals(init("x=1; 0:r1=y; p=z; [w]=-1"))
    memory.mention("v")
    memory.mention("x")
    assert memory.objects() == (
        Object("x", 8, (Cell(0, 4, 1),)),
        Object("y", 8),
        Object("p", 8, (Cell(0, 8, Address("z")),)),
        Object("z", 8),
        Object("w", 8, (Cell(0, 4, 0xFFFF_FFFF),)),
        Object("v", 8),
    )


def test_arrays_and_types() -> None:
    memory = Globals(init("int a[4]={1,2}; uint64_t b=-1; char c=200; int a[3]; x[2]=7"))
    assert memory.objects() == (
        Object("a", 16, (Cell(0, 4, 1), Cell(4, 4, 2))),
        Object("b", 8, (Cell(0, 8, (1 << 64) - 1),)),
        Object("c", 8, (Cell(0, 1, 200),)),
        Object("x", 12, (Cell(8, 4, 7),)),
    )


def test_entries_that_repeat() -> None:
    assert Globals(init("x=2; x=2; int x")).objects() == (Object("x", 8, (Cell(0, 4, 2),)),)


@pytest.mark.parametrize(
    ("text", "place", "first"),
    [
        ("x=1; x=2", "2:7", "line 2, column 2"),
        ("x=1;\n [x]=y", "3:2", "line 2, column 2"),
        ("int x=1; x=2", "2:11", "line 2, column 6"),
        ("int x[2]={1,2};\nx[1]=3", "3:1", "line 2, column 6"),
    ],
)
def test_entries_that_contradict_each_other(text: str, place: str, first: str) -> None:
    with pytest.raises(ParseError) as caught:
        Globals(init(text))
    assert str(caught.value).startswith(f"folder/file.litmus:{place}: ")
    assert "has another initial value already" in str(caught.value)
    assert first in str(caught.value)


def test_numbers_that_need_8_bytes() -> None:
    memory = Globals(init("x=0x100000000; y=-0x80000001; z[1]=0x100000000; w=0xffffffff"))
    assert [memory.value(name).size for name in "xyzw"] == [8, 8, 8, 4]
    assert memory.objects()[:3] == (
        Object("x", 8, (Cell(0, 8, 1 << 32),)),
        Object("y", 8, (Cell(0, 8, (1 << 64) - 0x80000001),)),
        Object("z", 16, (Cell(8, 8, 1 << 32),)),
    )


def test_numbers_of_16_bytes() -> None:
    ones = (1 << 64) - 1
    assert Globals(init("uint128_t x=-1")).objects() == (Object("x", 16, (Cell(0, 8, ones), Cell(8, 8, ones))),)


def test_addresses_in_arrays() -> None:
    memory = Globals(init("x[1]=5; x[0]=y; int z[2]={x,1}"))
    assert memory.objects() == (
        Object("x", 8, (Cell(4, 4, 5), Cell(0, 4, Address("y")))),
        Object("y", 8),
        Object("z", 8, (Cell(0, 4, Address("x")), Cell(4, 4, 1))),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int x=0x100000000", "4294967296 does not fit into the 4 bytes of `x`"),
        ("char x=-129", "-129 does not fit into the 1 byte of `x`"),
        ("char x[2]={1,y}", "an address does not fit into an element of `x`"),
        ("int x[1]={1,2}", "`x` has more initial values than elements"),
    ],
)
def test_values_that_do_not_fit(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        Globals(init(text)).objects()
    assert message in str(caught.value)
    assert str(caught.value).startswith("folder/file.litmus:2:")


def test_values_for_conditions() -> None:
    memory = Globals(init("uint64_t x; int a[2]"))
    assert memory.value("x") == MemoryValue("x", 0, 8)
    assert memory.value("a", 1) == MemoryValue("a", 4, 4, "a[1]")
    assert memory.value("new") == MemoryValue("new", 0, 4)
    assert "new" in memory
    assert memory.value("far", 9) == MemoryValue("far", 36, 4, "far[9]")
    assert memory.objects()[-1].size == 40


def test_unknown_type() -> None:
    with pytest.raises(UnsupportedError, match="`mystery`"):
        Globals(init("mystery x"))
