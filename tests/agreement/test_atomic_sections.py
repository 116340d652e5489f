"""Atomic sections: the states engine against all executions of the oracle in which no section is seen half done."""

from __future__ import annotations

import random

import pytest

from dekker.engines.axiomatic.engine import accepted_executions
from dekker.engines.states import engine as states
from dekker.frontends.c.runtime.sections import with_section_lock
from dekker.ir.program import Program, has_sections
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.replay import replay
from dekker.replay.sections import torn_section
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

HEAD = "program random\narchitecture C\nobject x[4]\nobject y[4]\n"


def random_program(seed: int) -> Program:
    rng = random.Random(seed)
    threads, observed = [], []
    for thread in range(rng.choice((2, 2, 2, 3))):
        lines, n_reads, inside = [], 0, False
        steps = rng.randint(2, 3) if thread < 2 else 1
        for _ in range(steps):
            if not inside and rng.random() < 0.4:
                lines.append("  atomic-begin")
                inside = True
            place = rng.choice("xy")
            if rng.random() < 0.5:
                lines.append(f"  store.4 [&{place}] = {rng.randint(1, 2)}")
            else:
                lines.append(f"  r{n_reads} = load.4 [&{place}]")
                observed.append(f"{thread}:r{n_reads}")
                n_reads += 1
            if inside and rng.random() < 0.4:
                lines.append("  atomic-end")
                inside = False
        lines += ["  atomic-end"] if inside else []
        threads.append("\n".join(lines))
    functions = "".join(f"function P{n}() {{\n{body}\n}}\n" for n, body in enumerate(threads))
    started = "".join(f"thread P{n} runs P{n}\n" for n in range(len(threads)))
    shown = "".join(f"observe {item}\n" for item in (*observed, "[x].4", "[y].4"))
    return with_section_lock(parse_program(Source("random.ir", HEAD + functions + started + shown)))


def atomic_states(task: Task) -> set[tuple[int, ...]]:
    found = set()
    for accepted in accepted_executions(task):
        replayed = replay(task.program, accepted.trace())
        if not has_sections(task.program) or torn_section(task.program, task.model, replayed.execution) is None:
            found.add(tuple(replayed.values[item] for item in task.program.property.observed))
    return found


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("part", range(2))
def test_sections_are_atomic_in_both(model: str, part: int) -> None:
    for seed in range(part * 8, part * 8 + 8):
        program = prepare(random_program(seed), load_model(model))
        task = Task(program, load_model(model), Limits(unroll=4))
        searched = states.run(task)
        assert searched.stopped_by is None
        assert set(searched.states) == atomic_states(task), f"seed {seed} under {model}"
