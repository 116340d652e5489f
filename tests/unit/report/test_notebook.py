"""Answers and witnesses in a notebook."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.unit.report.test_picture import witness_of

import dekker

EXAMPLES = Path(__file__).parents[3] / "examples"
SB = EXAMPLES / "litmus" / "dekker-x86.litmus"


def test_witnesses_are_pictures() -> None:
    root = ElementTree.fromstring(witness_of("dekker-x86")._repr_svg_())
    assert root.tag.endswith("svg")


def test_results_are_a_sentence_and_a_picture() -> None:
    result = dekker.check(SB.read_text(encoding="utf-8").replace("exists", "~exists"), language="litmus")
    assert result.picture() is not None
    assert re.match(r"<p><b>UNSAFE under tso: final state: .*?</b></p><svg ", result._repr_html_())
    assert dekker.check(SB, "tso")._repr_html_() == "<p><b>SAFE under tso</b></p>"


def test_litmus_tests_too() -> None:
    found = dekker.litmus(SB, explain=True)
    assert "not kept" in (found.picture() or "")
    assert dekker.litmus(SB).picture() is None
    forbidden = dekker.litmus(EXAMPLES / "litmus" / "message-power-addr.litmus", explain=True)
    assert "forbidden by axiom observation" in (forbidden.picture() or "")
    assert forbidden._repr_html_().startswith("<p><b>message-power-addr: Ok under power: Never ~exists (1:r1=1 /\\ ")


def test_names_are_escaped() -> None:
    text = SB.read_text(encoding="utf-8").replace("X86 dekker-x86", "X86 <script>alert(1)</script>")
    assert "<script" not in dekker.litmus(text, language="litmus", explain=True)._repr_html_()


def test_pictures_are_not_loaded_before_they_are_asked_for() -> None:
    code = (
        "import sys\nfrom dekker.cli.main import run_command\n"
        f"run_command(['litmus', {str(SB)!r}, '-q'])\n"
        "import dekker.api\n"
        "print([name for name in sys.modules if name.startswith(('dekker.report.html', 'dekker.report.picture'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
