"""The litmus corpus names the cycle of each test made by the diy tools: made again here, the instructions are the same
up to the names of registers, of locations and the order of threads.

Not compared: tests for which an observer is added (the tools add reads to other threads instead), and a few written
by hand, which `Orig=` describes in spirit only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from dekker.errors import InputError
from dekker.generate import generate

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
REGISTERS = {"PPC": r"r\d+", "X86": r"E[A-DS][XI]", "ARM": r"R\d+", "AArch64": r"[WX]\d+", "RISCV": r"x(?!0\b)\d+"}

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the litmus corpus does not lie beside the repository"),
]


@pytest.mark.parametrize(
    ("folder", "architecture", "least"),
    [
        ("PPC", "PPC", 0.88),
        ("PPC-herding-cats", "PPC", 0.85),
        ("X86", "X86", 0.95),
        ("ARM-herding-cats", "ARM", 0.90),
        ("AARCH64", "AArch64", 0.90),
        ("RISCV", "RISCV", 0.97),
    ],
)
def test_agreement(folder: str, architecture: str, least: float) -> None:
    same = total = 0
    for path in sorted((CORPUS / folder).rglob("*.litmus"))[::3]:
        text = path.read_text(encoding="utf-8", errors="replace")
        cycle = re.search(r"^Orig=(.*)$", text, re.MULTILINE)
        if cycle is None:
            continue
        total += 1
        try:
            made = generate(architecture, cycle.group(1))
        except InputError:
            continue
        ours, theirs = program(made, architecture), program(text, architecture)
        same += ours == theirs or (len(ours) == len(theirs) and canonical(ours) == canonical(theirs))
    assert same >= least * total


def program(text: str, architecture: str) -> list[list[str]]:
    """The instructions of each thread, registers numbered by appearance, addresses replaced by what they point to."""
    text = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
    _, initial, rest = re.split(r"\{|\}", text, maxsplit=2)
    pointers = {
        (thread, register): location
        for thread, register, location in re.findall(r"(?:(\d+):)?([%\w]+)\s*=\s*(\w+)", initial)
    }
    body = re.split(r"^\s*(?:locations|exists|forall|~exists|final)", rest, maxsplit=1, flags=re.MULTILINE)[0]
    rows = [row.split("|") for row in body.split(";") if row.strip()]
    return [
        numbered([row[i] for row in rows[1:] if i < len(row) and row[i].strip()], str(i), pointers, architecture)
        for i in range(len(rows[0]))
    ]


def numbered(lines: Sequence[str], thread: str, pointers: dict[tuple[str, str], str], architecture: str) -> list[str]:
    numbers: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        register = re.sub(r"^W", "X", found.group(0)) if architecture == "AArch64" else found.group(0)
        location = pointers.get((thread, register)) or pointers.get(("", register))
        return f"&{location}" if location else numbers.setdefault(register, f"v{len(numbers)}")

    pattern = re.compile(rf"%\w+|\bLC\d+|\b(?:{REGISTERS[architecture]})\b")
    return [pattern.sub(name, re.sub(r"\s+", " ", line.strip().replace(", ", ","))) for line in lines]


def canonical(threads: Sequence[Sequence[str]]) -> list[list[str]]:
    """The least among all orders of threads, locations numbered by appearance."""
    orders = permutations(threads) if len(threads) < 6 else [tuple(threads)]
    return min(with_numbered_locations(order) for order in orders)


def with_numbered_locations(threads: Sequence[Sequence[str]]) -> list[list[str]]:
    numbers: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(1) or found.group(2), f"<{len(numbers)}>")

    return [[re.sub(r"&(\w+)|(?<=\[)([a-z])(?=\])", name, line) for line in thread] for thread in threads]
