"""Which rounds of loops count against --unroll, and how long executions may be: in every engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

HEADER = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
_Bool __VERIFIER_nondet_bool(void);
int data[8], n = 6, r;
atomic_int flag;
struct node { struct node *next; } *list;
"""

FILL = "for (int i = 0; i < N; i++) data[i] = 1; return 0;"

# What the thread does, what main does beside it, what it does when the thread has ended, and the verdict.
PROGRAMS = {
    "an assertion about what was joined": (
        FILL.replace("N", "7"),
        "",
        "for (int i = 0; i < 8; i++) assert(data[i] == 1);",
        "UNSAFE",
    ),
    "an assertion that holds": (
        FILL.replace("N", "8"),
        "",
        "for (int i = 0; i < 8; i++) assert(data[i] == 1);",
        "SAFE",
    ),
    "a break": (
        FILL.replace("N", "8"),
        "",
        "int i; for (i = 0; i < 8; i++) if (data[i] != 1) break; assert(i != 8);",
        "UNSAFE",
    ),
    "a return": (
        FILL.replace("N", "8"),
        "",
        "for (int i = 0; i < 8; i++) if (data[i] != 1) return 0; abort();",
        "UNSAFE",
    ),
    "a continue": (
        FILL.replace("N", "8"),
        "",
        "for (int i = 0; i < 8; i++) { if (!data[i]) continue; r++; } assert(r != 8);",
        "UNSAFE",
    ),
    "a goto": (
        FILL.replace("N", "8"),
        "",
        "int i = 0; again: if (!data[i]) goto out; if (++i < 8) goto again; out: assert(i != 8);",
        "UNSAFE",
    ),
    "nested": (
        FILL.replace("N", "8"),
        "",
        "for (int i = 0; i < 6; i++) for (int j = 0; j < 6; j++) { if (!data[j]) return 0; r++; } assert(r != 36);",
        "UNSAFE",
    ),
    "an assertion about what is written meanwhile": (
        "for (int i = 0; i < 6; i++) { assert(flag < 2); r++; } assert(r != 6); return 0;",
        "flag = 1;",
        "",
        "UNSAFE",
    ),
    "a bound from before": (
        "for (int i = 0; i < n; i++) { assert(flag < 2); r++; } assert(r != 6); return 0;",
        "",
        "",
        "UNSAFE",
    ),
    "a bound that was read before the loop": (
        "int k = flag; for (int i = 0; i < k; i++) r++; assert(r != 6); return 0;",
        "flag = 6;",
        "",
        "UNSAFE",
    ),
    "several ways back": (
        FILL.replace("N", "6"),
        "",
        "int i = 0; while (i < 8) { if (data[i]) { i += 2; continue; } i++; } assert(i != 8);",
        "UNSAFE",
    ),
    "a list that was joined": (
        "for (int i = 0; i < 6; i++) { struct node *x = malloc(sizeof *x); x->next = list; list = x; } return 0;",
        "",
        "for (struct node *p = list; p; p = p->next) r++; assert(r != 6);",
        "UNSAFE",
    ),
    "rounds without an exit on the way": (
        "int i = 0; again: i++; if (i % 8) goto again; if (i < 40) goto again; assert(i != 40); return 0;",
        "flag = 1;",
        "",
        "UNSAFE",
    ),
    "an entry in the middle": (
        "int k = flag + 5; switch (k % 2) { case 0: do { r++; case 1: r++; } while (--k > 0); } assert(r != 9);",
        "flag = 0;",
        "",
        "UNSAFE",
    ),
    "a failure behind the loop": ("for (int i = 0; i < 6; i++) flag = i; assert(0);", "", "", "UNSAFE"),
    "a failure behind a loop with assertions": (
        FILL.replace("N", "8"),
        "",
        "for (int i = 0; i < 8; i++) assert(data[i] == 1); assert(0);",
        "UNSAFE",
    ),
    "what main and the thread have written": (
        "flag = 1; return 0;",
        "",
        "flag += 5; while (r < flag) r++; while (flag) flag--; assert(r != 6);",
        "UNSAFE",
    ),
    "a flag that is set meanwhile": (
        "for (int i = 0; i < 6; i++) if (flag) break; return 0;",
        "flag = 1;",
        "",
        "SAFE_WITHIN_BOUND",
    ),
}


def text_of(thread: str, beside: str, behind: str) -> str:
    return f"""{HEADER}
    void *thread(void *unused) {{ {thread} }}
    int main(void) {{ pthread_t t; pthread_create(&t, 0, thread, 0); {beside} pthread_join(t, 0); {behind} return 0; }}
    """


