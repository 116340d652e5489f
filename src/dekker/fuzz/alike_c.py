"""Random small C programs in which several threads run the same function.

They access few locations, lock, wait, and publish objects of their own, an allocated one or a part of an array, beside
threads that do something else. Some stop at an assumption or never end. The first thread takes part, now and then,
while it starts or joins them, and may leave one unjoined. An assertion may fail because of what a thread has read.
Where only the verdict is asked for, such threads are explored up to renaming: that must make no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

OBSERVED = ("x", "y", "z", "p")

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
void __VERIFIER_assume(int);
atomic_int x, y, z;
int p;
_Atomic(int *) head;
static _Thread_local int own;
struct part { atomic_int flag; int values[2]; } parts[5];
struct part *_Atomic shown;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int lock;
"""
_LOADS = ("relaxed", "acquire", "seq_cst")
_STORES = ("relaxed", "release", "seq_cst")
_UPDATES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
_USUAL = ("load", "load", "load", "store", "store", "add", "add", "exchange", "strong", "strong", "weak", "fence")
_SPECIAL = {
    "plain": ("plain_load", "plain_load", "plain_store"),
    "locks": ("section", "section"),
    "waits": ("wait",),
    "objects": ("push", "push_first", "peek", "take", "local"),
    "loops": ("retry", "retry", "spin", "signal"),
    "ends": ("assume", "endless"),
    "parts": ("show", "show", "answer", "own", "own", "fill", "pick"),
}
_WHILE_STARTING = ("atomic_store(&x, 3);", "if (atomic_load(&y)) atomic_store(&z, 1);")
_WHILE_JOINING = (
    "atomic_store(&y, 2);",
    "if (atomic_load(&x) == 1) atomic_store(&z, 2);",
    "assert(atomic_load(&x) != 2);",
)


def alike_program(seed: int) -> str:
    random = Random(seed)
    numbers = random.choice(([2], [2], [3], [2, 2], [2, 1], [2, 1], [3, 1]))
    kinds = (*_USUAL, *(kind for group in _SPECIAL.values() if random.random() < 0.25 for kind in group))
    most = 3 if sum(numbers) < 4 else 2
    functions = [_Function(random, f"f{i}", kinds, random.randint(1, most)) for i in range(len(numbers))]
    started = [function.name for function, number in zip(functions, numbers, strict=True) for _ in range(number)]
    if random.random() < 0.5:
        random.shuffle(started)
    return "".join((_PRELUDE, *(function.text() for function in functions), _main(random, started)))


def _main(random: Random, started: list[str]) -> str:
    takes_part = random.random() < 0.3
    lines = [f"pthread_t t[{len(started)}];"]
    for i, name in enumerate(started):
        lines.append(f"pthread_create(&t[{i}], 0, {name}, (void *){i}L);")
        lines += [random.choice(_WHILE_STARTING)] if takes_part and random.random() < 0.4 else []
    order = random.sample(range(len(started)), len(started) - (random.random() < 0.15))
    for i in order if random.random() < 0.3 else sorted(order):
        lines.append(f"pthread_join(t[{i}], 0);")
        lines += [random.choice(_WHILE_JOINING)] if takes_part and random.random() < 0.2 else []
    body = "\n  ".join(lines)
    return f"int main(void) {{\n  {body}\n}}\n"


