"""Random small C programs with writes whose order nobody sees, or hardly anybody.

Threads count by updates whose result they do not use, and store to places that are read or waited for when they have
been joined, if at all, beside accesses that are seen. Now and then somebody looks: a thread that uses a result, or
reads a counter late, or behind a branch; the first thread while it starts and joins others, or joins only some; who
frees the memory of a counter. Where only the verdict is asked for, that order is left open: that must make no
difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

OBSERVED = ("x", "y", "c", "v", "o0", "o1", "o2", "o3")

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x, y, c, d, v, w, o0, o1, o2, o3;
int p, q;
struct statistics { atomic_int hits; atomic_int last; } *s;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t k = PTHREAD_COND_INITIALIZER;
"""
_LOADS = ("relaxed", "acquire", "seq_cst")
_STORES = ("relaxed", "relaxed", "release", "seq_cst")
_UPDATES = ("relaxed", "relaxed", "relaxed", "release", "acquire", "acq_rel", "seq_cst")
_FENCES = ("acquire", "release", "acq_rel", "seq_cst")
_USUAL = ("count", "count", "count", "last", "last", "load", "load", "store")
_SPECIAL = {
    "results": ("result",),
    "looks": ("look",),
    "plain": ("plain", "plain", "plain_load"),
    "exchanges": ("exchange",),
    "compares": ("compare",),
    "heap": ("hit", "hit", "leave"),
    "fences": ("fence", "fence"),
    "locks": ("section", "signal"),
    "waits": ("wait",),
    "conditions": ("condition",),
}
_COUNTERS = ("c", "c", "c", "d", "v", "w", "x")
_LAST = ("w", "w", "v", "d", "c", "y")
_BEHIND_JOINS = (
    "assert(c != {n});",
    "assert(w != {n});",
    "int l = w; assert(l == w); assert(!(l == {n} && d == {m}));",
    "assert(!(w == {n} && d == {m}));",
    "atomic_fetch_add(&w, 1); assert(w != {n});",
    "w = 3; assert(w == 3);",
    "assert(atomic_exchange(&w, 1) != {n}); assert(w == 1);",
    "if (x) assert(w != {n});",
    "assert(!(s && s->hits == {n} && s->last == {m}));",
    "assert(q != {n});",
    "x = d;",
    "while (w == {n} || d == {m});",
    "int l; do l = {n}; while (!atomic_compare_exchange_strong(&w, &l, {m}));",
)


def counters_program(seed: int) -> str:
    random = Random(seed)
    kinds = (*_USUAL, *(kind for group in _SPECIAL.values() if random.random() < 0.2 for kind in group))
    order = random.choice(("relaxed", "mixed", "mixed"))
    n_threads = random.choice((2, 2, 3, 3, 4))
    sizes = (1, 2, 3, 3) if n_threads < 3 else (1, 1, 2, 2, 3)
    are_around = n_threads == 2 and random.random() < 0.4
    functions = [
        _Function(random, f"f{i}", kinds, 3 if are_around else random.choice(sizes), order, are_around)
        for i in range(n_threads)
    ]
    names = [function.name for function in functions]
    if random.random() < 0.2:
        names[-1] = names[0]
    return "".join((_PRELUDE, *(function.text() for function in functions), _main(random, names, "hit" in kinds)))


def _main(random: Random, names: list[str], counts_on_heap: bool) -> str:
    lines = ["s = calloc(1, sizeof *s);"] if counts_on_heap else []
    lines += [random.choice(("c = 1;", "w = 1;", "d = c;"))] if random.random() < 0.2 else []
    lines.append(f"pthread_t t[{len(names)}];")
    for i, name in enumerate(names):
        lines.append(f"pthread_create(&t[{i}], 0, {name}, 0);")
        if random.random() < 0.1:
            lines.append(random.choice(("atomic_fetch_add(&c, 1);", "atomic_store(&w, 5);", "x = c;", "y = 1;")))
    for i in random.sample(range(len(names)), len(names) - (random.random() < 0.1)):
        lines.append(f"pthread_join(t[{i}], 0);")
        if random.random() < 0.05:
            lines.append(random.choice(("assert(c != 1);", "x = w;", "atomic_store(&w, 4);")))
    for _ in range(random.choice((0, 1, 1, 2))):
        lines.append(random.choice(_BEHIND_JOINS).format(n=random.randrange(5), m=random.randrange(4)))
    lines += ["free(s);"] if counts_on_heap and random.random() < 0.7 else []
    body = "\n  ".join(f"{{ {line} }}" if line.startswith("int l") else line for line in lines)
    return f"int main(void) {{\n  {body}\n}}\n"