@pytest.mark.parametrize("engine", ["rsmc", "all"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops(name: str, engine: str, tmp_path: Path) -> None:
    *parts, verdict = PROGRAMS[name]
    file = tmp_path / "loop.c"
    file.write_text(text_of(*parts))
    ran = dekker("check", str(file), "--engine", engine, "--model", "sc", "--unroll", "2")
    assert ran.out.startswith(f"{verdict} under"), ran.out + ran.err


def check(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    file = tmp_path / "program.c"
    file.write_text(HEADER + text)
    ran = dekker("check", str(file), *options)
    return ran.status, ran.out + ran.err


def test_numbers_that_grow_by_choice_count_by_rounds(tmp_path: Path) -> None:
    loop = "int main(void) { int x = 0; while (x >= 0) { if (__VERIFIER_nondet_bool()) x += 2; else x += 3; } }"
    status, text = check(tmp_path, loop, "--engine", "rsmc", "--unroll", "1")
    assert status == 3, text
    assert "4 more executions were cut" in text


ROUNDS = "while (N >= 0) { if (__VERIFIER_nondet_bool()) N += 2; else { N += 3; assert(N != 7); } }"
GROWING = {
    "a global": "int main(void) { " + ROUNDS.replace("N", "r") + " }",
    "a field": "struct { int n; } s; int main(void) { " + ROUNDS.replace("N", "s.n") + " }",
    "on the heap": "int main(void) { int *p = calloc(1, 4); " + ROUNDS.replace("N", "*p") + " }",
    "by a function": "void add(int *p, int n) { *p += n; assert(*p != 7); }"
    " int main(void) { while (r >= 0) { if (__VERIFIER_nondet_bool()) add(&r, 2); else add(&r, 3); } }",
    "beside a thread": "void *f(void *p) { flag = 1; return 0; }"
    " int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); " + ROUNDS.replace("N", "r") + " }",
}


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("name", GROWING)
def test_numbers_in_memory_that_grow_by_choice_count_by_rounds(tmp_path: Path, name: str, engine: str) -> None:
    program = GROWING[name]
    status, text = check(tmp_path, program, "--engine", engine, "--unroll", "1")
    assert status == 3, text
    assert "4 more executions were cut" in text
    status, text = check(tmp_path, program, "--engine", engine)
    assert status == 1, text
    assert "(--unroll 2)" in text


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_choices_beside_a_number_in_memory_do_not_count(tmp_path: Path, engine: str) -> None:
    """Where the choice has no say in how the number grows."""
    body = "if (__VERIFIER_nondet_bool()) data[1] = 2; assert(data[1] != 1);"
    program = f"int main(void) {{ for (r = 0; r < 6; r++) {{ {body} }} }}"
    status, text = check(tmp_path, program, "--engine", engine, "--unroll", "1")
    assert (status, text.splitlines()[0]) == (0, f"SAFE under cpp20: 64 complete executions ({engine})"), text


@pytest.mark.parametrize("model", ["sc", "rc11", "power"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_weak_exchanges_that_fail_are_rounds(tmp_path: Path, engine: str, model: str) -> None:
    """None or one, or cut, each with both values of the flag."""
    retry = """
    void *f(void *p) {
      int e = 0, found = atomic_load_explicit(&flag, memory_order_relaxed);
      while (!atomic_compare_exchange_weak_explicit(&own, &e, 2, memory_order_acquire, memory_order_acquire)) found = e;
      return 0;
    }
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); flag = 1; pthread_join(t, 0); return 0; }
    """
    options = ("--engine", engine, "--model", model, "--unroll", "1")
    status, text = check(tmp_path, "atomic_int own;" + retry, *options, "--no-reduction")
    assert status == 0
    assert f"SAFE_WITHIN_BOUND under {model}: 4 complete executions ({engine})\n  2 more executions" in text
    if engine == "rsmc" and model in ("sc", "rc11"):  # a round that only tries again is left out
        status, text = check(tmp_path, "atomic_int own;" + retry, *options)
        assert (status, text.splitlines()[0]) == (0, f"SAFE under {model}: 2 complete executions (rsmc)")
        _, text = check(tmp_path, "atomic_int own;" + retry, *options, "--json", "-")
        assert json.loads(text)["stats"]["left_out"] > 0


@pytest.mark.parametrize("loop", ["for (;;);", "for (;;) { flag = 1; flag = 0; }"])
@pytest.mark.parametrize("model", ["sc", "tso"])
def test_threads_without_end_do_not_keep_the_program_from_ending(tmp_path: Path, model: str, loop: str) -> None:
    main = (
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); data[0] = 1; assert(data[0] == RIGHT); return 0; }"
    )
    text = f"void *f(void *p) {{ {loop} return 0; }} {main}"
    for right, status, verdict in ("1", 0, "SAFE"), ("2", 1, "UNSAFE"):
        for engine in ("auto", "states"):
            found, said = check(tmp_path, text.replace("RIGHT", right), "--engine", engine, "--model", model)
            assert (found, said.split()[0]) == (status, verdict), said


JOINED = "pthread_create(&t, 0, more, 0); pthread_create(&u, 0, more, 0); pthread_join(t, 0); pthread_join(u, 0);"


@pytest.mark.parametrize("model", ["cpp20", "power", "sc"])
@pytest.mark.parametrize("behind", ["", JOINED], ids=["at the end", "between threads"])
def test_main_is_alone_when_all_are_joined(tmp_path: Path, model: str, behind: str) -> None:
    loop = "int k = 0; for (;;) { if (k == 3 * flag) break; k++; } assert(k != 6);"
    text = f"""
    void *more(void *unused) {{ flag++; return 0; }}
    int main(void) {{ pthread_t t, u; {JOINED} {loop} {behind} }}
    """
    status, said = check(tmp_path, text, "--model", model, "--engine", "rsmc", "--unroll", "1")
    assert status == 1, said
    status, said = check(tmp_path, text.replace("k != 6", "k == 6"), "--model", model, "--engine", "rsmc")
    assert said.startswith("SAFE under"), said


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_rounds_of_the_only_thread_are_no_part_of_later_loops(tmp_path: Path, engine: str) -> None:
    loop = "for (int i = 0; i < limit; i++) data[0]++;"
    main = f"int main(void) {{ pthread_t t; {loop} pthread_create(&t, 0, f, 0); {loop} return 0; }}"
    text = f"int limit = 3; void *f(void *p) {{ limit = 2; return 0; }} {main}"
    _, said = check(tmp_path, text, "--engine", engine, "--model", "sc", "--unroll", "2")
    assert said.startswith("SAFE_WITHIN_BOUND under sc: 3 complete executions"), said
    alone = f"int limit = 3; int main(void) {{ {loop} limit = 2; assert(data[0] == 3); }}"
    _, said = check(tmp_path, alone, "--engine", engine, "--model", "sc", "--unroll", "1")
    assert said.startswith("SAFE under sc: 1 complete execution"), said


def test_a_long_list_that_main_builds_and_walks(tmp_path: Path) -> None:
    build = "for (int i = 0; i < 400; i++) { struct node *x = malloc(sizeof *x); x->next = list; list = x; }"
    walk = "int c = 0; for (struct node *p = list; p; p = p->next) c++; assert(c != 400);"
    status, text = check(tmp_path, f"int main(void) {{ {build} {walk} }}")
    assert status == 1, text
    in_thread = f"void *thread(void *unused) {{ {build} return 0; }}"
    main = f"int main(void) {{ pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); {walk} }}"
    status, text = check(tmp_path, f"{in_thread} {main}", "--engine", "rsmc")
    assert status == 1, text


def test_long_executions(tmp_path: Path) -> None:
    text = """
    int a[N], b[N];
    void *thread(void *to) { for (int i = 0; i < N; i++) ((int *)to)[i] = i; return 0; }
    int main(void) {
      pthread_t t, u; pthread_create(&t, 0, thread, a); pthread_create(&u, 0, thread, b);
      pthread_join(t, 0); pthread_join(u, 0);
      for (int i = 0; i < N; i++) assert(a[i] == b[i]);
    }
    """
    options = ("--engine", "rsmc", "--model", "sc", "--keep-going")
    status, said = check(tmp_path, text.replace("N", "700"), *options)
    assert status == 0, said
    assert "SAFE under sc: 1 complete execution" in said


def test_executions_that_are_too_long_name_the_place(tmp_path: Path) -> None:
    text = """
    void *f(void *p) { for (unsigned i = 0; i < 40000; i++) data[i & 7] = i; return 0; }
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return 0; }
    """
    status, said = check(tmp_path, text, "--engine", "rsmc", "--model", "power")
    assert status == 3, said
    assert f"more than 32768 events in one execution, at {tmp_path / 'program.c'}:11:" in said


def test_only_limits_end_what_main_does_alone(tmp_path: Path) -> None:
    text = "int main(void) { int s = 0; for (int i = 0; i < 300000; i++) s ^= i; assert(s != SUM); }"
    total = 0
    for i in range(300_000):
        total ^= i
    status, said = check(tmp_path, text.replace("SUM", str(total)), "--engine", "rsmc")
    assert status == 1, said
    status, said = check(tmp_path, "int main(void) { for (;;) n++; }", "--engine", "rsmc", "--timeout", "1")
    assert status == 3, said


def test_threads_that_start_threads_without_end(tmp_path: Path) -> None:
    text = """
    _Thread_local pthread_t t;
    void *next(void *a) { flag++; assert(flag < 4); pthread_create(&t, 0, next, 0); pthread_detach(t); return 0; }
    int main(void) { next(0); }
    """
    assert check(tmp_path, text, "--model", "tso")[0] == 1
    status, said = check(tmp_path, text, "--model", "tso", "--engine", "axiomatic")
    assert (status, "internal error" in said) in ((1, False), (2, False)), said
