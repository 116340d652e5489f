"""What the shared litmus parser asks of an assembly architecture."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dekker.ir.instructions import Instruction
from dekker.records import dataclass


class Register(NamedTuple):
    """The register of the representation that a name stands for, and how many bits of it the name shows
    (`W0` is `X0` at 32 bits)."""

    name: str
    width: int


class InstructionError(Exception):
    """An instruction cannot be translated. `offset` and `length` point into the text of the instruction."""

    def __init__(self, message: str, offset: int = 0, length: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = length
        self.hint = hint


@dataclass(frozen=True)
class Architecture:
    """`register` gives None for what is not a register name. `instruction` translates one instruction (no label, no
    comment, stripped) and raises `InstructionError`; it is a pure function of its text, so its results are cached and
    shared between tests. Branch targets stay label names.

    `int_registers`: conditions look at registers as `register` says only as long as their values fit; one that may hold
    more than 32 bits is looked at as a whole."""

    name: str
    aliases: tuple[str, ...]
    default_model: str
    register: Callable[[str], Register | None]
    instruction: Callable[[str], tuple[Instruction, ...]]
    int_registers: bool = False
