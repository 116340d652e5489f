"""Names of the Linux kernel that litmus tests use. They are recognised in order to be refused by name: their meaning is
that of the Linux kernel memory model, which is not shipped."""

from __future__ import annotations

import re

from dekker.frontends.litmus.c.errors import CError

KERNEL_TYPES = frozenset(
    "atomic_t atomic64_t atomic_long_t spinlock_t raw_spinlock_t rwlock_t rcu_head srcu_struct mutex_t completion "
    "pthread_mutex_t seqlock_t".split()
)

_PRIMITIVE = re.compile(
    r"""(?:READ_ONCE|WRITE_ONCE|ACCESS_ONCE|smp_\w+|dma_[rw]?mb|[rw]?mb|barrier
      |(?:srcu|rcu)_\w+|synchronize_s?rcu(?:_expedited)?|call_rcu
      |(?:raw_)?spin_\w+|(?:read|write)_(?:un)?lock\w*|mutex_\w+
      |atomic(?:64|_long)?_(?:read|set|add|sub|inc|dec|or|and|xor|andnot|xchg|cmpxchg|try_cmpxchg)\w*
      |atomic(?:64|_long)?_fetch_(?:inc|dec|andnot|(?:add|sub|or|and|xor)_(?:relaxed|acquire|release|unless))\w*
      |(?:cmp)?xchg(?:_relaxed|_acquire|_release)?
      |__(?:load|store|fence|xchg|cmpxchg|atomic_op\w*|atomic_fetch_op|atomic_add_unless|lock|unlock|rcu\w*|srcu\w*)
    )$""",
    re.VERBOSE,
)


def is_kernel_primitive(name: str) -> bool:
    return _PRIMITIVE.match(name) is not None


def kernel_error(name: str, start: int) -> CError:
    what = "type" if name in KERNEL_TYPES else "primitive"
    return CError(
        f"`{name}` is a {what} of the Linux kernel, and the Linux kernel memory model is not shipped",
        start,
        len(name),
        "write the test with C11 atomics: `atomic_load_explicit(x, memory_order_relaxed)` and so on",
    )
