"""The Python API: the same answers as the command line, as objects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.calls import dekker as command_line
from tests.unit.frontends.c.programs import needs_compiler

import dekker
from dekker.result import Result, Verdict
from dekker.run import engines
from dekker.run.engines import SINGLE_ENGINES
from dekker.task import Task
from dekker.witness import from_json, to_json

EXAMPLES = Path(__file__).parents[2] / "examples"
PETERSON = EXAMPLES / "c" / "table1" / "peterson.c"
SB = EXAMPLES / "litmus" / "dekker-x86.litmus"

WRONG_IN_LINE_3 = "#include <assert.h>\nint main(void) { int x = 0;\n  assert(x == 1); }\n"


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*(name for name in sys.modules if name.startswith('dekker')))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing() -> None:
    assert {name for name in loaded_after("import dekker") if "editable" not in name} == {"dekker"}


def test_every_public_name_is_there() -> None:
    assert len(dekker.__all__) <= 15
    for name in dekker.__all__:
        assert getattr(dekker, name) is not None
    assert set(dekker.__all__) <= set(dir(dekker))
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        dekker.chekc  # noqa: B018


def test_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    result = dekker.check(PETERSON, "tso")
    assert result.verdict is dekker.Verdict.UNSAFE
    assert not result.holds
    assert (result.model, result.engine, result.stopped_by) == ("tso", "rsmc", "violation")
    (violation,) = result.violations
    assert (violation.kind, violation.line, violation.column) == ("assertion", 34, 3)
    assert violation.file is not None
    assert violation.file.endswith("peterson.c")
    assert violation.witness is result.counterexample
    assert str(result).strip() == command_line("check", str(PETERSON), "--model", "tso").out.strip()


def test_what_holds() -> None:
    result = dekker.check(PETERSON, "tso", flags=["-DFENCED"])
    assert (result.verdict, result.executions, result.blocked) == (dekker.Verdict.SAFE, 4, 4)
    assert result.holds
    assert (result.bound, result.violations, result.counterexample, result.states) == ("", (), None, [])


def test_searches_of_states_count_no_executions() -> None:
    result = dekker.check(SB, model="tso", engine="states")
    assert result.executions is None
    assert repr(result).endswith(" states>")


@pytest.mark.parametrize("engine", ["rsmc", "states"])
def test_several_threads_explore(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def run(task: Task) -> Result:
        asked.append(task.jobs)
        return SINGLE_ENGINES[engine](task)

    monkeypatch.setitem(engines.ENGINES, engine, run)
    alone, together = (dekker.check(PETERSON, "tso", engine=engine, flags=["-DFENCED"], jobs=jobs) for jobs in (1, 3))
    assert asked == [1, 3]
    assert together.verdict is alone.verdict is dekker.Verdict.SAFE
    assert together.executions == alone.executions


def test_a_bound_is_told() -> None:
    text = """#include <stdatomic.h>
