"""Small random concurrent programs: the common diet of all engines.

Two to four threads of up to five accesses over two or three locations, with fences, address, data and control
dependencies, branches, read-modify-writes and load-linked/store-conditional pairs, which may be tried again until they
succeed. The number of candidate executions is kept within what the oracle can enumerate in well under a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Protocol, TypeVar

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

T = TypeVar("T")


class Draw(Protocol):
    """Where decisions come from."""

    def integer(self, low: int, high: int) -> int: ...

    def sample(self, choices: Sequence[T]) -> T: ...

    def flag(self) -> bool: ...


LOCATIONS = ("x", "y", "z")
DISTANCE = 128
"""Between the addresses of two locations."""
HARDWARE_FENCES = ("sync", "lwsync", "eieio", "isync", "dmb.ld", "dmb.st", "fence.rw.w")
C11_FENCES = ("c11.acquire", "c11.release", "c11.acq_rel", "c11.seq_cst")
READ_ORDERS = (Order.PLAIN, Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
WRITE_ORDERS = (Order.PLAIN, Order.RELAXED, Order.RELEASE, Order.SEQ_CST)
UPDATE_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)


@dataclass(frozen=True)
class Flavour:
    """What programs may contain. `own_addresses`: a store-conditional may have another address than its load, or one
    that depends on a read. `retries`: a pair may stand in a loop that tries it again. `resultless`: updates may have no
    result."""

    fences: tuple[str, ...] = HARDWARE_FENCES
    read_orders: tuple[Order, ...] = (Order.PLAIN,)
    write_orders: tuple[Order, ...] = (Order.PLAIN,)
    update_orders: tuple[Order, ...] = (Order.PLAIN,)
    updates: bool = True
    compares: bool = True
    exclusives: bool = True
    retries: bool = False
    dependencies: bool = True
    branches: bool = True
    own_addresses: bool = False
    resultless: bool = False
    max_threads: int = 4
    max_accesses: int = 5
    max_total: int = 8


HARDWARE = Flavour(resultless=True)
ANNOTATED = Flavour(
    read_orders=(Order.PLAIN, Order.ACQUIRE, Order.ACQUIRE_PC),
    write_orders=(Order.PLAIN, Order.RELEASE),
    update_orders=(Order.PLAIN, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL),
    resultless=True,
)
CONDITIONALS = replace(HARDWARE, compares=False, own_addresses=True)
ANNOTATED_CONDITIONALS = replace(ANNOTATED, compares=False, own_addresses=True)
RETRIES = replace(HARDWARE, compares=False, own_addresses=True, retries=True)
ANNOTATED_RETRIES = replace(ANNOTATED, compares=False, own_addresses=True, retries=True)
C11 = Flavour(C11_FENCES, READ_ORDERS, WRITE_ORDERS, UPDATE_ORDERS, exclusives=False)
PLAIN_ACCESSES = Flavour(updates=False, exclusives=False)


@dataclass
class _ThreadBuilder:
    """Instructions so far, and which registers hold values that came from reads."""

    locations: tuple[str, ...]
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    loaded: list[str] = field(default_factory=list)
    accesses: int = 0
    registers: int = 0
    pending_label: str | None = None

    def fresh(self) -> str:
        self.registers += 1
        return f"r{self.registers - 1}"


def random_program(draw: Draw, flavour: Flavour = HARDWARE) -> Program:
    """A program whose condition observes every register and location. It has no loops but those of `retries`."""
    thread_count = draw.integer(2, flavour.max_threads)
    locations = LOCATIONS[: draw.integer(1, len(LOCATIONS))]
    values = iter(range(1, 1000))
    budget = flavour.max_total
    functions = []
    observed: list[Observable] = []
    for number in range(thread_count):
        wanted = draw.integer(1, min(flavour.max_accesses, max(1, budget - (thread_count - number - 1))))
        builder = _ThreadBuilder(locations)
        while builder.accesses < wanted:
            _action(draw, builder, flavour, values)
        _close_branch(builder)
        budget -= builder.accesses
        name = f"P{number}"
        functions.append(Function(name, (), tuple(builder.instructions), builder.labels))
        observed += [RegisterValue(number, f"r{i}") for i in range(builder.registers)]
    observed += [MemoryValue(location) for location in locations]
    target = draw.sample(observed)
    condition = Condition(draw.sample(tuple(Quantifier)), Equals(target, draw.integer(0, 3)))
    return Program(
        "random",
        "none",
        tuple(Object(location, 8) for location in locations),
        tuple(functions),
        tuple(Thread(function.name, function.name) for function in functions),
        Property(condition, None, tuple(observed)),
    )


def _action(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, values: Iterator[int]) -> None:
    kinds = ["load", "load", "load", "store", "store", "store"]
    kinds += ["fence"] if builder.accesses and flavour.fences else []
    kinds += ["rmw"] if flavour.updates else []
    kinds += ["cas"] if flavour.updates and flavour.compares else []
    kinds += ["exclusive"] if flavour.exclusives else []
    kinds += 4 * ["retry"] if flavour.retries else []
    kinds += ["branch"] if flavour.branches and builder.loaded and builder.pending_label is None else []
    kind = draw.sample(kinds)
    if kind == "fence":
        builder.instructions.append(Fence(draw.sample(flavour.fences)))
    elif kind == "branch":
        _open_branch(builder, draw.sample(builder.loaded), draw.flag())
    else:
        _ACCESSES[kind](draw, builder, flavour, _address(draw, builder, flavour), next(values))
        if builder.pending_label is not None and draw.flag():
            _close_branch(builder)


def _load(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    register = builder.fresh()
    builder.instructions.append(Load(register, address, 4, draw.sample(flavour.read_orders)))
    builder.loaded.append(register)
    builder.accesses += 1


def _store(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    stored = _operand(draw, builder, flavour, value)
    builder.instructions.append(Store(address, stored, 4, draw.sample(flavour.write_orders)))
    builder.accesses += 1


def _rmw(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    operation = draw.sample(("xchg", "add", "or", "max"))
    operand = _operand(draw, builder, flavour, value)
    order = draw.sample(flavour.update_orders)
    register = None if flavour.resultless and draw.flag() else builder.fresh()
    builder.instructions.append(Rmw(register, operation, address, operand, 4, order))
    builder.loaded += [] if register is None else [register]
    builder.accesses += 2


def _cas(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    has_result = not flavour.resultless or draw.flag()
    register, success = (builder.fresh(), builder.fresh()) if has_result else (None, None)
    expected = Const(draw.integer(0, 2))
    order = draw.sample(flavour.update_orders)
    failure = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}.get(order, order)
    desired = _operand(draw, builder, flavour, value)
    builder.instructions.append(CompareExchange(register, success, address, expected, desired, 4, order, failure))
    builder.loaded += [name for name in (register, success) if name is not None]
    builder.accesses += 2


def _exclusive(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    register, status = builder.fresh(), builder.fresh()
    read_order = draw.sample([order for order in flavour.read_orders if order is not Order.ACQUIRE_PC])
    builder.instructions.append(Load(register, address, 4, read_order, exclusive=True))
    builder.loaded.append(register)
    if draw.integer(0, 3) == 0:
        _store(draw, builder, flavour, address, value)
    stored = _operand(draw, builder, flavour, value)
    write_order = draw.sample(flavour.write_orders)
    target = _own_address(draw, builder, address) if flavour.own_addresses else address
    builder.instructions.append(StoreConditional(status, target, stored, 4, write_order))
    builder.loaded += [status] if flavour.own_addresses and draw.flag() else []
    builder.accesses += 2


def _retry(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, address: Expr, value: int) -> None:
    """A pair that is tried until it succeeds; maybe it waits for a zero, as a lock does, and comes behind other
    accesses of the round, on which its address may depend."""
    again = f"A{len(builder.instructions)}"
    builder.labels[again] = len(builder.instructions)
    if draw.integer(0, 4) == 0:
        address = _address_of_round(draw, builder, flavour)
    register, status = builder.fresh(), builder.fresh()
    read_order = draw.sample([order for order in flavour.read_orders if order is not Order.ACQUIRE_PC])
    builder.instructions.append(Load(register, address, 4, read_order, exclusive=True))
    if draw.integer(0, 2) == 0:
        _branch_if_set(builder, register, again)
    builder.loaded.append(register)
    if draw.integer(0, 5) == 0:
        _ACCESSES[draw.sample(("load", "store", "exclusive"))](draw, builder, flavour, address, value)
    target = _own_address(draw, builder, address) if draw.integer(0, 4) == 0 else address
    stored = _operand(draw, builder, flavour, value)
    builder.instructions.append(StoreConditional(status, target, stored, 4, draw.sample(flavour.write_orders)))
    _branch_if_set(builder, status, again)
    builder.accesses += 2


def _address_of_round(draw: Draw, builder: _ThreadBuilder, flavour: Flavour) -> Expr:
    """An address that depends on a load, or is chosen by it."""
    location = Address(draw.sample(builder.locations))
    _load(draw, builder, flavour, location, 0)
    if len(builder.locations) > 1 and draw.flag():
        return _computed_address(builder.loaded[-1])
    return Binary("add", 64, location, _false_dependency(builder, builder.loaded[-1]))


def _branch_if_set(builder: _ThreadBuilder, register: str, label: str) -> None:
    builder.instructions.append(Branch(Binary("ne", 32, Reg(register), Const(0)), label))


_ACCESSES: dict[str, Callable[[Draw, _ThreadBuilder, Flavour, Expr, int], None]] = {
    "load": _load,
    "store": _store,
    "rmw": _rmw,
    "cas": _cas,
    "exclusive": _exclusive,
    "retry": _retry,
}


def _address(draw: Draw, builder: _ThreadBuilder, flavour: Flavour) -> Expr:
    base = Address(draw.sample(builder.locations))
    if not (flavour.dependencies and builder.loaded and draw.integer(0, 3) == 0):
        return base
    register = draw.sample(builder.loaded)
    if len(builder.locations) > 1 and draw.integer(0, 3) == 0:
        return _computed_address(register)
    return Binary("add", 64, base, _false_dependency(builder, register))


def _own_address(draw: Draw, builder: _ThreadBuilder, linked: Expr) -> Expr:
    kind = draw.sample(("linked", "dependent", "dependent", "computed"))
    if kind == "linked":
        return linked
    register = draw.sample(builder.loaded)
    if kind == "computed":
        return _computed_address(register)
    return Binary("add", 64, linked, _false_dependency(builder, register))


def _computed_address(register: str) -> Expr:
    """The first or the second location, by the lowest bit of a loaded value."""
    parity = Binary("and", 64, Reg(register), Const(1))
    return Binary("add", 64, Address(LOCATIONS[0]), Binary("mul", 64, parity, Const(DISTANCE)))


def _operand(draw: Draw, builder: _ThreadBuilder, flavour: Flavour, value: int) -> Expr:
    if not (flavour.dependencies and builder.loaded and draw.integer(0, 2) == 0):
        return Const(value)
    register = draw.sample(builder.loaded)
    if draw.flag():
        return Binary("add", 32, Reg(register), Const(1))
    return Binary("add", 32, _false_dependency(builder, register), Const(value))


def _false_dependency(builder: _ThreadBuilder, register: str) -> Expr:
    zero = f"t{len(builder.instructions)}"
    builder.instructions.append(Assign(zero, Binary("xor", 64, Reg(register), Reg(register))))
    return Reg(zero)


def _open_branch(builder: _ThreadBuilder, register: str, skips: bool) -> None:
    """A branch over what follows, or one to the next instruction (a control dependency and nothing else)."""
    label = f"L{len(builder.instructions)}"
    builder.instructions.append(Branch(Binary("ne", 32, Reg(register), Const(0)), label))
    if skips:
        builder.pending_label = label
    else:
        builder.labels[label] = len(builder.instructions)


def _close_branch(builder: _ThreadBuilder) -> None:
    if builder.pending_label is not None:
        builder.labels[builder.pending_label] = len(builder.instructions)
        builder.pending_label = None
