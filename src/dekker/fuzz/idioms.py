"""Random C programs of one idiom each: condition variables, compare-exchanges that may fail for no reason, assumptions,
and memory that is freed.

Programs are small, because every model and the oracle have to come to an end. What threads compute is left in the
variables that `threaded_c.OBSERVED` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

Shape = Callable[[Random], str]

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
void __VERIFIER_assume(int);
atomic_int x, y;
int p, q, out0, out1, out2;
_Atomic(int *) shared;
_Atomic(atomic_int *) cell;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
"""

_LOADS = ("relaxed", "acquire", "seq_cst")
_STORES = ("relaxed", "release", "seq_cst")
_UPDATES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")


def _program(
    random: Random, shapes: Sequence[Shape], longest: int, before: str = "", n_threads: int | None = None
) -> str:
    """`before` is what `main` does first."""
    n_threads = n_threads or random.choice((1, 2, 2))
    threads = [_thread(random, f"thread{i}", shapes, longest) for i in range(n_threads)]
    return "\n".join([_PRELUDE, *threads, _main(random, n_threads, shapes, before)])


def _thread(random: Random, name: str, shapes: Sequence[Shape], longest: int) -> str:
    body = _block(random, shapes, random.randint(1, longest))
    return f"static void *{name}(void *_) {{\n  int a = 0, b = 0;\n  {body}\n  return (void *)(long)(a + 4 * b);\n}}"


def _main(random: Random, n_threads: int, shapes: Sequence[Shape], before: str) -> str:
    lines = ["int a = 0, b = 0;", before]
    lines += (f"pthread_t t{i}; void *v{i}; pthread_create(&t{i}, 0, thread{i}, 0);" for i in range(n_threads))
    if n_threads == 1:
        lines.append(_block(random, shapes, random.randint(1, 2)))
    lines += (f"pthread_join(t{i}, &v{i}); out{i} = (int)(long)v{i};" for i in range(n_threads))
    if random.random() < 0.3:
        lines.append(f"assert(out0 + out1 + p != {random.randint(1, 9)});")
    lines.append("out2 = a + 4 * b;")
    return "int main(void) {\n  " + "\n  ".join(line for line in lines if line) + "\n  return 0;\n}\n"


def _block(random: Random, shapes: Sequence[Shape], length: int) -> str:
    return "\n  ".join(f"{{ {random.choice(shapes)(random)} }}" for _ in range(length))


def _order(random: Random, orders: Sequence[str]) -> str:
    return f"memory_order_{random.choice(orders)}"


# --- accesses between


def _access(random: Random) -> str:
    place, own, number = random.choice("xy"), random.choice("ab"), random.randint(1, 2)
    return random.choice(
        (
            f"atomic_store_explicit(&{place}, {number}, {_order(random, _STORES)});",
            f"{own} = atomic_load_explicit(&{place}, {_order(random, _LOADS)});",
            f"{own} = atomic_load_explicit(&{place}, {_order(random, _LOADS)});",
            f"{random.choice('pq')} = {number};",
            f"{own} = {random.choice('pq')};",
        )
    )


# --- condition variables


def conditions_program(seed: int) -> str:
    random = Random(f"conditions {seed}")
    return _program(random, (_waiter, _teller, _teller, _access), 2)


def _waiter(random: Random) -> str:
    wait = "pthread_cond_wait(&c, &m);"
    waiting = random.choice(
        (
            f"while (!p) {wait}",
            f"while (!p) {{ {wait} {_access(random)} }}",
            f"while (!p) {{ {wait} a++; if (a > 2) break; }}",
            f"if (!p) {wait}",
            wait,
        )
    )
    before, after = random.choice((("", ""), ("q++;", ""), ("q++;", "q--;"), ("", "p = 0;"), ("", "assert(p);")))
    return f"pthread_mutex_lock(&m); {before} {waiting} {after} pthread_mutex_unlock(&m); {_access(random)}"


def _teller(random: Random) -> str:
    tell = random.choice(("pthread_cond_signal(&c);", "pthread_cond_signal(&c);", "pthread_cond_broadcast(&c);"))
    change = random.choice(("p = 1;", "p = 1; b = q;", "p++;"))
    inside, outside = random.choice(((tell, ""), ("", tell), ("", f"{_access(random)} {tell}")))
    return f"pthread_mutex_lock(&m); {change} {inside} pthread_mutex_unlock(&m); {outside}"


# --- weak compare-exchange


def exchanges_program(seed: int) -> str:
    random = Random(f"exchanges {seed}")
    return _program(random, (_exchange, _exchange, _access), 2)


