"""Random small C programs with threads: plain and atomic accesses, locks, pointers that are published, memory that is
freed, thread-local data, calls, loops with few rounds, and assertions that sometimes fail.

What threads compute is left in the global variables of `OBSERVED`. Programs may race, deadlock, and use memory after it
was freed: engines have to agree about that, too.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from dekker.records import dataclass

OBSERVED = ("x", "y", "p", "q", "out0", "out1", "out2")

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x, y;
int p, q, out0, out1, out2;
_Atomic(int *) shared;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;
pthread_once_t o = PTHREAD_ONCE_INIT;
pthread_spinlock_t l;
sem_t s;
static void first(void) { p = 2; }
static _Thread_local int own;
static int pick(int a, int b) { return a > b ? a : b; }
static int count(int k) { return k <= 0 ? 0 : 1 + count(k - 1); }
static int peek(int k) { return k + atomic_load_explicit(&y, memory_order_relaxed); }
static int (*table[2])(int) = { count, peek };
static const char text[] = "abcd";
static int limit = 3;
"""

_LOADS = ("relaxed", "acquire", "seq_cst", "consume")
_STORES = ("relaxed", "release", "seq_cst")
_UPDATES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
_FENCES = ("acquire", "release", "acq_rel", "seq_cst")


@dataclass(frozen=True)
class Flavour:
    """How much of what; `weights` are by name of statement."""

    weights: dict[str, int]
    statements: int = 3
    threads: int = 2


PLAIN = {"plain_store": 3, "plain_load": 3, "atomic_store": 3, "atomic_load": 3, "fence": 1, "branch": 2, "check": 1}
UPDATES = {"update": 3, "compare": 3, "compare_loop": 1, "atomic_load": 2, "plain_store": 1, "check": 1, "spin": 1}
LOCKS = {"section": 4, "trylock": 2, "plain_store": 1, "plain_load": 1, "atomic_store": 1, "check": 1, "wait": 1}
HEAP = {"publish": 2, "use": 4, "release": 1, "atomic_load": 1, "atomic_store": 1, "check": 1}
CALLS = {
    "call": 2,
    "through_table": 2,
    "thread_local": 2,
    "loop": 2,
    "nested": 1,
    "check": 1,
    "plain_load": 2,
    "atomic_store": 2,
}
SYNC = {
    "shared_section": 3,
    "semaphore": 3,
    "spin_section": 2,
    "once": 1,
    "plain_load": 1,
    "plain_store": 1,
    "check": 1,
}
ROUNDS = {
    "counting": 4,
    "leaving": 1,
    "over_text": 1,
    "over_memory": 2,
    "to_limit": 2,
    "set_limit": 1,
    "atomic_store": 2,
    "plain_store": 1,
}

FLAVOURS = {
    "plain": Flavour(PLAIN, 4),
    "three": Flavour(PLAIN, 3, 3),
    "updates": Flavour(UPDATES, 2),
    "locks": Flavour(LOCKS, 2),
    "sync": Flavour(SYNC, 2),
    "heap": Flavour(HEAP, 3),
    "calls": Flavour(CALLS, 3),
    "rounds": Flavour(ROUNDS, 2),
    "mixed": Flavour({**PLAIN, **UPDATES, **LOCKS, **HEAP, **CALLS}, 3),
    "mixed three": Flavour({**PLAIN, **UPDATES, **LOCKS, **HEAP, **CALLS}, 2, 3),
}


ALIKE = (PLAIN, UPDATES, LOCKS, HEAP, CALLS, SYNC, {**PLAIN, **UPDATES, "queued": 4}, {**LOCKS, **UPDATES, **HEAP})


def threaded_program(seed: int, flavour: Flavour) -> str:
    return _Generator(Random(seed), flavour).program()


def alike_program(seed: int) -> str:
    """Several threads run the same function, mostly with the same argument."""
    random = Random(seed)
    return _AlikeGenerator(random, Flavour(random.choice(ALIKE), 2, random.choice((2, 2, 3, 3, 4)))).program()


