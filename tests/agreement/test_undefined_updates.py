"""Atomic updates of memory that was never set, and with values that were never set: engines agree, and what they report
replays."""

from __future__ import annotations

import pytest

from dekker.engines.axiomatic import engine as oracle
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.source import Source
from dekker.task import Limits, Task

PROGRAM = """\
program "p" architecture C object x[8]
function other() {
  v = load.8 [&x] relaxed
  return v
}
function main() {
  p = allocate 8
  t = spawn &other()
  v = load.8 [p]
  UPDATE
  join t
  w = load.8 [PLACE]
  branch w and.64 1 -> end
end:
}
thread main runs main
observe [x].8
"""
UPDATES = {
    "store-conditional": "l = load.8 exclusive [PLACE]\n  s = store-conditional.8 [PLACE] = VALUE",
    "compared": "o, k = cmpxchg.8 [PLACE] VALUE -> 1 seq_cst/relaxed",
    "compare-exchange": "o, k = cmpxchg.8 [PLACE] 0 -> VALUE seq_cst/relaxed",
    **{op: f"o = rmw.{op}.8 [PLACE], VALUE seq_cst" for op in ("add", "or", "and", "xor", "xchg", "umax")},
}
VALUES = {"unset": "v", "one bit": "(v and.64 1)", "all but two bits": "((v and.64 6) or.64 1)", "set": "1"}


def found(update: str, place: str, value: str, model: str) -> dict[str, tuple[set[object], set[str]]]:
    text = PROGRAM.replace("UPDATE", update).replace("PLACE", place).replace("VALUE", value)
    loaded = load_model(model)
    program = prepare(parse_program(Source("p.ir", text)), loaded)
    task = Task(program, loaded, Limits(counts_known_rounds=False), examples=True)
    answers: dict[str, tuple[set[object], set[str]]] = {}
    for engine in (oracle, rsmc, states):
        if engine is not states or model in states.MODELS:
            result = engine.run(task)
            assert all(item.witness for item in violations_of(task, engine.NAME, result))
            answers[engine.NAME] = set(result.states), {item.kind for item in result.violations}
    return answers


@pytest.mark.parametrize("model", ["sc", "tso", "cpp20", "aarch64"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", ["&x", "p"])
@pytest.mark.parametrize("name", UPDATES)
def test_engines_agree(name: str, place: str, value: str, model: str) -> None:
    answers = found(UPDATES[name], place, VALUES[value], model)
    assert len({(frozenset(shown), frozenset(kinds)) for shown, kinds in answers.values()}) == 1, answers


@pytest.mark.parametrize("name", ["store-conditional", "compare-exchange", "add", "xchg"])
def test_what_was_never_set_is_not_shown_to_others(name: str) -> None:
    for shown, kinds in found(UPDATES[name], "&x", "v", "sc").values():
        assert "uninitialised" in kinds
        assert shown <= {(0,)}


@pytest.mark.parametrize("name", ["compare-exchange", "add"])
def test_what_was_never_set_does_not_decide(name: str) -> None:
    for _, kinds in found(UPDATES[name], "p", "1", "sc").values():
        assert kinds == {"uninitialised"}


@pytest.mark.parametrize("model", ["sc", "tso", "cpp20", "aarch64"])
@pytest.mark.parametrize("name", ["compare-exchange", "add", "or", "xor", "xchg", "umax"])
def test_one_bit_that_was_stored_for_others_does_not_decide(name: str, model: str) -> None:
    for _, kinds in found(UPDATES[name], "&x", VALUES["one bit"], model).values():
        assert kinds == {"uninitialised"}
