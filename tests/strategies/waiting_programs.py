"""Small random programs in which threads wait for one another in loops, in all the ways that front ends produce, with
loops among them that look like waiting but are not.

Threads store small numbers and wait for small numbers, so that most programs can end, many can hang and some must.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.strategies.litmus_programs import LOCATIONS, Flavour

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue

MOST_LOOPS = 2


@dataclass
class _Builder:
    draw: st.DrawFn
    flavour: Flavour
    locations: tuple[str, ...]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: list[str] = field(default_factory=list)
    accesses: int = 0

    def emit(self, *instructions: Instruction) -> None:
        self.body += instructions

    def fresh(self) -> str:
        self.registers.append(f"r{len(self.registers)}")
        return self.registers[-1]

    def place(self, label: str) -> str:
        """The label, numbered, at the present position."""
        name = f"{label}{len(self.labels)}"
        self.labels[name] = len(self.body)
        return name

    def later(self, label: str) -> str:
        name = f"{label}{len(self.labels)}"
        self.labels[name] = -1
        return name

    def here(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def flag(self) -> bool:
        return self.draw(st.booleans())

    def location(self) -> Address:
        return Address(self.draw(st.sampled_from(self.locations)))

    def number(self) -> Const:
        return Const(self.draw(st.integers(0, 2)))

    def load(self, address: Expr | None = None, *, exclusive: bool = False) -> str:
        register = self.fresh()
        orders = [order for order in self.flavour.read_orders if order is not Order.ACQUIRE_PC or not exclusive]
        order = self.draw(st.sampled_from(orders))
        self.emit(Load(register, address or self.location(), 4, order, exclusive=exclusive))
        self.accesses += 1
        return register

    def exchange(self, address: Expr, expected: Expr, *, weak: bool, into: str | None = None) -> tuple[str, str]:
        old, success = into or self.fresh(), self.fresh()
        order = self.draw(st.sampled_from(self.flavour.update_orders))
        failure = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}.get(order, order)
        desired = Const(self.draw(st.integers(1, 2)))
        self.emit(CompareExchange(old, success, address, expected, desired, 4, order, failure, weak))
        self.accesses += 2
        return old, success

    def store_conditional(self, address: Expr) -> str:
        status = self.fresh()
        order = self.draw(st.sampled_from(self.flavour.write_orders))
        self.emit(StoreConditional(status, address, Const(self.draw(st.integers(1, 2))), 4, order))
        self.accesses += 1
        return status

    def maybe_fence(self) -> None:
        if self.flavour.fences and self.draw(st.integers(0, 2)) == 0:
            self.emit(Fence(self.draw(st.sampled_from(self.flavour.fences))))

    def test(self, register: str) -> Expr:
        """Whether a register has, or has not, some number."""
        return Binary(self.draw(st.sampled_from(("eq", "ne"))), 32, Reg(register), self.number())


# --- loops


def _spin(b: _Builder) -> None:
    again = b.place("L")
    register = b.load()
    b.maybe_fence()
    b.emit(Branch(b.test(register), again))


def _test_at_the_head(b: _Builder) -> None:
    again, end = b.place("L"), b.later("E")
    b.emit(Branch(b.test(b.load()), end))
    b.maybe_fence()
    b.emit(Jump(again))
    b.here(end)


def _two_reads(b: _Builder) -> None:
    again = b.place("L")
    first = b.load()
    b.maybe_fence()
    second = b.load()
    b.emit(Branch(Binary(b.draw(st.sampled_from(("eq", "ne"))), 32, Reg(first), Reg(second)), again))


def _exit_in_the_middle(b: _Builder) -> None:
    again, end = b.place("L"), b.later("E")
    b.emit(Branch(b.test(b.load()), end))
    b.emit(Branch(b.test(b.load()), again))
    b.here(end)


def _nested(b: _Builder) -> None:
    outer = b.place("L")
    first = b.load()
    inner = b.place("M")
    b.emit(Branch(b.test(b.load()), inner))
    b.emit(Branch(b.test(first), outer))


def _two_back_edges(b: _Builder) -> None:
    again = b.place("L")
    b.emit(Branch(b.test(b.load()), again))
    b.emit(Branch(b.test(b.load()), again))


def _compare_exchange(b: _Builder) -> None:
    again = b.place("L")
    _, success = b.exchange(b.location(), b.number(), weak=b.flag())
    b.emit(Branch(Binary("eq", 32, Reg(success), Const(0)), again))


def _compare_exchange_with_reset(b: _Builder) -> None:
    expected = b.fresh()
    b.emit(Assign(expected, Const(0)))
    again, end = b.place("L"), b.later("E")
    _, success = b.exchange(b.location(), Reg(expected), weak=b.flag(), into=expected)
    b.emit(Branch(Reg(success), end), Assign(expected, b.number()), Jump(again))
    b.here(end)


def _test_and_compare_exchange(b: _Builder) -> None:
    again, end, step = b.place("L"), b.later("E"), b.later("S")
    place = b.location()
    b.emit(Branch(b.test(b.load(place)), step))
    _, success = b.exchange(place, Const(0), weak=b.flag())
    b.emit(Branch(Reg(success), end))
    b.here(step)
    b.emit(Jump(again))
    b.here(end)


def _compare_exchange_that_gives_up(b: _Builder) -> None:
    again, end = b.place("L"), b.later("E")
    old, success = b.exchange(b.location(), b.number(), weak=b.flag())
    b.emit(Branch(Reg(success), end), Branch(b.test(old), end), Jump(again))
    b.here(end)


def _old_value_tells(b: _Builder) -> None:
    expected = b.number()
    again = b.place("L")
    old, _ = b.exchange(b.location(), expected, weak=False)
    b.emit(Branch(Binary("ne", 32, Reg(old), expected), again))


def _success_makes_no_difference(b: _Builder) -> None:
    again = b.place("L")
    old, _ = b.exchange(b.location(), b.number(), weak=False)
    b.emit(Branch(b.test(old if b.flag() else b.load()), again))


def _linked(b: _Builder) -> None:
    again = b.place("L")
    place = b.location()
    register = b.load(place, exclusive=True)
    if b.flag():
        b.emit(Branch(b.test(register), again))
    status = b.store_conditional(place)
    b.emit(Branch(Binary("ne", 32, Reg(status), Const(0)), again))


def _linked_in_some_rounds(b: _Builder) -> None:
    again, end, step = b.place("L"), b.later("E"), b.later("S")
    place = b.location()
    b.emit(Branch(b.test(b.load(place, exclusive=True)), step))
    status = b.store_conditional(place)
    b.emit(Branch(Binary("eq", 32, Reg(status), Const(0)), end))
    b.here(step)
    b.emit(Jump(again))
    b.here(end)


def _link_of_an_earlier_round(b: _Builder) -> None:
    again, end = b.place("L"), b.later("E")
    place = b.location()
    b.emit(Branch(b.test(b.load()), end))
    b.load(place, exclusive=True)
    b.emit(Jump(again))
    b.here(end)
    b.store_conditional(place)


def _exchange(b: _Builder) -> None:
    again = b.place("L")
    b.emit(Branch(b.test(_exchanged(b, b.location(), b.draw(st.integers(1, 2)))), again))


def _exchanged(b: _Builder, place: Expr, written: int) -> str:
    register = b.fresh()
    order = b.draw(st.sampled_from(b.flavour.update_orders))
    b.emit(Rmw(register, "xchg", place, Const(written), 4, order))
    b.accesses += 2
    return register


def _lock(b: _Builder) -> None:
    """Until what is found is not what was written, or is 0."""
    written = b.draw(st.integers(1, 2))
    again = b.place("L")
    found = _exchanged(b, b.location(), written)
    b.maybe_fence()
    b.emit(Branch(Reg(found) if b.flag() else Binary("eq", 32, Reg(found), Const(written)), again))


def _test_and_lock(b: _Builder) -> None:
    again, place = b.place("L"), b.location()
    b.emit(Branch(Reg(b.load(place if b.flag() else None)), again))
    b.emit(Branch(Reg(_exchanged(b, place, b.draw(st.integers(1, 2)))), again))


def _lock_or_read(b: _Builder) -> None:
    again, end, place = b.place("L"), b.later("E"), b.location()
    written = b.draw(st.integers(1, 2))
    b.emit(Branch(Binary("ne", 32, Reg(_exchanged(b, place, written)), Const(written)), end))
    inner = b.place("M")
    b.emit(Branch(b.test(b.load(place if b.flag() else None)), inner))
    b.emit(Jump(again))
    b.here(end)


def _read_and_lock(b: _Builder) -> None:
    again, place = b.place("L"), b.location()
    b.load(place if b.flag() else None)
    b.emit(Branch(Reg(_exchanged(b, place, b.draw(st.integers(1, 2)))), again))


def _retry(b: _Builder) -> None:
    """With what the last attempt has read; some give up."""
    place, end = b.location(), b.later("E")
    expected = b.load(place)
    again = b.place("L")
    if b.flag():
        b.emit(Branch(Binary("eq", 32, Reg(expected), b.number()), end))
    old, success = b.exchange(place, Reg(expected), weak=b.flag())
    b.emit(Branch(Reg(success), end), Assign(expected, Reg(old)), Jump(again))
    b.here(end)


def _stores(b: _Builder) -> None:
    again = b.place("L")
    _store(b)
    b.emit(Branch(b.test(b.load()), again))


def _counted(b: _Builder) -> None:
    count, end = b.fresh(), b.later("E")
    again = b.place("L")
    b.emit(Assign(count, Binary("add", 32, Reg(count), Const(1))))
    b.emit(Branch(b.test(b.load()), end), Branch(Binary("ult", 32, Reg(count), Const(2)), again))
    b.here(end)


def _jump_into(b: _Builder) -> None:
    middle = b.later("M")
    b.emit(Branch(b.test(b.load()), middle) if b.flag() else Jump(middle))
    again = b.place("L")
    register = b.load()
    b.here(middle)
    b.emit(Branch(b.test(register), again))


PLAIN_LOOPS = (_spin, _test_at_the_head, _two_reads, _exit_in_the_middle, _nested, _two_back_edges)
UPDATING_LOOPS = (
    _compare_exchange,
    _compare_exchange_with_reset,
    _test_and_compare_exchange,
    _compare_exchange_that_gives_up,
    _old_value_tells,
)
LINKED_LOOPS = (_linked, _linked_in_some_rounds)
EXCHANGING_LOOPS = (_lock, _lock, _test_and_lock, _lock_or_read, _read_and_lock, _retry, _retry)
OTHER_LOOPS = (_stores, _counted, _jump_into)


# --- what stands between loops


def _store(b: _Builder) -> None:
    order = b.draw(st.sampled_from(b.flavour.write_orders))
    value: Expr = Const(b.draw(st.integers(1, 2)))
    if b.registers and b.draw(st.integers(0, 3)) == 0:
        value = Reg(b.draw(st.sampled_from(b.registers)))
    b.emit(Store(b.location(), value, 4, order))
    b.accesses += 1


def _load(b: _Builder) -> None:
    b.load()


Piece = Callable[[_Builder], None]


def _loops(flavour: Flavour) -> tuple[Piece, ...]:
    loops: tuple[Piece, ...] = (*PLAIN_LOOPS, *PLAIN_LOOPS, *OTHER_LOOPS)
    if flavour.updates:
        loops = (*loops, *UPDATING_LOOPS, _exchange, _lock, _success_makes_no_difference)
    if flavour.exclusives:
        loops = (*loops, *LINKED_LOOPS, _link_of_an_earlier_round)
    return loops


@st.composite
def waiting_programs(draw: st.DrawFn, flavour: Flavour, *, locks: bool = False) -> Program:
    """Final states show all locations and some of the registers. With `locks`, all loops exchange."""
    locations = LOCATIONS[: draw(st.integers(1, 2))]
    threads = draw(st.integers(2, 3))
    loops = EXCHANGING_LOOPS if locks else _loops(flavour)
    budget, loops_left = flavour.max_total, MOST_LOOPS
    functions: list[Function] = []
    observed: list[Observable] = [MemoryValue(location) for location in locations]
    for number in range(threads):
        builder = _Builder(draw, flavour, locations)
        for _ in range(draw(st.integers(1, 3))):
            if builder.accesses >= budget - (threads - number - 1):
                break
            form = draw(st.integers(0, 5))
            if form < 2 and loops_left:
                loops_left -= 1
                draw(st.sampled_from(loops))(builder)
            elif form < 5:
                (_load if form == 4 else _store)(builder)
            else:
                builder.maybe_fence()
        budget -= builder.accesses
        functions.append(Function(f"P{number}", (), tuple(builder.body), builder.labels))
        observed += [RegisterValue(number, register) for register in builder.registers if draw(st.integers(0, 3))]
    return Program(
        "random",
        "none",
        tuple(Object(location, 8) for location in locations),
        tuple(functions),
        tuple(Thread(function.name, function.name) for function in functions),
        Property(None, None, tuple(observed)),
    )
