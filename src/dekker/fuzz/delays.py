"""Random programs without loops over a few locations, with dependencies and the fences of a model."""

from __future__ import annotations

import random

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue

FENCES = {
    "tso": ("mfence",),
    "pso": ("mfence", "stbar"),
    "rmo": ("membar", "membar.loadload", "membar.storestore"),
    "power": ("sync", "lwsync", "isync", "eieio"),
}
SHAPES = ((2, 2), (3, 2), (2, 3), (3, 3), (2, 2, 1), (2, 2, 2), (3, 2, 1), (1, 2, 2), (2, 1, 1), (1, 1, 2, 2))


def random_program(seed: int, model: str, *, updates: bool = False) -> Program:
    """Two to four threads with one to three accesses each, perhaps with updates among them; everything is observed."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    places = "xyz"[: rng.choice((2, 2, 3))]
    functions, observed = [], list[Observable]()
    for number, length in enumerate(shape):
        body, labels = _thread(rng, length, places, model, updates)
        functions.append(Function(f"P{number}", (), tuple(body), labels))
        loaded = [step.dst for step in body if isinstance(step, Load | Rmw | CompareExchange) and step.dst is not None]
        observed += [RegisterValue(number, name, 32) for name in loaded]
    observed += [MemoryValue(place) for place in places]
    return Program(
        f"random-{model}-{seed}",
        "none",
        tuple(Object(place, 4) for place in places),
        tuple(functions),
        tuple(Thread(item.name, item.name) for item in functions),
        Property(None, None, tuple(observed)),
    )


def _thread(
    rng: random.Random, length: int, places: str, model: str, updates: bool
) -> tuple[list[Instruction], dict[str, int]]:
    body: list[Instruction] = []
    labels: dict[str, int] = {}
    loaded: list[str] = []
    for number in range(length):
        if number and rng.random() < 0.3:
            body.append(Fence(rng.choice(FENCES[model])))
        if loaded and rng.random() < 0.25:
            labels[f"L{number}"] = len(body) + 1
            body.append(Branch(Binary("eq", 32, Reg(rng.choice(loaded)), Const(1)), f"L{number}"))
            if rng.random() < 0.3 and model == "power":
                body.append(Fence("isync"))
        address: Expr = Address(rng.choice(places))
        if loaded and rng.random() < 0.25:
            address = Binary("add", 64, address, _nothing(rng.choice(loaded)))
        if updates and rng.random() < 0.4:
            body += _update(rng, f"r{number}", address, model)
            loaded.append(f"r{number}")
            continue
        if rng.random() < 0.5:
            loaded.append(f"r{number}")
            body.append(Load(f"r{number}", address, 4))
            continue
        value: Expr = Const(rng.choice((1, 2)))
        if loaded and rng.random() < 0.35:
            register = rng.choice(loaded)
            value = rng.choice((Reg(register), Binary("add", 32, value, _nothing(register))))
        body.append(Store(address, value, 4))
    return body, labels


def _update(rng: random.Random, register: str, address: Expr, model: str) -> list[Instruction]:
    kind = rng.choice(("xchg", "add", "compare", "linked") if model == "power" else ("xchg", "add", "compare"))
    if kind == "compare":
        return [CompareExchange(register, None, address, Const(rng.choice((0, 1))), Const(2), 4)]
    if kind == "linked":
        value = rng.choice((Const(2), Reg(register)))
        return [Load(register, address, 4, exclusive=True), StoreConditional(f"s{register}", address, value, 4)]
    return [Rmw(register, kind, address, Const(1), 4)]


def _nothing(register: str) -> Expr:
    return Binary("xor", 64, Reg(register), Reg(register))
