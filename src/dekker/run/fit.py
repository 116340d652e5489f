"""Whether a model speaks about what a program contains. Dekker refuses to drop orderings silently.

Fences need no test: every model that ships gives each fence a meaning by the pairs of accesses it orders.
"""

from __future__ import annotations

from dekker.cat.model import Model
from dekker.errors import ModelError
from dekker.ir.instructions import MEMORY_ACCESSES, Order
from dekker.ir.program import Program

UNANNOTATED = frozenset((Order.PLAIN, Order.RELAXED))
ANNOTATION_SETS = frozenset(("A", "Q", "L", "AQ", "RL", "RLX", "CON", "ACQ", "REL", "ACQ_REL", "SC", "ATOMIC", "NA"))


def require_fit(program: Program, model: Model) -> None:
    """Refuses acquire, release and the like under a model that knows no such annotation. Under SC all mean the same."""
    if model.name == "sc" or model.uses & ANNOTATION_SETS:
        return
    for function in program.functions:
        for index, instruction in enumerate(function.body):
            if isinstance(instruction, MEMORY_ACCESSES) and instruction.order not in UNANNOTATED:
                raise ModelError(
                    f"the model '{model.name}' gives no meaning to the memory order '{instruction.order.value}'",
                    function.span(index),
                    "choose a model that knows annotated accesses (sc, aarch64, riscv, rc11)",
                )
