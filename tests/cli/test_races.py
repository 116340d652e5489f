"""Which race is reported: the one that is the cause of others comes first."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

PROGRAM = """
#include <pthread.h>
int flag, data, other;
void *f(void *p) {
  data = 1;
  other = 2;
  flag = 1;
  return 0;
}
void *g(void *p) {
  if (flag) {
    int r = data + other;
    data = r;
  }
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("model", ["rc11", "cpp20"])
def test_the_race_on_the_flag_comes_first(tmp_path: Path, engine: str, model: str) -> None:
    file = tmp_path / "test.c"
    file.write_text(PROGRAM, encoding="utf-8")
    options = ("--engine", engine, "--model", model)
    first = [line for line in dekker("check", str(file), *options).out.splitlines() if "violation: data race" in line]
    assert len(first) == 1
    assert "`flag`" in first[0]
    found = dekker("check", str(file), "--keep-going", *options).out
    listed = [line for line in found.splitlines() if "violation: data race" in line]
    assert "`flag`" in listed[0]
    lines = [line.split("test.c:")[1].split(":")[0] for line in listed]
    assert lines == (["11", "12", "13", "12"] if engine == "rsmc" else ["11"])


THREAD_OF_AN_OBJECT = """
#include <thread>
struct Base {
  std::thread thread;
  virtual void run() = 0;
  void start() { thread = std::thread([this] { run(); }); }
  void stop() { if (thread.joinable()) thread.join(); }
  virtual ~Base() { stop(); }
};
struct Derived : Base { int x = 1; void run() override { x = 2; } ~Derived() override { STOP } };
int main() { Derived object; object.start(); }
"""


@pytest.mark.parametrize("model", ["cpp20", "sc", "aarch64"])
def test_an_object_that_stays_of_its_class_is_not_written(tmp_path: Path, model: str) -> None:
    """A destructor stores first which class the object is of now."""
    file = tmp_path / "program.cpp"
    file.write_text(THREAD_OF_AN_OBJECT.replace("STOP", "stop();"))
    ran = dekker("check", str(file), "--model", model)
    assert (ran.status, ran.out.split()[0]) == (0, "SAFE"), ran.out
    file.write_text(THREAD_OF_AN_OBJECT.replace("STOP", ""))
    assert dekker("check", str(file), "--model", model).status == 1
