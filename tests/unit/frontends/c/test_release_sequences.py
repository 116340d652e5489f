"""C++20 continues release sequences by updates only; before, stores of the same thread did so, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler
from tests.unit.frontends.c.verdicts import HEADERS, two_threads

pytestmark = needs_compiler

STORES = "#include <stdatomic.h>\n#define STORE(p, v, o) atomic_store_explicit(p, v, memory_order_##o)\n"
READ = "if (atomic_load_explicit(&flag, memory_order_acquire) == 2) assert(data <= 1);"
BEFORE = STORES + "int data; atomic_int flag;"

ORDERED = {
    "a release store alone": "data = 1; STORE(&flag, 2, release);",
    "two release stores": "data = 1; STORE(&flag, 1, release); STORE(&flag, 2, release);",
    "a fence before both": (
        "data = 1; atomic_thread_fence(memory_order_release); STORE(&flag, 1, relaxed); STORE(&flag, 2, relaxed);"
    ),
    "a relaxed update": (
        "data = 1; STORE(&flag, 1, release); atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);"
    ),
    "updates one after the other": (
        "data = 1; STORE(&flag, 7, release); atomic_exchange_explicit(&flag, 1, memory_order_relaxed);"
        "atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);"
    ),
}
BEFORE_CPP20 = {
    "a relaxed store": "data = 1; STORE(&flag, 1, release); STORE(&flag, 2, relaxed);",
    "a relaxed store before an update": (
        "data = 1; STORE(&flag, 7, release); STORE(&flag, 1, relaxed);"
        "atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);"
    ),
    "an update before a relaxed store": (
        "data = 1; STORE(&flag, 7, release); atomic_fetch_add_explicit(&flag, 1, memory_order_relaxed);"
        "STORE(&flag, 2, relaxed);"
    ),
}
UNORDERED = {
    "no release at all": "data = 1; STORE(&flag, 2, relaxed);",
    "release before the data": "STORE(&flag, 1, release); data = 1; STORE(&flag, 2, relaxed);",
}

DEQUE = """
static atomic_int top, bottom;
static int elements[2];
static void push(int element) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed);
  elements[b % 2] = element;
  STORE(&bottom, b + 1, release);
}
static int take(void) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
  atomic_store(&bottom, b);
  int t = atomic_load(&top);
  if (t > b) { STORE(&bottom, b + 1, GIVES_UP); return 0; }
  int element = elements[b % 2];
  if (t == b) {
    if (!atomic_compare_exchange_strong(&top, &t, t + 1)) element = 0;
    STORE(&bottom, b + 1, GIVES_UP);
  }
  return element;
}
static int steal(void) {
  int t = atomic_load(&top);
  if (t >= atomic_load(&bottom)) return 0;
  int element = elements[t % 2];
  return atomic_compare_exchange_strong(&top, &t, t + 1) ? element : 0;
}
"""
OWNER = "push(1); int mine = take(); assert(mine <= 1);"
THIEF = "int mine = steal(); assert(mine <= 1);"


def verdict(folder: Path, text: str, *options: str) -> tuple[str, str]:
    file = folder / "test.c"
    file.write_text(HEADERS + text, encoding="utf-8")
    answer = json.loads(dekker("check", str(file), *options, "--json", "-").out)
    violation = answer["violation"]
    return answer["model"], "SAFE" if violation is None else violation["kind"]


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("writes", [*ORDERED.values(), *BEFORE_CPP20.values()], ids=[*ORDERED, *BEFORE_CPP20])
def test_what_is_ordered(tmp_path: Path, writes: str, engine: str) -> None:
    text = two_threads(writes, READ, before=BEFORE)
    assert verdict(tmp_path, text, "--model", "rc11", "--engine", engine) == ("rc11", "SAFE")
    expected = "SAFE" if writes in ORDERED.values() else "data race"
    assert verdict(tmp_path, text, "--engine", engine) == ("cpp20", expected)


@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize("writes", UNORDERED.values(), ids=UNORDERED)
def test_what_is_unordered(tmp_path: Path, writes: str, model: str) -> None:
    text = two_threads(writes, READ, before=BEFORE)
    assert verdict(tmp_path, text, "--model", model, "--engine", "all") == (model, "data race")


@pytest.mark.parametrize(
    ("order", "model", "expected"),
    [("relaxed", "rc11", "SAFE"), ("relaxed", "cpp20", "data race"), ("release", "cpp20", "SAFE")],
)
def test_a_deque_whose_take_gives_up(tmp_path: Path, order: str, model: str, expected: str) -> None:
    text = two_threads(OWNER, THIEF, before=STORES + DEQUE.replace("GIVES_UP", order))
    assert verdict(tmp_path, text, "--model", model) == (model, expected)
