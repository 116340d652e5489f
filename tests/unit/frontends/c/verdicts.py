"""What the rsmc engine finds in small C programs with threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.unit.frontends.c.programs import from_c

from dekker.engines.rsmc.engine import run
from dekker.ir.instructions import CompareExchange, Fence, Instruction, Load, Order, Rmw, Store
from dekker.ir.program import Function, Program
from dekker.models import load_model
from dekker.result import Result
from dekker.source import Span
from dekker.task import Limits, Task

MODELS = ("sc", "tso", "power", "cpp20", "rc11")

HEADERS = """#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
"""

TWO_THREADS = """
int main(void) {
  pthread_t one, other;
  SETUP
  pthread_create(&one, 0, first, 0);
  pthread_create(&other, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(other, 0);
  CHECK
  return 0;
}
"""


def result_of(folder: Path, text: str, model: str = "sc", *, name: str = "test.c") -> Result:
    program = from_c(folder, HEADERS + text if name.endswith(".c") else text, name=name)
    if model == "power":
        program = with_fences(program)
    return run(Task(program, load_model(model), Limits(unroll=4, counts_known_rounds=False)))


def two_threads(first: str, second: str, *, before: str = "", setup: str = "", check: str = "") -> str:
    """A program of two threads with these bodies."""
    bodies = (
        f"void *{name}(void *unused) {{ {body} return 0; }}\n" for name, body in (("first", first), ("second", second))
    )
    main = TWO_THREADS.replace("SETUP", setup).replace("CHECK", check)
    return f"{before}\n{''.join(bodies)}{main}"


def messages(result: Result) -> set[str]:
    return {violation.message for violation in result.violations}


def is_fine(result: Result) -> bool:
    """Nothing goes wrong, no access races, no thread waits for ever, and everything was covered."""
    wrong = result.violations or result.flags or result.deadlocks or result.cut
    return not wrong and result.complete_executions > 0


# --- memory orders on POWER, with fences


def with_fences(program: Program) -> Program:
    """lwsync (sync where the order is `seq_cst`) before what releases and after what acquires."""
    return replace(program, functions=tuple(map(_fenced, program.functions)))


_RELEASING = {Order.RELEASE: "lwsync", Order.ACQ_REL: "lwsync", Order.SEQ_CST: "sync"}
_ACQUIRING = {Order.ACQUIRE: "lwsync", Order.ACQ_REL: "lwsync", Order.SEQ_CST: "sync"}


def _fenced(function: Function) -> Function:
    body: list[Instruction] = []
    spans: list[Span | None] = []
    starts: list[int] = []
    for index, step in enumerate(function.body):
        starts.append(len(body))
        order = step.order if isinstance(step, Load | Store | Rmw | CompareExchange) else Order.PLAIN
        before = [Fence(_RELEASING[order])] if order in _RELEASING and not isinstance(step, Load) else []
        after = [Fence(_ACQUIRING[order])] if order in _ACQUIRING and not isinstance(step, Store) else []
        body += [*before, step, *after]
        spans += [function.span(index)] * (len(body) - len(spans))
    starts.append(len(body))
    labels = {label: starts[index] for label, index in function.labels.items()}
    return Function(function.name, function.parameters, tuple(body), labels, tuple(spans))
