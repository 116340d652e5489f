"""`--graph` and `--html`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.calls import dekker

EXAMPLES = Path(__file__).parents[2] / "examples"
SB = str(EXAMPLES / "litmus" / "dekker-x86.litmus")
FORBIDDEN = str(EXAMPLES / "litmus" / "message-power-addr.litmus")
PETERSON = str(EXAMPLES / "c" / "table1" / "peterson.c")
LANG = str(EXAMPLES / "lang" / "peterson-without-barrier.lang")


def drawn(file: Path) -> str:
    return "".join(ElementTree.parse(file).getroot().itertext())


@pytest.mark.parametrize("test", [SB, FORBIDDEN])
def test_the_shown_execution_is_drawn(tmp_path: Path, test: str) -> None:
    svg, dot = tmp_path / "a.svg", tmp_path / "a.dot"
    for file in (svg, dot):
        assert dekker("litmus", test, "-q", "--graph", str(file)).status == 0
    assert "Highlighted: " in drawn(svg)
    assert dot.read_text(encoding="utf-8").startswith("digraph run {")


def test_check_and_replay_draw_the_same(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    first, second, witness = tmp_path / "1.svg", tmp_path / "2.svg", tmp_path / "w.json"
    options = ("--graph", str(first), "--witness", str(witness))
    assert dekker("check", PETERSON, "--model", "tso", *options).status == 1
    assert dekker("replay", str(witness), "--graph", str(second)).status == 0
    assert first.read_text(encoding="utf-8") == second.read_text(encoding="utf-8")
    assert "not kept" in drawn(first)


def test_replay_draws_what_another_model_forbids(tmp_path: Path) -> None:
    witness, picture = tmp_path / "w.json", tmp_path / "p.svg"
    dekker("litmus", SB, "-q", "--witness", str(witness))
    assert dekker("replay", str(witness), "--model", "sc", "--graph", str(picture)).status == 1
    assert "forbidden by axiom" in drawn(picture)


def test_without_a_run_nothing_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    done = dekker("check", SB, "--model", "tso", "--graph", str(file))
    assert done.status == 0
    assert "nothing to draw" in done.err
    assert not file.exists()


def test_the_extension_chooses(tmp_path: Path) -> None:
    done = dekker("litmus", SB, "--graph", str(tmp_path / "a.png"))
    assert done.status == 2
    assert "neither an .svg nor a .dot file" in done.err


def test_a_graph_is_of_one_test() -> None:
    done = dekker("litmus", SB, FORBIDDEN, "--graph", "a.svg")
    assert done.status == 2
    assert "--html" in done.err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("litmus", SB), 0),
        (("litmus", SB, FORBIDDEN), 0),
        (("check", SB, "--model", "sc"), 1),
        (("compare", SB, "--models", "sc,tso"), 1),
        (("fences", SB, "--model", "tso"), 0),
        (("modular", LANG), 1),
    ],
)
def test_answers_are_pages(tmp_path: Path, arguments: tuple[str, ...], status: int) -> None:
    file = tmp_path / "report.html"
    with_page, without = dekker(*arguments, "--html", str(file)), dekker(*arguments)
    assert with_page.status == without.status == status
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "<noscript>" in text


@pytest.mark.parametrize("option", ["--html", "--graph"])
def test_what_cannot_be_written_is_an_error(tmp_path: Path, option: str) -> None:
    done = dekker("litmus", SB, "-q", option, str(tmp_path / "nowhere" / "a.svg"))
    assert done.status == 2
    assert "cannot write" in done.err
