"""What C++20 has for waiting, futures, and the library around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler
from tests.unit.frontends.c.verdicts import is_fine

from dekker.engines.rsmc.engine import run
from dekker.models import load_model
from dekker.result import Result
from dekker.task import Limits, Task

pytestmark = needs_compiler

PROGRAMS = {
    "atomic wait": """#include <atomic>
std::atomic<int> a; int x;
void other() { x = 1; a.store(1, ORDER); a.notify_one(); }
void main_part() { a.wait(0, ORDER == std::memory_order_release ? std::memory_order_acquire : ORDER); }
""",
    "latch": """#include <latch>
std::latch l(1); int x;
void other() { x = 1; l.count_down(); }
void main_part() { l.wait(); }
""",
    "barrier": """#include <barrier>
std::barrier b(2); int x;
void other() { x = 1; b.arrive_and_wait(); }
void main_part() { b.arrive_and_wait(); }
""",
    "semaphore": """#include <semaphore>
std::counting_semaphore<2> s(0); int x;
void other() { x = 1; s.release(); }
void main_part() { s.acquire(); }
""",
    "future": """#include <future>
std::promise<int> p; int x;
void other() { x = 1; p.set_value(3); }
void main_part() { assert(p.get_future().get() == 3); }
""",
}

MAIN = """
int main() { std::thread t(other); main_part(); assert(x == 1); t.join(); }
"""


def result_of(folder: Path, text: str, order: str = "release") -> Result:
    flags = ("-std=c++20", f"-DORDER=std::memory_order_{order}")
    program = from_c(folder, f"#include <cassert>\n#include <thread>\n{text}{MAIN}", name="test.cpp", flags=flags)
    return run(Task(program, load_model("rc11"), Limits(unroll=4, counts_known_rounds=False)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_waited_for_has_happened(tmp_path: Path, name: str) -> None:
    assert is_fine(result_of(tmp_path, PROGRAMS[name]))


def test_the_order_of_a_wait_matters(tmp_path: Path) -> None:
    result = result_of(tmp_path, PROGRAMS["atomic wait"], "relaxed")
    assert "data-race" in result.flags


def test_a_wait_for_what_never_comes_is_a_deadlock(tmp_path: Path) -> None:
    text = PROGRAMS["latch"].replace("l.count_down();", "")
    assert result_of(tmp_path, text).deadlocks
