"""Sources that `dekker fences` has to find its way in: line ends, comments, headers, several statements in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker

SB = """#include <assert.h>
#include <pthread.h>
volatile int x, y; int r0, r1;
void *t0(void *a) { (void)a;
  x = 1;
  r0 = y;
  return 0; }
void *t1(void *a) { (void)a;
  y = 1;
  r1 = x;
  return 0; }
int main(void) {
  pthread_t p, c;
  pthread_create(&p, 0, t0, 0); pthread_create(&c, 0, t1, 0);
  pthread_join(p, 0); pthread_join(c, 0);
  assert(r0 || r1);
}
"""
MFENCE = '__asm__ volatile("mfence" ::: "memory");'


def written(folder: Path, text: str, name: str = "sb.c") -> str:
    path = folder / name
    path.write_text(text, newline="")
    return str(path)


def lines_of(*arguments: str) -> list[int]:
    outcome = dekker("fences", "--json", "-", *arguments)
    assert outcome.status == 0, outcome.out + outcome.err
    return [fence["line"] for fence in json.loads(outcome.out)["fences"]]


@pytest.mark.parametrize("model", ["tso", "power"])
def test_line_ends_are_kept(model: str, tmp_path: Path) -> None:
    source, patched = written(tmp_path, SB.replace("\n", "\r\n")), tmp_path / "patched.c"
    assert lines_of(source, "--model", model, "-o", str(patched)) == [6, 10]
    plain, twin = written(tmp_path, SB, "plain.c"), tmp_path / "twin.c"
    assert lines_of(plain, "--model", model, "-o", str(twin)) == [6, 10]
    assert patched.read_bytes() == twin.read_bytes().replace(b"\n", b"\r\n")


def test_line_ends_of_litmus_tests_are_kept(tmp_path: Path) -> None:
    text = Path("examples/litmus/dekker-x86.litmus").read_text().replace("\n", "\r\n")
    source, patched = written(tmp_path, text, "sb.litmus"), tmp_path / "patched.litmus"
    assert len(lines_of(source, "--model", "tso", "-o", str(patched))) == 2
    after = patched.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n") == text.count("\n") + 2


def test_lines_of_a_source_with_carriage_returns(tmp_path: Path) -> None:
    source = written(tmp_path, SB.replace("\n", "\r\n"))
    outcome = dekker("check", source, "--model", "tso")
    assert "sb.c:16:" in outcome.out
    assert "\r" not in outcome.out
