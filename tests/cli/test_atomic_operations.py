"""Atomic operations that compilers and libraries spell in other ways: floating types, calls, named fences."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

MESSAGE = """
#include <assert.h>
#include <pthread.h>
void __CPROVER_fence(const char *, ...);
int __atomic_load_4(const volatile void *, int);
_Bool __atomic_compare_exchange_4(volatile void *, void *, unsigned, int, int);
volatile int flag;
int data;
BEFORE
void *send(void *p) { data = 1; SEND; return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, send, 0);
  int seen = 0;
  RECEIVE;
  if (seen) assert(data == 1);
  pthread_join(t, 0);
}
"""
RELEASE = "__atomic_store_n(&flag, 1, __ATOMIC_RELEASE)"


def status(folder: Path, send: str, receive: str, *options: str, before: str = "") -> int:
    file = folder / "test.c"
    text = MESSAGE.replace("SEND", send).replace("RECEIVE", receive).replace("BEFORE", before)
    file.write_text(text, encoding="utf-8")
    return dekker("check", str(file), *options).status


# --- orders that are not constant


@pytest.mark.parametrize(("order", "expected"), [("RELAXED", 1), ("ACQUIRE", 0), ("CONSUME", 0), ("SEQ_CST", 0)])
def test_the_order_of_a_call_is_the_one_that_is_given(tmp_path: Path, order: str, expected: int) -> None:
    get = "static int get(int order) { return __atomic_load_4(&flag, order); }"
    assert status(tmp_path, RELEASE, f"seen = get(__ATOMIC_{order})", before=get) == expected


@pytest.mark.parametrize(
    ("orders", "expected"),
    [("ACQ_REL, __ATOMIC_RELAXED", 0), ("RELEASE, __ATOMIC_RELAXED", 1), ("SEQ_CST, __ATOMIC_ACQUIRE", 0)],
)
def test_so_are_both_orders_of_a_compare_exchange(tmp_path: Path, orders: str, expected: int) -> None:
    get = """static int get(int success, int failure) {
      int expected = 1;
      return __atomic_compare_exchange_4(&flag, &expected, 2, success, failure);
    }"""
    assert status(tmp_path, RELEASE, f"seen = get(__ATOMIC_{orders})", before=get) == expected


def test_a_failure_has_its_own_order(tmp_path: Path) -> None:
    get = """static int get(int failure) {
      int expected = 0;
      return !__atomic_compare_exchange_4(&flag, &expected, 0, __ATOMIC_RELAXED, failure);
    }"""
    assert status(tmp_path, RELEASE, "seen = get(__ATOMIC_ACQUIRE)", before=get) == 0
    assert status(tmp_path, RELEASE, "seen = get(__ATOMIC_RELAXED)", before=get) == 1


# --- fences by pairs


@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ('"WWfence"', '"RRfence"', {"pso": 0, "aarch64": 0, "power": 0, "riscv": 0}),
        ('"WWfence"', '"WWfence"', {"pso": 0, "aarch64": 1, "power": 1, "riscv": 1}),
        ('"RRfence"', '"RRfence"', {"pso": 1, "aarch64": 1, "power": 1, "riscv": 1}),
        ('"WRfence", "RWfence"', '"RRfence"', {"aarch64": 1, "riscv": 1}),
        ('"WWfence", "RRfence", "WWcumul"', '"WWfence", "RRfence"', {"aarch64": 0, "riscv": 0}),
        ('"WWfence", "RRfence", "RWfence", "WRfence"', '"RRfence", "RWfence"', {"aarch64": 0, "power": 0}),
    ],
)
def test_a_named_fence_orders_what_it_names(tmp_path: Path, writer: str, reader: str, expected: dict[str, int]) -> None:
    send, receive = f"__CPROVER_fence({writer}); flag = 1", f"seen = flag; __CPROVER_fence({reader})"
    for model, wanted in expected.items():
        assert status(tmp_path, send, receive, "--model", model) == wanted, model


def test_the_language_has_few_of_them(tmp_path: Path) -> None:
    options = ("--volatile", "relaxed")
    release = '__CPROVER_fence("RWfence", "WWfence"); flag = 1'
    acquire = 'seen = flag; __CPROVER_fence("RRfence", "RWfence")'
    assert status(tmp_path, release, acquire, *options) == 0
    assert status(tmp_path, acquire.replace("seen = flag; ", "") + "; flag = 1", acquire, *options) == 1
    assert status(tmp_path, '__CPROVER_fence("WWfence"); flag = 1', acquire, *options) == 2
    assert status(tmp_path, '__CPROVER_fence("XYfence"); flag = 1', acquire, *options) == 2


# --- floating types

FLOATING = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
_Atomic double sum = 0.5;
_Atomic float rest = 1;
void *add(void *p) { sum += 1.5; rest -= 0.25f; return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, add, 0);
  pthread_create(&u, 0, add, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(sum == 3.5 && rest == 0.5f);
  assert(SUM);
}
"""


@pytest.mark.parametrize("model", ["cpp20", "tso", "aarch64", "power"])
def test_floating_sums_are_atomic(tmp_path: Path, model: str) -> None:
    file = tmp_path / "floating.c"
    for wanted, expected in (("(sum += 1) == 4.5", "SAFE under"), ("(sum += 1) == 4", "UNSAFE")):
        file.write_text(FLOATING.replace("SUM", wanted), encoding="utf-8")
        assert dekker("check", str(file), "--model", model).out.startswith(expected)


@pytest.mark.parametrize(("order", "expected"), [("release", 0), ("relaxed", 1)])
def test_floating_updates_have_their_order(tmp_path: Path, order: str, expected: int) -> None:
    file = tmp_path / "floating.cpp"
    file.write_text(
        f"""
#include <atomic>
#include <cassert>
#include <thread>
std::atomic<double> sum{{0}};
int data;
int main() {{
  std::thread t([] {{ data = 1; sum.fetch_add(1, std::memory_order_{order}); }});
  if (sum.fetch_sub(0.5, std::memory_order_acquire) == 1) assert(data == 1);
  t.join();
}}
""",
        encoding="utf-8",
    )
    assert dekker("check", str(file), "--", "-std=c++20").status == expected
