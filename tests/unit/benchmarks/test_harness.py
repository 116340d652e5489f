"""The harness measures, compares, and says when something is missing or wrong."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import cli, sets
from benchmarks.measure import Measurement
from benchmarks.publish import publish
from benchmarks.row import Options, Row, run_case
from benchmarks.sets import LISTS, SETS, classics, fig11, find_cases
from benchmarks.sets.case import Case
from benchmarks.sets.family import family_case
from benchmarks.sets.request import Request, parse_request
from benchmarks.table import COLUMNS, LAYOUTS, WIDTH, Layout, conclusions, row_text
from benchmarks.tools import TOOLS
from benchmarks.tools.process import run_measured
from benchmarks.tools.tool import Counts

from dekker.errors import InputError

BURN = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("DEKKER_CORPUS", raising=False)
    return folder


def fake(path: Path, program: str, script: str) -> None:
    file = path / program
    file.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    file.chmod(0o755)


def run(*arguments: str) -> int:
    return cli.run_command([*arguments, "--repeat", "1"])


def test_a_tiny_set(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    assert run("sb-ring=2,3", "--model", "tso", "--json", str(file)) == 0
    out = capsys.readouterr().out
    assert re.search(r"^sb-ring 3 +tso +8 +0 ", out, re.MULTILINE)
    assert "not on PATH, so not compared: herd7, nidhugg, genmc, cbmc, spin" in out
    assert max(map(len, out.splitlines())) <= WIDTH
    found = json.loads(file.read_text(encoding="utf-8"))
    first, second = found["rows"]
    assert (first["traces"], second["traces"], second["expected"]) == (4, 8, 8)
    assert second["statistics"]["complete"] == 8
    assert second["statistics"]["commits"] > 0
    assert second["best_s"] > 0
    assert second["parse_s"] > 0
    assert second["peak_mb"] >= second["start_mb"] > 0
    assert second["tools"][0] == {
        "tool": "herd7",
        "seconds": [],
        "traces": None,
        "blocked": None,
        "peak_mb": 0.0,
        "ratio": None,
        "note": "not on PATH",
    }


def test_the_oracle_as_engine(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fetch-add=3", "--model", "rc11", "--engine", "axiomatic", "--with", "none") == 0
    assert re.search(r"^fetch-add 3 +rc11 +6 +0 +[1-9]", capsys.readouterr().out, re.MULTILINE)


def test_the_ratio_to_a_tool_on_path(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake(path, "herd7", f'{BURN}test -f "$1" && echo "Positive: 1 Negative: 3"\n')
    file = tmp_path / "rows.json"
    assert run("sb-ring=2", "--model", "tso", "--with", "herd7", "--json", str(file)) == 0
    (row,) = json.loads(file.read_text(encoding="utf-8"))["rows"]
    (tool,) = row["tools"]
    assert (tool["traces"], tool["note"]) == (4, "")
    assert tool["seconds"][0] > 0
    assert tool["ratio"] == pytest.approx(tool["seconds"][0] / (row["parse_s"] + row["best_s"]))
    last = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  herd7"))
    assert last.split()[-1] == f"{tool['ratio']:.3g}"


def test_many_files_go_to_herd_as_a_list(path: Path) -> None:
    fake(path, "herd7", 'while read -r file; do echo "Positive: 1 Negative: 1"; done < "${1#@}"\n')
    (case,) = find_cases(parse_request("corpus-x86_64"))
    one = run_case(case, Options(repeat=1, tools=(TOOLS["herd7"],)))
    two = run_case(replace(case, files=case.files * 2, expected={}), Options(repeat=1, tools=(TOOLS["herd7"],)))
    assert one.tools[0].note
    assert two.tools[0].counts == Counts(4)


@pytest.mark.parametrize(
    ("name", "program", "output", "counts"),
    [
        ("herd7", "herd7", "Positive: 1 Negative: 3", Counts(4)),
        ("nidhugg", "nidhuggc", "Trace count: 4 (also 2 sleepset blocked)", Counts(4, 2)),
        ("genmc", "genmc", "Number of complete executions explored: 4", Counts(4, 0)),
        (
            "genmc",
            "genmc",
            "Number of complete executions explored: 4\nNumber of blocked executions seen: 7",
            Counts(4, 7),
        ),
        ("cbmc", "cbmc", "VERIFICATION FAILED", Counts()),
    ],
)
def test_what_tools_say_is_understood(path: Path, name: str, program: str, output: str, counts: Counts) -> None:
    fake(path, program, f'echo "{output}"\nexit {10 if name == "cbmc" else 0}\n')
    case = family_case("sb-ring", classics.SB_RING, 2, "tso")
    (tool,) = run_case(case, Options(repeat=1, tools=(TOOLS[name],))).tools
    assert (tool.counts, tool.note) == (counts, "")
    assert tool.ratio is not None


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ('echo "Positive: 2 Negative: 3"\n', "counts differ: 5 against 4"),
        ("echo it broke >&2\nexit 3\n", "failed with status 3: it broke"),
        ("exec sleep 60\n", "stopped after 1 s: the ratio is at least this"),
    ],
)
def test_what_is_odd_about_a_tool_is_said(path: Path, script: str, note: str) -> None:
    fake(path, "herd7", script.replace("sleep", "/bin/sleep"))
    case = family_case("sb-ring", classics.SB_RING, 2, "tso")
    (tool,) = run_case(case, Options(repeat=1, timeout_s=1.0, tools=(TOOLS["herd7"],))).tools
    assert tool.note == note


@pytest.mark.parametrize(
    ("request_text", "model", "tool", "reason"),
    [
        ("sb-ring=2", "rc11", "nidhugg", "knows no model rc11"),
        ("sb-ring=2", "power", "genmc", "knows no model power"),
        ("llsc=2", "power", "nidhugg", "C: no LinkedIncrement"),
        ("ticket=2", "rc11", "herd7", "has no assumptions"),
        ("corpus-x86_64", "tso", "cbmc", "reads only what the harness writes for it"),
    ],
)
def test_an_empty_cell_has_a_reason(path: Path, request_text: str, model: str, tool: str, reason: str) -> None:
    fake(path, TOOLS[tool].program, "echo never run\n")
    (case,) = find_cases(parse_request(request_text, (model,)))
    row = run_case(case, Options(repeat=1, tools=(TOOLS[tool],)))
    assert row.tools[0].note == reason
    assert f"  {tool}: {reason}" in row_text(row)


def test_a_wrong_count_fails_loudly(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = replace(classics.SB_RING, traces=lambda *_: 5)
    monkeypatch.setitem(sets.FAMILIES, "sb-ring", (wrong,))
    assert run("sb-ring=2", "--model", "tso", "--with", "none") == 1
    captured = capsys.readouterr()
    assert "WRONG" in captured.out
    assert "error: sb-ring 2: sb-ring-2-tso.litmus has 4 complete traces, expected 5" in captured.err


def test_a_corpus_with_expectations(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (text,) = family_case("sb-ring", classics.SB_RING, 2, "tso").texts.values()
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "SB.litmus").write_text(text, encoding="utf-8")
    table = corpus / "expected.csv"
    header = "test,model,observation,positive,negative,states\n"
    table.write_text(f"{header}SB.litmus,tso,Sometimes,1,3,4\nSB.litmus,sc,Never,0,9,9\n", encoding="utf-8")
    monkeypatch.setenv("DEKKER_CORPUS", str(corpus))
    assert run("corpus-x86", "corpus-ppc", "--with", "none") == 0
    out = capsys.readouterr().out
    assert re.search(r"^corpus X86 1 +tso +4 ", out, re.MULTILINE)
    assert "the corpus has no such tests" in out
    assert run("corpus-x86", "--model", "sc", "--with", "none") == 1


def test_the_own_corpus_is_the_default(path: Path) -> None:
    (case,) = find_cases(Request("corpus-ppc"))
    assert len(case.files) == len(case.expected) > 20


def broken_corpus(folder: Path) -> str:
    (folder / "broken.litmus").write_text("X86 broken\n{ }\n P0 ;\n FLY [x] ;\nexists (x=1)\n", encoding="utf-8")
    return str(folder)


def test_a_refusal_is_reported(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("corpus-x86", "--corpus", broken_corpus(tmp_path), "--with", "none") == 3
    assert "refused: 1, the first is broken.litmus: " in capsys.readouterr().out


def test_a_row_that_does_not_finish(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("fig11=14", "--model", "power", "--timeout", "0.2", "--with", "none")
    assert run(*arguments) == 3
    out = capsys.readouterr().out
    assert re.search(r"^fig11 14 +power +>[0-9]", out, re.MULTILINE)
    assert "not finished in time" in out


def memory_row(traces: int, peak_mb: float, name: str = "memory") -> Row:
    case = Case(name, f"fig11 {traces}", "power")
    return Row(case, Measurement(traces={"x": traces}, engine_s=[1.0], peak_mb=peak_mb))


def test_growing_memory_is_noticed() -> None:
    (same,) = conclusions([memory_row(10, 30.0), memory_row(1000, 30.5), memory_row(100, 30.1)])
    assert (same.holds, same.text) == (
        True,
        "memory: memory does not grow with the number of traces: 30.0 MB for 10 and 30.5 MB for 1000",
    )
    (grown,) = conclusions([memory_row(10, 30.0), memory_row(1000, 90.0)])
    assert not grown.holds
    assert "GROWS" in grown.text


def test_memory_of_a_row_is_its_own() -> None:
    occupied = b"x" * (200 << 20)
    row = run_case(family_case("memory", fig11.UNFENCED, 2, "power"), Options(repeat=1))
    assert 5 < row.measured.peak_mb < len(occupied) / (1 << 20)


def test_processes_are_measured(tmp_path: Path) -> None:
    process = run_measured(["/bin/sh", "-c", f"{BURN} echo done; exit 4"], 60.0, str(tmp_path))
    assert (process.status, process.output, process.timed_out) == (4, "done\n", False)
    assert process.seconds > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no set is named"),
        (["sb-rng"], "did you mean sb-ring?"),
        (["sb-ring="], "has no sizes after '='"),
        (["sb-ring=5..2"], "is no range of sizes"),
        (["corpus-ppc=2"], "has no size"),
        (["sb-ring", "--model", "c11"], "there are no benchmarks for the model 'c11'"),
        (["sb-ring", "--with", "herd8"], "there is no tool 'herd8'"),
        (["corpus-ppc", "--corpus", "nowhere"], "there is no folder 'nowhere'"),
        (["sb-ring=2", "--json", "nowhere/rows.json"], "No such file or directory"),
        (["sb-ring=2", "--into", __file__], "has no place for results"),
        (["sb-ring=2", "--repeat", "0"], "--repeat"),
    ],
)
def test_a_call_at_fault(path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.run_command(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_sizes() -> None:
    assert parse_request("fib=2,5..7").sizes == (2, 5, 6, 7)
    with pytest.raises(InputError, match="no sizes"):
        parse_request("fib=x")


def test_the_list_names_every_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_command(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert listed == list(SETS)


@pytest.mark.parametrize("name", LISTS)
def test_lists_name_sets_that_exist(name: str) -> None:
    labels = [case.label for case in find_cases(Request(name))]
    assert "fig11 10" in labels
    assert any(label.startswith("corpus PPC ") for label in labels)


def test_results_go_into_a_document(tmp_path: Path) -> None:
    document = tmp_path / "README.md"
    document.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n", encoding="utf-8")
    publish(document, "python -m benchmarks short", "a row\n")
    text = document.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- results -->\n")
    assert text.endswith("<!-- end of results -->\nafter\n")
    assert "old" not in text
    assert "made by `python -m benchmarks short`:\n\n```text\na row\n```" in text


def test_only_complete_results_go_into_a_document(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "README.md"
    empty = "<!-- results -->\n<!-- end of results -->\n"
    document.write_text(empty, encoding="utf-8")
    corpus = broken_corpus(tmp_path)
    assert run("corpus-x86", "--corpus", corpus, "--with", "none", "--into", str(document)) == 3
    assert "stays as it is" in capsys.readouterr().err
    assert document.read_text(encoding="utf-8") == empty
    monkeypatch.setattr("sys.argv", ["benchmarks", "sb-ring=2"])
    assert run("sb-ring=2", "--model", "tso", "--with", "none", "--into", str(document)) == 0
    text = document.read_text(encoding="utf-8")
    assert "made by `python -m benchmarks sb-ring=2`" in text
    assert "sb-ring 2 " in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize("layout", [COLUMNS, *LAYOUTS.values()])
def test_the_table_fits(layout: Layout) -> None:
    assert sum(column.width + 1 for column in layout) - 1 <= WIDTH
