"""Programs in a few words: threads are separated by `//`, instructions by `;`.

`x=1` stores, `r0=x` loads, `r0=x!1` exchanges, `mfence` is a fence (or any other kind by its name)."""

from __future__ import annotations

import re

from dekker.ir.expressions import Address, Const
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Fence, Instruction, Load, Rmw, Store
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue

_FORM = re.compile(r"(r\d)=([xyz])(?:!(\d))?|([xyz])=(\d)")


def short_program(name: str, text: str) -> Program:
    """Observes all registers, thread by thread, and then all locations."""
    bodies = [tuple(_instruction(part.strip()) for part in thread.split(";")) for thread in text.split("//")]
    locations = sorted(set(re.findall("[xyz]", text)))
    observed: list[Observable] = []
    for number, body in enumerate(bodies):
        loaded = sorted({step.dst for step in body if isinstance(step, Load | Rmw) and step.dst is not None})
        observed += [RegisterValue(number, register, 32) for register in loaded]
    observed += [MemoryValue(location) for location in locations]
    return Program(
        name,
        "none",
        tuple(Object(location, 4) for location in locations),
        tuple(Function(f"P{number}", (), body) for number, body in enumerate(bodies)),
        tuple(Thread(f"P{number}", f"P{number}") for number in range(len(bodies))),
        Property(None, None, tuple(observed)),
    )


def _instruction(text: str) -> Instruction:
    if text in FENCES:
        return Fence(text)
    found = _FORM.fullmatch(text)
    assert found is not None, text
    register, read, exchanged, written, value = found.groups()
    if written is not None:
        return Store(Address(written), Const(int(value)), 4)
    if exchanged is not None:
        return Rmw(register, "xchg", Address(read), Const(int(exchanged)), 4)
    return Load(register, Address(read), 4)
