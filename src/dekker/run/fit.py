"""Whether a model speaks about what a program contains. Dekker refuses to drop orderings silently."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from dekker.cat.model import Model
from dekker.cat.relational import Op, RelationalProgram
from dekker.errors import ModelError
from dekker.ir.fences import ALL_PAIRS, FENCES
from dekker.ir.instructions import MEMORY_ACCESSES, Fence, Instruction, Order
from dekker.ir.program import Program
from dekker.source import Span

UNANNOTATED = frozenset((Order.PLAIN, Order.RELAXED))
ANNOTATION_SETS = frozenset(("A", "Q", "L", "AQ", "RL", "RLX", "CON", "ACQ", "REL", "ACQ_REL", "SC", "ATOMIC", "NA"))
FENCE_PAIR_SETS = frozenset(f"Fence{pair}" for pair in ALL_PAIRS)


def require_fit(program: Program, model: Model) -> None:
    """Refuses a fence or a memory order that the model knows nothing of. Under SC none of them means anything."""
    if is_sequentially_consistent(model.program):
        return
    for instruction, span in _instructions(program):
        if isinstance(instruction, Fence) and not _knows_fence(model, instruction.kind):
            raise ModelError(
                f"the model '{model.name}' gives no meaning to the fence '{instruction.kind}'",
                span,
                "choose a model of the test's own architecture, or one that names this fence",
            )
        if isinstance(instruction, MEMORY_ACCESSES) and not _knows_order(model, instruction.order):
            raise ModelError(
                f"the model '{model.name}' gives no meaning to the memory order '{instruction.order.value}'",
                span,
                "choose a model that knows annotated accesses (sc, aarch64, riscv, cpp20)",
            )


@lru_cache(maxsize=64)
def is_sequentially_consistent(program: RelationalProgram) -> bool:
    """Whether one check asks that all of program order and communication be acyclic."""
    inputs = {item.slot: item.name for item in program.inputs}
    unions = {step.dst: step.args for step in program.steps if isinstance(step, Op) and step.code == "union"}

    def parts(slot: int) -> set[str]:
        if slot in unions:
            return set[str]().union(*(parts(part) for part in unions[slot]))
        return {inputs[slot]} if slot in inputs else set()

    return any(
        check.kind == "acyclic"
        and not check.negated
        and not check.flag
        and {"po", "rf", "co", "fr"} <= parts(check.slot)
        for check in program.checks
    )


def _instructions(program: Program) -> Iterator[tuple[Instruction, Span | None]]:
    for function in program.functions:
        for index, instruction in enumerate(function.body):
            yield instruction, function.span(index)


def _knows_order(model: Model, order: Order) -> bool:
    return order in UNANNOTATED or bool(model.uses & ANNOTATION_SETS)


def _knows_fence(model: Model, kind: str) -> bool:
    """A model that speaks of fences by the pairs they order keeps the other pairs in order anyway."""
    fence = FENCES[kind]
    if not fence.orders or model.uses & FENCE_PAIR_SETS:
        return True
    known = {fence.tag, "FULL"} if fence.orders == ALL_PAIRS else {fence.tag}
    return bool(known & model.uses)
