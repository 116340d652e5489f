"""Limits of time and memory hold whatever is being done, and want of memory is no defect."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

LONG_S = 300.0
"""On a busy machine. Without supervision these take hours."""

DOUBLINGS = "".join(f"#define {chr(66 + n)} {' '.join(chr(65 + n) * 4)}\n" for n in range(14))
MACROS = f"#define A x = 1; x = 2;\n{DOUBLINGS}int x;\nint main(void) {{ O return 0; }}\n"
STATEMENTS = "volatile int x;\nint main(void) { int s = 0;\n" + "s += x;\n" * 100_000 + "return s; }\n"
ARRAY = "int a[1 << 28];\nint main(void) { a[5] = 1; return 0; }\n"
LITMUS = (
    "X86 {name}\n{{}}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists ({condition})\n"
)
CLAUSE = "(0:EAX=0 \\/ 0:EAX=1 \\/ 1:EAX=0)"
FUNCTIONS = '"f"\nlet f0(x) = x;x\n' + "".join(f"let f{n + 1}(x) = f{n}(x);f{n}(x)\n" for n in range(40))


def run(*arguments: str, megabytes: int | None = None) -> subprocess.CompletedProcess[str]:
    def restrict() -> None:
        if megabytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-m", "dekker", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_S, preexec_fn=restrict)
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    return done


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


@needs_compiler
@pytest.mark.parametrize("text", [MACROS, STATEMENTS])
@pytest.mark.parametrize("verb", [("check",), ("fences",), ("compare",), ("modular",), ("explain",)])
def test_reading_a_program_has_an_end(text: str, verb: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*verb, written(tmp_path, "long.c", text), "-m", "tso", "--timeout", "1")
    assert done.returncode == 3, done.stderr
    assert "time" in done.stdout


@needs_compiler
def test_what_is_said_without_an_answer_names_the_model_of_c(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, "long.c", MACROS), "--timeout", "1", "--json", "-")
    record = json.loads(done.stdout)
    assert (record["verdict"], record["model"]) == ("UNKNOWN", "cpp20")
    assert "strict aliasing" in record["unchecked"]


@needs_compiler
@pytest.mark.parametrize("verb", [("show",), ("instrument", "-m", "tso")])
def test_printing_a_program_has_an_end(verb: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*verb, written(tmp_path, "long.c", MACROS), "--timeout", "1")
    assert done.returncode == 3, done.stderr
    assert "stopped by time" in done.stdout


def test_generating_has_an_end() -> None:
    done = run("generate", "X86", "--size", "12", "--timeout", "1")
    assert done.returncode == 3


@needs_compiler
@pytest.mark.parametrize("engine", ["states", "transform"])
def test_an_array_that_is_larger_than_memory(engine: str, tmp_path: Path) -> None:
    source, answer = written(tmp_path, "array.c", ARRAY), tmp_path / "answer.json"
    done = run("check", source, "-m", "tso", "--engine", engine, "--memory", "300", "--json", str(answer))
    assert done.returncode == 3
    assert "stopped by memory" in done.stdout
    record = json.loads(answer.read_text(encoding="utf-8"))
    assert (record["verdict"], record["bounds"]["stopped_by"]) == ("UNKNOWN", "memory")


@needs_compiler
def test_want_of_memory_is_no_defect(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, "array.c", ARRAY), "-m", "tso", "--engine", "states", megabytes=3000)
    assert done.returncode == 3, done.stderr
    assert "stopped by memory" in done.stdout


def test_one_test_of_a_batch_does_not_spoil_the_others(tmp_path: Path) -> None:
    large = " /\\ ".join([CLAUSE] * 300_000)
    tests = [LITMUS.format(name=f"t{n}", condition=large if n == 1 else "0:EAX=0 /\\ 1:EAX=0") for n in range(4)]
    files = [written(tmp_path, f"t{n}.litmus", text) for n, text in enumerate(tests)]
    for jobs in ("1", "2"):
        done = run("litmus", *files, "-m", "tso", "--timeout", "5", "--jobs", jobs)
        assert done.returncode == 3
        assert done.stdout.count("Sometimes 1 3") == 3, done.stdout


def test_models_whose_definitions_multiply(tmp_path: Path) -> None:
    """Written out, the model would be too long for every limit."""
    model = written(tmp_path, "f.cat", f"{FUNCTIONS}acyclic f40(po) as x\n")
    test = written(tmp_path, "t.litmus", LITMUS.format(name="t", condition="0:EAX=0"))
    done = run("litmus", test, "-m", model, "--timeout", "20")
    assert done.returncode == 0, done.stdout + done.stderr
