"""`dekker compare` as a person calls it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import Outcome, dekker
from tests.cli.test_check import RELAXED, STORE_BUFFERING, STRONG

from dekker.cat.model import Model
from dekker.ir.program import Program
from dekker.report.check_report import CheckReport
from dekker.report.comparison import table_row
from dekker.result import Verdict
from dekker.run import compare
from dekker.run.check import CheckOptions, check_program

EXAMPLES = Path(__file__).parents[2] / "examples"
MESSAGE = str(EXAMPLES / "litmus" / "message-power.litmus")
LOAD_BUFFERING = str(EXAMPLES / "rsmc" / "load-buffering.rsmc")


def rows(outcome: Outcome) -> dict[str, list[str]]:
    """Model and the words of its line."""
    return {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines()[1:]}


def store_buffering(folder: Path, *arguments: str) -> Outcome:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    file = folder / "program.c"
    file.write_text(STORE_BUFFERING, encoding="utf-8")
    return dekker("compare", str(file), *arguments)


def test_a_c_program_goes_wrong_where_the_model_lets_it(tmp_path: Path) -> None:
    outcome = store_buffering(tmp_path, "--", RELAXED)
    assert outcome.status == 1
    found = rows(outcome)
    assert list(found) == ["sc", "tso", "pso", "power", "aarch64", "cpp20"]
    assert found.pop("sc")[:3] == ["SAFE", "3", "0"]
    for words in found.values():
        assert (words[0], words[-3:]) == ("UNSAFE", ["assertion", "at", "program.c:22"])


def test_a_data_race_has_a_place(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    file = tmp_path / "race.c"
    text = "#include <pthread.h>\nint x;\nvoid *f(void *_) {\n  x = 1;\n  return 0;\n}\n"
    text += "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return x; }\n"
    file.write_text(text, encoding="utf-8")
    outcome = dekker("compare", str(file))
    assert outcome.status == 1
    assert {model: words[0] for model, words in rows(outcome).items() if words[0] != "SAFE"} == {"cpp20": "UNSAFE"}
    assert " ".join(rows(outcome)["cpp20"][-4:]) in ("data race at race.c:4", "data race at race.c:7")


def test_nothing_wrong_anywhere_is_status_0(tmp_path: Path) -> None:
    outcome = store_buffering(tmp_path, "--models", "sc, tso,power,tso", "--", STRONG)
    assert outcome.status == 0
    assert list(rows(outcome)) == ["sc", "tso", "power"]
    assert {words[0] for words in rows(outcome).values()} == {"SAFE"}


@pytest.mark.parametrize(
    ("file", "safe", "unsafe"),
    [
        (MESSAGE, {"power", "aarch64"}, {"sc", "tso", "pso"}),
        (LOAD_BUFFERING, {"power", "aarch64"}, {"sc", "tso", "pso"}),
    ],
)
def test_litmus_tests_and_rsmc_programs(file: str, safe: set[str], unsafe: set[str]) -> None:
    outcome = dekker("compare", file)
    assert outcome.status == 1
    found = rows(outcome)
    assert {model for model, words in found.items() if words[0] == "SAFE"} == safe
    assert {model for model, words in found.items() if words[0] == "UNSAFE"} == unsafe


def test_undecided_is_status_3_unless_something_is_wrong(tmp_path: Path) -> None:
    undecided = store_buffering(tmp_path, "-m", "sc,tso", "--max-traces", "1", "--", STRONG)
    assert undecided.status == 3
    assert all(words[0] == "UNKNOWN" and words[-1] == "traces" for words in rows(undecided).values())
    mixed = dekker("compare", MESSAGE, "-m", "rc11,sc")
    assert mixed.status == 1
    assert rows(mixed)["rc11"][0] == "UNKNOWN"
    assert "gives no meaning to the fence" in mixed.err


def test_json(tmp_path: Path) -> None:
    answer = json.loads(store_buffering(tmp_path, "--json", "-", "-m", "sc,power", "--", RELAXED).out)
    assert answer["files"] == [str(tmp_path / "program.c")]
    first, second = answer["models"]
    assert (first["model"], first["verdict"], first["traces"], first["violation"]) == ("sc", "SAFE", 3, None)
    assert (second["model"], second["verdict"]) == ("power", "UNSAFE")
    assert (second["violation"]["kind"], second["violation"]["line"]) == ("assertion", 22)


def test_searches_of_states_count_no_executions(tmp_path: Path) -> None:
    arguments = ("-m", "sc", "--engine", "states")
    assert rows(store_buffering(tmp_path, *arguments, "--", RELAXED))["sc"][1:3] == ["-", "-"]
    (answer,) = json.loads(store_buffering(tmp_path, *arguments, "--json", "-", "--", RELAXED).out)["models"]
    assert (answer["verdict"], answer["traces"], answer["blocked"]) == ("SAFE", None, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("missing.litmus",),
        (MESSAGE, "-m", "frob"),
        (MESSAGE, "-m", ","),
        (MESSAGE, LOAD_BUFFERING),
        (MESSAGE, "--", "-DX"),
    ],
)
def test_wrong_calls_are_status_2(arguments: tuple[str, ...]) -> None:
    assert dekker("compare", *arguments).status == 2


def test_after_an_interrupt_the_rest_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "program.c"
    file.write_text("int main(void) { return 0; }\n", encoding="utf-8")

    def interrupted(program: Program, model: Model, *rest: Any) -> CheckReport:
        report = check_program(program, model, *rest)
        return replace(report, result=replace(report.result, stopped_by="interrupt"), verdict=Verdict.UNKNOWN)

    monkeypatch.setattr(compare, "check_program", interrupted)
    reports = list(compare.compare([str(file)], ["sc", "tso", "power"], CheckOptions()))
    assert [report.model for report in reports] == ["sc", "tso", "power"]
    assert [report.error for report in reports] == [None, *["not run: interrupted"] * 2]
    assert "not run" in table_row(reports[-1])


def test_deadlocks_can_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(ENTANGLED, encoding="utf-8")
    assert dekker("check", str(file), "-m", "sc").status == 1
    without = dekker("check", str(file), "-m", "sc", "--no-deadlocks")
    assert without.status == 0
    assert "SAFE" in without.out
    assert dekker("compare", str(file), "-m", "sc", "--no-deadlocks").status == 0
    wrong = dekker("check", str(file), "-m", "sc", "--no-deadlocks", "--", "-DWRONG")
    assert wrong.status == 1
    assert "assertion" in wrong.out


ENTANGLED = """
#include <assert.h>
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int n;
void *thread(void *unused) {
  pthread_mutex_lock(&b); pthread_mutex_lock(&a); n++; pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  pthread_mutex_lock(&a); pthread_mutex_lock(&b); n++; pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
  pthread_join(t, 0);
#ifdef WRONG
  assert(n == 3);
#endif
  assert(n == 2);
}
"""


def test_every_named_model_counts() -> None:
    several = rows(dekker("compare", LOAD_BUFFERING, "-m", "sc", "-m", "tso,pso", "--models", "power", "-m", "sc"))
    assert list(several) == ["sc", "tso", "pso", "power"]
    assert dekker("compare", LOAD_BUFFERING, "-m", ",", "-m", "").status == 2