#include <pthread.h>
atomic_int stop, rounds;
void *work(void *u) { while (!atomic_load(&stop)) atomic_fetch_add(&rounds, 1); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); atomic_store(&stop, 1); pthread_join(t, 0); }
"""
    result = dekker.check(text, "sc", language="c", unroll=1)
    assert result.verdict is dekker.Verdict.SAFE_WITHIN_BOUND
    assert result.cut > 0
    assert "at most 1 times" in result.bound


def test_final_states() -> None:
    result = dekker.check(SB, "sc")
    assert [state for state, _ in result.states] == [
        {"0:EAX": "0", "1:EAX": "1"},
        {"0:EAX": "1", "1:EAX": "0"},
        {"0:EAX": "1", "1:EAX": "1"},
    ]


def test_a_text_is_named_in_messages() -> None:
    result = dekker.check(WRONG_IN_LINE_3, language="c")
    assert [(item.file, item.line) for item in result.violations] == [("<text>.c", 3)]
    assert "dekker-text-" not in str(result)
    with pytest.raises(dekker.InputError, match=r"<text>\.c:1:26: error: use of undeclared identifier 'y'"):
        dekker.check("int main(void) { int x = y; }\n", language="c")
    with pytest.raises(dekker.ParseError) as caught:
        dekker.check("X86 a\n{\n", language="litmus")
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.line == 2


def test_the_counterexample_of_a_text_replays(tmp_path: Path) -> None:
    witness = dekker.check(WRONG_IN_LINE_3, language="c").counterexample
    assert witness is not None
    file = tmp_path / "witness.json"
    file.write_text(to_json(witness), encoding="utf-8")
    assert from_json(file.read_text(encoding="utf-8")) == witness
    assert command_line("replay", str(file)).status == 0


def test_json_is_that_of_the_command_line() -> None:
    found = json.loads(dekker.check(PETERSON, "tso").to_json())
    said = json.loads(command_line("check", str(PETERSON), "--model", "tso", "--json", "-").out)
    for content in (found, said):
        content["stats"].pop("time_s")
    assert found == said


def test_several_models() -> None:
    results = dekker.compare(PETERSON, ["sc", "tso"])
    assert {name: result.verdict.value for name, result in results.items()} == {"sc": "SAFE", "tso": "UNSAFE"}
    assert set(dekker.compare(SB)) == {"sc", "tso", "pso", "power", "aarch64"}


def test_one_litmus_test() -> None:
    result = dekker.litmus(SB)
    assert (result.verdict, result.observation, result.positive, result.negative) == ("Ok", "Sometimes", 1, 3)
    assert (result.name, result.model, result.error, result.flags) == ("dekker-x86", "tso", None, ())
    assert ({"0:EAX": "0", "1:EAX": "0"}, 1) in result.states
    assert result.witness is None
    assert json.loads(result.to_json())["verdict"] == "Ok"
    assert str(result).startswith("Test dekker-x86 Allowed\n")


def test_a_litmus_test_is_explained() -> None:
    allowed, forbidden = dekker.litmus(SB, explain=True), dekker.litmus(SB, "sc", explain=True)
    assert allowed.witness is not None
    assert "satisfies (0:EAX=0 /\\ 1:EAX=0)" in allowed.explain()
    assert "forbidden by axiom `sc`" in forbidden.explain()
    assert dekker.litmus(SB).explain() == ""


def test_a_list_goes_on_after_an_error() -> None:
    results = dekker.litmus([SB, EXAMPLES / "no-such-file.litmus"])
    assert [result.verdict for result in results] == ["Ok", "Error"]
    assert results[1].error is not None
    assert "no-such-file" in results[1].error


def test_texts_of_litmus_tests() -> None:
    text = SB.read_text(encoding="utf-8")
    assert dekker.litmus(text, language="litmus").observation == "Sometimes"
    assert [item.verdict for item in dekker.litmus([text, "X86 a\n{"], language="litmus")] == ["Ok", "Error"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dekker.check("no-such-file.c"), "no-such-file.c"),
        (lambda: dekker.check(SB, "no-such-model"), "no-such-model"),
        (lambda: dekker.check(SB, engine="no-such-engine"), "engines are all, auto, axiomatic"),
        (lambda: dekker.check(SB, unroll=-1), "unroll is -1"),
        (lambda: dekker.check(SB, timeout=0), "timeout is 0"),
        (lambda: dekker.check("int main;\n"), "language='c'"),
        (lambda: dekker.check("x", language="cobol"), "languages are c, c++"),
        (lambda: dekker.check(["a", "b"], language="c"), "give one text"),
        (lambda: dekker.check("x", language="litmus", flags=["-O2"]), "nothing to compile"),
        (lambda: dekker.litmus("no-such-file.litmus"), "no-such-file"),
        (lambda: dekker.litmus(SB, "no-such-model"), "no-such-model"),
    ],
)
def test_what_is_wrong_with_a_call(call: object, says: str) -> None:
    assert callable(call)
    with pytest.raises(dekker.InputError) as caught:
        call()
    assert says in str(caught.value)


def test_an_unknown_argument() -> None:
    with pytest.raises(TypeError, match="modle"):
        dekker.check(SB, modle="sc")  # type: ignore[call-arg]


MACROS = "".join(f"#define {chr(66 + n)} {' '.join(chr(65 + n) * 4)}\n" for n in range(14))
SLOW_TO_COMPILE = f"#define A x = 1; x = 2;\n{MACROS}int x;\nint main(void) {{ O return 0; }}\n"


@needs_compiler
def test_a_limit_is_kept_while_a_program_is_read() -> None:
    result = dekker.check(SLOW_TO_COMPILE, "tso", language="c", timeout=1)
    assert (result.verdict, result.stopped_by, result.program, result.states) == (Verdict.UNKNOWN, "time", None, [])
    with pytest.raises(dekker.InputError, match="stopped by time"):
        result.explain()
    for models in (["tso", "sc"], []):
        results = dekker.compare(SLOW_TO_COMPILE, models, language="c", timeout=1)
        assert results
        assert {found.stopped_by for found in results.values()} == {"time"}


@needs_compiler
def test_signals_of_the_program_are_left_alone() -> None:
    heard = []
    earlier = signal.signal(signal.SIGALRM, lambda *_: heard.append("alarm"))
    try:
        assert dekker.check("int main(void) { return 0; }", language="c", timeout=60).holds
        signal.raise_signal(signal.SIGALRM)
        assert heard == ["alarm"]
    finally:
        signal.signal(signal.SIGALRM, earlier)
    assert dekker.check("int main(void) { return 0; }", language="c", timeout=60).holds
    assert signal.getsignal(signal.SIGALRM) is earlier