def _exchange(random: Random) -> str:
    place, own, number = random.choice("xy"), random.choice("ab"), random.randint(0, 1)
    orders = f"{_order(random, _UPDATES)}, {_order(random, _LOADS)}"
    change = f"atomic_compare_exchange_weak_explicit(&{place}, &e, {random.choice(('2', 'e + 1'))}, {orders})"
    read = f"int e = atomic_load_explicit(&{place}, memory_order_relaxed);"
    return random.choice(
        (
            f"int e = {number}; {own} = {change};",
            f"int e = {number}; if ({change}) {own} = 1; else {own} = e + 1;",
            f"int e = {number}; if (!{change}) {own} = {change};",
            f"{read} while (!{change}) ;",
            f"{read} while (!{change}) {own} = e;",
            f"for (int i = 0; i < 2; i++) {{ int e = 0; if ({change}) break; {own}++; }}",
            f"{read} do {{ if (e) {{ {own} = 3; break; }} }} while (!{change});",
        )
    )


# --- assumptions


def assumptions_program(seed: int) -> str:
    random = Random(f"assumptions {seed}")
    return _program(random, (_access, _access, _assumption), 3)


def _assumption(random: Random) -> str:
    sign, number = random.choice(("==", "!=", "<")), random.randint(0, 2)
    read = random.choice(
        ("a", "b", f"atomic_load_explicit(&{random.choice('xy')}, {_order(random, _LOADS)})", "p", "q")
    )
    return random.choice(
        (
            f"__VERIFIER_assume({read} {sign} {number});",
            f"a = {read}; __VERIFIER_assume(a {sign} {number});",
            f"if ({read} {sign} {number}) __VERIFIER_assume(a != {random.randint(0, 1)});",
            f"assert({read} != 3); __VERIFIER_assume({read} {sign} {number});",
            f"a = {read}; int row[4] = {{0, 1, 2, 0}}; __VERIFIER_assume(row[a & 3] {sign} {number});",
        )
    )


# --- the heap


def heap_program(seed: int) -> str:
    random = Random(f"heap {seed}")
    before = _publish(random) if random.random() < 0.7 else ""
    shapes = random.choice(((_publish, _use, _use, _take, _release), (_publish_cell, _use_cell, _use_cell, _use)))
    return _program(random, shapes, 2, f"{{ {before} }}" if before else "")


def _publish(random: Random) -> str:
    store = random.choice(
        (
            f"atomic_store_explicit(&shared, z, {_order(random, _STORES)});",
            f"z = atomic_exchange_explicit(&shared, z, {_order(random, _UPDATES)}); free(z);",
        )
    )
    return f"int *z = malloc(sizeof *z); *z = {random.randint(1, 2)}; {store}"


def _use(random: Random) -> str:
    use = random.choice(("a = *z;", "b = *z;", f"*z = {random.randint(1, 2)};", "a = *z; free(z);"))
    return f"int *z = atomic_load_explicit(&shared, {_order(random, _LOADS)}); if (z) {{ {use} }}"


def _publish_cell(random: Random) -> str:
    """All accesses are atomic, so that only their order after the allocation may be missing."""
    number = random.randint(1, 2)
    make = random.choice(
        (
            f"atomic_int *z = malloc(sizeof *z); atomic_store_explicit(z, {number}, {_order(random, _STORES)});",
            "atomic_int *z = calloc(1, sizeof *z);",
            f"atomic_int v = {number}, *z = &v;",
        )
    )
    fence = random.choice(("", "", f"atomic_thread_fence({_order(random, ('acquire', 'release'))});"))
    return f"{make} {fence} atomic_store_explicit(&cell, z, {_order(random, _STORES)});"


def _use_cell(random: Random) -> str:
    use = random.choice(
        (
            f"a = atomic_load_explicit(z, {_order(random, _LOADS)});",
            f"atomic_store_explicit(z, {random.randint(1, 2)}, {_order(random, _STORES)});",
            f"b = atomic_fetch_add_explicit(z, 1, {_order(random, _UPDATES)});",
            "free(z);",
        )
    )
    fence = random.choice(("", "", "atomic_thread_fence(memory_order_acquire);"))
    load = f"atomic_load_explicit(&cell, {_order(random, _LOADS)})"
    return f"atomic_int *z = {load}; {fence} if (z) {{ {use} }}"


def _take(random: Random) -> str:
    use = random.choice(("", "a = *z;"))
    return f"int *z = atomic_exchange_explicit(&shared, 0, {_order(random, _UPDATES)}); if (z) {{ {use} free(z); }}"


def _release(random: Random) -> str:
    return random.choice(
        (
            "free(atomic_load_explicit(&shared, memory_order_acquire));",
            "int *z = atomic_load(&shared); atomic_store(&shared, 0); free(z);",
            "int *z = malloc(sizeof *z); *z = 1; a = *z; free(z);",
        )
    )
