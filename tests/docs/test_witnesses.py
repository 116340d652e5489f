"""What docs/witnesses.md shows is what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.calls import dekker
from tests.docs.test_readme import ROOT

from dekker.witness import FORMAT, VERSION

TEXT = (ROOT / "docs" / "witnesses.md").read_text(encoding="utf-8")


def test_every_field_is_described(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    assert dekker("litmus", str(ROOT / "examples" / "litmus" / "dekker-x86.litmus"), "--witness", str(file)).status == 0
    content = json.loads(file.read_text(encoding="utf-8"))
    assert (content["format"], content["version"]) == (FORMAT, VERSION)
    described = set(re.findall(r"`(\w+)`", TEXT[TEXT.index("## The file") :]))
    for part in (content, content["program"], content["model"], content["events"][0]):
        assert part.keys() <= described
