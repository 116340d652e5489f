"""Where joins are last, the ends of threads are no events, and nothing else changes."""

from __future__ import annotations

import pytest
from tests.unit.engines.rsmc.test_calls_and_threads import run

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.joins import joins_are_last
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.ir.property import MemoryValue, RegisterValue
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.replay.judge import judge
from dekker.replay.rebuild import replay
from dekker.result import Result
from dekker.source import Source
from dekker.task import Limits, Task

OBJECTS = "object x[8]\nobject y[8]\nobject z[8]\n"
MAIN = """
function main() {
  s = spawn &first()
  t = spawn &second()
  TAIL
}
thread main runs main
observe [x].4, [z].4
"""
LAST = "join s\n  u = t\n  join u\n  return 0"

THREADS = {
    "races": (
        "store.4 [&x] = 1\na = load.4 [&y]\nstore.4 [&z] = a",
        "store.4 [&y] = 1\na = load.4 [&x]\nstore.4 [&z] = 2",
    ),
    "failures": ("store.4 [&x] = 1 relaxed", 'a = load.4 [&x] relaxed\nassert a eq.32 0, "x is 0"\nstore.4 [&z] = 1'),
    "blocked runs": ("store.4 [&x] = 1 relaxed", "a = load.4 [&x] relaxed\nassume a\nstore.4 [&z] = 3"),
    "waiting": ("store.4 [&x] = 1 relaxed", "again:\na = load.4 [&x] relaxed\nawait a -> again\nstore.4 [&z] = 3"),
    "deadlocks": ("store.4 [&x] = 1 relaxed", "again:\na = load.4 [&y] relaxed\nawait a -> again"),
    "updates": ("a = rmw.add.4 [&x], 1 relaxed\nb = rmw.xchg.4 [&z], a relaxed", "a = rmw.add.4 [&x], 1 relaxed"),
    "wrong accesses": (
        "store.4 [&x] = 1 relaxed",
        "a = load.4 [&x] relaxed\nbranch a eq.32 0 -> end\nb = load.4 [8]\nend:",
    ),
    "claims": ("store.4 [&x] = 1 relaxed", "a = load.4 [&x] relaxed\nbranch a -> end\ndetach 0\nend:"),
    "choices": ("a = choose 0..2\nstore.4 [&x] = a relaxed", "a = load.4 [&x] relaxed\nstore.4 [&z] = a relaxed"),
}


def text_of(name: str, tail: str = LAST) -> str:
    first, second = THREADS[name]
    functions = f"function first() {{\n{first}\n}}\nfunction second() {{\n{second}\n}}\n"
    return f"{OBJECTS}{functions}{MAIN.replace('TAIL', tail)}"


def answer(result: Result) -> tuple[object, ...]:
    violations = sorted((violation.kind, violation.message) for violation in result.violations)
    names = ("complete", "blocked", "deadlocks", "cut", "failed", "abandoned")
    return result.states, violations, sorted(result.flags), [result.statistics[name] for name in names]


