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
from dekker.transform.rules import rules_of


def find_cycles(program: Program, name: str, *, safe: bool = False) -> CyclesReport:
    """`program` as it was read. `safe`: with those that the model keeps in order."""
    rules = rules_of(name)
    model = load_model(name)
    classes = classes_of(event_graph(prepare(program, model), rules))
    cycles = critical_cycles(classes, safe=safe)
    return CyclesReport(program.name, model.name, describe_cycles(classes, cycles.found), cycles.complete)
