"""`dekker litmus` as a person calls it."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest
from tests.cli.calls import dekker, watched
from tests.corpus.expectations import OWN_CORPUS

from dekker import litmus
from dekker.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples" / "litmus"
SB = str(EXAMPLES / "dekker-x86.litmus")

SPIN = str(OWN_CORPUS / "handwritten" / "X86" / "spin-once.litmus")
CROSSED = str(OWN_CORPUS / "handwritten" / "PPC" / "crossed-waits.litmus")

SB_TEXT = r"""Test dekker-x86 Allowed
States 4
0:EAX=0; 1:EAX=0;
0:EAX=0; 1:EAX=1;
0:EAX=1; 1:EAX=0;
0:EAX=1; 1:EAX=1;
Ok
Witnesses
Positive: 1 Negative: 3
Condition exists (0:EAX=0 /\ 1:EAX=0)
Observation dekker-x86 Sometimes 1 3
"""


def without_times(text: str) -> str:
    return re.sub(r"^Time .*\n", "", text, flags=re.MULTILINE)


def test_text_is_what_herd_prints() -> None:
    outcome = dekker("litmus", SB)
    assert outcome.status == 0
    assert without_times(outcome.out) == SB_TEXT + "\n"


def test_a_forbidden_state_ends_with_status_1() -> None:
    outcome = dekker("litmus", SB, "--model", "sc")
    assert outcome.status == 1
    assert "\nNo\n" in outcome.out
    assert "Observation dekker-x86 Never 0 3" in outcome.out


def test_all_examples_hold_as_they_say() -> None:
    for file in sorted(EXAMPLES.glob("*.litmus")):
        assert dekker("litmus", str(file)).status == 0, file


def test_json_has_one_object_per_test() -> None:
    outcome = dekker("litmus", str(EXAMPLES), "--json", "-")
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(records) == len(list(EXAMPLES.glob("*.litmus")))
    (record,) = (record for record in records if record["name"] == "dekker-x86")
    assert record["file"] == SB
    assert (record["model"], record["engine"]) == ("tso", "rsmc")
    assert (record["observation"], record["verdict"]) == ("Sometimes", "Ok")
    assert (record["positive"], record["negative"], record["states"]) == (1, 3, 4)
    assert {"state": {"0:EAX": "0", "1:EAX": "0"}, "count": 1} in record["outcomes"]
    assert record["time_s"] >= 0


def test_json_to_a_file_keeps_the_text(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    outcome = dekker("litmus", SB, "--json", str(target))
    assert outcome.out.startswith("Test dekker-x86")
    assert json.loads(target.read_text(encoding="utf-8"))["name"] == "dekker-x86"
    assert dekker("litmus", SB, "--quiet").out == ""


def test_lists_of_files_are_relative_to_the_list(tmp_path: Path) -> None:
    (tmp_path / "sb.litmus").write_text(Path(SB).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "list").write_text("# a comment\n\nsb.litmus\nsb.litmus\n", encoding="utf-8")
    outcome = dekker("litmus", f"@{tmp_path / 'list'}")
    assert outcome.out.count("Observation dekker-x86 Sometimes 1 3") == 2
    assert "2 of 2 tests" in outcome.err


@pytest.mark.parametrize("text", ["", "# only a comment\n\n"])
def test_a_list_that_names_nothing_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "list").write_text(text, encoding="utf-8")
    outcome = dekker("litmus", f"@{tmp_path / 'list'}")
    assert (outcome.status, outcome.out) == (2, "")
    assert f"the list '{tmp_path / 'list'}' names no test" in outcome.err


def test_jobs_change_nothing() -> None:
    folder = str(OWN_CORPUS / "handwritten")
    one, two = dekker("litmus", folder), dekker("litmus", folder, "--jobs", "2")
    assert without_times(one.out) == without_times(two.out)
    assert one.status == two.status == 1


def test_a_wrong_test_does_not_stop_the_others(tmp_path: Path) -> None:
    broken = tmp_path / "broken.litmus"
    broken.write_text("X86 broken\n{ }\n P0 ;\n MOV [x],$1 ;\n FROB EAX ;\nexists (x=1)\n", encoding="utf-8")
    outcome = dekker("litmus", str(broken), SB)
    assert outcome.status == 2
    assert f"{broken}:5:2: error:" in outcome.err
    assert "FROB" in outcome.err
    assert "Observation dekker-x86 Sometimes 1 3" in outcome.out
    record = json.loads(dekker("litmus", str(broken), "--json", "-").out)
    assert record["error"]["line"] == 5
    assert record["error"]["column"] == 2


def test_a_users_own_model(tmp_path: Path) -> None:
    model = tmp_path / "mine.cat"
    model.write_text('"mine"\nacyclic po | rf | co | fr as total\n', encoding="utf-8")
    outcome = dekker("litmus", SB, "--model", str(model))
    assert "Never 0 3" in outcome.out


def test_a_race_is_undefined_behaviour() -> None:
    outcome = dekker("litmus", str(OWN_CORPUS / "handwritten" / "C" / "race.litmus"))
    assert outcome.status == 1
    assert "\nUndef\n" in outcome.out
    assert "Flag data-race" in outcome.out


def test_the_loop_bound_is_named() -> None:
    outcome = dekker("litmus", SPIN, "--unroll-waits")
    assert outcome.status == 0
    assert "Positive: 3 Negative: 0" in outcome.out
    assert "Loop bound reached: 1 executions" in outcome.out


def test_the_last_round_of_a_waiting_loop_stands_for_all() -> None:
    outcome = dekker("litmus", SPIN)
    assert outcome.status == 0
    assert "Positive: 1 Negative: 0" in outcome.out
    assert "Loop bound" not in outcome.out
    assert "Blocked" not in outcome.out
    assert "Blocked: 1 execution where a thread waits" in dekker("litmus", SPIN, "--engine", "axiomatic").out


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc", "all"])
def test_a_deadlock_is_reported(engine: str) -> None:
    outcome = dekker("litmus", CROSSED, "--engine", engine, "--json", "-")
    assert json.loads(outcome.out)["deadlocks"] == 1
    assert "\nDeadlock 1\n" in dekker("litmus", CROSSED, "--engine", engine).out
    assert "Deadlock" not in dekker("litmus", SPIN, "--engine", engine).out


def test_loops_stay_under_a_model_that_does_not_forget_reads(tmp_path: Path) -> None:
    model = tmp_path / "mine.cat"
    model.write_text(
        '"mine"\nacyclic po | rf | co | fr as total\nirreflexive po \\ (po; po) as odd\n', encoding="utf-8"
    )
    outcome = dekker("litmus", SPIN, "--model", str(model))
    assert "Positive: 3 Negative: 0" in outcome.out


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc"])
def test_a_witness_of_a_program_with_awaits_replays(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "witness.json"
    lock = str(OWN_CORPUS / "handwritten" / "AArch64" / "lock-exclusive.litmus")
    dekker("litmus", lock, "--engine", engine, "--witness", str(file), "-q")
    assert dekker("replay", str(file)).status == 0
    assert dekker("litmus", lock, "--engine", engine, "--explain").status == 0


ORDERS_UNKNOWN = "gives no meaning to the memory order 'release'"


def test_orders_are_not_dropped_silently(tmp_path: Path) -> None:
    model = tmp_path / "power.cat"
    model.write_text('"mine"\nacyclic po-loc | com as sc-per-location\n', encoding="utf-8")
    outcome = dekker("litmus", str(EXAMPLES / "message-c11.litmus"), "--model", str(model))
    assert outcome.status == 2
    assert ORDERS_UNKNOWN in outcome.err


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc", "all"])
@pytest.mark.parametrize("model", ["tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv"])
def test_c_is_compiled_for_hardware(model: str, engine: str) -> None:
    outcome = dekker("litmus", str(EXAMPLES / "message-c11.litmus"), "--model", model, "--engine", engine)
    assert outcome.err == ""
    assert "Observation message-c11 Never 0 2" in outcome.out


def test_c_is_compiled_for_models_in_another_framework() -> None:
    outcome = dekker("litmus", str(EXAMPLES / "message-c11.litmus"), "--model", "ghb-power")
    assert "Observation message-c11 Never 0 2" in outcome.out


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc"])
@pytest.mark.parametrize("test", ["lock-cas", "lock-ticket", "cas-race", "SB+fences"])
def test_a_witness_of_compiled_c_replays(test: str, engine: str, tmp_path: Path) -> None:
    file = tmp_path / "witness.json"
    test_file = str(OWN_CORPUS / "handwritten" / "C" / f"{test}.litmus")
    for model in ("tso", "power", "aarch64"):
        explained = dekker("litmus", test_file, "-m", model, "--engine", engine, "--witness", str(file), "--explain")
        assert explained.status == 0
        if test != "SB+fences":
            assert f"holds: {model} allows this execution" in dekker("replay", str(file)).out


def test_a_witness_of_compiled_c_under_other_models(tmp_path: Path) -> None:
    file = tmp_path / "witness.json"
    test = str(OWN_CORPUS / "generated" / "C" / "SB.litmus")
    dekker("litmus", test, "-m", "power", "--witness", str(file), "-q")
    assert dekker("replay", str(file)).status == 0
    assert dekker("replay", str(file), "-m", "sc").status == 1
    dekker("litmus", test, "-m", "rc11", "--witness", str(file), "-q")
    assert dekker("replay", str(file)).status == 0


def test_show_compiled_c() -> None:
    test = str(EXAMPLES / "message-c11.litmus")
    assert "fence lwsync" in dekker("show", test, "--model", "power").out
    assert "fence lwsync" not in dekker("show", test).out


LARGE = (
    "PPC large\n{\n"
    + "".join(f"{i}:r2=x; {i}:r4=y;\n" for i in range(4))
    + "}\n P0 | P1 | P2 | P3 ;\n"
    + " li r1,1 | li r1,2 | li r1,3 | li r1,4 ;\n"
    + " stw r1,0(r2) | stw r1,0(r2) | stw r1,0(r2) | stw r1,0(r2) ;\n" * 2
    + " lwz r3,0(r4) | lwz r3,0(r4) | lwz r3,0(r4) | lwz r3,0(r4) ;\n" * 2
    + " stw r1,0(r4) | stw r1,0(r4) | stw r1,0(r4) | stw r1,0(r4) ;\n"
    + "~exists (0:r3=77)\n"
)


def test_a_test_that_takes_too_long_is_undecided(tmp_path: Path) -> None:
    large = tmp_path / "large.litmus"
    large.write_text(LARGE, encoding="utf-8")
    outcome = dekker("litmus", str(large), "--timeout", "0.5")
    assert outcome.status == 3
    assert "\nUnknown\n" in outcome.out
    assert "Stopped by time" in outcome.out


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize(
    ("option", "limit", "reason"),
    [("--max-traces", "7", "traces"), ("--memory", "1", "memory"), ("--timeout", "0.2", "time")],
)
def test_limits_end_with_what_was_covered(tmp_path: Path, option: str, limit: str, reason: str, engine: str) -> None:
    large = tmp_path / "large.litmus"
    large.write_text(LARGE, encoding="utf-8")
    outcome = dekker("litmus", str(large), option, limit, "--engine", engine, "--json", "-", "-q")
    assert outcome.status == 3
    record = json.loads(outcome.out)
    assert record["stopped_by"] == reason
    assert reason != "traces" or record["positive"] + record["negative"] == 7


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_run_reports_what_it_covered(tmp_path: Path, jobs: str) -> None:
    large = tmp_path / "large.litmus"
    large.write_text(LARGE, encoding="utf-8")
    command = [sys.executable, "-m", "dekker", "litmus", SB, str(large), str(large), "--jobs", jobs]
    with watched(command) as process:
        process.wait_for("Observation dekker-x86 Sometimes 1 3")
        time.sleep(1)  # so that it is most likely at work on the next
        outcome = process.interrupt()
    assert outcome.status == 3
    assert "(interrupted)" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("quantifier", "witnesses", "observation"),
    [
        ("exists", "Positive: 1 Negative: 3", "Sometimes 1 3"),
        ("~exists", "Positive: 3 Negative: 1", "Sometimes 1 3"),
        ("forall", "Positive: 1 Negative: 3", "Sometimes 1 3"),
    ],
)
def test_observations_speak_about_the_formula_as_those_of_herd_do(
    quantifier: str, witnesses: str, observation: str, tmp_path: Path
) -> None:
    test, page = tmp_path / "SB.litmus", tmp_path / "page.html"
    threads = " P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n"
    test.write_text(f"X86 SB\n{{ }}\n{threads}{quantifier} (0:EAX=0 /\\ 1:EAX=0)\n")
    lines = dekker("litmus", str(test), "--html", str(page)).out.splitlines()
    assert witnesses in lines
    assert f"Observation SB {observation}" in lines
    assert observation in page.read_text()


def test_never_of_a_forbidden_state() -> None:
    test = EXAMPLES / "message-power-addr.litmus"
    assert "Observation message-power-addr Never 0 3" in dekker("litmus", str(test)).out


@pytest.mark.parametrize("name", ["program.c", "program.cpp", "program.ll"])
def test_programs_are_for_check(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    program.write_text("int main(void) { return 0; }\n")
    outcome = dekker("litmus", str(program), str(EXAMPLES / "message-power-addr.litmus"))
    assert outcome.status == 2
    assert f"'{program}' is a program, not a litmus test" in outcome.err
    assert "hint: use `dekker check`" in outcome.err
    assert "Observation message-power-addr" in outcome.out
    with pytest.raises(InputError, match="not a litmus test"):
        litmus(program)
