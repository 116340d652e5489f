"""Code that only lets time pass goes; whatever anybody could notice stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.strategies.ir_programs import programs
from tests.unit.ir.passes.test_waiting import parse

from dekker.engines.axiomatic import engine as axiomatic
from dekker.ir.instructions import Branch
from dekker.ir.passes.idling import leave_out_idling
from dekker.ir.passes.waiting import wait_in_loops
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.task import Limits, Task

BACK_OFF = """
  pause = 1
again:
  old = rmw.xchg.4 [&x], 1 acquire
  branch old eq.32 0 -> out
  i = 0
run:
  branch i sge.32 pause -> rest
  i = i add.32 1
  jump run
rest:
  branch pause sge.32 4 -> again
  pause = pause mul.32 2
  jump again
out:
"""


def branches(program: Program) -> int:
    return sum(isinstance(step, Branch) for function in program.functions for step in function.body)


def test_a_lock_with_back_off_waits() -> None:
    program = parse(BACK_OFF)
    changed = leave_out_idling(program)
    validate(changed)
    assert (branches(program), branches(changed)) == (3, 1)
    assert [len(function.body) for function in changed.functions] == [
        len(function.body) for function in program.functions
    ]
    waiting = wait_in_loops(changed, quiet_exchanges=True)
    found = axiomatic.run(Task(waiting, load_model("sc"), Limits(1)))
    assert (found.cut, sum(found.states.values())) == (0, 1)


STAYS = {
    "an access": BACK_OFF.replace("i = i add.32 1", "i = i add.32 1\n  z = load.4 [&y]"),
    "a fence": BACK_OFF.replace("i = i add.32 1", "i = i add.32 1\n  fence sync"),
    "a number that was read": BACK_OFF.replace("pause = 1", "pause = load.4 [&y]"),
    "no end": BACK_OFF.replace("i sge.32 pause", "i eq.32 pause"),
    "a step back": BACK_OFF.replace("i = i add.32 1", "i = i sub.32 1"),
    "an end that moves": BACK_OFF.replace("i = i add.32 1", "i = i add.32 1\n  pause = pause add.32 1"),
    "a number that nobody has set": BACK_OFF.replace("pause = 1", "pause = zext.32 unset"),
    "a way without end": BACK_OFF.replace("rest:\n", "rest:\n  branch pause ne.32 2 -> on\nstop:\n  jump stop\non:\n"),
    "a store of the counter": BACK_OFF + "  store.4 [&y] = i\n",
}


@pytest.mark.parametrize("body", STAYS.values(), ids=STAYS.keys())
def test_what_matters_stays(body: str) -> None:
    program = parse(body)
    assert branches(leave_out_idling(program)) > 1


def test_what_is_observed_stays() -> None:
    assert leave_out_idling(parse(BACK_OFF, observe="0:i")) != leave_out_idling(parse(BACK_OFF))
    assert branches(leave_out_idling(parse(BACK_OFF, observe="0:i"))) == 3


@given(programs())
def test_programs_stay_valid(program: Program) -> None:
    validate(leave_out_idling(program))
