"""The functions that threads may call, and what they mean, as a table.

Each entry says what is done and what the arguments are, in order, by their roles.
"""

from __future__ import annotations

from dataclasses import replace

from dekker.ir.instructions import Order
from dekker.records import dataclass

ROLES = {
    "place": "pointer",
    "value": "value",
    "source": "pointer to the value",
    "result": "pointer to where the result goes",
    "expected": "pointer to the expected value",
    "compared": "expected value",
    "order": "memory order",
    "failure": "memory order of failure",
    "weak": "0 or 1",
}


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """`op` is that of `ir.instructions.Rmw`. `new` functions return the new value, not the old one; `optional` counts
    the arguments at the end that may be missing. Without an argument for it the memory order is `order`."""

    action: str
    arguments: tuple[str, ...]
    op: str = ""
    order: Order = Order.SEQ_CST
    new: bool = False
    weak: bool = False
    optional: int = 0


def _orders() -> dict[str, Order]:
    words: dict[str, Order] = {order.value: order for order in Order if order not in (Order.PLAIN, Order.ACQUIRE_PC)}
    short = {
        "rlx": "relaxed",
        "acq": "acquire",
        "rel": "release",
        "acqrel": "acq_rel",
        "sc": "seq_cst",
        "con": "consume",
    }
    names: dict[str, Order] = {f"__ATOMIC_{word.upper()}": order for word, order in words.items()}
    words |= {abbreviation: words[word] for abbreviation, word in short.items()}
    for word, order in words.items():
        for prefix in ("memory_order_", "memory_order::", "mo_", "std::memory_order_", "std::memory_order::"):
            names[prefix + word] = order
    return names


ORDERS = _orders()

FENCES = {order: f"c11.{order.value}" for order in ORDERS.values()} | {Order.CONSUME: "c11.acquire"}


def _both(name: str, action: str, arguments: str, op: str = "") -> dict[str, Intrinsic]:
    """The plain form, sequentially consistent, and the `_explicit` form."""
    plain = Intrinsic(action, tuple(arguments.split()), op)
    orders = ("order", "failure") if action == "compare_exchange" else ("order",)
    explicit = replace(plain, arguments=(*plain.arguments, *orders), optional=len(orders) - 1)
    return {name: plain, f"{name}_explicit": explicit}


def _c11() -> dict[str, Intrinsic]:
    table = {
        **_both("atomic_load", "load", "place"),
        **_both("atomic_store", "store", "place value"),
        **_both("atomic_exchange", "rmw", "place value", "xchg"),
        **_both("atomic_compare_exchange_strong", "compare_exchange", "place expected value"),
        **_weak(_both("atomic_compare_exchange_weak", "compare_exchange", "place expected value")),
        **_both("atomic_flag_test_and_set", "test_and_set", "place"),
        **_both("atomic_flag_clear", "clear", "place"),
        "atomic_thread_fence": Intrinsic("fence", ("order",)),
        "atomic_signal_fence": Intrinsic("nothing", ("order",)),
        "atomic_init": Intrinsic("store", ("place", "value"), order=Order.PLAIN),
    }
    for op in ("add", "sub", "and", "or", "xor", "max", "min"):
        table |= _both(f"atomic_fetch_{op}", "rmw", "place value", op)
    return table


def _weak(table: dict[str, Intrinsic]) -> dict[str, Intrinsic]:
    return {name: replace(intrinsic, weak=True) for name, intrinsic in table.items()}


def _gcc() -> dict[str, Intrinsic]:
    exchange = ("place", "expected", "value", "weak", "order", "failure")
    table = {
        "__atomic_load_n": Intrinsic("load", ("place", "order")),
        "__atomic_load": Intrinsic("load", ("place", "result", "order")),
        "__atomic_store_n": Intrinsic("store", ("place", "value", "order")),
        "__atomic_store": Intrinsic("store", ("place", "source", "order")),
        "__atomic_exchange_n": Intrinsic("rmw", ("place", "value", "order"), "xchg"),
        "__atomic_exchange": Intrinsic("rmw", ("place", "source", "result", "order"), "xchg"),
        "__atomic_compare_exchange_n": Intrinsic("compare_exchange", exchange),
        "__atomic_compare_exchange": Intrinsic(
            "compare_exchange", tuple(role if role != "value" else "source" for role in exchange)
        ),
        "__atomic_test_and_set": Intrinsic("test_and_set", ("place", "order")),
        "__atomic_clear": Intrinsic("clear", ("place", "order")),
        "__atomic_thread_fence": Intrinsic("fence", ("order",)),
        "__atomic_signal_fence": Intrinsic("nothing", ("order",)),
    }
    for op in ("add", "sub", "and", "or", "xor", "nand"):
        table[f"__atomic_fetch_{op}"] = Intrinsic("rmw", ("place", "value", "order"), op)
        table[f"__atomic_{op}_fetch"] = Intrinsic("rmw", ("place", "value", "order"), op, new=True)
        table[f"__sync_fetch_and_{op}"] = Intrinsic("rmw", ("place", "value"), op)
        table[f"__sync_{op}_and_fetch"] = Intrinsic("rmw", ("place", "value"), op, new=True)
    table["__sync_lock_test_and_set"] = Intrinsic("rmw", ("place", "value"), "xchg", Order.ACQUIRE)
    table["__sync_lock_release"] = Intrinsic("clear", ("place",), order=Order.RELEASE)
    table["__sync_synchronize"] = Intrinsic("fence", ())
    table["__sync_bool_compare_and_swap"] = Intrinsic("compare_exchange", ("place", "compared", "value"))
    table["__sync_val_compare_and_swap"] = Intrinsic("compare_exchange", ("place", "compared", "value"), "old")
    return table


INTRINSICS: dict[str, Intrinsic] = {
    **_c11(),
    **_gcc(),
    **dict.fromkeys(("assume", "__assume", "__builtin_assume", "__VERIFIER_assume"), Intrinsic("assume", ("value",))),
    **dict.fromkeys(("assert", "__VERIFIER_assert"), Intrinsic("assert", ("value",))),
    **dict.fromkeys(("likely", "unlikely"), Intrinsic("pass", ("value",))),
    "__builtin_expect": Intrinsic("pass", ("value", "weak")),
}

LOCKS = frozenset(("lock", "unlock", "trylock", "mtx_lock", "mtx_unlock", "mtx_trylock"))
