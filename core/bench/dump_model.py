"""Prints a built-in model in the form that incremental_bench reads: `python dump_model.py power > power.model`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dekker.cat.relational import Fixpoint, Step
from dekker.models import load_model


def main() -> None:
    program = load_model(sys.argv[1]).program
    print(len(program.kinds), *program.kinds)
    print(len(program.inputs))
    for item in program.inputs:
        print(item.slot, item.name, item.kind)
    print_steps(program.steps)
    print(len(program.checks))
    for check in program.checks:
        print(check.kind, check.slot, int(check.negated), int(check.flag))


def print_steps(steps: Sequence[Step]) -> None:
    print(len(steps))
    for step in steps:
        if isinstance(step, Fixpoint):
            print("fixpoint", len(step.variables), *step.variables, *step.results)
            print_steps(step.body)
        else:
            print(step.code, step.dst, len(step.args), *step.args)


main()
