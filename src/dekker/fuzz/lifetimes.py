"""Random small C programs about what objects hold and how long they last: locals, global variables and memory of the
heap of which only part is set, copies of it, fields of bits; pointers to locals of blocks, functions and threads that
may have ended."""

from __future__ import annotations

from random import Random

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct s { int a; unsigned b : 3, c : 5; char d; };
atomic_int x, y;
int out0, out1;
_Atomic(int *) shared;
_Atomic(struct s *) published;
struct kept { atomic_int word; _Bool flag[2]; int part[2]; struct s whole[2]; };
struct kept kept;
static void set(int *p, int k) { if (k) *p = k; }
static int *leak(int k) { int v = k; int *w = &v; return k > 1 ? w : (int *)&out1; }
"""

_UNSET = (
    "int u{n}; set(&u{n}, atomic_load(&x)); if (atomic_load(&y)) r = u{n};",
    "int u{n}; if (atomic_load(&x)) u{n} = 1; r = u{n} & {k};",
    "int u{n}; if (atomic_load(&y) == {k}) u{n} = 2; if (u{n} == 2) r++;",
    "struct s s{n}; s{n}.b = {k}; if (s{n}.{field} == 1) r++;",
    "struct s s{n}; s{n}.a = {k}; struct s t{n} = s{n}; if (t{n}.{field}) r = 2;",
    "struct s *h{n} = malloc(sizeof *h{n}); h{n}->{field} = 1; atomic_store(&published, h{n});",
    "struct s *g{n} = atomic_load(&published); if (g{n}) {{ struct s t{n} = *g{n}; if (t{n}.a) r = 1; }}",
    "struct s *g{n} = atomic_load(&published); if (g{n}) r += g{n}->{field};",
    "int a{n}[2]; a{n}[{bit}] = 1; if (a{n}[atomic_load(&x) & 1]) r = 3;",
    "int *h{n} = calloc(1, 4); if (*h{n}) r = 1; free(h{n});",
)
_KEPT = (
    "int u{n}; atomic_store(&keep->word, u{n} & {k});",
    "int u{n}; atomic_store(&keep->word, (u{n} == 3) | 2);",
    "int u{n}; atomic_fetch_or(&keep->word, u{n} & {k});",
    "if (atomic_load(&keep->word) == {k}) r++;",
    "if (atomic_load(&keep->word) & {k}) r++;",
    "int e{n} = {k}; if (atomic_compare_exchange_strong(&keep->word, &e{n}, 2)) r++;",
    "int u{n}; keep->part[me] = u{n} & {k}; r += keep->part[me] & 1; if (keep->part[{bit}] & 2) r = 2;",
    "_Bool u{n}; if (atomic_load(&x)) u{n} = 1; keep->flag[me] = u{n}; if (atomic_load(&y) && keep->flag[me]) r = 1;",
    "struct s s{n}; s{n}.{field} = {k}; keep->whole[me] = s{n}; if (keep->whole[me].a == 1) r++;",
    "struct s s{n}; s{n}.b = {k}; keep->whole[me] = s{n}; if (keep->whole[me].{field}) r++;",
    "keep->whole[me].{field} = {k}; struct s t{n} = keep->whole[me]; if (t{n}.{field} == 1) r++;",
    "memset(&keep->whole[me], 0, sizeof(struct s)); keep->word = 0;",
)
_KEEPING = "struct kept *keep = &kept;"
_LIFETIMES = (
    "{{ int v{n} = {k}; atomic_store(&shared, &v{n}); }}",
    "{{ int v{n} = {k}; atomic_store(&shared, &v{n}); atomic_store(&shared, 0); }}",
    "int *q{n} = atomic_load(&shared); if (q{n}) r = *q{n};",
    "int *q{n} = atomic_load(&shared); if (q{n}) *q{n} = {k};",
    "int v{n} = {k}; atomic_store(&shared, &v{n});",
    "r = *leak({k});",
    "int *q{n} = 0; for (int i = 0; i < 2; i++) {{ int w = i; if (q{n} && {bit}) r = *q{n}; q{n} = &w; }}",
)
_PLAIN = (
    "atomic_store(&x, {k});",
    "atomic_store(&y, {k});",
    "r += atomic_load(&x);",
)


def lifetimes_program(seed: int) -> str:
    random = Random(seed)
    threads = [_thread(random, number) for number in range(2)]
    end = random.choice(("", "", "pthread_join(t[0], 0);", "int *q = atomic_load(&shared); if (q) out0 = *q;"))
    main = f"""\
int main(void) {{
  pthread_t t[2];
  {_KEEPING}
  pthread_create(&t[0], 0, f0, keep);
  pthread_create(&t[1], 0, f1, keep);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  {end}
  return 0;
}}
"""
    return _PRELUDE + "".join(threads) + main


def on_the_heap(text: str) -> str | None:
    """The same with what threads keep globally in memory that was allocated for it."""
    return text.replace(_KEEPING, "struct kept *keep = calloc(1, sizeof kept);") if "keep->" in text else None


def _thread(random: Random, number: int) -> str:
    kinds = (*_UNSET, *_KEPT, *_LIFETIMES, *_PLAIN)
    statements = [_statement(random, random.choice(kinds), index) for index in range(random.randint(1, 3))]
    body = "\n  ".join(statements)
    start = f"struct kept *keep = v;\n  int r = 0, me = {number};"
    return f"void *f{number}(void *v) {{\n  {start}\n  {body}\n  out{number} = r;\n  return 0;\n}}\n"


def _statement(random: Random, text: str, number: int) -> str:
    field = random.choice(("a", "b", "c", "d"))
    return text.format(n=number, k=random.randint(0, 2), bit=random.randint(0, 1), field=field)
