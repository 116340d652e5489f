"""The programs are what they claim to be: the formulas agree with the oracle, and the C forms compile and hold."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.languages import LANGUAGES_OF_MODELS, write_litmus
from benchmarks.languages.assembly import Inexpressible
from benchmarks.languages.posix import write_program
from benchmarks.sets import FAMILIES
from benchmarks.sets.family import Family, family_case
from benchmarks.sketch import Equals, Load, Sketch, Statement, Store
from benchmarks.tools import TOOLS

from dekker.engines.axiomatic import engine as oracle
from dekker.frontends.litmus import parse_litmus
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.source import Source
from dekker.task import Task

ALL_FAMILIES = {family.name: family for families in FAMILIES.values() for family in families}
LARGEST_FOR_THE_ORACLE = {"fib": 2, "lock": 2, "ticket": 2}
C_FLAGS = "-fsyntax-only -Wall -Werror -Wno-implicit-function-declaration -Wno-unused-but-set-variable".split()
C_COMPILER = shutil.which("cc") or shutil.which("gcc")


def traces_by_oracle(family: Family, size: int, model: str) -> int:
    (text,) = family_case("test", family, size, model).texts.values()
    program = parse_litmus(Source("generated.litmus", text))
    validate(program)
    return oracle.run(Task(program, load_model(model))).complete_executions


def formulas() -> Iterator[tuple[str, str]]:
    for name, family in ALL_FAMILIES.items():
        for model in LANGUAGES_OF_MODELS:
            expressible = not family_case("test", family, family.smallest, model).skipped
            if expressible and family.traces(model, family.smallest) is not None:
                yield name, model


@pytest.mark.parametrize(("name", "model"), list(formulas()))
def test_the_formula_is_what_the_oracle_counts(name: str, model: str) -> None:
    family = ALL_FAMILIES[name]
    for size in range(family.smallest, LARGEST_FOR_THE_ORACLE.get(name, 3) + 1):
        assert traces_by_oracle(family, size, model) == family.traces(model, size)


def test_what_the_paper_and_other_tools_counted() -> None:
    assert ALL_FAMILIES["fig11"].traces("power", 10) == 184_759
    assert ALL_FAMILIES["fig11-fenced"].traces("power", 10) == 3
    assert ALL_FAMILIES["fib"].traces("power", 5) == 19_404
    assert ALL_FAMILIES["sb-ring"].traces("sc", 14) == 16_383
    assert ALL_FAMILIES["fetch-add"].traces("rc11", 8) == 40_320


@pytest.mark.parametrize("name", ALL_FAMILIES)
def test_every_default_can_be_written(name: str) -> None:
    family = ALL_FAMILIES[name]
    for model in family.models:
        for size in family.sizes:
            case = family_case("test", family, size, model)
            assert not case.skipped
            (text,) = case.texts.values()
            validate(parse_litmus(Source("generated.litmus", text)))


@pytest.mark.parametrize("name", ALL_FAMILIES)
@pytest.mark.parametrize("tool", ["nidhugg", "genmc", "cbmc"])
def test_programs_for_other_tools_compile(name: str, tool: str, tmp_path: Path) -> None:
    if C_COMPILER is None:
        pytest.skip("there is no C compiler on PATH")
    family = ALL_FAMILIES[name]
    written = 0
    for model in TOOLS[tool].models:
        case = family_case("test", family, 3, model)
        if case.skipped:
            continue
        try:
            *_, file = TOOLS[tool].arguments(case, [], model, tmp_path)
        except Inexpressible:
            continue
        text = Path(file).read_text(encoding="utf-8").replace("__asm__ volatile", "//")
        Path(file).write_text(text, encoding="utf-8")
        done = subprocess.run([C_COMPILER, *C_FLAGS, file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        written += 1
    assert written or name in ("llsc", "llsc-loop")


@pytest.mark.parametrize("name", ["fetch-add", "ticket"])
def test_the_c_form_means_what_it_should(name: str, tmp_path: Path) -> None:
    """The conditions of these hold in every execution, so they do in one on this machine."""
    if C_COMPILER is None:
        pytest.skip("there is no C compiler on PATH")
    sketch = ALL_FAMILIES[name].sketch(3)
    assert sketch.quantifier == "forall"
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(write_program(sketch, check="return !({condition});"), encoding="utf-8")
    subprocess.run([C_COMPILER, "-O1", "-pthread", str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], check=False, timeout=60).returncode == 0


def test_a_statement_without_words_is_named() -> None:
    case = family_case("test", ALL_FAMILIES["ticket"], 2, "power")
    assert case.skipped == "PPC: no AtomicIncrement"


def test_more_locations_than_registers() -> None:
    """Beyond the registers for addresses there are symbolic ones, except on RISC-V."""
    thread: tuple[Statement, ...] = tuple(Store(f"x{number}", 1) for number in range(40))
    sketch = Sketch("wide", (thread, (Load("r", "x39"),)), "exists", (Equals("r", 1, 1),))
    for model in ("power", "armv7", "aarch64"):
        program = parse_litmus(Source("wide.litmus", write_litmus(sketch, model)))
        assert oracle.run(Task(program, load_model(model))).satisfying == 1
    with pytest.raises(Inexpressible, match="more than 16 locations"):
        write_litmus(sketch, "riscv")