@pytest.mark.parametrize("model", [name for name in COMMIT_ORDERS if name not in {"rmo", "armv7"}])
@pytest.mark.parametrize("name", THREADS)
def test_the_answer_is_the_same(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(text_of(name), model)
    with monkeypatch.context() as patch:
        patch.setattr(rsmc, "joins_are_last", lambda program, observed: False)
        expected = run(text_of(name), model)
    assert answer(found) == answer(expected)
    assert found.statistics["commits"] <= expected.statistics["commits"]


@pytest.mark.parametrize("name", THREADS)
def test_examples_have_all_events(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text_of(name)}"))
    task = Task(program, load_model("rc11"), Limits(counts_known_rounds=False), examples=True)
    found = rsmc.run(task)
    monkeypatch.setattr(rsmc, "joins_are_last", lambda program, observed: False)
    expected = rsmc.run(task)
    assert answer(found) == answer(expected)
    for kind in ("states", "violations", "flags"):
        shown, wanted = (getattr(result.examples, kind) for result in (found, expected))
        assert {key: len(trace) for key, trace in shown.items()} == {key: len(trace) for key, trace in wanted.items()}


@pytest.mark.parametrize(
    ("tail", "last"),
    [
        (LAST, True),
        ("join s\n  join t", True),
        ("join s", True),
        ("join s\n  exit everything 0", False),
        ("join s\n  join t\n  exit everything 0", True),
        ("r = load.4 [&x]\n  join s\n  join t", True),
        ("join s\n  r = load.4 [&x]\n  join t", False),
        ('join s\n  join t\n  assert 0, "reached"', False),
        ("join s\n  join 9", False),
        ("s = 7\n  join s", False),
        ("join s\n  u = spawn &first()", False),
        ("again:\n  join s\n  branch s -> again", False),
        ("call &helper(s)", False),
        ("return 0", False),
    ],
)
def test_what_counts_as_last(tail: str, last: bool) -> None:
    helper = "function helper(s) {\n  join s\n}\n"
    text = f"program test\narchitecture none\n{helper if 'helper' in tail else ''}{text_of('races', tail)}"
    program = parse_program(Source("test.ir", text))
    assert joins_are_last(program, (MemoryValue("x"),)) == last
    assert not joins_are_last(program, (RegisterValue(0, "s"),))


TAILS = {
    "sees the last": 'join s\n  join t\n  a = load.4 [&x]\n  b = load.4 [&y]\n  store.4 [&z] = a\n  assert a, "x"',
    "sees what the joined one did": "join s\n  a = load.4 [&x]\n  join t\n  store.4 [&z] = a",
    "is seen": "join s\n  store.4 [&y] = 5\n  store.4 [&x] = 6\n  join t",
    "updates": "join s\n  join t\n  a = rmw.add.4 [&z], 1 relaxed\n  b, c = cmpxchg.4 [&x] 1 -> 7 relaxed/relaxed",
    "waits": "join s\n  join t\nagain:\n  a = load.4 [&z] relaxed\n  await a eq.32 3 -> again\n  store.4 [&z] = 9",
    "assumes": "join s\n  join t\n  a = load.4 [&z]\n  b = load.4 [&x]\n  assume a eq.32 2",
    "chooses": "join s\n  join t\n  a = choose 0..2\n  store.4 [&z] = a",
    "starts another": "join s\n  join t\n  u = spawn &second()\n  join u",
    "goes round": "join s\n  join t\nagain:\n  a = rmw.add.4 [&z], 1 relaxed\n  branch a ult.32 4 -> again",
    "never joins one": "join s\n  a = load.4 [&z]\n  return 0",
    "sees all": "join s\n  join t\n  a = load.4 loose [&x]\n  b = load.4 [&y]\n  c = load.4 [&z]\n"
    '  assert a or.32 c, "x or z"\n  exit everything',
    "sees a result": 'a = join s\n  b = join t\n  c = load.4 [&z]\n  assert c ne.32 2, "z"\n  exit everything',
    "sees all and stays": "a = load.4 [&y]\n  join s\n  join t\n  b = load.4 [&z]\n  assume a eq.32 b",
    "sees one early": 'join s\n  a = load.4 [&z]\n  join t\n  assert a ult.32 3, "z"',
    "frees": "join s\n  p = allocate 8\n  store.4 [p] = 1\n  join t\n  free p\n  a = load.4 [p]",
}


@pytest.mark.parametrize("model", ["sc", "pso", "rc11", "power", "aarch64", "riscv", "rmo"])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", THREADS)
def test_whoever_has_joined_all_others_need_not_ask_the_model(
    name: str, tail: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if model == "rmo" and tail == "updates":
        pytest.skip("no valid order is known")
    text = text_of(name, TAILS[tail])
    found = run(text, model)
    monkeypatch.setattr(rsmc, "_decides_alone", lambda task: False)
    expected = run(text, model)
    names = ("complete", "blocked", "deadlocks", "cut", "failed")
    assert answer(found)[:3] == answer(expected)[:3]
    assert found.flags == expected.flags
    assert [found.statistics[name] for name in names] == [expected.statistics[name] for name in names]


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("name", THREADS)
def test_examples_have_what_comes_behind_joins(name: str, tail: str) -> None:
    text = f"program test\narchitecture none\n{text_of(name, TAILS[tail])}"
    program = parse_program(Source("test.ir", text))
    model = load_model("rc11")
    found = rsmc.run(Task(program, model, Limits(counts_known_rounds=False), examples=True))
    for trace in (*found.examples.states.values(), *found.examples.violations.values()):
        assert judge(model, replay(program, trace).execution).allowed


@pytest.mark.parametrize("tail", ["sees all", "sees a result", "sees one early"])
def test_an_end_that_was_seen_before_is_not_done_again(tail: str) -> None:
    text = text_of("races", TAILS[tail])
    found = run(text, "tso")
    expected = run(text.replace("[z].4\n", "[z].4, 0:a\n"), "tso")
    assert found.statistics["complete"] == expected.statistics["complete"]
    assert (found.statistics["commits"] < expected.statistics["commits"]) == (tail != "sees one early")
