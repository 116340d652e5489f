"""Random programs for the states engine, made from a seed: campaigns of thousands need no search for small examples.

Up to three threads over a few bytes of shared memory, with stores that overlap without being equal, fences, updates,
pairs of load-linked and store-conditional, choices, calls, assertions and loops.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Assert,
    Assign,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Fence,
    Instruction,
    Join,
    Load,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue

FENCES = ("mfence", "mfence", "stbar", "membar.storeload", "lwsync", "isync")
LOCATIONS = ("x", "y", "z")
REGISTERS = ("r0", "r1", "r2")
HELPER = Function("helper", ("p", "q"), (Load("t", Reg("p"), 4), Return(Binary("add", 32, Reg("t"), Reg("q")))))


def random_program(rng: random.Random, *, mixed: bool) -> Program:
    """`mixed` programs access parts of one object in pieces of different sizes, also unaligned."""
    draw = _Draw(rng, mixed, 1 if mixed else rng.randint(1, 3))
    n_threads = rng.choice((2, 2, 2, 3))
    functions = [HELPER]
    for number in range(n_threads):
        body = tuple(draw.instruction() for _ in range(rng.randint(1, 4 if n_threads == 2 else 3)))
        functions.append(Function(f"P{number}", (), body, {"middle": len(body) // 2, "end": len(body)}))
    if rng.random() < 0.2:
        functions[-1] = Function(functions[-1].name, (), functions[1].body, functions[1].labels)
    observed: list[Observable] = [MemoryValue(name, 0, 8) for name in LOCATIONS[: draw.n_locations]]
    if rng.random() < 0.8:
        observed += [RegisterValue(number, name, 32) for number in range(n_threads) for name in REGISTERS]
    return Program(
        "random",
        "none",
        tuple(Object(name, 8) for name in LOCATIONS[: draw.n_locations]),
        tuple(functions),
        tuple(Thread(f"P{number}", _function(rng, number)) for number in range(n_threads)),
        Property(None, None, tuple(observed)),
    )


def _function(rng: random.Random, number: int) -> str:
    return "P0" if number and rng.random() < 0.15 else f"P{number}"


CELLS = 5


def wide_program(rng: random.Random) -> Program:
    """Three or four threads over one array: each has an element of its own, and now and then accesses that of another,
    perhaps one that it computes from what it read, or waits for it. Some programs have a first thread that starts the
    others and reads what they leave."""
    n_threads = rng.choice((3, 3, 4))
    functions = [_wide_function(rng, number) for number in range(n_threads)]
    names = [function.name for function in functions]
    if rng.random() < 0.5:
        handles = [Spawn(f"t{number}", Address(name), ()) for number, name in enumerate(names)]
        joins = [Join(None, Reg(f"t{number}")) for number in range(n_threads) if rng.random() < 0.7]
        reads = [_wide_access(rng, 0) for _ in range(rng.randint(0, 2))]
        functions.append(Function("main", (), (*handles, *joins, *reads), {}))
        names = ["main"]
    observed = tuple(MemoryValue("a", 4 * cell, 4) for cell in range(CELLS))
    threads = tuple(Thread(name, name) for name in names)
    return Program("wide", "none", (Object("a", 4 * CELLS),), tuple(functions), threads, Property(None, None, observed))


def _wide_function(rng: random.Random, number: int) -> Function:
    body: list[Instruction] = []
    labels: dict[str, int] = {}
    for position in range(rng.randint(2, 4)):
        if rng.random() < 0.12:
            labels[f"again{position}"] = len(body)
            body += [Load("r1", _element(rng, number), 4), Await(Reg("r1"), f"again{position}")]
        else:
            body.append(_wide_access(rng, number))
    return Function(f"P{number}", (), tuple(body), labels)


def _element(rng: random.Random, number: int) -> Expr:
    kind = rng.random()
    if kind < 0.1:
        index = Binary("and", 64, Reg(rng.choice(REGISTERS)), Const(3))
        return Binary("add", 64, Address("a"), Binary("mul", 64, index, Const(4)))
    return Address("a", 4 * (number if kind < 0.65 else rng.randrange(CELLS)))


def _wide_access(rng: random.Random, number: int) -> Instruction:
    place, register = _element(rng, number), rng.choice(REGISTERS)
    forms: tuple[Instruction, ...] = (
        Load(register, place, 4),
        Load(register, place, 4),
        Store(place, Const(rng.randint(1, 3)), 4),
        Store(place, Const(rng.randint(1, 3)), 4),
        Rmw(register, "add", place, Const(1), 4),
        CompareExchange("r0", "r2", place, Const(0), Const(rng.randint(1, 3)), 4),
        Fence(rng.choice(FENCES)),
        Assert(Binary("ult", 32, Reg(register), Const(3)), f"assertion of {number}"),
    )
    return rng.choice(forms)


class _Draw:
    def __init__(self, rng: random.Random, mixed: bool, n_locations: int) -> None:
        self.rng, self.mixed, self.n_locations = rng, mixed, n_locations
        self.values = iter(range(1, 200))

    def instruction(self) -> Instruction:
        return self.rng.choices(_FORMS, _WEIGHTS)[0](self)

    def place(self) -> tuple[Expr, int]:
        name = self.rng.choice(LOCATIONS[: self.n_locations])
        if self.mixed:
            size = self.rng.choice((1, 2, 2, 4))
            return Address(name, self.rng.randint(0, 5 - size)), size
        if self.n_locations > 1 and self.rng.random() < 0.1:
            odd = Binary("and", 64, Reg(self.register()), Const(1))
            return Binary("add", 64, Address("x"), Binary("mul", 64, odd, Const(128))), 4
        return Address(name), 4

    def register(self) -> str:
        return self.rng.choice(REGISTERS)

    def value(self) -> Expr:
        if self.rng.random() < 0.25:
            return Binary("add", 32, Reg(self.register()), Const(1))
        number = next(self.values)
        return Const(number * 0x01010101) if self.mixed else Const(number)


def _load(d: _Draw) -> Instruction:
    return Load(d.register(), *d.place(), exclusive=d.rng.random() < 0.1)


def _update(d: _Draw) -> Instruction:
    place, size = d.place()
    register = d.register() if d.rng.random() < 0.8 else None
    return Rmw(register, d.rng.choice(("xchg", "add", "max")), place, d.value(), size)


def _exchange(d: _Draw) -> Instruction:
    place, size = d.place()
    expected = Const(d.rng.choice((0, 0, 1, 2)))
    return CompareExchange("r0", "r1", place, expected, d.value(), size, weak=d.rng.random() < 0.2)


def _conditional(d: _Draw) -> Instruction:
    place, size = d.place()
    return StoreConditional(d.register(), place, d.value(), size)


def _store(d: _Draw) -> Instruction:
    place, size = d.place()
    return Store(place, d.value(), size)


def _branch(d: _Draw) -> Instruction:
    return Branch(Binary("eq", 32, Reg(d.register()), Const(d.rng.choice((0, 1)))), d.rng.choice(("middle", "end")))


_TABLE: tuple[tuple[int, Callable[[_Draw], Instruction]], ...] = (
    (30, _store),
    (30, _load),
    (8, lambda d: Fence(d.rng.choice(FENCES))),
    (6, _update),
    (4, _exchange),
    (3, _conditional),
    (4, _branch),
    (2, lambda d: Choose(d.register(), 0, 1)),
    (2, lambda d: Assert(Binary("ult", 32, Reg(d.register()), Const(3)), "assertion")),
    (2, lambda d: Call(d.register(), Address("helper"), (Address("x"), d.value()))),
    (2, lambda d: Assign(d.register(), d.value())),
)
_WEIGHTS = [weight for weight, _ in _TABLE]
_FORMS = [form for _, form in _TABLE]