class _Generator:
    def __init__(self, random: Random, flavour: Flavour) -> None:
        self.random = random
        self.flavour = flavour
        self.functions: list[str] = []
        self.nested: list[str] = []
        self.temporaries = 0
        self.depth = 0
        self.may_nest = True
        self.atomics = random.choice((("x",), ("x", "y"), ("x", "y")))
        self.plains = random.choice((("p",), ("p", "q"), ("p", "q")))
        self.statements: dict[str, Callable[[], str]] = {name: getattr(self, f"_{name}") for name in flavour.weights}

    def program(self) -> str:
        n_spawned = self.flavour.threads - 1
        bodies = [*(self._thread(f"thread{i}") for i in range(n_spawned)), self._main(n_spawned)]
        declared = [f"static void *{name}(void *argument);" for name in self.nested]
        return "\n".join([_PRELUDE, *declared, *self.functions, *bodies])

    # --- threads

    def _thread(self, name: str) -> str:
        body = self._block(self.random.randint(2, self.flavour.statements))
        argument = "if (argument) a = *(int *)argument;" if self.random.random() < 0.15 else ""
        lines = ["int a = 0, b = 0;", argument, body, "return (void *)(long)(a + 4 * b);"]
        return f"static void *{name}(void *argument) {{\n  " + "\n  ".join(lines) + "\n}"

    def _main(self, n_spawned: int) -> str:
        chance = self.random.random
        lines = ["int a = 0, b = 0;"]
        lines += [f"pthread_t t{i}; void *v{i};" for i in range(n_spawned)]
        if "semaphore" in self.flavour.weights:
            lines.append(f"sem_init(&s, 0, {self.random.randint(0, 1)}); pthread_spin_init(&l, 0);")
        if "use" in self.flavour.weights:
            lines.append(self._publish())
        elif chance() < 0.3:
            lines.append(self._block(1))
        for i in range(n_spawned):
            argument = "&p" if chance() < 0.2 else "0"
            lines.append(f"pthread_create(&t{i}, 0, thread{i}, {argument});")
        lines.append(self._block(self.random.randint(2, self.flavour.statements)))
        if chance() < 0.85:
            for i in range(n_spawned):
                lines.append(f"pthread_join(t{i}, &v{i}); out{i} = (int)(long)v{i};")
            if chance() < 0.4:
                lines.append(self._block(1))
        lines.append("out2 = a + 4 * b;")
        if chance() < 0.5:
            lines.append(f"assert(out0 + out1 + out2 != {self.random.randint(1, 9)});")
        return "int main(void) {\n  " + "\n  ".join(lines) + "\n  return 0;\n}\n"

    def _block(self, length: int) -> str:
        return " ".join(self._statement() for _ in range(length))

    def _statement(self) -> str:
        self.depth += 1
        names = list(self.statements)
        if self.depth > 2:
            names = [name for name in names if name in PLAIN and name != "branch"] or ["check"]
        weights = [self.flavour.weights.get(name, 1) for name in names]
        (name,) = self.random.choices(names, weights)
        text = self.statements[name]() if name in self.statements else self._check()
        self.depth -= 1
        return text

    # --- parts

    def _one(self, *items: str) -> str:
        return self.random.choice(items)

    def _order(self, orders: tuple[str, ...]) -> str:
        return f"memory_order_{self.random.choice(orders)}"

    def _number(self) -> int:
        return self.random.randint(0, 2)

    def _local(self) -> str:
        return self._one("a", "b")

    def _atomic(self) -> str:
        return self._one(*self.atomics)

    def _plain(self) -> str:
        return self._one(*self.plains)

    def _value(self) -> str:
        return self._one(str(self.random.randint(1, 2)), str(self.random.randint(1, 2)), f"{self._local()} + 1")

    def _condition(self) -> str:
        return f"{self._local()} {self._one('==', '!=', '<')} {self._number()}"

    # --- statements

    def _plain_store(self) -> str:
        return f"{self._plain()} = {self._value()};"

    def _plain_load(self) -> str:
        return f"{self._local()} = {self._plain()};"

    def _atomic_store(self) -> str:
        return f"atomic_store_explicit(&{self._atomic()}, {self._value()}, {self._order(_STORES)});"

    def _atomic_load(self) -> str:
        return f"{self._local()} = atomic_load_explicit(&{self._atomic()}, {self._order(_LOADS)});"

    def _fence(self) -> str:
        return f"atomic_thread_fence({self._order(_FENCES)});"

    def _branch(self) -> str:
        otherwise = f" else {{ {self._statement()} }}" if self.random.random() < 0.3 else ""
        return f"if ({self._condition()}) {{ {self._statement()} }}{otherwise}"

    def _check(self) -> str:
        if self.random.random() < 0.3:
            return f"assert({self._local()} != {self.random.randint(1, 2)});"
        return f"assert(!(a == {self._number()} && b == {self.random.randint(1, 2)}));"

    def _update(self) -> str:
        operation = self._one("fetch_add", "fetch_add", "exchange", "fetch_or", "fetch_sub")
        call = f"atomic_{operation}_explicit(&{self._atomic()}, {self._value()}, {self._order(_UPDATES)})"
        return f"{call};" if self.random.random() < 0.2 else f"{self._local()} = {call};"

    def _compare(self) -> str:
        self.temporaries += 1
        expected = f"e{self.temporaries}"
        sort = self._one("strong", "strong", "weak")
        call = (
            f"atomic_compare_exchange_{sort}_explicit(&{self._atomic()}, &{expected}, {self._value()}, "
            f"{self._order(_UPDATES)}, {self._order(_LOADS[:3])})"
        )
        use = f"if ({call}) {self._local()} = 1; else {self._local()} = {expected} + 1;"
        return f"int {expected} = {self._number()}; {self._one(use, f'{call};', f'{self._local()} = {call};')}"

    def _compare_loop(self) -> str:
        self.temporaries += 1
        old, place = f"e{self.temporaries}", self._atomic()
        return (
            f"int {old} = atomic_load_explicit(&{place}, memory_order_relaxed); while "
            f"(!atomic_compare_exchange_{self._one('strong', 'weak')}_explicit(&{place}, &{old}, {old} + 1, "
            f"{self._order(_UPDATES)}, memory_order_relaxed)) ;"
        )

    def _spin(self) -> str:
        return f"while (atomic_load_explicit(&{self._atomic()}, {self._order(_LOADS[:3])}) {self._one('==', '<')} 1) ;"

    def _section(self) -> str:
        lock = self._one("m", "m", "n")
        inside = self._statement() if self.random.random() < 0.3 else self._one(self._plain_store(), self._plain_load())
        more = f"{self._plain()}++;" if self.random.random() < 0.4 else ""
        return f"pthread_mutex_lock(&{lock}); {inside} {more} pthread_mutex_unlock(&{lock});"

    def _trylock(self) -> str:
        lock = self._one("m", "n")
        inside = self._one(self._plain_store(), self._plain_load())
        return f"if (pthread_mutex_trylock(&{lock}) == 0) {{ {inside} pthread_mutex_unlock(&{lock}); }}"

    def _wait(self) -> str:
        if self.random.random() < 0.5:
            return "pthread_mutex_lock(&m); q = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);"
        return "pthread_mutex_lock(&m); while (!q) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);"

    def _shared_section(self) -> str:
        if self.random.random() < 0.5:
            return f"pthread_rwlock_rdlock(&w); {self._plain_load()} pthread_rwlock_unlock(&w);"
        lock = self._one("pthread_rwlock_wrlock(&w);", "if (pthread_rwlock_trywrlock(&w) == 0)")
        return f"{lock} {{ {self._plain_store()} pthread_rwlock_unlock(&w); }}"

    def _semaphore(self) -> str:
        waiting = self._one("sem_wait(&s);", "sem_wait(&s);", "if (sem_trywait(&s) == 0)")
        return self._one("sem_post(&s);", f"{waiting} {{ {self._plain_load()} }}")

    def _spin_section(self) -> str:
        return f"pthread_spin_lock(&l); {self._plain()}++; pthread_spin_unlock(&l);"

    def _once(self) -> str:
        return f"pthread_once(&o, first); {self._plain_load()}"

    def _publish(self) -> str:
        self.temporaries += 1
        name = f"z{self.temporaries}"
        fill = f"*{name} = {self._value()};" if self.random.random() < 0.7 else ""
        size = self._one("sizeof(int)", "2 * sizeof(int)")
        store = f"atomic_store_explicit(&shared, {name}, {self._order(_STORES)});"
        return f"int *{name} = malloc({size}); {fill} {store}"

    def _use(self) -> str:
        self.temporaries += 1
        name = f"z{self.temporaries}"
        use = self._one(f"{self._local()} = *{name};", f"*{name} = {self._value()};")
        if self.random.random() < 0.15:
            use += f" free({name});"
        guard = "" if self.random.random() < 0.1 else f"if ({name}) "
        return f"int *{name} = atomic_load_explicit(&shared, {self._order(_LOADS)}); {guard}{{ {use} }}"

    def _release(self) -> str:
        if self.random.random() < 0.6:
            return f"free(atomic_exchange_explicit(&shared, 0, {self._order(_UPDATES)}));"
        return "free(atomic_load_explicit(&shared, memory_order_acquire));"

    def _call(self) -> str:
        return f"{self._local()} = {self._one('pick(a, b)', 'peek(a)', f'count({self._number()})')};"

    def _through_table(self) -> str:
        return f"{self._local()} = table[{self._one('0', '1', 'a & 1')}]({self._number()});"

    def _thread_local(self) -> str:
        return self._one(
            f"own += {self._value()};", f"{self._local()} = own;", "own = a; { int *mine = &own; b = *mine; }"
        )

    def _loop(self) -> str:
        self.temporaries += 1
        name = f"i{self.temporaries}"
        return f"for (int {name} = 0; {name} < 2; {name}++) {{ {self._statement()} }}"

    def _counting(self) -> str:
        """A branch that depends on a read, but does not end the loop; or ends the round, or does not count it."""
        self.temporaries += 1
        name, place = f"i{self.temporaries}", self._atomic()
        read = f"atomic_load_explicit(&{place}, memory_order_relaxed)"
        return self._one(
            f"for (int {name} = 0; {name} < 3; {name}++) if ({read}) {self._local()}++;",
            f"for (int {name} = 0; {name} < 3; {name}++) {{ if ({read} == 1) continue; {self._local()}++; }}",
            f"int {name} = 0; while ({name} < 3) {{ if ({read} != 1) {self._local()}++; {name}++; }}",
            f"int {name} = 0; do {{ if ({read} == 0) {{ {name}++; continue; }} {name} += 2; }} while ({name} < 3);",
            f"for (int {name} = 0; {name} < 3; ) {{ if ({read} == 1) {name}++; {name}++; }}",
            f"for (int {name} = 0; {name} < 2; ) {{ if ({read} == 1) {name}++; }}",
        )

    def _leaving(self) -> str:
        self.temporaries += 1
        name, place = f"i{self.temporaries}", self._atomic()
        read = f"atomic_load_explicit(&{place}, memory_order_relaxed)"
        return self._one(
            f"for (int {name} = 0; {name} < 4; {name}++) if ({read}) break;",
            f"for (int {name} = 0; {name} < 4; {name}++) if ({read}) {{ a = 2; break; }}",
            f"for (;;) {{ if ({read}) break; a++; if (a > 3) break; }}",
        )

    def _over_text(self) -> str:
        self.temporaries += 1
        name = f"t{self.temporaries}"
        return f"for (const char *{name} = text; *{name}; {name}++) {self._local()}++;"

    def _over_memory(self) -> str:
        self.temporaries += 1
        name = f"v{self.temporaries}"
        step = self._one("1", "a", self._plain())
        return f"{{ int {name} = 0, *q{name} = &{name}; while (*q{name} < 3) {{ *q{name} += 1; b += {step}; }} }}"

    def _to_limit(self) -> str:
        self.temporaries += 1
        name = f"i{self.temporaries}"
        return f"for (int {name} = 0; {name} < limit; {name}++) {self._local()}++;"

    def _set_limit(self) -> str:
        return f"limit = {self.random.randint(1, 3)};"

    def _nested(self) -> str:
        if not self.may_nest:
            return self._call()
        self.may_nest = False
        self.temporaries += 1
        name = f"inner{self.temporaries}"
        self.nested.append(name)
        self.functions.append(self._thread(name))
        join = f"pthread_join(u{name}, 0);" if self.random.random() < 0.8 else ""
        return f"pthread_t u{name}; pthread_create(&u{name}, 0, {name}, 0); {join}"


