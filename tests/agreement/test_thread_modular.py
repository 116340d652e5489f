"""Thread-modular results are sound: what 2, 3 and 4 threads of each class reach is covered by the search for any
number of threads."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from dekker.engines.modular.code import Visible
from dekker.engines.modular.limits import Watch
from dekker.engines.modular.machine import Machine
from dekker.engines.modular.memory import Memory, NewCells
from dekker.engines.modular.reachability import reach
from dekker.engines.modular.rules import RULE_SETS
from dekker.engines.modular.thread_modular import Covered, cover
from dekker.frontends.lang.instances import assigned_registers, system_of
from dekker.fuzz.lang import Size, lang_program
from dekker.ir.thread_classes import System

ONE_CLASS = Size(threads=(1, 1), accesses=4, total=4)
TWO_CLASSES = Size(threads=(2, 2), accesses=2, total=4)
MOST_STATES = 4000
SLICE = 12
CAMPAIGN = 400


def classes_of(seed: int, counts: tuple[int | None, ...], size: Size) -> System:
    system = system_of(lang_program(seed, size))
    classes = tuple(replace(item, count=count) for item, count in zip(system.classes, counts, strict=True))
    return replace(system, classes=classes)


def machine_of(system: System, model: str, memory: Memory) -> Machine:
    functions = system.program.function_by_name
    visible = {
        item.name: Visible(registers_at_labels=frozenset(assigned_registers(functions[item.function])))
        for item in system.classes
    }
    return Machine(system, RULE_SETS[model], memory, visible)


def covered_by(system: System, model: str, concrete: int) -> Covered:
    memory = Memory(system.program)
    while True:
        try:
            return cover(machine_of(system, model, memory), concrete, [], Watch(), first_only=False)
        except NewCells:
            continue


def require_covered(covered: Covered, classes: list[int], concrete: int, where: str) -> int:
    """The number of states that were looked at, up to a limit."""
    reached = reach(covered.machine, classes, [], Watch(max_states=MOST_STATES), first_only=False)
    for memory, threads in reached.parents:
        for chosen in set(combinations(threads, concrete)):
            assert (memory, chosen) in covered.parents, f"{where}: {classes}"
    return len(reached.parents)


def require_sound(seed: int, model: str, concrete: int, counts: tuple[int | None, ...], size: Size) -> int:
    covered = covered_by(classes_of(seed, counts, size), model, concrete)
    looked_at = 0
    for number in (2, 3, 4):
        classes = [place for place, count in enumerate(counts) for _ in range(number if count is None else count)]
        if len(classes) >= concrete:
            where = f"classes_of({seed}, {counts}, {size}) under {model}, {concrete} concrete"
            looked_at += require_covered(covered, classes, concrete, where)
    return looked_at


@pytest.mark.parametrize("model", RULE_SETS)
@pytest.mark.parametrize("concrete", [1, 2])
def test_many_threads_are_covered(concrete: int, model: str) -> None:
    looked_at = 0
    for seed in range(SLICE):
        looked_at += require_sound(seed, model, concrete, (None,), ONE_CLASS)
        looked_at += require_sound(seed, model, concrete, (None, None), TWO_CLASSES)
        looked_at += require_sound(seed, model, concrete, (1, None), TWO_CLASSES)
    assert looked_at > 500


@pytest.mark.slow
@pytest.mark.parametrize("model", RULE_SETS)
@pytest.mark.parametrize("concrete", [1, 2, 3])
def test_many_threads_are_covered_campaign(concrete: int, model: str) -> None:
    for seed in range(SLICE, SLICE + CAMPAIGN):
        require_sound(seed, model, concrete, (None,), ONE_CLASS)
        require_sound(seed, model, concrete, (None, None), TWO_CLASSES)
        require_sound(seed, model, concrete, (1, None), TWO_CLASSES)
