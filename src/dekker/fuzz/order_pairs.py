"""Accesses of every kind, one after the other, with everything between them that may keep them in order, beside a
thread that would notice if they changed places.

What engines get wrong here is the order itself: that they take two accesses for ordered which the model does not order
in every execution, or the other way round. There are few kinds of accesses and of what stands between, so that all
pairs can be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from itertools import count
from random import Random

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import Condition, Equals, MemoryValue, Observable, Property, Quantifier, RegisterValue
from dekker.records import dataclass

FIRST, MIDDLE, LAST = "x", "z", "y"
LOCATIONS = (FIRST, LAST, MIDDLE)
FENCES = ("sync", "lwsync", "eieio", "dmb.ld", "dmb.st", "fence.rw.w", "membar.storeload")
CONTROL_FENCES = ("isync", "isb")
FULL = "sync"
ANNOTATING = frozenset(("aarch64", "riscv"))
"""Models under which accesses may acquire and release."""
WITHOUT_EXCLUSIVES = frozenset(("rmo",))
"""Models under which only the oracle runs what may fail."""
ONLY_PLAIN = frozenset(("armv7",))


@dataclass
class _Code:
    """A thread so far. `dependency` is a zero that depends on what was read last, to be added to the next address or
    value."""

    values: count[int]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: int = 0
    last_read: str | None = None
    to_address: Expr | None = None
    to_value: Expr | None = None

    def add(self, instruction: Instruction) -> None:
        self.body.append(instruction)

    def read_into(self) -> str:
        """The register for what comes next; what follows may depend on it."""
        self.last_read = self.fresh()
        return self.last_read

    def fresh(self) -> str:
        self.registers += 1
        return f"r{self.registers - 1}"

    def place(self, location: str) -> Expr:
        return _plus(Address(location), self.to_address, 64)

    def value(self) -> Expr:
        return _plus(Const(next(self.values)), self.to_value, 32)

    def zero(self, register: str) -> Expr:
        name = f"t{len(self.body)}"
        self.add(Assign(name, Binary("xor", 64, Reg(register), Reg(register))))
        return Reg(name)


def _plus(base: Expr, zero: Expr | None, width: int) -> Expr:
    return base if zero is None else Binary("add", width, base, zero)


Access = Callable[[_Code, str], None]
Link = Callable[[_Code], None]


# --- accesses


def _load(code: _Code, location: str, order: Order = Order.PLAIN, exclusive: bool = False) -> None:
    place = code.place(location)
    code.add(Load(code.read_into(), place, 4, order, exclusive=exclusive))


def _store(code: _Code, location: str, order: Order = Order.PLAIN) -> None:
    code.add(Store(code.place(location), code.value(), 4, order))


def _update(
    code: _Code, location: str, order: Order = Order.PLAIN, operation: str = "add", result: bool = True
) -> None:
    place, value = code.place(location), code.value()
    code.add(Rmw(code.read_into() if result else None, operation, place, value, 4, order))


def _compare(code: _Code, location: str, order: Order = Order.PLAIN, expected: int = 0, result: bool = True) -> None:
    place, value = code.place(location), code.value()
    failure = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}.get(order, order)
    success = code.fresh() if result else None
    old = code.read_into() if result else None
    code.add(CompareExchange(old, success, place, Const(expected), value, 4, order, failure))


def _pair(
    code: _Code,
    location: str,
    orders: tuple[Order, Order] = (Order.PLAIN, Order.PLAIN),
    own: str = "",
    branch: bool = False,
) -> None:
    """Load-linked and store-conditional. `own` says where the address of the second differs: it depends on what the
    first has read ("linked") or on what was read before ("earlier"), or it is that of another location ("other");
    `branch`: what follows depends on the status."""
    place, earlier, to_value = code.place(location), code.last_read, code.to_value
    code.to_address = None
    linked = code.read_into()
    code.add(Load(linked, place, 4, orders[0], exclusive=True))
    target: Expr = place
    if own == "other":
        target = Address(MIDDLE)
    elif own:
        register = linked if own == "linked" or earlier is None else earlier
        target = _plus(Address(location), code.zero(register), 64)
    code.to_value = to_value
    status = code.fresh()
    code.add(StoreConditional(status, target, code.value(), 4, orders[1]))
    if branch:
        _branch(code, status)


# --- what stands between


def _nothing(code: _Code) -> None:
    pass


def _fence(code: _Code, kind: str) -> None:
    code.add(Fence(kind))


def _address(code: _Code) -> None:
    if code.last_read is not None:
        code.to_address = code.zero(code.last_read)


def _data(code: _Code) -> None:
    if code.last_read is not None:
        code.to_value = code.zero(code.last_read)


def _control(code: _Code, fence: str | None = None) -> None:
    if code.last_read is not None:
        _branch(code, code.last_read)
    if fence is not None:
        code.add(Fence(fence))


def _branch(code: _Code, register: str) -> None:
    label = f"L{len(code.body)}"
    code.add(Branch(Binary("ne", 32, Reg(register), Const(0)), label))
    code.labels[label] = len(code.body)


LINKS: dict[str, Link] = {
    "nothing": _nothing,
    **{kind: partial(_fence, kind=kind) for kind in FENCES},
    "address": _address,
    "data": _data,
    "control": _control,
    **{f"control and {kind}": partial(_control, fence=kind) for kind in CONTROL_FENCES},
}

PLAIN: dict[str, Access] = {"load": _load, "store": _store}
UPDATES: dict[str, Access] = {
    "add": _update,
    "exchange": partial(_update, operation="xchg"),
    "add without result": partial(_update, result=False),
    "exchange without result": partial(_update, operation="xchg", result=False),
}
MAY_FAIL: dict[str, Access] = {
    "load-linked": partial(_load, exclusive=True),
    "compare-exchange": _compare,
    "compare-exchange without result": partial(_compare, result=False),
    "pair": _pair,
    "pair and branch": partial(_pair, branch=True),
    "pair, address from itself": partial(_pair, own="linked"),
    "pair, address from before": partial(_pair, own="earlier"),
    "pair, elsewhere": partial(_pair, own="other"),
}
ANNOTATED: dict[str, Access] = {
    "load acquire": partial(_load, order=Order.ACQUIRE),
    "load acquire-pc": partial(_load, order=Order.ACQUIRE_PC),
    "store release": partial(_store, order=Order.RELEASE),
    **{
        f"add {order.value}{'' if result else ' without result'}": partial(_update, order=order, result=result)
        for order in (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)
        for result in (True, False)
    },
    **{
        f"compare-exchange {order.value}{'' if result else ' without result'}": partial(
            _compare, order=order, result=result
        )
        for order in (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)
        for result in (True, False)
    },
    "pair acquire": partial(_pair, orders=(Order.ACQUIRE, Order.PLAIN)),
    "pair release": partial(_pair, orders=(Order.PLAIN, Order.RELEASE)),
    "pair acquire release": partial(_pair, orders=(Order.ACQUIRE, Order.RELEASE)),
    "pair acquire release, address from itself": partial(_pair, orders=(Order.ACQUIRE, Order.RELEASE), own="linked"),
}


def accesses(model: str) -> dict[str, Access]:
    """Those that the rsmc engine runs under the model."""
    if model in ONLY_PLAIN:
        return PLAIN
    if model in WITHOUT_EXCLUSIVES:
        return PLAIN | UPDATES
    return PLAIN | UPDATES | MAY_FAIL | (ANNOTATED if model in ANNOTATING else {})


OBSERVERS = ("load store", "load load", "store load", "store store")
"""What the other thread does with the last location, and then, behind a full fence, with the first."""


@dataclass(frozen=True)
class Shape:
    """Names of accesses, and of what stands between them: one less."""

    accesses: tuple[str, ...]
    links: tuple[str, ...]
    observer: str

    def __str__(self) -> str:
        steps = [self.accesses[0]]
        for link, access in zip(self.links, self.accesses[1:], strict=True):
            steps += [link, access]
        return f"{'; '.join(steps)} | {self.observer}"


def program_of(shape: Shape, model: str) -> Program:
    values = count(1)
    kinds = accesses(model)
    locations = (FIRST, *(MIDDLE for _ in shape.accesses[2:]), LAST)
    code = _Code(values)
    for i, (name, location) in enumerate(zip(shape.accesses, locations, strict=True)):
        if i:
            LINKS[shape.links[i - 1]](code)
        kinds[name](code, location)
        code.to_address = code.to_value = None
    other = _Code(values)
    one, two = shape.observer.split()
    PLAIN[one](other, LAST)
    _fence(other, FULL)
    PLAIN[two](other, FIRST)
    functions = tuple(Function(f"P{i}", (), tuple(c.body), c.labels) for i, c in enumerate((code, other)))
    registers = [RegisterValue(i, f"r{r}") for i, c in enumerate((code, other)) for r in range(c.registers)]
    observed: tuple[Observable, ...] = (*registers, *(MemoryValue(location) for location in LOCATIONS))
    return Program(
        "random",
        "none",
        tuple(Object(location, 8) for location in LOCATIONS),
        functions,
        tuple(Thread(function.name, function.name) for function in functions),
        Property(Condition(Quantifier.EXISTS, Equals(observed[-1], 1)), None, observed),
    )


def all_pairs(model: str) -> list[Shape]:
    names = tuple(accesses(model))
    return [Shape((a, b), (link,), observer) for a in names for b in names for link in LINKS for observer in OBSERVERS]


OVERTAKING = ("add release", "add acq_rel", "compare-exchange release", "pair release", "pair acquire release")
"""Updates that release: their read may come before an access that their write waits for."""


def random_shape(random: Random, model: str, sizes: Sequence[int] = (2, 3, 3, 3, 4)) -> Shape:
    names, size = tuple(accesses(model)), random.choice(sizes)
    if model in ANNOTATING and random.random() < 0.2:
        behind = random.choice((*LINKS, "address", "data", "address", "data"))
        accessed = random.choice(("load", "load", *names)), random.choice(OVERTAKING), random.choice(("store", *names))
        return Shape(accessed, (random.choice(("nothing", *LINKS)), behind), OBSERVERS[0])
    return Shape(
        tuple(random.choice(names) for _ in range(size)),
        tuple(random.choice(tuple(LINKS)) for _ in range(size - 1)),
        random.choice(OBSERVERS[:1] + OBSERVERS),
    )