_QUEUED = """\
struct node { _Atomic(struct node *) next; atomic_int ready; };
static _Atomic(struct node *) tail;
static pthread_t ids[8];
static void section(void) {
  struct node mine = { 0 }, *found = &mine;
  struct node *before = atomic_exchange(&tail, &mine);
  if (before) { atomic_store(&before->next, &mine); while (!atomic_load(&mine.ready)) ; }
  p++;
  if (!atomic_load(&mine.next)) {
    if (atomic_compare_exchange_strong(&tail, &found, 0)) return;
    while (!atomic_load(&mine.next)) ;
  }
  atomic_store(&atomic_load(&mine.next)->ready, 1);
}
"""


class _AlikeGenerator(_Generator):
    """What is done with the identifiers of threads may tell them apart again. Some threads are joined or detached by
    several: by others that are told who they are, by the first thread and by themselves."""

    def program(self) -> str:
        names = ["thread0", "thread1"][: self.random.choice((1, 1, 1, 2))]
        self.rivals = ["rival0", "rival1"][: self.random.choice((0, 0, 0, 0, 1, 2))]
        bodies = [*(self._thread(name) for name in names), *map(self._rival, self.rivals), self._alike_main(names)]
        declared = [f"static void *{name}(void *argument);" for name in self.nested]
        return "\n".join([_PRELUDE, _QUEUED, *declared, *self.functions, *bodies])

    def _thread(self, name: str) -> str:
        body = self._block(self.random.choice((1, 1, 2)))
        own = self._one(*20 * [""], "pthread_join(ids[1], 0);", "a = pthread_equal(ids[0], ids[1]);", "exit(0);")
        own = self._one(*20 * [own], self._detaches_itself(), "a = pthread_equal(ids[0], pthread_self());")
        if self.rivals and self.random.random() < 0.3:
            own = self._one(f"pthread_detach(pthread_self()); {self._looks()}", "pthread_detach(pthread_self());")
        argument = "a = (int)(long)argument;" if self.random.random() < 0.3 else ""
        result = self._one("0", "0", "(void *)(long)a")
        lines = ["int a = 0, b = 0;", f"{argument} {body} {own}", f"return {result};"]
        return f"static void *{name}(void *argument) {{\n  " + "\n  ".join(lines) + "\n}"

    def _detaches_itself(self) -> str:
        """Perhaps only if it has read something."""
        return self._one("", "if (a) ", f"if ({self._atomic()}) ") + "pthread_detach(pthread_self());"

    def _rival(self, name: str) -> str:
        claim = self._one("pthread_join(other, 0);", "pthread_detach(other);")
        before, behind = (self._one("", self._statement(), self._looks()) for _ in range(2))
        lines = [f"int a = 0, b = 0; pthread_t other = (pthread_t)argument; {before} {claim} {behind}", "return 0;"]
        return f"static void *{name}(void *argument) {{\n  " + "\n  ".join(lines) + "\n}"

    def _looks(self) -> str:
        return f"assert({self._atomic()} {self._one('!=', '<')} {self.random.randint(1, 4)});"

    def _alike_main(self, names: list[str]) -> str:
        chance = self.random.random
        n = 1 if self.rivals else self.flavour.threads
        place = self._one("t", "t", "ids")
        lines = ["int a = 0, b = 0; pthread_t t[8]; void *v = 0;", "sem_init(&s, 0, 1); pthread_spin_init(&l, 0);"]
        if chance() < 0.2:
            lines.append(self._publish())
        argument = self._argument()
        arguments = [argument if chance() < 0.8 else self._argument() for _ in range(n)]
        lines += [f"pthread_create(&{place}[{i}], 0, {self._one(*names)}, {arguments[i]});" for i in range(n)]
        if chance() < 0.3:
            lines.append(self._block(1))
        for number, rival in enumerate(self.rivals, n):
            lines.append(f"pthread_create(&{place}[{number}], 0, {rival}, (void *){place}[0]);")
        if self.rivals:
            lines.append(self._one("", "", f"pthread_detach({place}[0]); {self._looks()}"))
            n += len(self.rivals)
        order = self.random.sample(range(n), n)
        if chance() < 0.4:
            lines.append(f"for (int i = 0; i < {n}; i++) pthread_join({place}[i], 0);")
        else:
            lines += [self._ending(f"{place}[{i}]") for i in order]
        lines.append("out2 = a + 4 * b;")
        if chance() < 0.5:
            lines.append(self._looks())
        return "int main(void) {\n  " + "\n  ".join(lines) + "\n  return 0;\n}\n"

    def _argument(self) -> str:
        return self._one("0", "0", "0", "0", "(void *)1", "&p")

    def _ending(self, thread: str) -> str:
        join = f"pthread_join({thread}, 0);"
        return self._one(
            *24 * [join],
            f"pthread_join({thread}, &v); out0 += (int)(long)v;",
            f"{join} {self._statement()}",
            f"{join} q++;",
            f"if (pthread_join({thread}, 0) == 0) out1++;",
            f"pthread_detach({thread});",
            f"{join} {join}" if self.random.random() < 0.3 else join,
            "",
        )

    def _queued(self) -> str:
        return "section();"
