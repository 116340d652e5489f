"""Threads that are joined or detached by several: the second is a violation, and what is behind it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.fuzz.threaded_c import alike_program
from dekker.run.check import CheckOptions, check, check_limits

pytestmark = needs_compiler

_HEADERS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y; pthread_t t, u;
void *f(void *v) { atomic_store(&x, 1); BY_ITSELF return 0; }
void *g(void *v) { pthread_t t = (pthread_t)v; IN_ANOTHER return 0; }
int main(void) {
  pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, (void *)t);
  IN_MAIN
  pthread_join(u, 0);
  AT_THE_END
  return 0; }
"""
_JOIN, _DETACH, _LOOK = "pthread_join(t, 0);", "pthread_detach(t);", "assert(x < 1);"
_SELF = "pthread_detach(pthread_self());"

# By f, g and main, and main once more at the end: where something goes wrong.
PROGRAMS = {
    "detached by itself, and joined": (_SELF, "", _JOIN, _LOOK, {("invalid join", "main")}),
    "a look behind its own detach": (
        f"{_SELF} assert(y < 1);",
        "y = 1;",
        _JOIN,
        "",
        {("invalid join", "main"), ("assertion", "f")},
    ),
    "joined twice": ("", _JOIN, _JOIN, _LOOK, {("invalid join", "g"), ("invalid join", "main")}),
    "a look behind one of two joins": (
        "",
        f"{_JOIN} {_LOOK}",
        _JOIN,
        "",
        {("invalid join", "g"), ("invalid join", "main"), ("assertion", "g")},
    ),
    "detached twice": ("", _DETACH, _DETACH, _LOOK, {("invalid join", "g"), ("invalid join", "main")}),
    "a look behind one of two detaches": (
        "",
        _DETACH,
        f"{_DETACH} {_LOOK}",
        "",
        {("invalid join", "g"), ("invalid join", "main"), ("assertion", "main")},
    ),
    "detached, and joined by one who knows": (
        "",
        f"{_DETACH} {_LOOK} y = 1;",
        f"if (y) {{ {_JOIN} {_LOOK} }}",
        "",
        {("invalid join", "main"), ("assertion", "g")},
    ),
    "a look before the second detach": (
        "",
        f"{_DETACH} y = 1;",
        f"if (y) {{ {_LOOK} {_DETACH} }}",
        _LOOK,
        {("invalid join", "main"), ("assertion", "main")},
    ),
    "one after the other": ("", _DETACH, "", f"{_JOIN} {_LOOK}", {("invalid join", "main")}),
}


def _text(by_itself: str, in_another: str, in_main: str, at_the_end: str) -> str:
    parts = {"BY_ITSELF": by_itself, "IN_ANOTHER": in_another, "IN_MAIN": in_main, "AT_THE_END": at_the_end}
    text = _HEADERS
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def _found(tmp_path: Path, text: str, engine: str, model: str) -> set[tuple[str, str]]:
    """What goes wrong, and in which function; only what replays is shown."""
    file = tmp_path / "program.c"
    file.write_text(text)
    report = check([str(file)], CheckOptions(model, engine, check_limits(stop_at_first=False)))
    return {(item.finding.kind, item.finding.stack[-1].function) for item in report.violations}


@pytest.mark.parametrize("model", ["sc", "tso", "cpp20"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported_behind_the_second(tmp_path: Path, name: str, engine: str, model: str) -> None:
    *parts, expected = PROGRAMS[name]
    assert _found(tmp_path, _text(*parts), engine, model) == expected


@pytest.mark.parametrize("model", ["sc", "tso"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_search_reports_nothing_else(tmp_path: Path, name: str, model: str) -> None:
    """It detaches as soon as it can, and does not look for who else could come second."""
    *parts, expected = PROGRAMS[name]
    found = _found(tmp_path, _text(*parts), "states", model)
    assert found
    assert found <= expected


def test_random_programs_have_threads_that_several_claim() -> None:
    texts = [alike_program(seed) for seed in range(200)]
    rivals = [text for text in texts if "rival0" in text]
    assert any("pthread_detach(pthread_self())" in text for text in rivals)
    assert any("pthread_detach(other)" in text and "pthread_detach(t[0])" in text for text in rivals)
    assert any("pthread_join(other, 0)" in text and "pthread_join(t[0], 0)" in text for text in rivals)
