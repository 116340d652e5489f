"""Checks that are stopped or killed anywhere, and go on, come to the answer of those that are not."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.calls import dekker, interruptible
from tests.reference.job_agreement import findings
from tests.strategies.litmus_programs import HARDWARE, programs
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.errors import InputError
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.run.checkpoint import Checkpoints, read_checkpoint
from dekker.source import Source
from dekker.task import Limits, Task

COUNTED = ("complete", "blocked", "deadlocks", "abandoned", "cut", "failed")
WRITES = """
program writes
architecture none
object x[8]
object y[8]
object z[8]
function P0() {{
  store.4 [&x] = 1
  a = load.4 [&y]
{stores}
}}
function P1() {{
  store.4 [&y] = 1
  b = load.4 [&x]
{stores}
}}
thread P0 runs P0
thread P1 runs P1
observe 0:a, 1:b, [z].4
"""


def racing_writes(number: int) -> Program:
    stores = "\n".join(f"  store.4 [&z] = {value + 1}" for value in range(number))
    return parse_program(Source("writes.ir", WRITES.format(stores=stores)))


def in_pieces(task: Task, folder: Path, traces: int) -> Iterator[None]:
    """Goes on from the file again and again, each time for so many more traces."""
    file = folder / "state"
    wanted = traces
    checkpoints = Checkpoints(file, {})
    while True:
        limited = replace(task, limits=replace(task.limits, max_traces=wanted), explorer=checkpoints)
        result = rsmc.run(limited)
        yield
        checkpoint = read_checkpoint(file)
        checkpoints = Checkpoints(file, {}, progress=checkpoint.progress)
        task = replace(checkpoint.task, jobs=task.jobs, split_seed=task.split_seed)
        wanted += traces
        if result.stopped_by != "traces":
            assert findings(result)["statistics"]
            (folder / "done").write_text(repr(findings(result)))
            return


@pytest.mark.parametrize("jobs", [1, 3])
def test_pieces_make_a_whole(jobs: int, tmp_path: Path) -> None:
    task = Task(racing_writes(5), load_model("power"), examples=True)
    expected = findings(rsmc.run(task))
    pieces = sum(1 for _ in in_pieces(replace(task, jobs=jobs), tmp_path, 20))
    assert pieces > 10
    assert (tmp_path / "done").read_text() == repr(expected)


@settings(max_examples=25)
@given(program=programs(HARDWARE), model=st.sampled_from(("sc", "power", "aarch64")), seed=st.integers(1, 1 << 30))
def test_pieces_of_random_programs_make_a_whole(
    program: Program, model: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = parse_program(Source("random.ir", print_program(program)))
    task = Task(program, load_model(model))
    try:
        expected = findings(rsmc.run(task))
    except rsmc.NeedsGuess:
        return
    folder = tmp_path_factory.mktemp("pieces")
    for _ in in_pieces(replace(task, jobs=1 + seed % 3, split_seed=seed), folder, 1 + seed % 7):
        pass
    assert (folder / "done").read_text() == repr(expected)


def written(tmp_path: Path) -> Path:
    file = tmp_path / "state"
    task = Task(racing_writes(4), load_model("power"), Limits(max_traces=10), explorer=Checkpoints(file, {}))
    assert rsmc.run(task).stopped_by == "traces"
    return file


def test_every_damage_is_noticed(tmp_path: Path) -> None:
    file = written(tmp_path)
    whole = file.read_bytes()
    chosen = random.Random(1)
    for _ in range(200):
        damaged = bytearray(whole)
        place = chosen.randrange(len(whole))
        damaged[place] ^= 1 << chosen.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(InputError):
            read_checkpoint(file)
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError):
            read_checkpoint(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    version = re.sub(rb"^dekker-checkpoint \d+ ", b"dekker-checkpoint 99 ", file.read_bytes(), count=1)
    for content, reason in ((b"", "is no checkpoint"), (b"{}", "is no checkpoint"), (version, "version 99")):
        file.write_bytes(content)
        outcome = dekker("resume", str(file))
        assert outcome.status == 2
        assert reason in outcome.err
    assert dekker("resume", str(tmp_path / "missing")).status == 2


def test_a_checkpoint_of_another_program_is_not_taken_for_this_one(tmp_path: Path) -> None:
    file = written(tmp_path)
    progress = read_checkpoint(file).progress
    other = Task(racing_writes(3), load_model("power"), explorer=Checkpoints(file, {}, progress=progress))
    assert findings(rsmc.run(other)) == findings(rsmc.run(replace(other, explorer=None)))


def check_command(file: Path, model: str, state: Path) -> list[str]:
    return [*COMMAND, "check", str(file), "-m", model, "--keep-going", "--checkpoint", str(state)]


COMMAND = (sys.executable, "-m", "dekker")


def racing_file(folder: Path, writes: int) -> Path:
    file = folder / "race.litmus"
    file.write_text(litmus_text(writes))
    return file


def litmus_text(writes: int) -> str:
    rows = [("li r1,1", "li r1,1"), ("stw r1,0(r2)", "stw r1,0(r3)"), ("lwz r5,0(r3)", "lwz r5,0(r2)")]
    rows += [("stw r1,0(r4)", "stw r1,0(r4)")] * writes
    code = "\n".join(f" {left} | {right} ;" for left, right in rows)
    registers = "\n".join(f"{t}:r2=x; {t}:r3=y; {t}:r4=z;" for t in (0, 1))
    return f"PPC race\n{{\n{registers}\n}}\n P0 | P1 ;\n{code}\nexists (0:r5=0 /\\ 1:r5=0)\n"


def answer(*arguments: str) -> dict[str, object]:
    outcome = dekker(*arguments, "--json", "-")
    content = json.loads(outcome.out)
    statistics = content["stats"]
    return {"verdict": content["verdict"], **{name: statistics[name] for name in COUNTED}}


def killed_at_random(command: list[str], state: Path, chosen: random.Random) -> bool:
    """Some time after it has written its first checkpoint. Whether the process was still alive then."""
    before = state.stat().st_mtime_ns if state.exists() else 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and (not state.exists() or state.stat().st_mtime_ns == before):
            time.sleep(0.01)
        try:
            process.wait(chosen.uniform(0.0, 0.6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True
    return False


def test_a_check_that_is_killed_goes_on(tmp_path: Path) -> None:
    file, state = racing_file(tmp_path, 10), tmp_path / "state"
    chosen = random.Random(7)
    command = check_command(file, "power", state)
    for _ in range(4):
        if not killed_at_random(command, state, chosen):
            break
        command = [*COMMAND, "resume", str(state), "--jobs", str(chosen.choice((1, 2)))]
    expected = answer("check", str(file), "-m", "power", "--keep-going")
    assert answer("resume", str(state)) == expected
    assert answer("resume", str(state), "--jobs", "2") == expected


def test_an_interrupt_leaves_a_checkpoint(tmp_path: Path) -> None:
    file, state = racing_file(tmp_path, 12), tmp_path / "state"
    with interruptible(check_command(file, "power", state)) as process:
        while process.poll() is None and not state.exists():
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    assert "stopped by" in out
    assert read_checkpoint(state).progress.rest.units
    limited = dekker("resume", str(state), "--max-traces", "300000", "--json", "-")
    assert json.loads(limited.out)["stats"]["complete"] >= 300000


@needs_compiler
@pytest.mark.parametrize("name", ["table1/peterson.c", "atomics/treiber_stack.c"])
def test_c_programs_go_on_elsewhere(name: str, tmp_path: Path) -> None:
    """Neither the source nor the compiler is asked again."""
    state = tmp_path / "state"
    arguments = ("check", f"examples/c/{name}", "-m", "tso", "--keep-going")
    expected = answer(*arguments)
    assert dekker(*arguments, "--checkpoint", str(state), "--max-traces", "1").status in (1, 3)
    assert answer("resume", str(state)) == expected


def test_only_one_engine_writes_checkpoints(tmp_path: Path) -> None:
    outcome = dekker(
        "check", "examples/litmus/dekker-x86.litmus", "--engine", "states", "--checkpoint", str(tmp_path / "s")
    )
    assert outcome.status == 2
    assert "writes no checkpoints" in outcome.err
