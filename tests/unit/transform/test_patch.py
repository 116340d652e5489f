"""Where statements can be put into sources."""

from __future__ import annotations

import pytest

from dekker.patch import insert
from dekker.patch.c_source import c_sheet

SOURCES = {
    "int f(void) { return g(); }": "int f(void) { @return g(); }",
    "void f(void) { if (a) b = 1; else c = 2; }": "void f(void) { @if (a) { @b = 1; @ } else { @c = 2; @ } @}",
    "void f(void) { while (a) ; }": "void f(void) { @while (a) { @; @ } @}",
    "void f(void) { do a++; while (a < 3); b(); }": "void f(void) { @do { @a++; @ } while (a < 3); @b(); @}",
    'void f(void) { p("}{;"); /* { */ q(); }': 'void f(void) { @p("}{;"); /* { */ @q(); @}',
    "struct s { int a; }; int v[] = {1, 2};": "struct s { int a; }; int v[] = {1, 2};",
    "void f(void) { int a[] = {1, 2}; s t = (s){3}; }": "void f(void) { @int a[] = {1, 2}; @s t = (s){3}; @}",
    "void f(int x) { switch (x) { case 1: a(); break; default: b(); } }": (
        "void f(int x) { @switch (x) { case 1: @a(); @break; default: @b(); @} @}"
    ),
    "void f(void) { again: g(); goto again; }": "void f(void) { again: @g(); @goto again; }",
    "namespace n { struct c { int m() const { return 1; } }; }": (
        "namespace n { struct c { int m() const { @return 1; } }; }"
    ),
    "void f() { std::thread t([&](int a) { x = a; }); }": "void f() { @std::thread t([&](int a) { @x = a; @}); @}",
    "#define M(x) { x; }\nvoid f(void) { M(a) }": "#define M(x) { x; }\nvoid f(void) { @M(a) @}",
    "#define M(x) \\\r\n { x; }\r\nvoid f(void) { M(a) }": "#define M(x) \\\r\n { x; }\r\nvoid f(void) { @M(a) @}",
    "#define M 1 /* {\n { */\nvoid f(void) { a(); }": "#define M 1 /* {\n { */\nvoid f(void) { @a(); @}",
    "void f(void) { a(); // b \\\n c(); }\n d(); }": "void f(void) { @a(); // b \\\n c(); }\n @\n d(); @}",
    "void f(void) { a(); // b \\ \r\n c(); }\r\n d(); }": (
        "void f(void) { @a(); // b \\ \r\n c(); }\r\n @\r\n d(); @}"
    ),
    'void f(void) { p("}\\\r\n{;"); a(); \\\n b(); }': 'void f(void) { @p("}\\\r\n{;"); @a(); \\\n @\n b(); @}',
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.items())
def test_gaps_of_c(source: str, expected: str) -> None:
    sheet = c_sheet("test.c", source)
    patched = insert(sheet, dict.fromkeys(range(len(sheet.gaps)), "@")).text
    assert patched.replace("@ ", "@") == expected.replace("@ ", "@")


def test_positions_lead_back() -> None:
    source = "void f(void) {\n  a();\n  if (b) c();\n}\n"
    sheet = c_sheet("test.c", source)
    patched = insert(sheet, dict.fromkeys(range(len(sheet.gaps)), "fence();"))
    for name in ("a()", "b", "c()"):
        assert patched.origins(patched.text.index(name)) == source.index(name)
    assert patched.text.splitlines()[1:3] == ["  fence();", "  a();"]


@pytest.mark.parametrize("source", ["", "{", "}", "int f(void) { if (", "void f() { ([{ }", "}}}((("])
def test_broken_text_is_no_problem(source: str) -> None:
    sheet = c_sheet("test.c", source)
    assert insert(sheet, {}).text == source
