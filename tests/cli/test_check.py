"""`dekker check` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import Outcome, dekker

pytest.importorskip("ziglang", reason="the compiler is not installed")

STORE_BUFFERING = r"""#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
int seen_y, seen_x;
void *left(void *_) {
  atomic_store_explicit(&x, 1, ORDER);
  seen_y = atomic_load_explicit(&y, ORDER);
  return 0;
}
void *right(void *_) {
  atomic_store_explicit(&y, 1, ORDER);
  seen_x = atomic_load_explicit(&x, ORDER);
  return 0;
}
int main(void) {
  pthread_t l, r;
  pthread_create(&l, 0, left, 0);
  pthread_create(&r, 0, right, 0);
  pthread_join(l, 0);
  pthread_join(r, 0);
  assert(seen_x || seen_y);
}
"""
RELAXED, STRONG = "-DORDER=memory_order_relaxed", "-DORDER=memory_order_seq_cst"


def check(folder: Path, text: str, *arguments: str) -> Outcome:
    file = folder / "program.c"
    file.write_text(text, encoding="utf-8")
    return dekker("check", str(file), *arguments)


@pytest.mark.parametrize(
    ("model", "flag", "status"),
    [
        ("sc", RELAXED, 0),
        *((model, RELAXED, 1) for model in ("tso", "power", "aarch64", "rc11")),
        *((model, STRONG, 0) for model in ("sc", "tso", "power", "aarch64", "rc11")),
    ],
)
def test_an_assertion_fails_where_the_model_lets_it(tmp_path: Path, model: str, flag: str, status: int) -> None:
    outcome = check(tmp_path, STORE_BUFFERING, "--model", model, "--", flag)
    assert outcome.status == status, outcome.err
    assert outcome.out.startswith(f"{'UNSAFE' if status else 'SAFE'} under {model}: ")
    assert ("program.c:22:3: violation: assertion" in outcome.out) == bool(status)


def test_json(tmp_path: Path) -> None:
    answer = json.loads(check(tmp_path, STORE_BUFFERING, "-m", "tso", "--keep-going", "--json", "-", "--", RELAXED).out)
    assert (answer["verdict"], answer["model"], answer["complete"]) == ("UNSAFE", "tso", True)
    assert answer["violation"]["kind"] == "assertion"
    assert answer["violation"]["line"] == 22
    assert answer["stats"]["complete"] + answer["stats"]["failed"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main(void) { return 0 }", "expected ';'"),
        ("int f(void) { return 0; }", "main"),
        ("int far(void); int main(void) { return far(); }", "far"),
    ],
)
def test_wrong_programs_are_the_users_fault(tmp_path: Path, text: str, message: str) -> None:
    outcome = check(tmp_path, text)
    assert outcome.status == 2
    assert message in outcome.err


def test_what_was_not_covered_is_said(tmp_path: Path) -> None:
    stopped = check(tmp_path, STORE_BUFFERING, "-m", "sc", "--max-traces", "1", "--", RELAXED)
    assert stopped.status == 3
    assert "stopped by traces" in stopped.out
    # Whether it ends depends on what is read, and it does not only wait.
    counting = "int x; int main(void) { int n = 0; while (!*(volatile int *)&x) n++; return n; }"
    cut = check(tmp_path, counting, "-m", "sc")
    assert cut.out.startswith("SAFE_WITHIN_BOUND")


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "power", "aarch64", "riscv", "rc11"])
def test_all_engines_agree_on_a_program_with_threads(tmp_path: Path, model: str) -> None:
    outcome = check(tmp_path, STORE_BUFFERING, "--model", model, "--engine", "all", "--", RELAXED)
    assert outcome.status == (0 if model == "sc" else 1), outcome.err
    assert "(all)" in outcome.out


BYTES = r"""#include <assert.h>
#include <pthread.h>
int number, early;
void *fill(void *_) {
  number = 0x01020304;
  return 0;
}
int main(void) {
  pthread_t thread;
  int sum = 0;
  unsigned char *bytes = (unsigned char *)&number;
  pthread_create(&thread, 0, fill, 0);
  if (EARLY) early = bytes[1];
  pthread_join(thread, 0);
  for (int i = 0; i < 4; i++) sum += bytes[i];
  assert(sum == 10);
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "power", "rc11"])
def test_an_int_may_be_read_by_bytes_where_nothing_races(tmp_path: Path, model: str) -> None:
    outcome = check(tmp_path, BYTES, "--model", model, "--", "-DEARLY=0")
    assert (outcome.status, outcome.err) == (0, "")


def test_what_races_in_different_sizes_is_refused_with_both_lines(tmp_path: Path) -> None:
    outcome = check(tmp_path, BYTES, "--model", "tso", "--", "-DEARLY=1")
    assert outcome.status == 2
    assert "program.c:5:10: error: threads access the same bytes in different sizes" in outcome.err
    assert "program.c:13" in outcome.err


def test_floating_point_runs_on_the_rsmc_engine(tmp_path: Path) -> None:
    text = r"""#include <assert.h>
#include <pthread.h>
double half = 0.5;
float sum;
void *add(void *_) {
  sum = (float)(half * 3) + 0.25f;
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  pthread_join(thread, 0);
  assert(sum == 1.75f && (int)(sum * 4) == 7);
}
"""
    outcome = check(tmp_path, text, "--model", "tso")
    assert (outcome.status, outcome.err) == (0, "")
    assert "(rsmc)" in outcome.out
