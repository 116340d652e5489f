"""Volatile variables and fences of processors under the models of C."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

BUFFERING = """
#include <assert.h>
#include <pthread.h>
volatile int x, y;
int a, b;
void *f(void *p) { x = 1; FENCE; a = y; return 0; }
void *g(void *p) { y = 1; FENCE; b = x; return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(a || b);
}
"""
PASSING = """
#include <assert.h>
#include <pthread.h>
volatile int flag;
int data, seen = 1;
void *f(void *p) { data = 1; WRITE_FENCE; flag = 1; return 0; }
void *g(void *p) { if (flag) { READ_FENCE; seen = data; } return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(seen);
}
"""
FULL = ('__asm__("mfence" ::: "memory")', '__asm__("sync")', '__asm__("dmb ish")', "__sync_synchronize()")


def check(folder: Path, text: str, *options: str) -> tuple[int, str]:
    file = folder / "test.c"
    file.write_text(text, encoding="utf-8")
    found = dekker("check", str(file), *options)
    return found.status, found.out + found.err


@pytest.mark.parametrize("model", ["rc11", "cpp20"])
def test_volatile_variables_race_unless_they_are_atomic(tmp_path: Path, model: str) -> None:
    text = BUFFERING.replace("FENCE", "__sync_synchronize()")
    status, output = check(tmp_path, text, "--model", model)
    assert (status, "data race" in output) == (1, True)
    for engine in ("rsmc", "axiomatic"):
        assert check(tmp_path, text, "--model", model, "--volatile", "relaxed", "--engine", engine)[0] == 0


@pytest.mark.parametrize("fence", FULL)
@pytest.mark.parametrize("model", ["rc11", "cpp20", "tso", "aarch64"])
def test_full_fences_are_sequentially_consistent(tmp_path: Path, fence: str, model: str) -> None:
    assert check(tmp_path, BUFFERING.replace("FENCE", fence), "--model", model, "--volatile", "relaxed")[0] == 0


@pytest.mark.parametrize("model", ["rc11", "cpp20", "tso"])
@pytest.mark.parametrize("fence", ["", '__asm__("" ::: "memory")'])
def test_without_a_fence_stores_are_buffered(tmp_path: Path, fence: str, model: str) -> None:
    text = BUFFERING.replace("FENCE", fence)
    status, output = check(tmp_path, text, "--model", model, "--volatile", "relaxed")
    assert (status, "assertion" in output) == (1, True)


LIGHT = {
    ("lwsync", "lwsync"): 0,
    ("fence rw,w", "fence r,rw"): 0,
    ("fence.tso", "fence.tso"): 0,
    ("dmb ish", "dmb ishld"): 0,
    ("dmb ishld", "dmb ishld"): 1,
    ("fence rw,w", "fence rw,w"): 1,
    ("lwsync", "nop"): 1,
}


@pytest.mark.parametrize("fences", LIGHT)
@pytest.mark.parametrize("model", ["rc11", "cpp20"])
def test_lighter_fences_are_those_of_c_that_are_not_stronger(
    tmp_path: Path, fences: tuple[str, str], model: str
) -> None:
    text = PASSING.replace("WRITE_FENCE", f'__asm__("{fences[0]}")').replace("READ_FENCE", f'__asm__("{fences[1]}")')
    assert check(tmp_path, text, "--model", model, "--volatile", "relaxed")[0] == LIGHT[fences]


@pytest.mark.parametrize("fence", ["eieio", "dmb ishst", "fence w,w", "membar #StoreLoad"])
def test_a_fence_of_which_c_has_no_like_is_an_error(tmp_path: Path, fence: str) -> None:
    text = BUFFERING.replace("FENCE", f'__asm__("{fence}")')
    status, output = check(tmp_path, text, "--model", "rc11", "--volatile", "relaxed")
    assert status == 2
    assert "gives no meaning to the fence" in output
