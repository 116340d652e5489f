"""Programs in the language of the RSMC paper through the real command line."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.calls import dekker

from dekker.ir.text import parse_program
from dekker.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples" / "rsmc"

# Executions that the condition asks for, and the others, under power. The paper counts 4 traces in Fig. 2, 3 in Fig. 11
# and 184 759 in Fig. 11 without its fences.
COUNTS = {
    "load-buffering": (1, 3),
    "coherence-and-sync": (4, 0),
    "one-load-two-stores": (1, 5),
    "dekker-fenced": (3, 0),
    "dekker": (184_756, 3),
}
SMALL = ("load-buffering", "coherence-and-sync", "one-load-two-stores")


def example(name: str) -> str:
    return str(EXAMPLES / f"{name}.rsmc")


def record(*arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(dekker("litmus", *arguments, "--json", "-").out)
    return found


def test_the_examples_are_all_pinned() -> None:
    assert {file.stem for file in EXAMPLES.iterdir()} == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_examples_with_one_run_per_trace(name: str) -> None:
    found = record(example(name), "--engine", "rsmc")
    assert (found["name"], found["model"], found["verdict"]) == (name, "power", "Ok")
    assert (found["positive"], found["negative"]) == COUNTS[name]
    assert "blocked" not in found


@pytest.mark.parametrize("name", SMALL)
def test_examples_with_the_oracle(name: str) -> None:
    found = record(example(name), "--engine", "axiomatic")
    assert found["verdict"] == "Ok"
    assert (found["positive"], found["negative"]) == COUNTS[name]


def test_a_folder_holds_both_kinds_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.rsmc").write_text("x = 0\nthread P: x := 1\nforall (x=1)\n", encoding="utf-8")
    (tmp_path / "b.litmus").write_text("X86 b\n{ }\n P0 ;\n MOV [x],$1 ;\nforall (x=1)\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text("neither", encoding="utf-8")
    outcome = dekker("litmus", str(tmp_path))
    assert outcome.status == 0
    assert "Observation a Always 1 0" in outcome.out
    assert "Observation b Always 1 0" in outcome.out
    assert "2 of 2 tests" in outcome.err


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    outcome = dekker("litmus", str(tmp_path))
    assert outcome.status == 2
    assert "no .litmus or .rsmc file" in outcome.err


@pytest.mark.parametrize("name", COUNTS)
def test_show_prints_a_program_that_parses_back(name: str) -> None:
    shown = parse_program(Source("shown", dekker("show", example(name), "--ir").out))
    assert (shown.name, shown.architecture) == (name, "RSMC")
    assert len(shown.threads) == (3 if name == "one-load-two-stores" else 2)


# Other models

MESSAGE = "x = 0 y = 0\nthread P:\nx := 1; {write}; y := 1\nthread Q:\nr1 := y; {read}\nexists (Q:r1=1 /\\ Q:r2=0)\n"
DEKKER = "x = 0 y = 0\nthread P:\nx := 1; {0}; r1 := y\nthread Q:\ny := 1; {0}; r2 := x\nexists (P:r1=0 /\\ Q:r2=0)\n"
IN_ORDER_LOADS = ("sc", "tso", "pso", "ghb-tso", "ghb-pso")
HARDWARE = (*IN_ORDER_LOADS, "rmo", "power", "armv7", "aarch64", "riscv", "ghb-rmo", "ghb-power")


@pytest.mark.parametrize("model", HARDWARE)
def test_load_buffering_needs_a_model_that_reorders_loads_with_stores(model: str) -> None:
    found = record(example("load-buffering"), "--model", model, "--engine", "all")
    assert found["verdict"] == ("No" if model in IN_ORDER_LOADS else "Ok")
    assert found["negative"] == 3


@pytest.mark.parametrize("model", HARDWARE)
def test_fences_mean_what_they_order_under_every_hardware_model(model: str, tmp_path: Path) -> None:
    assert record(example("coherence-and-sync"), "--model", model, "--engine", "all")["verdict"] == "Ok"
    file = tmp_path / "sb.rsmc"
    for fence, verdict in (("sync", "No"), ("lwsync", "No" if model == "sc" else "Ok")):
        file.write_text(DEKKER.format(fence), encoding="utf-8")
        found = record(str(file), "--model", model, "--engine", "all")
        assert (found["verdict"], found["negative"]) == (verdict, 3)


def test_the_model_of_c_refuses_the_fences_of_power() -> None:
    outcome = dekker("litmus", example("coherence-and-sync"), "--model", "rc11")
    assert outcome.status == 2
    assert "coherence-and-sync.rsmc:13:5: error: the model 'rc11' gives no meaning to the fence 'sync'" in outcome.err


CLASSICS = {
    "MP": (MESSAGE.format(write="", read="r2 := x"), "Ok"),
    "MP+lwsync+po": (MESSAGE.format(write="lwsync", read="r2 := x"), "Ok"),
    "MP+lwsync+addr": (MESSAGE.format(write="lwsync", read="r2 := [&x + r1*0]"), "No"),
    "MP+eieio+addr": (MESSAGE.format(write="eieio", read="r2 := [&x + (r1 ^ r1)]"), "No"),
    "MP+isync+addr": (MESSAGE.format(write="isync", read="r2 := [&x + r1*0]"), "Ok"),
    "MP+lwsync+ctrl": (MESSAGE.format(write="lwsync", read="if r1 = 0 goto L; L: r2 := x"), "Ok"),
    "MP+lwsync+ctrlisync": (MESSAGE.format(write="lwsync", read="if r1 = 0 goto L; L: isync; r2 := x"), "No"),
    "SB+lwsyncs": (DEKKER.format("lwsync"), "Ok"),
    "SB+syncs": (DEKKER.format("sync"), "No"),
}


@pytest.mark.parametrize("name", CLASSICS)
def test_classics_under_power(name: str, tmp_path: Path) -> None:
    text, verdict = CLASSICS[name]
    file = tmp_path / "test.rsmc"
    file.write_text(text, encoding="utf-8")
    assert record(str(file), "--engine", "all")["verdict"] == verdict


def test_a_pointer_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "pointer.rsmc"
    text = "old = 5 new = 0 p = &old\nthread P: new := 6; lwsync; p := &new\nthread Q: q := p; r := [q]\n"
    file.write_text(text + "forall (Q:q=&old /\\ Q:r=5 \\/ Q:q=&new /\\ Q:r=6)\n", encoding="utf-8")
    found = record(str(file), "--engine", "all")
    assert (found["verdict"], found["positive"], found["negative"]) == ("Ok", 2, 0)


def test_an_address_of_no_variable_is_undefined_behaviour(tmp_path: Path) -> None:
    file = tmp_path / "wild.rsmc"
    file.write_text("x = 0\nthread P:\n  r := [&x + 100]\n", encoding="utf-8")
    outcome = dekker("litmus", str(file))
    assert outcome.status == 1
    assert f"{file}:3:3: violation: memory" in outcome.out


def test_loops_are_bounded(tmp_path: Path) -> None:
    file = tmp_path / "wait.rsmc"
    file.write_text("x = 0\nthread P:\nL: r := x; if !r goto L\nthread Q: x := 1\nforall (P:r=1)\n", encoding="utf-8")
    outcome = dekker("litmus", str(file), "--engine", "all", "--unroll", "3", "--unroll-waits")
    assert outcome.status == 0
    assert "Observation wait Always 4 0" in outcome.out
    assert "Loop bound reached" in outcome.out


# Bad input


def test_errors_have_a_position_and_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "bad.rsmc"
    file.write_text("x = 0\nthread P:\n  r := x + 1\n", encoding="utf-8")
    for verb in ("litmus", "show"):
        outcome = dekker(verb, str(file))
        assert outcome.status == 2
        assert outcome.err.startswith(f"{file}:3:8: error: `x` is a shared variable")
        assert "\n    r := x + 1\n         ^\n" in outcome.err
        assert "hint: load it into a register first" in outcome.err


TEXTS = [Path(example(name)).read_text(encoding="utf-8") for name in SMALL]


@settings(max_examples=100)
@given(st.sampled_from(TEXTS), st.integers(0, 500), st.integers(0, 20), st.binary(max_size=4))
def test_mutated_programs_never_crash(text: str, start: int, length: int, new: bytes) -> None:
    content = bytearray(text.encode())
    content[start : start + length] = new
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.rsmc"
        file.write_bytes(bytes(content))
        for engine in ("axiomatic", "rsmc"):
            assert dekker("litmus", str(file), "--engine", engine, "--timeout", "0.5").status in (0, 1, 2, 3)
        assert dekker("show", str(file)).status in (0, 2)
