"""The calls that compilers make for atomic operations which they do not translate themselves, and fences as functions.

Orders are numbers from 0, relaxed, to 5, sequentially consistent. One that is not constant is compared with
all of them. Accesses of more than 8 bytes are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from dekker.frontends.c.lowering.expressions import binary, truncate, unary
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.ir.expressions import ONE, ZERO, Const, Expr, Reg
from dekker.ir.fences import ALL_PAIRS, FENCES
from dekker.ir.instructions import CompareExchange, Fence, Load, Order, Rmw, Store

_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)
_SIZES = (1, 2, 4, 8)
_FENCES = {
    Order.RELAXED: "c11.relaxed",
    Order.ACQUIRE: "c11.acquire",
    Order.RELEASE: "c11.release",
    Order.ACQ_REL: "c11.acq_rel",
    Order.SEQ_CST: "c11.seq_cst",
}
_BY_PAIRS = {kind.orders: name for name, kind in FENCES.items() if name.startswith("fence.") and kind.orders}
"""Those of RISC-V, which is the architecture with the most."""
_FOR_LOADS = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}
_FOR_STORES = {Order.ACQUIRE: Order.RELAXED, Order.ACQ_REL: Order.RELEASE}
_OPERATIONS = ("add", "sub", "and", "or", "xor", "nand")


def _with_order(call: ExternalCall, index: int, emit: Callable[[Order], None]) -> None:
    number = call.constant(index)
    if number is not None:
        emit(_ORDERS[number] if number < len(_ORDERS) else Order.SEQ_CST)
        return
    e, end = call.emitter, call.emitter.new_label()
    given = e.keep(call.argument(index))
    for number, order in enumerate(_ORDERS[:-1]):
        other = e.new_label()
        e.branch(binary("ne", 32, given, Const(number)), other)
        emit(order)
        e.jump(end)
        e.place(other)
    emit(_ORDERS[-1])
    e.place(end)


def _emit_load(call: ExternalCall, index: int, register: str, address: Expr, size: int) -> None:
    def emit(order: Order) -> None:
        call.emitter.emit(Load(register, address, size, _FOR_LOADS.get(order, order)))

    _with_order(call, index, emit)


def _emit_store(call: ExternalCall, index: int, address: Expr, value: Expr, size: int) -> None:
    def emit(order: Order) -> None:
        call.emitter.emit(Store(address, value, size, _FOR_STORES.get(order, order)))

    _with_order(call, index, emit)


def _emit_update(call: ExternalCall, index: int, update: Rmw) -> None:
    _with_order(call, index, lambda order: call.emitter.emit(replace(update, order=order)))


def _emit_exchange(call: ExternalCall, index: int, exchange: CompareExchange) -> None:
    """The order of a failure comes behind that of success."""

    def emit(order: Order) -> None:
        def emit_both(failure: Order) -> None:
            failure_order = _FOR_LOADS.get(failure, failure)
            call.emitter.emit(replace(exchange, order=order, failure_order=failure_order))

        _with_order(call, index + 1, emit_both)

    _with_order(call, index, emit)


# --- with the size in the name


def _load(size: int) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        _emit_load(call, 1, call.register, call.argument(0), size)
        return Reg(call.register)

    return lower


def _store(size: int) -> Handler:
    def lower(call: ExternalCall) -> None:
        _emit_store(call, 2, call.argument(0), call.argument(1), size)

    return lower


def _update(op: str, size: int, *, order: int | None = 2, new: bool = False) -> Handler:
    """`new`: the value is the one behind the operation. `order` None stands for a full barrier."""

    def lower(call: ExternalCall) -> Expr:
        update = Rmw(call.register, op, call.argument(0), call.argument(1), size, Order.SEQ_CST)
        if order is None:
            call.emitter.emit(update)
        else:
            _emit_update(call, order, update)
        old = Reg(call.register)
        if not new:
            return old
        if op == "nand":
            return unary("not", 8 * size, binary("and", 8 * size, old, call.argument(1)))
        return binary(op, 8 * size, old, call.argument(1))

    return lower


def _compare_exchange(size: int) -> Handler:
    """`bool f(object, expected, desired, success order, failure order)`; `expected` gets what was found."""

    def lower(call: ExternalCall) -> Expr:
        return _exchange(call, 3, (call.argument(0), call.argument(1), call.argument(2)), size)

    return lower


def _exchange(call: ExternalCall, index: int, operands: tuple[Expr, Expr, Expr], size: int) -> Expr:
    """`operands` are the object, where the expected value stands, and the desired one."""
    e, (target, place, desired) = call.emitter, operands
    expected, old, won, end = e.temporary(), e.temporary(), e.temporary(), e.new_label()
    e.emit(Load(expected, place, size))
    _emit_exchange(call, index, CompareExchange(old, won, target, Reg(expected), desired, size))
    e.branch(Reg(won), end)
    e.emit(Store(place, Reg(old), size))
    e.place(end)
    return Reg(won)


def _sync_compare(size: int, *, wants_old: bool) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        old, won = call.register, call.emitter.temporary()
        operands = (call.argument(0), call.argument(1), call.argument(2))
        call.emitter.emit(CompareExchange(old, won, *operands, size, Order.SEQ_CST, Order.SEQ_CST))
        return Reg(old if wants_old else won)

    return lower


def _sync_exchange(size: int) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        call.emitter.emit(Rmw(call.register, "xchg", call.argument(0), call.argument(1), size, Order.ACQUIRE))
        return Reg(call.register)

    return lower


def _sync_release(size: int) -> Handler:
    def lower(call: ExternalCall) -> None:
        call.emitter.emit(Store(call.argument(0), ZERO, size, Order.RELEASE))

    return lower


# --- with the size as first argument


def _size(call: ExternalCall) -> int:
    size = call.constant(0)
    if size not in _SIZES:
        what = "whose size is not constant" if size is None else f"of {size} bytes"
        raise Problem(f"`{call.name}`: atomic accesses {what} are not supported")
    return size


def _any_load(call: ExternalCall) -> None:
    size, value = _size(call), call.emitter.temporary()
    _emit_load(call, 3, value, call.argument(1), size)
    call.emitter.emit(Store(call.argument(2), Reg(value), size))


def _any_store(call: ExternalCall) -> None:
    size, value = _size(call), call.emitter.temporary()
    call.emitter.emit(Load(value, call.argument(2), size))
    _emit_store(call, 3, call.argument(1), Reg(value), size)


def _any_exchange(call: ExternalCall) -> None:
    size, value, old = _size(call), call.emitter.temporary(), call.emitter.temporary()
    call.emitter.emit(Load(value, call.argument(2), size))
    _emit_update(call, 4, Rmw(old, "xchg", call.argument(1), Reg(value), size))
    call.emitter.emit(Store(call.argument(3), Reg(old), size))


def _any_compare_exchange(call: ExternalCall) -> Expr:
    size, desired = _size(call), call.emitter.temporary()
    call.emitter.emit(Load(desired, call.argument(3), size))
    return _exchange(call, 4, (call.argument(1), call.argument(2), Reg(desired)), size)


# --- fences


def _fence(call: ExternalCall) -> None:
    _with_order(call, 0, lambda order: call.emitter.emit(Fence(_FENCES[order])))


def _full_fence(call: ExternalCall) -> None:
    call.emitter.emit(Fence("c11.seq_cst"))


def _compiler_fence(call: ExternalCall) -> None:
    call.emitter.emit(Fence("compiler"))


def _named_fence(call: ExternalCall) -> None:
    """`__CPROVER_fence("WWfence", "RRfence", …)` orders the pairs that it names. `WWcumul` and its like say what
    else is carried along, which the models decide themselves."""
    names = [call.text(index) or "" for index in range(len(call.arguments))]
    unknown = [name for name in names if name[:2] not in ALL_PAIRS or name[2:] not in ("fence", "cumul")]
    if unknown:
        raise Problem(f"`{call.name}` does not know `{unknown[0]}`", "pairs are WWfence, RRfence, RWfence and WRfence")
    pairs = frozenset(name[:2] for name in names if name.endswith("fence"))
    each = [frozenset((pair,)) for pair in sorted(pairs)]
    for ordered in [pairs] if pairs in _BY_PAIRS else each:
        call.emitter.emit(Fence(_BY_PAIRS[ordered]))


def _is_lock_free(call: ExternalCall) -> Expr:
    size = call.constant(0)
    return ONE if size in _SIZES else ZERO


def _test_and_set(call: ExternalCall) -> Expr:
    _emit_update(call, 1, Rmw(call.register, "xchg", call.argument(0), ONE, 1))
    return truncate(1, Reg(call.register))


def _clear(call: ExternalCall) -> None:
    _emit_store(call, 1, call.argument(0), ZERO, 1)


def _sized() -> dict[str, External]:
    table: dict[str, External] = {}
    for size in _SIZES:
        table[f"__atomic_load_{size}"] = External(_load(size))
        table[f"__atomic_store_{size}"] = External(_store(size))
        table[f"__atomic_exchange_{size}"] = External(_update("xchg", size))
        table[f"__atomic_compare_exchange_{size}"] = External(_compare_exchange(size))
        table[f"__sync_val_compare_and_swap_{size}"] = External(_sync_compare(size, wants_old=True))
        table[f"__sync_bool_compare_and_swap_{size}"] = External(_sync_compare(size, wants_old=False))
        table[f"__sync_lock_test_and_set_{size}"] = External(_sync_exchange(size))
        table[f"__sync_lock_release_{size}"] = External(_sync_release(size))
        for op in _OPERATIONS:
            table[f"__atomic_fetch_{op}_{size}"] = External(_update(op, size))
            table[f"__atomic_{op}_fetch_{size}"] = External(_update(op, size, new=True))
            table[f"__sync_fetch_and_{op}_{size}"] = External(_update(op, size, order=None))
            table[f"__sync_{op}_and_fetch_{size}"] = External(_update(op, size, order=None, new=True))
    return table


ATOMICS: Mapping[str, External] = {
    **_sized(),
    "__atomic_load": External(_any_load),
    "__atomic_store": External(_any_store),
    "__atomic_exchange": External(_any_exchange),
    "__atomic_compare_exchange": External(_any_compare_exchange),
    **dict.fromkeys(("__atomic_is_lock_free", "__atomic_always_lock_free"), External(_is_lock_free)),
    "__atomic_test_and_set": External(_test_and_set),
    "__atomic_clear": External(_clear),
    **dict.fromkeys(("atomic_thread_fence", "__atomic_thread_fence"), External(_fence)),
    **dict.fromkeys(("atomic_signal_fence", "__atomic_signal_fence"), External(_compiler_fence)),
    "__sync_synchronize": External(_full_fence),
    "__CPROVER_fence": External(_named_fence),
}
