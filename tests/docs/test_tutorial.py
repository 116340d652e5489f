"""The code that the tutorial shows is that of the program."""

from __future__ import annotations

import re

from tests.docs.sessions import ROOT, blocks


def test_the_loop_is_that_of_the_workers() -> None:
    program = (ROOT / "examples" / "pgsql" / "workers.c").read_text(encoding="utf-8")
    without_fences = re.sub(r"#ifdef FENCE\w+\n.*\n#endif\n", "", program)
    (shown,) = (block.content for block in blocks("docs/tutorial.md") if block.content.startswith("for (int round"))
    assert _code(shown) in _code(without_fences)


def _code(text: str) -> str:
    return " ".join(re.sub(r"//.*", "", text).split())
