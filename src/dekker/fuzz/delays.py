"""Random programs without loops over a few locations, with dependencies and the fences of a model."""

from __future__ import annotations

import random

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Join,
    Load,
    Rmw,
    Spawn,
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


def program_with_starts(seed: int, model: str) -> Program:
    """A main thread that starts two or three others, waits for them in some order, and has accesses of its own in
    between. What was read is stored behind the last access of a thread, so that it can be observed."""
    rng = random.Random(seed)
    places = "xy"
    functions, results = list[Function](), list[str]()
    for number, length in enumerate(rng.choice(((2, 1), (2, 2), (1, 2), (2, 1, 1), (1, 2, 1), (1, 1, 2)))):
        first = rng.choice(places)
        body = [_access(rng, f"r{index}", Address("yx"[(first == "x") ^ index])) for index in range(length)]
        if length > 1 and rng.random() < 0.2:
            body.insert(1, Fence(rng.choice(FENCES[model])))
        results += _keep_results(body, f"T{number}")
        functions.append(Function(f"T{number}", (), tuple(body), {}))
    main: list[Instruction] = []
    for turns in (functions, rng.sample(functions, len(functions))):
        for item in turns:
            starts = turns is functions
            main.append(Spawn(f"t{item.name}", Address(item.name), ()) if starts else Join(None, Reg(f"t{item.name}")))
            if rng.random() < 0.6:
                main.append(_access(rng, f"m{len(main)}", Address(rng.choice(places))))
    results += _keep_results(main, "main")
    functions.append(Function("main", (), tuple(main), {}))
    return Program(
        f"starts-{model}-{seed}",
        "none",
        tuple(Object(place, 4) for place in (*places, *results)),
        tuple(functions),
        (Thread("main", "main"),),
        Property(None, None, tuple(MemoryValue(place) for place in (*places, *results))),
    )


def _keep_results(body: list[Instruction], name: str) -> list[str]:
    loads = [step.dst for step in body if isinstance(step, Load)]
    body += [Store(Address(f"{name}_{register}"), Reg(register), 4) for register in loads]
    return [f"{name}_{register}" for register in loads]


def _access(rng: random.Random, register: str, address: Expr) -> Instruction:
    return Load(register, address, 4) if rng.random() < 0.5 else Store(address, Const(rng.choice((1, 2))), 4)


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
