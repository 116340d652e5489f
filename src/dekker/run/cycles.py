"""The critical cycles of a program under a model."""

from __future__ import annotations

from dekker.ir.program import Program
from dekker.models import load_model
from dekker.report.cycles_text import CyclesReport
from dekker.run.prepare import prepare
from dekker.transform.classes import classes_of
from dekker.transform.cycles import critical_cycles
from dekker.transform.describe import describe_cycles
from dekker.transform.graph import event_graph
from dekker.transform.rules import rules_for

MOST_DESCRIBED = 3_000
"""More than that nobody reads; the shortest come first."""


def find_cycles(program: Program, name: str, *, safe: bool = False) -> CyclesReport:
    """`program` as it was read. `safe`: with those that the model keeps in order."""
    model = load_model(name)
    rules = rules_for(model)
    classes = classes_of(event_graph(prepare(program, model, reduce_updates=False), rules))
    cycles = critical_cycles(classes, safe=safe)
    complete = cycles.complete and len(cycles.found) <= MOST_DESCRIBED
    views = describe_cycles(classes, cycles.found[:MOST_DESCRIBED])
    return CyclesReport(program.name, model.name, views, complete)
