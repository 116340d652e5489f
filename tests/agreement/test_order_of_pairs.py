"""Commit orders against the models, for every kind of access and all that may stand between two of them.

The explorer may keep two accesses in order only if the model does so in every execution: in the LB shape, an execution
in which they change places is then lost. The oracle knows no commit order.
"""

from __future__ import annotations

from random import Random

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.fuzz.order_pairs import OBSERVERS, Shape, all_pairs, program_of, random_shape
from dekker.ir.text import print_program
from dekker.models import OF_C, load_model
from dekker.task import Limits, Task

MODELS = [name for name in COMMIT_ORDERS if name not in OF_C]
SAMPLE = 100


def check(shape: Shape, name: str) -> None:
    program = program_of(shape, name)
    task = Task(program, load_model(name), Limits(timeout_s=20))
    try:
        found = rsmc.run(task)
    except rsmc.NeedsGuess:
        return
    expected = axiomatic.run(task)
    if expected.stopped_by is None:
        assert found.states == expected.states, f"{shape} under {name}\n{print_program(program)}"


@pytest.mark.parametrize("name", MODELS)
def test_pairs(name: str) -> None:
    noticing = [shape for shape in all_pairs(name) if shape.observer == OBSERVERS[0]]
    for shape in Random(f"pairs {name}").sample(noticing, min(SAMPLE, len(noticing))):
        check(shape, name)


@pytest.mark.parametrize("name", MODELS)
def test_longer_chains(name: str) -> None:
    random = Random(f"chains {name}")
    for _ in range(SAMPLE):
        check(random_shape(random, name), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_all_pairs(name: str) -> None:
    for shape in all_pairs(name):
        check(shape, name)
