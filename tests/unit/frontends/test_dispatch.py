"""Which front end reads a file, and which model its program runs under."""

from __future__ import annotations

import pytest

from dekker.errors import ParseError
from dekker.frontends import EXTENSIONS, default_model, parse_program
from dekker.source import Source

LITMUS = "X86 t\n{ }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n"
RSMC = "x = 0\nthread P:\nx := 1\nexists (x=1)\n"


@pytest.mark.parametrize(
    ("name", "text", "architecture", "model"),
    [
        ("t.litmus", LITMUS, "X86", "tso"),
        ("some/folder.rsmc/t.litmus", LITMUS, "X86", "tso"),
        ("t.txt", LITMUS, "X86", "tso"),
        ("<stdin>", LITMUS, "X86", "tso"),
        ("some/folder/t.rsmc", RSMC, "RSMC", "power"),
    ],
)
def test_the_extension_decides(name: str, text: str, architecture: str, model: str) -> None:
    program = parse_program(Source(name, text))
    assert program.architecture == architecture
    assert default_model(program) == model


def test_each_extension_has_its_own_language() -> None:
    assert EXTENSIONS == (".litmus", ".rsmc")
    for name, text in (("t.litmus", RSMC), ("t.rsmc", LITMUS)):
        with pytest.raises(ParseError):
            parse_program(Source(name, text))