class _Function:
    """Statement `i` leaves what it has read in `r<i>`."""

    def __init__(
        self, random: Random, name: str, kinds: tuple[str, ...], size: int, order: str, is_around: bool
    ) -> None:
        self.random, self.name, self.kinds, self.size, self.order = random, name, kinds, size, order
        self.is_around = is_around

    def text(self) -> str:
        lines = "\n  ".join((*self._lines(), "return 0;"))
        return f"static void *{self.name}(void *argument) {{\n  {lines}\n}}\n"

    def _lines(self) -> Iterator[str]:
        statements = self._around_update() if self.is_around else self._any_statements()
        for i, statement in enumerate(statements):
            yield f"int r{i} = 0;"
            if i and self.random.random() < 0.25:
                statement = f"if (r{self.random.randrange(i)} {self.random.choice(('==', '!='))} 1) {{ {statement} }}"
            yield statement
        if self.random.random() < 0.4:
            unwanted = " && ".join(f"r{i} == {self.random.randrange(3)}" for i in range(self.size))
            yield f"assert(!({unwanted}));"
        if self.random.random() < 0.5:
            read = " + ".join(f"r{i} * {9**i}" for i in range(self.size))
            yield f"atomic_store_explicit(&o{self.name[1:]}, {read}, memory_order_relaxed);"

    def _any_statements(self) -> list[str]:
        return [self._statement(self.random.choice(self.kinds), i) for i in range(self.size)]

    def _around_update(self) -> list[str]:
        """A store and a load that the update may keep in order, as of the next thread those of the same two places."""
        first, other = ("xy", "yx")[int(self.name[1:]) % 2]
        order = f"memory_order_{self.random.choice(_UPDATES[3:])}"
        update = f"atomic_fetch_add_explicit(&c, 1, {order});"
        return [f"{self._store(first, '1')};", update, f"r2 = {self._load(other)};"]

    def _statement(self, kind: str, i: int) -> str:
        seen, value = self.random.choice("xxy"), self._value(i)
        match kind:
            case "count":
                return f"{self._update(self.random.choice(_COUNTERS), value)};"
            case "last":
                return f"{self._store(self.random.choice(_LAST), value)};"
            case "load":
                return f"r{i} = {self._load(seen)};"
            case "store":
                return f"{self._store(seen, value)};"
            case "result":
                return f"r{i} = {self._update(self.random.choice(_COUNTERS), value)};"
            case "look":
                return f"r{i} = {self._load(self.random.choice(('c', 'd', 'w')))};"
            case "plain":
                return f"{self.random.choice('pqq')} = {value};"
            case "plain_load":
                return f"r{i} = p;"
            case "exchange":
                return f"atomic_exchange_explicit(&{self.random.choice(_LAST)}, {value}, {self._order(_UPDATES)});"
            case "compare":
                place = self.random.choice(("c", "w", "x"))
                return f"int e{i} = 0; r{i} = atomic_compare_exchange_strong(&{place}, &e{i}, {value});"
            case "hit":
                return f"{self._update('s->hits', value)};"
            case "leave":
                return self.random.choice((f"{self._store('s->last', value)};", f"r{i} = s->last;", "free(s);"))
            case "fence":
                return f"atomic_thread_fence({self._order(_FENCES)});"
            case "section":
                return f"pthread_mutex_lock(&m); {self._update('c', value)}; r{i} = p++; pthread_mutex_unlock(&m);"
            case "signal":
                return "pthread_mutex_lock(&m); p = 1; pthread_cond_signal(&k); pthread_mutex_unlock(&m);"
            case "condition":
                count = f"{self._update('d', value)};"
                return (
                    f"pthread_mutex_lock(&m); while (!p) pthread_cond_wait(&k, &m); {count} pthread_mutex_unlock(&m);"
                )
            case _:
                counts = f"{self._update('d', value)};" if self.random.random() < 0.3 else ""
                return f"while (!(r{i} = {self._load(seen)})) {{ {counts} }}"

    def _load(self, place: str) -> str:
        return f"atomic_load_explicit(&{place}, {self._order(_LOADS)})"

    def _store(self, place: str, value: str) -> str:
        return f"atomic_store_explicit(&{place}, {value}, {self._order(_STORES)})"

    def _update(self, place: str, value: str) -> str:
        operation = self.random.choice(("add", "add", "add", "add", "sub", "or", "xor", "and"))
        return f"atomic_fetch_{operation}_explicit(&{place}, {value}, {self._order(_UPDATES)})"

    def _order(self, orders: tuple[str, ...]) -> str:
        is_relaxed = self.order == "relaxed" and orders is not _FENCES
        return f"memory_order_{'relaxed' if is_relaxed else self.random.choice(orders)}"

    def _value(self, i: int) -> str:
        earlier = f"r{self.random.randrange(i)}" if i else "1"
        return self.random.choice(("1", "1", "2", "3", earlier, f"{earlier} + 1"))
