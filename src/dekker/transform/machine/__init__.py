"""The abstract machine of the paper (section 3), corrected, as a library that instrumented programs call.

`machine.c` is its text, for programs that are printed as C; `*.ir` is what the front end makes of it for each model,
for our own engines. Names in `PARAMETERS` are constants that depend on the program, functions in `PRIMITIVES` are those
that no C is needed for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from dekker.ir.expressions import Address, Const, Expr, Reg, Unary
from dekker.ir.instructions import (
    Assert,
    Assign,
    AtomicBegin,
    AtomicEnd,
    Branch,
    Call,
    Choose,
    Instruction,
    Refuse,
    Return,
    Store,
)
from dekker.ir.program import Function, Object, Program
from dekker.ir.text import parse_program
from dekker.records import dataclass
from dekker.source import Source

FOLDER = Path(__file__).resolve().parent

FEATURES = {
    "tso": ("DK_WRITES_IN_ORDER",),
    "pso": (),
    "rmo": ("DK_READS",),
    "power": ("DK_READS", "DK_NON_ATOMIC"),
}
"""By model, what it delays and how."""

PARAMETERS = (
    *("DK_SLOTS", "DK_THREADS", "DK_FIRST_THREADS", "DK_OWN", "DK_OWN_READS"),
    *("DK_OWN_BITS", "DK_READ_BITS", "DK_ALL_READS"),
)
PRIMITIVES = {
    **dict.fromkeys(("dk_begin", "dk_end", "dk_resume", "dk_pause", "dk_close", "dk_turn"), ("void", "void")),
    "dk_choose_yes": ("int", "void"),
    "dk_frozen": ("unsigned long long", "unsigned long long value"),
    **dict.fromkeys(("dk_full", "dk_mixed_sizes"), ("void", "void")),
}
"""What they return, and their parameters."""
SLOT_COUNT, THREAD_COUNT = 40, 41
"""Lengths of arrays in the files: at most so many slots, and a number that tells the arrays of threads apart."""

FULL = "a thread that delays more accesses than --buffer allows is not supported"
_MIXED = "delayed accesses that overlap without being equal"


@dataclass(frozen=True)
class Size:
    """How many delayed accesses there are room for: so many threads, with so many reads and writes each. `first` of the
    threads exist from the start."""

    first: int
    threads: int
    reads: int
    writes: int

    @property
    def own(self) -> int:
        return self.reads + self.writes

    @property
    def slots(self) -> int:
        return self.threads * self.own

    @property
    def constants(self) -> dict[str, int]:
        read_bits = (1 << self.reads) - 1
        values = (self.slots, self.threads, self.first, self.own, self.reads, (1 << self.own) - 1, read_bits)
        all_reads = sum(read_bits << thread * self.own for thread in range(self.threads))
        return dict(zip(PARAMETERS, (*values, all_reads), strict=True))


def machine_for(model: str, size: Size) -> tuple[tuple[Object, ...], tuple[Function, ...]]:
    """The objects and functions of the machine."""
    text = _machine(model)
    constants = {f"{name.lower()}_": Const(value) for name, value in size.constants.items()}
    functions = tuple(_with_constants(function, constants) for function in text.functions)
    lengths = {SLOT_COUNT: size.slots, THREAD_COUNT: size.threads}
    objects = tuple(replace(item, size=8 * lengths.get(item.size // 8, 1), shape=None) for item in text.objects)
    return objects, (*functions, *_primitives())


@cache
def _machine(model: str) -> Program:
    path = FOLDER / f"{model}.ir"
    return parse_program(Source(path.name, path.read_text(encoding="utf-8")))


def _with_constants(function: Function, constants: Mapping[str, Expr]) -> Function:
    return replace(function, body=tuple(_constant(step, constants) for step in function.body), spans=())


def _constant(step: Instruction, constants: Mapping[str, Expr]) -> Instruction:
    """What the machine keeps is the program's, whatever it is."""
    match step:
        case Store():
            return replace(step, copy=True)
        case Call(str(dst), Address(symbol), ()) if symbol in constants:
            return Assign(dst, constants[symbol])
    return step


def _primitives() -> tuple[Function, ...]:
    """A section that is paused goes on until the next one begins: that a thread delays accesses commutes with what
    others do, so nobody has to come between. `dk_close` ends it, `dk_turn` does so where a loop without accesses goes
    round. `dk_full` is called where an access would be delayed,
    but there is no room: one run says so and ends, another goes on without the delay. To `dk_frozen`, indeterminate
    bits count as set."""
    full = (Choose("dk.c", 0, 1), Branch(Reg("dk.c"), "end"), Assert(Const(0), FULL), Return())
    return (
        Function("dk_begin", (), (AtomicEnd(), AtomicBegin(), Return())),
        Function("dk_end", (), (AtomicEnd(), Return())),
        Function("dk_resume", (), (AtomicBegin(), Return())),
        Function("dk_pause", (), (Return(),)),
        Function("dk_close", (), (AtomicEnd(), Return())),
        Function("dk_turn", (), (AtomicEnd(), Return())),
        Function("dk_choose_yes", (), (Choose("dk.c", 0, 1), Return(Reg("dk.c")))),
        Function("dk_frozen", ("value",), (Return(Unary("freeze", 64, Reg("value"))),)),
        Function("dk_full", (), full, {"end": 3}),
        Function("dk_mixed_sizes", (), (Refuse(_MIXED),)),
    )
