from __future__ import annotations

import pytest

from dekker.cat.lexer import tokenize
from dekker.errors import ParseError
from dekker.source import Source


def tokens(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(Source("m.cat", text))[:-1]]


def texts(text: str) -> list[str]:
    return [token for _, token in tokens(text)]


def test_names_may_hold_dots_dashes_and_end_in_a_quote() -> None:
    assert texts("po-loc DMB.SY Fence.rw.rw rf' _acq ctrl-isync.x") == [
        "po-loc",
        "DMB.SY",
        "Fence.rw.rw",
        "rf'",
        "_acq",
        "ctrl-isync.x",
    ]


def test_a_dash_before_an_arrow_is_not_part_of_the_name() -> None:
    assert texts("fun x->x") == ["fun", "x", "->", "x"]


def test_keywords_are_not_names() -> None:
    assert tokens("let lets") == [("keyword", "let"), ("name", "lets")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rf^-1", ["rf", "^-1"]),
        ("rf ^ -1", ["rf", "^-1"]),
        ("r^+ r^* r^?", ["r", "+", "r", "*", "r", "?"]),
        ("a||b|c", ["a", "||", "b", "|", "c"]),
        ("a++b+", ["a", "++", "b", "+"]),
        ("a\\b&c;d", ["a", "\\", "b", "&", "c", ";", "d"]),
        ("[A]*_", ["[", "A", "]", "*", "_"]),
        ("{}0", ["{", "}", "0"]),
    ],
)
def test_symbols(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_strings_and_tags_lose_their_quotes() -> None:
    assert tokens('"a b" \'rel-acq') == [("string", "a b"), ("tag", "rel-acq")]


def test_comments_nest_and_end_lines() -> None:
    assert texts("a (* one (* two *) one *) b // rest\nc # rest (* \nd (*)*) e") == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("let a =\n  (* never (* closed *)", 2, 3, "this comment has no end"),
        ('include "cos', 1, 9, "this string has no end"),
        ("let a = 12", 1, 9, "a number has no meaning here"),
        ("let a = po @ rf", 1, 12, "unexpected character '@'"),
        ("let a =\x00", 1, 8, "unexpected character '\\x00'"),
    ],
)
def test_errors_say_where(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        tokens(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (line, column)
