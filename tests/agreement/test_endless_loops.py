"""Loops that write for ever show another thread what the same loops show in a few rounds."""

from __future__ import annotations

from random import Random

import pytest
from tests.reference.lang_outcomes import explored
from tests.unit.engines.modular.lang_texts import file_of

from dekker.engines.modular.capture import NotFinite
from dekker.engines.modular.rules import RULE_SETS

ROUNDS = 8
SLICE = 60
CAMPAIGN = 1500


def text_of(seed: int) -> str:
    """Writes, perhaps a barrier that depends on what was read, and a loop that does not write in every round; `LOOP`
    stands for its condition, `STEP` for its last step."""
    random = Random(seed)
    variables = random.choice(("x", "y", "y", "y", "xy"))

    def write(names: str) -> str:
        return f"write: {random.choice(names)} := {random.randint(1, 3)}"

    def step() -> str:
        guarded = f"if(r = {random.randint(0, 1)}) {{ {write(variables)} }}"
        return random.choice((guarded, guarded, write(variables), "r := 1 - r", "r := 1 - r"))

    before = [write("xxy") for _ in range(random.randint(1, 2))]
    before.insert(random.randint(1, len(before)), random.choice(("skip", "if(c) barrier", "if(c) barrier")))
    body = "; ".join(step() for _ in range(random.randint(1, 3)))
    first, second = random.choice(("yx", "yx", "xy", "yy"))
    return f"""
    var x = 0; var y = 0; var z = 1;
    process P {{
      read: c := z;
      {"; ".join(before)};
      r := {random.randint(0, 1)};
      i := {ROUNDS};
      while(LOOP) {{ {body}; STEP }}
    }}
    process Z {{ write: z := 0 }}
    process Q {{ read: a := {first}; read: b := {second} }}
    """


def seen(text: str, model: str) -> set[tuple[int, int]]:
    """What Q has read when it ends."""
    reached = explored(file_of(text), model, frozenset("ab"))
    machine = reached.machine
    assert not reached.growth.grown
    found = set()
    for _, threads in reached.parents:
        for thread in threads:
            local = machine.locals[thread]
            code = machine.codes[local.thread_class]
            if code.name == "Q" and machine.has_ended(thread):
                found.add((local.registers[code.registers["a"]], local.registers[code.registers["b"]]))
    return found


def compare(seed: int, model: str) -> bool:
    """False if the loop is one that is not finite."""
    text = text_of(seed)
    few = seen(text.replace("LOOP", "i").replace("STEP", "i := i - 1"), model)
    try:
        endless = seen(text.replace("LOOP", "1").replace("STEP", "skip"), model)
    except NotFinite:
        return False
    assert endless == few, f"text_of({seed}) under {model}: {text}"
    return True


@pytest.mark.parametrize("model", RULE_SETS)
def test_endless_loops(model: str) -> None:
    compared = sum(compare(seed, model) for seed in range(SLICE))
    assert compared == SLICE or (model == "pso" and compared > SLICE // 2)


@pytest.mark.slow
@pytest.mark.parametrize("model", RULE_SETS)
def test_endless_loops_campaign(model: str) -> None:
    compared = sum(compare(seed, model) for seed in range(SLICE, SLICE + CAMPAIGN))
    assert compared > CAMPAIGN // 2
