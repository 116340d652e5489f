"""Random C programs of loops: with several exits and back edges, nested, bounded by constants, by what was written
before the threads, or by what others write; and in what `main` does before, between and after its threads.

What is computed is left in the variables that `threaded_c.OBSERVED` names.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
_Bool __VERIFIER_nondet_bool(void);
atomic_int x, y;
int p, q, out0, out1, out2;
int limit = 2, data[6];
static void add(int *number, int value) { *number += value; }
static int get(atomic_int *from) { return *from; }
"""


def loops_program(seed: int) -> str:
    """Loops with several exits, in threads that run at the same time."""
    random = Random(f"loops {seed}")
    n_threads = random.choice((1, 2, 2))
    threads = [
        _thread(random, i, _loop(random, 1) if i == 0 or random.random() < 0.4 else "") for i in range(n_threads)
    ]
    between = _access(random) if n_threads == 1 else ""
    before = random.choice(("", f"limit = {random.randint(1, 3)};", "p = 1;"))
    main = [before, *_starts(n_threads), between, *_joins(n_threads), random.choice(("", _checks(random)))]
    return _program(threads, main)


def phases_program(seed: int) -> str:
    """Loops of `main` when it is the only thread: before it starts others, when they have ended, and in between."""
    random = Random(f"phases {seed}")
    n_threads = random.choice((1, 1, 2))
    writes = [f"for (int i = 0; i < {random.randint(2, 5)}; i++) data[i] = {random.randint(1, 2)};", "p = 1;", ""]
    threads = [_thread(random, i, random.choice(writes) if i == 0 else "") for i in range(n_threads)]
    main = [
        _alone(random),
        *_starts(n_threads),
        random.choice(("", _access(random))),
        *_joins(n_threads),
        _alone(random),
    ]
    if n_threads == 1 and random.random() < 0.3:
        main += ["pthread_create(&t0, 0, thread0, 0);", *_joins(1), _alone(random)]
    return _program(threads, main)


def _program(threads: list[str], main: list[str]) -> str:
    lines = ["int a = 0, b = 0;", *main, "out2 = a + 4 * b;"]
    body = "\n  ".join(line for line in lines if line)
    return "\n".join([_PRELUDE, *threads, f"int main(void) {{\n  {body}\n  return 0;\n}}\n"])


def _thread(random: Random, number: int, loop: str) -> str:
    parts = [loop, *(_access(random) for _ in range(1 if loop else 2))]
    random.shuffle(parts)
    body = "\n  ".join(part for part in parts if part)
    body = f"int a = 0, b = 0;\n  {body}\n  return (void *)(long)(a + 8 * b);"
    return f"static void *thread{number}(void *_) {{\n  {body}\n}}"


def _starts(n_threads: int) -> list[str]:
    return [f"pthread_t t{i}; void *v{i}; pthread_create(&t{i}, 0, thread{i}, 0);" for i in range(n_threads)]


def _joins(n_threads: int) -> list[str]:
    return [f"pthread_join(t{i}, &v{i}); out{i} = (int)(long)v{i};" for i in range(n_threads)]


def _access(random: Random) -> str:
    place, order = random.choice("xy"), random.choice(("relaxed", "seq_cst"))
    write = f"atomic_store_explicit(&{place}, {random.randint(1, 2)}, memory_order_{order});"
    return random.choice((write, write, f"b = atomic_load_explicit(&{place}, memory_order_{order});", "limit = 1;"))


# --- loops among others


def _loop(random: Random, depth: int) -> str:
    shapes: list[Callable[[Random, int], str]] = [
        *(_counting, _counting, _several_ways_back, _with_goto, _until_flag),
        *(_without_exits, _from_the_middle, _counting_in_memory),
    ]
    return random.choice(shapes)(random, depth)


def _bound(random: Random) -> str:
    return random.choice(("2", "3", "5", "limit", "limit"))


def _counting(random: Random, depth: int) -> str:
    i = f"i{depth}"
    inner = _loop(random, depth + 1) if depth == 1 and random.random() < 0.2 else ""
    return f"for (int {i} = 0; {i} < {_bound(random)}; {i}++) {{ {_body(random, i)} {inner} }}"


