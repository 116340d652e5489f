"""Writes the generated part of the project's corpus and the tables of results beside all of it.

`python -m tests.corpus.make_corpus` rewrites `tests/generated/*/*.litmus`; with `--results` it also recomputes every
`expected.csv` with the oracle. Read the difference before you commit it: a changed count is a lost or an invented
execution. The verdicts of the classics stand in `test_classics.py`, independent of these tables.
"""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from tests.corpus.expectations import OWN_CORPUS

from dekker.frontends.litmus import default_model, parse_litmus
from dekker.generate import cycle_of_name, generate
from dekker.run.batch import BatchOptions, run_file
from dekker.source import Source

# What stands between the two accesses of each thread: WW is a write followed by a write, and so on.
FAMILIES = {
    "SB": ("WR", "WR"),
    "MP": ("WW", "RR"),
    "LB": ("RW", "RW"),
    "S": ("WW", "RW"),
    "R": ("WW", "WR"),
    "2+2W": ("WW", "WW"),
}

LINKS: dict[str, dict[str, tuple[str, ...]]] = {
    "PPC": {
        "WW": ("po", "lwsync", "sync"),
        "WR": ("po", "lwsync", "sync"),
        "RR": ("po", "lwsync", "addr", "ctrl", "ctrlisync"),
        "RW": ("po", "lwsync", "addr", "data", "ctrl"),
    },
    "X86": dict.fromkeys(("WW", "WR", "RR", "RW"), ("po", "mfence")),
    "ARM": {
        "WW": ("po", "dmb", "dsb.st"),
        "WR": ("po", "dmb"),
        "RR": ("po", "dmb", "addr", "ctrlisb"),
        "RW": ("po", "data", "ctrl"),
    },
    "AArch64": {
        "WW": ("po", "dmb.st", "popl"),
        "WR": ("po", "dmb.sy", "pola"),
        "RR": ("po", "dmb.ld", "addr", "ctrlisb"),
        "RW": ("po", "data", "ctrl"),
    },
    "RISCV": {
        "WW": ("po", "fence.w.w"),
        "WR": ("po", "fence.rw.rw"),
        "RR": ("po", "fence.r.r", "addr", "ctrlfencei"),
        "RW": ("po", "data", "fence.rw.w"),
    },
}

LARGER = {
    "PPC": (
        "WRC WRC+addrs WRC+lwsync+addr WRC+sync+addr WRC+data+addr RWC RWC+syncs RWC+lwsyncs RWC+addr+sync "
        "ISA2 ISA2+lwsync+addr+addr ISA2+sync+data+addr ISA2+lwsync+data+ctrlisync IRIW IRIW+addrs IRIW+lwsyncs "
        "IRIW+syncs IRIW+sync+addr WWC WWC+addrs WWC+lwsync+addr W+RWC+lwsync+addr+sync Z6.0+lwsync+lwsync+sync "
        "Z6.3+lwsync+lwsync+addr 3.SB 3.SB+syncs 3.LB+addrs 3.2W 3.2W+lwsyncs CoRR CoWW CoRW1 CoWR0 CoRW2"
    ),
    "X86": "RWC RWC+po+mfence IRIW WRC ISA2 3.SB 3.SB+mfences 3.LB W+RWC Z6.3 CoRR CoWW CoRW1 CoWR0 CoRW2",
    "ARM": "WRC+addrs WRC+dmb+addr IRIW IRIW+addrs IRIW+dmbs ISA2+dmb+addr+addr RWC+dmbs CoRR CoWW CoRW1 CoWR0 CoRW2",
    "AArch64": (
        "WRC+addrs WRC+data+addr IRIW IRIW+addrs IRIW+dmb.sys ISA2+dmb.sy+data+addr RWC+dmb.sys 3.SB+dmb.sys "
        "3.LB+datas CoRR CoWW CoRW1 CoWR0 CoRW2"
    ),
    "RISCV": (
        "WRC+addrs WRC+fence.rw.rw+addr IRIW IRIW+addrs IRIW+fence.rw.rws ISA2+fence.w.w+data+addr RWC+fence.rw.rws "
        "CoRR CoWW CoRW1 CoWR0 CoRW2"
    ),
}

C11_CYCLES = (
    "PodWRRlxRlx FreRlxRlx PodWRRlxRlx FreRlxRlx",
    "PodWRScSc FreScSc PodWRScSc FreScSc",
    "PodWWRlxRel RfeRelAcq PodRRAcqRlx FreRlxRlx",
    "PodWWRlxRlx RfeRlxRlx PodRRRlxRlx FreRlxRlx",
    "PodRWRlxRlx RfeRlxRlx PodRWRlxRlx RfeRlxRlx",
    "PodRWAcqRel RfeRelAcq PodRWAcqRel RfeRelAcq",
    "RfeRelAcq PodRRAcqAcq FreAcqRel RfeRelAcq PodRRAcqAcq FreAcqRel",
    "RfeScSc PodRRScSc FreScSc RfeScSc PodRRScSc FreScSc",
)


def test_names(architecture: str) -> Iterator[str]:
    links = LINKS[architecture]
    for family, (first, second) in FAMILIES.items():
        symmetric = first == second
        for left, right in product(links[first], links[second]):
            if not (symmetric and links[first].index(left) > links[second].index(right)):
                yield _name(family, left, right)
    yield from LARGER[architecture].split()


def _name(family: str, left: str, right: str) -> str:
    if left == right:
        return family if left == "po" else f"{family}+{left}s"
    return f"{family}+{left}+{right}"


def generated_tests() -> Iterator[tuple[str, str]]:
    """Architecture and text of each generated test."""
    for architecture in LINKS:
        for name in dict.fromkeys(test_names(architecture)):
            yield architecture, generate(architecture, cycle_of_name(name, architecture), name)
    for cycle in C11_CYCLES:
        yield "C", generate("C", cycle)


def write_tests() -> None:
    target = OWN_CORPUS / "generated"
    if target.exists():
        shutil.rmtree(target)
    for architecture, text in generated_tests():
        name = text.split("\n", 1)[0].split(" ", 1)[1].strip()
        file = target / architecture / f"{name}.litmus"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def write_results() -> None:
    for folder in sorted({file.parent for file in OWN_CORPUS.rglob("*.litmus")}):
        with (folder / "expected.csv").open("w", encoding="utf-8", newline="") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(("test", "model", "observation", "positive", "negative", "states"))
            for file in sorted(folder.glob("*.litmus")):
                for model in models_for(file):
                    record = run_file(str(file), BatchOptions(model, "axiomatic"))
                    assert record.error is None, record.error
                    row = (record.observation, record.positive, record.negative, record.states)
                    table.writerow((file.name, model, *row))


def models_for(file: Path) -> tuple[str, ...]:
    program = parse_litmus(Source(str(file), file.read_text(encoding="utf-8")))
    return default_model(program.architecture), "sc"


if __name__ == "__main__":
    write_tests()
    if "--results" in sys.argv:
        write_results()
