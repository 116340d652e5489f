"""Threads of `pthread.h` and `threads.h`, their ends, identities and own values."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler
from tests.unit.frontends.c.verdicts import MODELS, is_fine, messages, result_of, two_threads

pytestmark = needs_compiler


def test_join_takes_what_the_thread_returns(tmp_path: Path) -> None:
    text = """
void *twice(void *p) { return (void *)(2 * (long)p); }
int main(void) {
  pthread_t t;
  void *value;
  assert(pthread_create(&t, 0, twice, (void *)21) == 0);
  assert(pthread_join(t, &value) == 0);
  assert((long)value == 42);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize("model", MODELS)
def test_pthread_exit_ends_a_thread_from_inside_with_a_value(tmp_path: Path, model: str) -> None:
    text = """
int reached;
void leave(long n) { if (n) pthread_exit((void *)n); }
void *work(void *p) { leave((long)p); reached++; return (void *)9; }
int main(void) {
  pthread_t a, b;
  void *one, *other;
  pthread_create(&a, 0, work, (void *)5);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, &one);
  pthread_join(b, &other);
  assert((long)one == 5 && (long)other == 9 && reached == 1);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text, model))


def test_pthread_exit_of_main_lets_the_others_go_on(tmp_path: Path) -> None:
    text = """
int x;
void *work(void *p) { x = 1; assert(!x); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_exit(0); assert(0); }"""
    assert messages(result_of(tmp_path, text)) == {"the assertion `!x` fails"}


def test_threads_know_who_they_are(tmp_path: Path) -> None:
    text = """
pthread_t told;
void *work(void *p) { told = pthread_self(); return 0; }
int main(void) {
  pthread_t t, self = pthread_self();
  pthread_create(&t, 0, work, 0);
  pthread_join(t, 0);
  assert(pthread_equal(t, told) && !pthread_equal(t, self) && pthread_equal(self, pthread_self()));
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


def test_joining_what_is_no_thread_is_a_violation(tmp_path: Path) -> None:
    result = result_of(tmp_path, "int main(void) { pthread_t t = 77; pthread_join(t, 0); return 0; }")
    assert messages(result) == {"77 is no thread that can be joined or detached"}


@pytest.mark.parametrize("model", MODELS)
def test_keys_hold_a_value_for_each_thread(tmp_path: Path, model: str) -> None:
    body = "pthread_setspecific(k, (void *){0}); assert((long)pthread_getspecific(k) == {0});"
    text = two_threads(
        body.format(3),
        "assert(pthread_getspecific(k) == 0);" + body.format(4),
        before="pthread_key_t k;",
        setup="pthread_key_create(&k, 0); pthread_setspecific(k, (void *)8);",
        check="assert((long)pthread_getspecific(k) == 8);",
    )
    assert is_fine(result_of(tmp_path, text, model))


def test_destructors_run_when_threads_end(tmp_path: Path) -> None:
    text = """
long sum;
pthread_key_t k, other;
void add(void *p) { __sync_fetch_and_add(&sum, (long)p); }
void *returns(void *p) { pthread_setspecific(k, p); return 0; }
void *leaves(void *p) { pthread_setspecific(other, p); pthread_exit(0); }
void *nothing(void *p) { return 0; }
int main(void) {
  pthread_t a, b, c;
  pthread_key_create(&other, add);
  pthread_key_create(&k, add);
  pthread_create(&a, 0, returns, (void *)10);
  pthread_create(&b, 0, leaves, (void *)7);
  pthread_create(&c, 0, nothing, (void *)1000);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_join(c, 0);
  assert(sum == 17);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


def test_an_eighth_key_is_refused(tmp_path: Path) -> None:
    creations = "assert(pthread_key_create(&k, 0) == 0);" * 7
    text = f"int main(void) {{ pthread_key_t k; {creations} assert(pthread_key_create(&k, 0) == EAGAIN); return 0; }}"
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize("model", MODELS)
def test_c11_threads(tmp_path: Path, model: str) -> None:
    text = """
int n;
mtx_t m;
cnd_t c;
tss_t k;
int work(void *p) {
  tss_set(k, p);
  assert(mtx_lock(&m) == thrd_success);
  n++;
  cnd_signal(&c);
  assert(mtx_unlock(&m) == thrd_success);
  return tss_get(k) == p ? 3 : 4;
}
int main(void) {
  thrd_t t;
  int status;
  mtx_init(&m, mtx_plain);
  cnd_init(&c);
  tss_create(&k, 0);
  assert(thrd_create(&t, work, &n) == thrd_success);
  mtx_lock(&m);
  while (n == 0) cnd_wait(&c, &m);
  assert(mtx_trylock(&m) == thrd_busy);
  mtx_unlock(&m);
  thrd_yield();
  thrd_join(t, &status);
  assert(status == 3);
  mtx_destroy(&m);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text, model))


def test_c11_mutexes_may_be_recursive_and_threads_leave_with_a_value(tmp_path: Path) -> None:
    text = """
mtx_t m;
int work(void *p) { mtx_lock(&m); mtx_lock(&m); mtx_unlock(&m); mtx_unlock(&m); thrd_exit(6); }
int main(void) {
  thrd_t t;
  int status;
  mtx_init(&m, mtx_plain | mtx_recursive);
  thrd_create(&t, work, 0);
  thrd_join(t, &status);
  assert(status == 6 && !thrd_equal(t, thrd_current()));
  assert(mtx_lock(&m) == thrd_success);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


CPLUSPLUS = """
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex m;
std::condition_variable c;
bool ready;
struct Counter {
  std::mutex own;
  int n = 0;
  void add() { GUARD n++; }
};
int main() {
  Counter counter;
  std::thread t([&] {
    std::unique_lock<std::mutex> lock(m);
    c.wait(lock, [] { return ready; });
    lock.unlock();
    counter.add();
  });
  { std::lock_guard<std::mutex> guard(m); ready = true; }
  c.notify_one();
  counter.add();
  t.join();
  assert(counter.n == 2);
}
"""


def test_threads_mutexes_and_condition_variables_of_cplusplus(tmp_path: Path) -> None:
    guard = "std::lock_guard<std::mutex> guard(own);"
    assert is_fine(result_of(tmp_path, CPLUSPLUS.replace("GUARD", guard), name="test.cpp"))
    bare = result_of(tmp_path, CPLUSPLUS.replace("GUARD", ""), name="test.cpp")
    assert messages(bare) == {"the assertion `counter.n == 2` fails"}


def test_other_locks_of_cplusplus(tmp_path: Path) -> None:
    text = """
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>
std::recursive_mutex r;
std::shared_mutex s;
std::once_flag flag;
int n, once;
void work() {
  std::call_once(flag, [] { once++; });
  assert(once == 1);
  std::lock_guard<std::recursive_mutex> outer(r);
  std::lock_guard<std::recursive_mutex> inner(r);
  std::unique_lock<std::shared_mutex> writing(s);
  n++;
}
int main() {
  std::thread t(work);
  work();
  t.join();
  std::shared_lock<std::shared_mutex> reading(s);
  assert(n == 2);
}
"""
    assert is_fine(result_of(tmp_path, text, name="test.cpp"))


def test_a_cplusplus_thread_must_be_joined(tmp_path: Path) -> None:
    text = "#include <thread>\nint main() { std::thread t([] {}); }\n"
    result = result_of(tmp_path, text, name="test.cpp")
    assert messages(result) == {"a `std::thread` ends that is neither joined nor detached"}


def test_time_in_cplusplus_stands_still(tmp_path: Path) -> None:
    text = """
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
using namespace std::chrono_literals;
std::timed_mutex t;
std::mutex m;
std::condition_variable c;
bool ready, in_time;
int main() {
  std::thread other([] { std::lock_guard<std::mutex> lock(m); ready = true; c.notify_all(); });
  {
    std::unique_lock<std::mutex> lock(m);
    in_time = c.wait_for(lock, 10ms, [] { return ready; });
    assert(in_time == ready);
  }
  std::this_thread::sleep_for(1ms);
  assert(t.try_lock_for(1ms));
  assert(!t.try_lock_for(1ms));
  t.unlock();
  other.join();
  assert(IN_TIME);
}
"""
    late = result_of(tmp_path, text.replace("IN_TIME", "in_time"), name="test.cpp")
    assert messages(late) == {"the assertion `in_time` fails"}
    assert is_fine(result_of(tmp_path, text.replace("IN_TIME", "ready"), name="test.cpp"))


def test_shared_pointers_of_cplusplus_free_their_object_once(tmp_path: Path) -> None:
    text = """
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
std::atomic<int> freed{0};
struct S { int n = 4; ~S() { freed++; } };
int main() {
  auto p = std::make_shared<S>();
  std::weak_ptr<S> weak = p;
  std::thread t([q = p] { assert(q->n == 4); });
  p.reset();
  t.join();
  assert(freed == 1 && !weak.lock());
}
"""
    assert is_fine(result_of(tmp_path, text, name="test.cpp"))


def test_identities_of_cplusplus_threads_differ(tmp_path: Path) -> None:
    text = """
#include <cassert>
#include <thread>
int main() {
  std::thread::id inside;
  std::thread t([&] { inside = std::this_thread::get_id(); });
  auto outside = t.get_id();
  t.join();
  assert(inside == outside && inside != std::this_thread::get_id());
}
"""
    assert is_fine(result_of(tmp_path, text, name="test.cpp"))


def test_a_thread_function_without_parameters_ignores_its_argument(tmp_path: Path) -> None:
    text = "int x; void *f() { x++; return 0; }\n"
    text += "int main() { pthread_t t; pthread_create(&t, 0, f, &x); pthread_join(t, 0); assert(x == 1); }"
    assert is_fine(result_of(tmp_path, text))