def _several_ways_back(random: Random, depth: int) -> str:
    i = f"i{depth}"
    steps = random.choice(((1, 2), (2, 1), (1, 1)))
    condition = random.choice((_read(random), _read(random), "__VERIFIER_nondet_bool()", f"{i} & 1"))
    rest = random.choice(("", _body(random, i)))
    body = f"if ({condition}) {{ {i} += {steps[0]}; continue; }} {rest} {i} += {steps[1]};"
    return f"{{ int {i} = 0; while ({i} < {_bound(random)}) {{ {body} }} }}"


def _counting_in_memory(random: Random, depth: int) -> str:
    """By as much as the rounds choose, or not in every one."""
    i = f"count{random.randint(0, 99_999)}"
    condition = random.choice((_read(random), "__VERIFIER_nondet_bool()", "__VERIFIER_nondet_bool()", f"{i} & 1"))
    steps = [random.choice((f"{i} += {value};", f"add(&{i}, {value});")) for value in (1, 2)]
    other = random.choice((f"else {steps[1]}", f"else {steps[1]}", "else a++;", steps[1]))
    body = f"if ({condition}) {steps[0]} {other} {random.choice(('', _body(random, i)))}"
    return f"{{ static int {i}; for ({i} = 0; {i} < {_bound(random)};) {{ {body} }} }}"


def _with_goto(random: Random, depth: int) -> str:
    i, label = f"i{depth}", f"again{random.randint(0, 99_999)}"
    leave = random.choice(("", f"if ({_read(random)}) goto {label}_end;"))
    back = f"if (++{i} < {random.randint(2, 4)}) goto {label};"
    return f"{{ int {i} = 0; {label}: a++; {leave} {back} {label}_end: b ^= 1; }}"


def _without_exits(random: Random, depth: int) -> str:
    """Some rounds come past no exit."""
    i, label = f"i{depth}", f"again{random.randint(0, 99_999)}"
    condition = random.choice((f"{i} % 3", f"{i} & 1", _read(random), "__VERIFIER_nondet_bool()"))
    limit = random.randint(2, 4)
    first, last = (f"if ({asked}) goto {label};" for asked in (f"{i} < 6 && {condition}", f"{i} < {limit}"))
    return f"{{ int {i} = 0; {label}: {i}++; {first} {last} }}"


def _from_the_middle(random: Random, depth: int) -> str:
    i = f"i{depth}"
    start = random.choice(("2", "3", _read(random)))
    cases = f"case 0: do {{ {_body(random, i)} case 1: a++; }} while (--{i} > 0);"
    return f"{{ int {i} = {start}; switch ({i} & 1) {{ {cases} }} }}"


def _until_flag(random: Random, depth: int) -> str:
    i = f"i{depth}"
    return f"for (int {i} = 0; {i} < {random.choice((3, 6))} && !{_read(random)}; {i}++) a += {i};"


def _body(random: Random, i: str) -> str:
    return random.choice(
        (
            f"assert({_read(random)} != 3 + {i});",
            f"assert({_read(random)} < 2);",
            f"if ({_read(random)} == 2) break; a++;",
            f"if ({_read(random)} == 1) continue; a++;",
            "if (b == 9) return 0; a++;",
            f"if ({_read(random)}) return 0;",
            f"if (data[{i}]) break; a++;",
            f"p = {i};",
        )
    )


def _read(random: Random) -> str:
    order = random.choice(("relaxed", "acquire", "seq_cst"))
    return f"atomic_load_explicit(&{random.choice('xxy')}, memory_order_{order})"


# --- loops of the only thread


def _checks(random: Random) -> str:
    return f"for (int i = 0; i < 6; i++) assert(data[i] + x != {random.randint(1, 4)});"


def _alone(random: Random) -> str:
    return random.choice(
        (
            "",
            _checks(random),
            "for (int i = 0; i < 6; i++) { if (data[i]) break; a++; }",
            "for (int i = 0; i < 6; i++) { if (!data[i]) continue; b += data[i]; }",
            "for (int i = 0; i < limit; i++) data[i + 1] = data[i] + x;",
            "while (a < 6) { if (x) a += 2; else a += 1; }",
            "{ int i = 5; do { data[i] += i; if (data[i] == 4) break; } while (--i); }",
            "for (int i = 0; i < 5; i++) x += i;",
            "if (__VERIFIER_nondet_bool()) a = 1;",
            "{ int e = 1; if (!atomic_compare_exchange_weak(&x, &e, 2)) b = e; }",
            "for (int n = 0; get(&x) == 2;) if (++n > 3) sched_yield();",
        )
    )
