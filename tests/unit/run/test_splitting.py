"""Programs that access the same bytes in different sizes."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.errors import MixedSizes
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.run.engines import run_engine
from dekker.run.splitting import run_splitting
from dekker.source import Source
from dekker.task import Limits, Task

SIZES = (1, 2, 4, 8)
LENGTH = 16


def run(text: str, model: str, engine: str = "all") -> Result:
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text}"))
    validate(program)
    task = Task(program, load_model(model), Limits(counts_known_rounds=False))
    return run_splitting(partial(run_engine, engine), task)[1][1]


SCAN = """
object g[8]
function worker() {
  store.4 [&g] = 0x81020304
  return 0
}
function main() {
  t = spawn &worker()
  j = join t
  a = load.1 [&g]
  b = load.1 signed [&g+3]
  c = load.2 signed [&g+2]
  d = load.2 [&g+1]
  e = load.8 [&g]
}
thread main runs main
observe 0:a, 0:b, 0:c, 0:d, 0:e
"""


@pytest.mark.parametrize("model", COMMIT_ORDERS)
def test_a_scan_by_bytes_after_a_join(model: str) -> None:
    found = run(SCAN, model)
    assert found.states == {(4, 2**64 - 0x7F, 2**64 - 0x7EFE, 0x0203, 0x81020304): 1}


LOCKED = """
object g[8]
object m[8]
function lock() {
again:
  old, won = cmpxchg.4 [&m] 0 -> 1 acquire / relaxed
  await won -> again
  return 0
}
function worker() {
  call &lock()
  store.8 [&g] = 0x200000001
  store.4 [&m] = 0 release
  return 0
}
function main() {
  t = spawn &worker()
  call &lock()
  a = load.4 [&g]
  b = load.4 [&g+4]
  store.4 [&m] = 0 release
  j = join t
}
thread main runs main
observe 0:a, 0:b
"""


@pytest.mark.parametrize("model", ["sc", "tso", "aarch64", "riscv", "rc11"])
def test_a_structure_written_whole_under_a_lock_is_never_seen_torn(model: str) -> None:
    assert run(LOCKED, model).states == {(0, 0): 1, (1, 2): 1}


RACE = SCAN.replace("  j = join t\n", "").replace("e = load.8 [&g]", "j = join t")


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "power", "aarch64"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic", "all"])
def test_what_races_in_different_sizes_is_refused_with_both_lines(model: str, engine: str) -> None:
    with pytest.raises(MixedSizes, match=r"different sizes, here and at test.ir:\d+, and nothing orders") as refused:
        run(RACE, model, engine)
    assert refused.value.diagnostic.span is not None


def test_a_stale_value_is_a_race_though_a_flag_was_read() -> None:
    """Message passing: PSO lets the second thread see the flag first."""
    text = """
object g[8]
object flag[8]
function worker() {
  store.8 [&g] = 0x200000001
  store.4 [&flag] = 1
  return 0
}
function main() {
  t = spawn &worker()
  f = load.4 [&flag]
  branch f eq.32 0 -> end
  a = load.4 [&g]
end:
  j = join t
}
thread main runs main
observe 0:a
"""
    assert set(run(text, "tso").states) == {(0,), (1,)}
    for engine in ("rsmc", "axiomatic"):
        with pytest.raises(MixedSizes, match="nothing orders"):
            run(text, "pso", engine)


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_atomic_accesses_are_never_split(engine: str) -> None:
    text = SCAN.replace("= 0x81020304", "= 0x81020304 release")
    with pytest.raises(MixedSizes, match=r"overlap: . bytes here and . bytes at test.ir:\d+"):
        run(text, "rc11", engine)


def test_under_rc11_a_race_in_different_sizes_is_a_data_race() -> None:
    assert set(run(RACE, "rc11").flags) == {"data-race"}


def ordered_program(random: Random) -> tuple[str, list[int]]:
    """Threads one after the other access the same bytes; and what their loads return."""
    content = bytearray(LENGTH)
    functions, calls, results = [], [], []
    for number in range(3):
        body = []
        for position in range(random.randint(1, 4)):
            size = random.choice(SIZES)
            offset = random.randrange(0, LENGTH - size + 1, random.choice((1, size)))
            if random.random() < 0.5:
                value = random.getrandbits(8 * size)
                content[offset : offset + size] = value.to_bytes(size, "little")
                body.append(f"store.{size} [&g+{offset}] = {value:#x}")
            else:
                results.append(int.from_bytes(content[offset : offset + size], "little"))
                body.append(f"r{number}_{position} = load.{size} [&g+{offset}]")
                body.append(f"store.8 [&out+{8 * (len(results) - 1)}] = r{number}_{position}")
        functions.append(f"function worker{number}() {{\n" + "\n".join(body) + "\nreturn 0\n}")
        calls.append(f"t{number} = spawn &worker{number}()\nj{number} = join t{number}")
    main = "function main() {\n" + "\n".join(calls) + "\n}\nthread main runs main\n"
    observed = ", ".join(f"[out+{8 * i}].8" for i in range(len(results)))
    text = f"object g[{LENGTH}]\nobject out[128]\n" + "\n".join(functions) + "\n" + main
    return text + (f"observe {observed}\n" if results else ""), results


@pytest.mark.parametrize("seed", range(30))
def test_threads_one_after_the_other_see_bytes_as_they_are(seed: int) -> None:
    random = Random(seed)
    text, results = ordered_program(random)
    found = run(text, random.choice(("sc", "tso", "pso", "power", "aarch64", "rc11")), "rsmc")
    assert found.states == {tuple(results): 1}, text


def test_what_is_run_again_has_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "object g[8]\nfunction main() {\nstore.8 [&g] = 1\nr = load.4 [&g]\n}\nthread main runs main\n"
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text}"))
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("dekker.run.splitting.monotonic", lambda: next(clock))
    seen: list[float | None] = []

    def engine(task: Task) -> Result:
        seen.append(task.limits.timeout_s)
        return run_engine("rsmc", task)[1]

    task, result = run_splitting(engine, Task(program, load_model("sc"), Limits(timeout_s=10)))
    assert (result.statistics["complete"], seen, task.limits.timeout_s) == (1, [7, 4], 10)
