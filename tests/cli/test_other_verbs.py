"""`dekker models`, `dekker generate`, `dekker show` and the frame around all verbs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import SB, SPIN

from dekker.ir.text import parse_program
from dekker.models import model_names
from dekker.source import Source


def test_models_are_listed_with_a_line_each() -> None:
    lines = dekker("models").out.splitlines()
    assert [line.split()[0] for line in lines] == list(model_names())
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("arguments", [("litmus", SB), ("check", SB), ("models",)])
def test_a_reader_that_goes_away_is_no_verdict(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "dekker", *arguments]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        outcome = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (141, "")


def test_show_prints_a_program_that_parses_back() -> None:
    outcome = dekker("show", SB)
    assert parse_program(Source("shown", outcome.out)).name == "dekker-x86"


def test_show_can_apply_the_passes() -> None:
    assert "branch FLAGS.ZF -> Again" in dekker("show", SPIN).out
    assert "await FLAGS.ZF eq.64 0 -> Again" in dekker("show", "--ir", "--passes", SPIN).out


def test_generate_prints_a_test() -> None:
    outcome = dekker("generate", "PPC", "SyncdWW Rfe DpAddrdR Fre")
    assert outcome.status == 0
    assert outcome.out.startswith("PPC MP+sync+addr\n")


def test_generate_writes_all_cycles_of_a_size(tmp_path: Path) -> None:
    arguments = ("generate", "X86", "--size", "4", "--edges", "PodWR PodRR PodWW Rfe Fre", "-o", str(tmp_path))
    assert dekker(*arguments).status == 0
    names = {file.stem for file in tmp_path.glob("*.litmus")}
    assert {"SB", "MP"} <= names
    assert dekker("litmus", str(tmp_path), "--model", "sc", "-q").status in (0, 1)


def test_generate_refuses_what_is_no_cycle() -> None:
    assert dekker("generate", "PPC", "Rfe Frob").status == 2
    assert dekker("generate", "VAX", "Rfe Fre").status == 2
    assert dekker("generate", "PPC").status == 2
    assert dekker("generate", "PPC", "PodWW PodWW").status == 2


def test_help_names_the_exit_statuses() -> None:
    outcome = dekker("--help")
    assert outcome.status == 0
    assert "Exit status:" in outcome.out
    assert "undecided: a limit" in outcome.out
    assert dekker("litmus", "--help").status == 0


def test_wrong_calls_end_with_status_2() -> None:
    for arguments in ((), ("frobnicate",), ("litmus",), ("litmus", SB, "--unroll", "-1"), ("litmus", SB, "--frob")):
        assert dekker(*arguments).status == 2, arguments


def test_show_takes_c_programs_and_flags_for_their_compiler(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    (tmp_path / "main.c").write_text("int shared(void); int main(void) { return shared() + MORE; }", encoding="utf-8")
    (tmp_path / "other.c").write_text("int x; int shared(void) { return x; }", encoding="utf-8")
    (tmp_path / "more.h").write_text("#define MORE 17\n", encoding="utf-8")
    files = (str(tmp_path / "main.c"), str(tmp_path / "other.c"))
    outcome = dekker("show", "--ir", *files, "--", "-include", str(tmp_path / "more.h"))
    assert outcome.status == 0, outcome.err
    program = parse_program(Source("shown", outcome.out))
    assert {function.name for function in program.functions} == {"main", "shared"}
    assert "17" in outcome.out
    assert dekker("show", *files).status == 2
    assert dekker("show", SB, files[0]).status == 2