class _Function:
    """Statement `i` leaves what it has read in `r<i>`."""

    def __init__(self, random: Random, name: str, kinds: tuple[str, ...], size: int) -> None:
        self.random, self.name, self.kinds, self.size = random, name, kinds, size

    def text(self) -> str:
        lines = "\n  ".join(("long me = (long)argument;", "(void)me;", *self._lines(), "return 0;"))
        return f"static void *{self.name}(void *argument) {{\n  {lines}\n}}\n"

    def _lines(self) -> Iterator[str]:
        for i in range(self.size):
            yield f"int r{i} = 0;"
            statement = self._statement(self.random.choice(self.kinds), i)
            if i and self.random.random() < 0.25:
                statement = f"if (r{self.random.randrange(i)} {self.random.choice(('==', '!='))} 1) {{ {statement} }}"
            yield statement
        if self.random.random() < 0.5:
            unwanted = " && ".join(f"r{i} == {self.random.randrange(3)}" for i in range(self.size))
            yield f"assert(!({unwanted}));"

    def _statement(self, kind: str, i: int) -> str:
        place, value = self.random.choice("xxyz"), self._value(i)
        update = f"memory_order_{self.random.choice(_UPDATES)}"
        match kind:
            case "load":
                return f"r{i} = atomic_load_explicit(&{place}, memory_order_{self.random.choice(_LOADS)});"
            case "store":
                return f"atomic_store_explicit(&{place}, {value}, memory_order_{self.random.choice(_STORES)});"
            case "add" | "exchange":
                return f"r{i} = atomic_{'fetch_add' if kind == 'add' else kind}_explicit(&{place}, {value}, {update});"
            case "strong" | "weak":
                call = (
                    f"atomic_compare_exchange_{kind}_explicit(&{place}, &e{i}, {value}, {update}, memory_order_relaxed)"
                )
                return f"int e{i} = {self._expected(i)}; r{i} = {call} ? 3 + e{i} : e{i};"
            case "fence":
                return f"atomic_thread_fence(memory_order_{self.random.choice(_UPDATES[1:])});"
            case "plain_load":
                return f"r{i} = p;"
            case "plain_store":
                return f"p = {value};"
            case "section":
                return f"pthread_mutex_lock(&m); r{i} = p; p = r{i} + 1; pthread_mutex_unlock(&m);"
            case "assume":
                return f"__VERIFIER_assume(atomic_fetch_add(&{place}, 1) != {value});"
            case "endless":
                return f"r{i} = atomic_fetch_add(&{place}, 1); if (r{i} == {value}) for (;;) ;"
            case "wait":
                return f"while (!(r{i} = atomic_load_explicit(&{place}, memory_order_{self.random.choice(_LOADS)})));"
            case "retry":
                call = (
                    f"atomic_compare_exchange_weak_explicit(&{place}, &e{i}, {value}, {update}, memory_order_relaxed)"
                )
                return f"int e{i} = atomic_load_explicit(&{place}, memory_order_relaxed); while (!{call}); r{i} = e{i};"
            case "spin":
                call = f"atomic_exchange_explicit(&lock, 1, {update})"
                return f"while ({call}); r{i} = p; p = r{i} + 1; atomic_store_explicit(&lock, 0, memory_order_release);"
            case "signal":
                tells = "".join(
                    f"atomic_store_explicit(&parts[me].flag, {k}, memory_order_relaxed); "
                    for k in self.random.choice(((1,), (2, 1), (1, 0)))
                )
                return f"do {{ {tells}}} while (!atomic_load_explicit(&{place}, memory_order_relaxed));"
            case "push":
                return f"{self._object(i)} r{i} = atomic_exchange_explicit(&head, n{i}, {update}) != 0;"
            case "push_first":
                call = f"atomic_compare_exchange_strong_explicit(&head, &o{i}, n{i}, {update}, memory_order_relaxed)"
                return f"{self._object(i)} int *o{i} = 0; r{i} = {call};"
            case "peek":
                return f"int *o{i} = atomic_load_explicit(&head, memory_order_acquire); r{i} = o{i} ? *o{i} : 3;"
            case "take":
                return f"int *o{i} = atomic_exchange_explicit(&head, 0, {update}); r{i} = o{i} ? *o{i} : 3; free(o{i});"
            case "local":
                return f"own += {value}; r{i} = own;"
            case "show":
                call = f"atomic_exchange_explicit(&shown, &parts[me], {update})"
                return f"parts[me].values[0] = {value}; r{i} = {call} != 0;"
            case "answer":
                other = f"struct part *o{i} = atomic_load_explicit(&shown, memory_order_acquire);"
                return f"{other} if (o{i}) {{ o{i}->flag = {value}; r{i} = 1 + (o{i} == &parts[me]); }}"
            case "own":
                return f"r{i} = atomic_load_explicit(&parts[me].flag, memory_order_{self.random.choice(_LOADS)});"
            case "fill":
                return f"for (int i = 0; i < 2; i++) parts[me].values[i] = {value};"
            case _:
                part = self.random.choice(("parts[me]", "parts[me]", f"parts[{place} & 1]", "parts[0]"))
                return f"r{i} = {part}.values[{place} & 1];"

    def _object(self, i: int) -> str:
        return f"int *n{i} = malloc(sizeof *n{i}); *n{i} = {self._value(i)};"

    def _value(self, i: int) -> str:
        earlier = f"r{self.random.randrange(i)}" if i else "1"
        return self.random.choice(("1", "1", "2", earlier, f"{earlier} + 1"))

    def _expected(self, i: int) -> str:
        return self.random.choice(("0", "0", "1", f"r{self.random.randrange(i)}" if i else "0"))
