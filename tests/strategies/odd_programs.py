"""Small random programs with what litmus tests seldom have: selections anywhere, choices, calls, loops, assumptions,
assertions, weak compare-exchange, signed and narrow accesses, addresses and values that come from memory."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Order,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import Condition, Equals, MemoryValue, Observable, Property, Quantifier, RegisterValue

DISTANCE = 128
"""Between the addresses of the two objects."""
REGISTERS = ("r0", "r1", "r2", "r3")
ORDERS = (Order.PLAIN, Order.RELAXED, Order.SEQ_CST)
FENCES = ("sync", "lwsync", "isync", "dmb.st", "fence.r.rw", "c11.seq_cst")
RMW_NAMES = ("xchg", "add", "nand", "max", "umin", "or")
HELPER = Function("helper", ("p", "q"), (Load("t", Reg("p"), 4), Return(Binary("add", 32, Reg("t"), Reg("q")))))


def registers() -> st.SearchStrategy[str]:
    return st.sampled_from(REGISTERS)


def values(depth: int = 2) -> st.SearchStrategy[Expr]:
    leaves: st.SearchStrategy[Expr] = st.one_of(registers().map(Reg), st.integers(0, 2).map(Const))
    if depth == 0:
        return leaves
    inner = values(depth - 1)
    return st.one_of(
        leaves,
        st.builds(Binary, st.sampled_from(("add", "xor", "and", "eq", "sub")), st.just(32), inner, inner),
        st.builds(Unary, st.sampled_from(("not", "sext", "zext")), st.just(8), inner),
        st.builds(Select, inner, inner, inner),
    )


@st.composite
def addresses(draw: st.DrawFn) -> Expr:
    """One of the two objects, perhaps with an address that depends on a register or is chosen by one."""
    place = Address(draw(st.sampled_from(("x", "y"))))
    form = draw(st.integers(0, 3))
    if form == 0:
        register = Reg(draw(registers()))
        return Binary("add", 64, place, Binary("xor", 64, register, register))
    if form == 1:
        return Select(draw(values(1)), Address("x"), Address("y"))
    if form == 2:
        odd = Binary("and", 64, Reg(draw(registers())), Const(1))
        return Binary("add", 64, Address("x"), Binary("mul", 64, odd, Const(DISTANCE)))
    return place


def _orders() -> st.SearchStrategy[Order]:
    return st.sampled_from(ORDERS)


FORMS: tuple[Callable[[], st.SearchStrategy[Instruction]], ...] = (
    lambda: st.builds(Load, registers(), addresses(), st.just(4), _orders(), st.booleans(), st.booleans()),
    lambda: st.builds(Load, registers(), addresses(), st.just(4), _orders(), st.booleans(), st.booleans()),
    lambda: st.builds(Store, addresses(), values(), st.just(4), _orders()),
    lambda: st.builds(Store, addresses(), values(), st.just(4), _orders()),
    lambda: st.builds(StoreConditional, registers(), addresses(), values(), st.just(4), _orders()),
    lambda: st.builds(
        Rmw,
        st.one_of(st.none(), registers()),
        st.sampled_from(RMW_NAMES),
        addresses(),
        values(1),
        st.just(4),
        _orders(),
    ),
    lambda: st.builds(
        CompareExchange,
        st.just("r0"),
        st.one_of(st.none(), st.just("r1")),
        addresses(),
        values(1),
        values(1),
        st.just(4),
        _orders(),
        _orders(),
        st.booleans(),
    ),
    lambda: st.builds(Assign, registers(), values()),
    lambda: st.builds(Fence, st.sampled_from(FENCES)),
    lambda: st.builds(Branch, values(1), st.sampled_from(("start", "middle", "end"))),
    lambda: st.builds(Assume, values(1)),
    lambda: st.builds(Assert, values(1), st.just("assertion")),
    lambda: st.builds(Choose, registers(), st.just(-1), st.just(1)),
    lambda: st.builds(Call, registers(), st.just(Address("helper")), st.tuples(addresses(), values(1))),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    functions = [HELPER]
    for number in range(2):
        body = tuple(draw(FORMS[draw(st.integers(0, len(FORMS) - 1))]()) for _ in range(draw(st.integers(1, 4))))
        labels = {"start": 0, "middle": len(body) // 2, "end": len(body)}
        functions.append(Function(f"P{number}", (), body, labels))
    observed: tuple[Observable, ...] = (
        *(RegisterValue(thread, register, 32) for thread in range(2) for register in REGISTERS),
        MemoryValue("x"),
        MemoryValue("y"),
    )
    condition = Condition(draw(st.sampled_from(Quantifier)), Equals(observed[0], 0))
    return Program(
        "odd",
        "PPC",
        (Object("x", 8), Object("y", 8)),
        tuple(functions),
        tuple(Thread(f"P{number}", f"P{number}") for number in range(2)),
        Property(condition, None, observed),
    )
