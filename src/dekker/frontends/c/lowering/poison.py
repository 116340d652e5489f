"""What the compiler knows to be undefined. It computes what is constant itself, and calls the result `poison` if it is
that of a division by zero, of the smallest number by -1, of a shift out of range, or of a conversion of a floating
value that does not fit."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Block, Instruction, Operand, Zero
from dekker.frontends.c.llvm.types import Float, Integer, Pointer

POISON = (
    "this constant is undefined: a division by zero, or one that does not fit, a shift by as many bits as there are or "
    "more, or a floating value that does not fit"
)
_PARTS_OF_OTHERS = (syntax.Insert, syntax.InsertElement, syntax.Select, syntax.DebugValue, syntax.Phi)
"""Where poison stands for what is set later, or is not chosen."""


def uses_poison(instruction: Instruction, block: Block, blocks: Mapping[str, Block]) -> bool:
    """Whether it does anything with such a result, or hands it to the block that it jumps to."""
    if isinstance(instruction, syntax.Jump):
        incoming = (item for phi in _phis(blocks[instruction.target]) for item in phi.incoming)
        return any(origin == block.name and _is_poison(operand) for operand, origin in incoming)
    return not isinstance(instruction, _PARTS_OF_OTHERS) and any(map(_is_poison, instruction.operands()))


def _phis(block: Block) -> list[syntax.Phi]:
    return [step for step in block.instructions if isinstance(step, syntax.Phi)]


def _is_poison(operand: Operand) -> bool:
    return (
        isinstance(operand.value, Zero) and operand.value.poison and isinstance(operand.type, Integer | Float | Pointer)
    )
