"""`dekker fences` and `dekker show --cycles`, through the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.calls import dekker

TABLE1 = "examples/c/table1"
LITMUS = "examples/litmus"


def proposed(*arguments: str) -> dict[str, object]:
    outcome = dekker("fences", "--json", "-", *arguments)
    assert outcome.status == 0, outcome.err
    record: dict[str, object] = json.loads(outcome.out)
    return record


def kinds(record: dict[str, object]) -> list[str]:
    fences = record["fences"]
    assert isinstance(fences, list)
    return sorted(fence["kind"] for fence in fences)


CLASSICS = [
    # Places in the source; both threads run the same code.
    ("dekker", "tso", ["mfence"]),
    ("dekker", "pso", ["membar", "membar.storestore"]),
    ("dekker", "power", ["lwsync", "sync"]),
    ("peterson", "tso", ["mfence"]),
    ("peterson", "pso", ["membar", "membar.storestore", "membar.storestore"]),
    ("peterson", "power", ["lwsync", "sync", "sync"]),
    ("lamport", "tso", ["mfence", "mfence"]),
    ("lamport", "pso", ["membar", "membar", "membar.storestore"]),
    ("lamport", "power", ["lwsync", "sync", "sync"]),
    ("szymanski", "tso", ["mfence"]),
    ("szymanski", "pso", ["membar", "membar.storestore"]),
    ("szymanski", "power", ["lwsync", "sync"]),
]


OTHER_ENGINES = {
    ("lamport", "power"): ("transform", "--buffer", "1"),  # too much for the oracle
    ("szymanski", "power"): ("rsmc",),  # and for the transformation; the oracle takes minutes, below
}


@pytest.mark.parametrize(("name", "model", "expected"), CLASSICS)
def test_classical_results_are_restored_and_hold_by_another_engine(
    name: str, model: str, expected: list[str], tmp_path: Path
) -> None:
    patched = tmp_path / f"{name}.c"
    record = proposed(f"{TABLE1}/{name}.c", "--model", model, "--minimal", "-o", str(patched))
    assert kinds(record) == expected
    assert record["minimal"] is True
    includes = ("--", "-iquote", TABLE1)
    assert dekker("check", f"{TABLE1}/{name}.c", "--model", model).status == 1
    other = ("states",) if model in ("tso", "pso") else OTHER_ENGINES.get((name, model), ("axiomatic",))
    assert dekker("check", str(patched), "--model", model, "--engine", *other, *includes).status == 0


@pytest.mark.slow
def test_fences_of_szymanski_on_power_hold_by_the_oracle(tmp_path: Path) -> None:
    patched = tmp_path / "szymanski.c"
    proposed(f"{TABLE1}/szymanski.c", "--model", "power", "-o", str(patched))
    includes = ("--", "-iquote", TABLE1)
    outcome = dekker("check", str(patched), "--model", "power", "--engine", "axiomatic", "--unroll", "1", *includes)
    assert outcome.status == 0
    assert "SAFE" in outcome.out


@pytest.mark.parametrize("model", ["tso", "power"])
def test_litmus_in_litmus_out(model: str, tmp_path: Path) -> None:
    patched = tmp_path / "patched.litmus"
    record = proposed(f"{LITMUS}/dekker-x86.litmus", "--model", model, "-o", str(patched))
    assert kinds(record) == ["mfence", "mfence"]
    assert "No\n" in dekker("litmus", str(patched), "--model", model, "--engine", "axiomatic").out


def test_rsmc_in_rsmc_out(tmp_path: Path) -> None:
    patched = tmp_path / "patched.rsmc"
    record = proposed("examples/rsmc/load-buffering.rsmc", "--model", "power", "-o", str(patched))
    assert kinds(record) == ["lwsync"]
    assert "No\n" in dekker("litmus", str(patched), "--engine", "axiomatic").out


def test_what_is_right_needs_no_fence(tmp_path: Path) -> None:
    patched = tmp_path / "same.c"
    record = proposed(f"{TABLE1}/peterson.c", "--model", "tso", "-o", str(patched), "--", "-DFENCED")
    assert record["outcome"] == "none needed"
    assert patched.read_text() == Path(f"{TABLE1}/peterson.c").read_text()


def test_what_is_wrong_under_sc_cannot_be_helped() -> None:
    outcome = dekker("fences", f"{TABLE1}/stack.c", "--model", "power", "--", "-DUNSAFE")
    assert outcome.status == 1
    assert "fails under sc" in outcome.out


def test_weights_decide(tmp_path: Path) -> None:
    """With light fences that cost more than full ones, full ones are taken."""
    record = proposed(f"{LITMUS}/message-power.litmus", "--model", "power", "--weight", "lwsync=9")
    assert kinds(record) == ["sync"]
    assert dekker("fences", f"{LITMUS}/message-power.litmus", "-m", "power", "--weight", "foo=1").status == 2
    assert dekker("fences", f"{LITMUS}/message-power.litmus", "-m", "power", "--weight", "sync").status == 2


def test_fences_are_written_as_the_source_writes_them(tmp_path: Path) -> None:
    source = tmp_path / "sb.c"
    barrier = 'static inline void barrier(void) { __asm__ volatile("mfence" ::: "memory"); }'
    source.write_text(SB.replace("/*define*/", barrier).replace("/*use*/", "barrier();"))
    patched = tmp_path / "patched.c"
    proposed(str(source), "--model", "tso", "-o", str(patched))
    assert patched.read_text().count("  barrier();\n") == 3
    source.write_text(SB.replace("/*define*/", "#include <stdatomic.h>"))
    proposed(str(source), "--model", "power", "-o", str(patched))
    assert patched.read_text().count("atomic_thread_fence(memory_order_seq_cst);") == 2


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    source, folder = tmp_path / "mp.c", tmp_path / "patched"
    source.write_text(MP)
    proposed(str(source), "--model", "pso", "-o", f"{folder}/")
    assert "membar" in (folder / "mp.c").read_text()


def test_bodies_without_braces_get_some(tmp_path: Path) -> None:
    source = tmp_path / "mp.c"
    source.write_text(MP)
    patched = tmp_path / "patched.c"
    record = proposed(str(source), "--model", "pso", "-o", str(patched))
    assert kinds(record) == ["membar.storestore"]
    assert dekker("check", str(patched), "--model", "pso", "--engine", "states").status == 0


def test_patched_sources_compile(tmp_path: Path) -> None:
    patched = tmp_path / "peterson.c"
    proposed(f"{TABLE1}/peterson.c", "--model", "tso", "-o", str(patched))
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-iquote", TABLE1, "-fsyntax-only", str(patched)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no cc")
    assert finished.returncode == 0, finished.stderr


def test_robust_breaks_every_cycle(tmp_path: Path) -> None:
    patched = tmp_path / "dekker.c"
    proposed(f"{TABLE1}/dekker.c", "--model", "pso", "--robust", "-o", str(patched))
    shown = dekker("show", "--cycles", "--model", "pso", str(patched), "--", "-iquote", TABLE1)
    assert shown.out.startswith("no critical cycle")


def test_cycles_are_shown_with_lines_and_names(tmp_path: Path) -> None:
    picture = tmp_path / "cycles.dot"
    outcome = dekker("show", "--cycles", "--model", "tso", f"{TABLE1}/peterson.c", "--dot", str(picture))
    assert "2 SB, 1 R" in outcome.out
    assert "writes wants[0] (line 16)" in outcome.out
    assert picture.read_text().startswith("digraph")
    record = json.loads(dekker("show", "--cycles", "-m", "tso", f"{TABLE1}/peterson.c", "--json", "-").out)
    assert record["complete"] is True
    assert {cycle["idiom"] for cycle in record["cycles"]} == {"SB", "R"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "--cycles", f"{TABLE1}/peterson.c"), "under a model"),
        (("show", "--cycles", "--model", "rc11", f"{TABLE1}/peterson.c"), "not known for the model 'rc11'"),
        (("show", "--dot", "-", f"{TABLE1}/peterson.c"), "are for --cycles"),
        (("fences", f"{TABLE1}/peterson.c", "--model", "sc"), "fences do nothing"),
        (("fences", f"{TABLE1}/peterson.c", "--model", "rc11"), "not known for the model 'rc11'"),
        (("fences", "missing.c", "--model", "tso"), "missing.c"),
    ],
)
def test_wrong_calls_say_what_is_wrong(arguments: tuple[str, ...], said: str) -> None:
    outcome = dekker(*arguments)
    assert outcome.status == 2
    assert said in outcome.err


SB = """#include <assert.h>
#include <pthread.h>
/*define*/
volatile int x, y, a, b;
void *left(void *unused) {
  x = 1;
  a = y;
  return unused;
}
void *right(void *unused) {
  y = 1;
  b = x;
  return unused;
}
int main(void) {
  pthread_t one, two;
  /*use*/
  pthread_create(&one, 0, left, 0);
  pthread_create(&two, 0, right, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  assert(a || b);
}
"""
MP = """#include <assert.h>
#include <pthread.h>
volatile int ready, data, go = 1;
void *writer(void *unused) {
  if (go)
    data = 1;
  if (go) ready = 1;
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, writer, 0);
  if (ready) assert(data);
  pthread_join(thread, 0);
}
"""
