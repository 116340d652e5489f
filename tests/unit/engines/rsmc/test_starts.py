"""What the first thread does while it starts others is no event for the model if nobody could notice, and nothing else
changes."""

from __future__ import annotations

import pytest
from tests.unit.engines.rsmc.test_calls_and_threads import run
from tests.unit.engines.rsmc.test_joins import answer

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.replay.judge import judge
from dekker.replay.rebuild import replay
from dekker.source import Source
from dekker.task import Limits, Task

FUNCTIONS = """
object x[8]
object y[8]
object z[8]
object own[64]
function reads(p) {
  a = load.4 [p] relaxed
  b = load.4 [&x] relaxed
  store.4 [&z] = a add.32 b relaxed
}
function writes(p) {
  store.4 [p] = 5 relaxed
  store.4 [&x] = 1 relaxed
}
function starts(p) {
  t = spawn &reads(p)
}
function follows(p) {
  q = load.8 [&y] relaxed
  branch q eq.64 0 -> end
  a = load.4 [q] relaxed
  store.4 [&z] = a relaxed
end:
}
function frees(p) {
  a = load.4 [p] relaxed
  free p
  store.4 [&z] = a relaxed
}
function waits(p) {
again:
  a = load.4 [p] relaxed
  await a -> again
  store.4 [&z] = a relaxed
}
"""

MAINS = {
    "handles": "store.8 [&own] = 1\n s = spawn &reads(&z)\n store.8 [&own] = s\n t = spawn &writes(&z)\n"
    " store.8 [&own add.64 8] = t\n a = load.8 [&own]\n join a",
    "arguments": "store.4 [&own] = 1\n s = spawn &reads(&own)\n store.4 [&own add.64 4] = 2\n"
    " t = spawn &reads(&own add.64 4)",
    "written again": "s = spawn &writes(&y)\n store.4 [&own] = 1\n store.4 [&own] = 2\n t = spawn &reads(&own)\n"
    " u = spawn &writes(&own)",
    "noticed by a reader": "s = spawn &reads(&y)\n store.4 [&y] = 1\n store.4 [&y] = 2\n t = spawn &writes(&own)",
    "noticed by a writer": "s = spawn &writes(&y)\n a = load.4 [&y]\n t = spawn &reads(&own)\n store.4 [&z] = a",
    "noticed through a grandchild": "s = spawn &starts(&y)\n store.4 [&y] = 1\n t = spawn &writes(&own)",
    "noticed when waiting": "s = spawn &waits(&y)\n store.4 [&own] = 1\n store.4 [&y] = 1",
    "objects": "s = spawn &writes(&y)\n p = allocate 8\n store.4 [p] = 3\n t = spawn &reads(p)\n u = spawn &frees(p)",
    "an object for one": "s = spawn &writes(&y)\n p = allocate 8\n store.4 [p] = 3\n t = spawn &frees(p)",
    "published": "s = spawn &follows(0)\n p = allocate 8 zeroed\n t = spawn &writes(&own)\n store.8 [&y] = p relaxed",
    "published with content": "s = spawn &follows(0)\n p = allocate 8\n store.4 [p] = 3\n t = spawn &writes(&own)\n"
    " store.8 [&y] = p release",
    "fences": "s = spawn &writes(&y)\n fence mfence\n store.4 [&own] = 1\n fence mfence\n a = load.4 [&x] relaxed\n"
    " b = load.4 [&y] relaxed\n store.4 [&z] = a add.32 (b add.32 b)",
    "updates": "s = spawn &writes(&y)\n a = rmw.add.4 [&own], 1 relaxed\n a = rmw.add.4 [&own], 1 relaxed\n"
    " t = spawn &reads(&own)",
    "fails": 's = spawn &writes(&y)\n store.4 [&own] = 0\n a = load.4 [&own]\n assert a, "own"',
    "assumes": "s = spawn &writes(&y)\n store.4 [&own] = 0\n a = load.4 [&own]\n b = load.4 [&own]\n assume a",
    "waits for ever": "s = spawn &writes(&y)\nagain:\n a = load.4 [&own] relaxed\n await a -> again",
    "depends": "s = spawn &writes(&y)\n store.8 [&own] = &x\n p = load.8 [&own]\n a = load.4 [p] relaxed\n"
    " b = load.4 [&y] relaxed\n store.4 [&z] = a add.32 (b add.32 b)",
    "wrong access": "s = spawn &writes(&y)\n a = load.4 [8]\n t = spawn &reads(&y)",
}


def text_of(name: str) -> str:
    main = f"function main() {{\n {MAINS[name]}\n}}\nthread main runs main\n"
    return f"{FUNCTIONS}{main}observe [x].4, [y].4, [z].4, [own].4\n"


@pytest.mark.parametrize("model", COMMIT_ORDERS)
@pytest.mark.parametrize("name", MAINS)
def test_the_answer_is_the_same(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if model == "armv7" and name == "updates":
        pytest.skip("no valid order is known")
    found = run(text_of(name), model)
    monkeypatch.setattr(rsmc, "_decides_alone", lambda task: False)
    expected = run(text_of(name), model)
    assert answer(found) == answer(expected)
    assert found.flags == expected.flags


@pytest.mark.parametrize("model", ["sc", "rc11", "power"])
@pytest.mark.parametrize("name", MAINS)
def test_examples_have_all_events(name: str, model: str) -> None:
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text_of(name)}"))
    rules = load_model(model)
    found = rsmc.run(Task(program, rules, Limits(counts_known_rounds=False), examples=True))
    for state, trace in found.examples.states.items():
        replayed = replay(program, trace)
        assert judge(rules, replayed.execution).allowed
        assert tuple(replayed.values[item] for item in program.property.observed) == state
    for flag, trace in found.examples.flags.items():
        assert flag in judge(rules, replay(program, trace).execution).flags
    for violation, trace in found.examples.violations.items():
        assert (violation.kind, violation.span) in [(v.kind, v.span) for v in replay(program, trace).violations]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", MAINS)
def test_parts_make_up_the_whole(name: str, seed: int) -> None:
    program = parse_program(Source("test.ir", f"program test\narchitecture none\n{text_of(name)}"))
    task = Task(program, load_model("rc11"), Limits(counts_known_rounds=False))
    in_parts = Task(program, load_model("rc11"), Limits(counts_known_rounds=False), split_seed=seed)
    assert answer(rsmc.run(in_parts)) == answer(rsmc.run(task))
