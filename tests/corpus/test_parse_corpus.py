"""Every litmus test at hand parses, is valid, and survives printing and parsing as program text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dekker.frontends.litmus import default_model, parse_litmus
from dekker.ir.text import parse_program, print_program
from dekker.ir.validate import validate
from dekker.source import Source

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
SETS = {
    "PPC": "PPC",
    "PPC-herding-cats": "PPC",
    "X86": "X86",
    "ARM-herding-cats": "ARM",
    "AARCH64": "AArch64",
    "RISCV": "RISCV",
    "C11": "C",
}

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus of litmus tests is not here"),
]


def read(name: str) -> list[Source]:
    paths = sorted((CORPUS / name).rglob("*.litmus"))
    assert paths
    return [Source(str(path), path.read_text(encoding="utf-8", errors="replace")) for path in paths]


@pytest.mark.parametrize(("name", "architecture"), SETS.items(), ids=SETS)
def test_corpus(name: str, architecture: str) -> None:
    for source in read(name):
        program = parse_litmus(source)
        validate(program)
        assert program.architecture == architecture
        assert program.threads
        assert program.property.condition is not None
        assert set(program.property.observed)
        assert parse_program(Source("program text", print_program(program))) == program, source.name


@pytest.mark.parametrize("name", SETS)
def test_parsing_is_fast(name: str) -> None:
    """Batches of thousands are the normal use. A quiet machine needs 0.1 to 0.2 ms per test."""
    sources = read(name)
    for source in sources:
        parse_litmus(source)
    start = time.process_time()
    for source in sources:
        parse_litmus(source)
    assert (time.process_time() - start) / len(sources) < 0.002


def test_models_of_the_corpus() -> None:
    models = {default_model(parse_litmus(read(name)[0]).architecture) for name in SETS}
    assert models == {"power", "tso", "armv7", "aarch64", "riscv", "cpp20"}
