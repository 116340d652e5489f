"""The calls that compilers make for atomic operations which they do not translate themselves, and fences as functions.

Orders are numbers from 0, relaxed, to 5, sequentially consistent; an order that is not constant is taken as that.
Accesses of more than 8 bytes are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary, truncate, unary
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.ir.expressions import ONE, ZERO, Const, Expr, Reg
from dekker.ir.instructions import CompareExchange, Fence, Load, Order, Rmw, Store

_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)
_SIZES = (1, 2, 4, 8)
_FENCES = {Order.ACQUIRE: "c11.acquire", Order.RELEASE: "c11.release", Order.ACQ_REL: "c11.acq_rel"}
_FOR_LOADS = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}
_FOR_STORES = {Order.ACQUIRE: Order.RELAXED, Order.ACQ_REL: Order.RELEASE}
_OPERATIONS = ("add", "sub", "and", "or", "xor", "nand")


def _order(call: ExternalCall, index: int) -> Order:
    number = call.constant(index)
    return Order.SEQ_CST if number is None or number >= len(_ORDERS) else _ORDERS[number]


def _load_order(call: ExternalCall, index: int) -> Order:
    order = _order(call, index)
    return _FOR_LOADS.get(order, order)


def _store_order(call: ExternalCall, index: int) -> Order:
    order = _order(call, index)
    return _FOR_STORES.get(order, order)


# --- with the size in the name


def _load(size: int) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        call.emitter.emit(Load(call.register, call.argument(0), size, _load_order(call, 1)))
        return Reg(call.register)

    return lower


def _store(size: int) -> Handler:
    def lower(call: ExternalCall) -> None:
        call.emitter.emit(Store(call.argument(0), call.argument(1), size, _store_order(call, 2)))

    return lower


def _update(op: str, size: int, *, order: int | None = 2, new: bool = False) -> Handler:
    """`new`: the value is the one behind the operation. `order` None stands for a full barrier."""

    def lower(call: ExternalCall) -> Expr:
        chosen = Order.SEQ_CST if order is None else _order(call, order)
        call.emitter.emit(Rmw(call.register, op, call.argument(0), call.argument(1), size, chosen))
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
        place = call.argument(1)
        return _exchange(call, size, place, call.argument(2), _order(call, 3), _load_order(call, 4))

    return lower


def _exchange(call: ExternalCall, size: int, place: Expr, desired: Expr, order: Order, failure: Order) -> Expr:
    e = call.emitter
    expected, old, won, end = e.temporary(), e.temporary(), e.temporary(), e.new_label()
    e.emit(Load(expected, place, size))
    e.emit(CompareExchange(old, won, call.argument(0), Reg(expected), desired, size, order, failure))
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
    call.emitter.emit(Load(value, call.argument(1), size, _load_order(call, 3)))
    call.emitter.emit(Store(call.argument(2), Reg(value), size))


def _any_store(call: ExternalCall) -> None:
    size, value = _size(call), call.emitter.temporary()
    call.emitter.emit(Load(value, call.argument(2), size))
    call.emitter.emit(Store(call.argument(1), Reg(value), size, _store_order(call, 3)))


def _any_exchange(call: ExternalCall) -> None:
    size, value, old = _size(call), call.emitter.temporary(), call.emitter.temporary()
    call.emitter.emit(Load(value, call.argument(2), size))
    call.emitter.emit(Rmw(old, "xchg", call.argument(1), Reg(value), size, _order(call, 4)))
    call.emitter.emit(Store(call.argument(3), Reg(old), size))


def _any_compare_exchange(call: ExternalCall) -> Expr:
    e, size = call.emitter, _size(call)
    expected, desired, old, won, end = (e.temporary() for _ in range(5))
    e.emit(Load(expected, call.argument(2), size))
    e.emit(Load(desired, call.argument(3), size))
    orders = _order(call, 4), _load_order(call, 5)
    e.emit(CompareExchange(old, won, call.argument(1), Reg(expected), Reg(desired), size, *orders))
    e.branch(Reg(won), end)
    e.emit(Store(call.argument(2), Reg(old), size))
    e.place(end)
    return Reg(won)


# --- fences


def _fence(call: ExternalCall) -> None:
    order = _order(call, 0)
    if order is not Order.RELAXED:
        call.emitter.emit(Fence(_FENCES.get(order, "c11.seq_cst")))


def _full_fence(call: ExternalCall) -> None:
    call.emitter.emit(Fence("c11.seq_cst"))


def _compiler_fence(call: ExternalCall) -> None:
    call.emitter.emit(Fence("compiler"))


def _named_fence(call: ExternalCall) -> None:
    """`__CPROVER_fence("WWfence", "RRfence", …)`: the pairs that it orders; a write before a read needs a full one."""
    names = [call.text(index) or "" for index in range(len(call.arguments))]
    unknown = [name for name in names if name[:2] not in ("WW", "RR", "RW", "WR")]
    if unknown:
        raise Problem(f"`{call.name}` does not know `{unknown[0]}`", "pairs are WWfence, RRfence, RWfence and WRfence")
    weak = not any(name.startswith("WR") for name in names)
    call.emitter.emit(Fence("c11.acq_rel" if weak else "c11.seq_cst"))


def _is_lock_free(call: ExternalCall) -> Expr:
    size = call.constant(0)
    return ONE if size in _SIZES else ZERO


def _test_and_set(call: ExternalCall) -> Expr:
    call.emitter.emit(Rmw(call.register, "xchg", call.argument(0), ONE, 1, _order(call, 1)))
    return truncate(1, Reg(call.register))


def _clear(call: ExternalCall) -> None:
    call.emitter.emit(Store(call.argument(0), Const(0), 1, _store_order(call, 1)))


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
