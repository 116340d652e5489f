"""C programs whose first thread joins two alike threads one by one, and in between does what tells them apart."""

PRELUDE = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_assume(int);
atomic_int x, y;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_t t[2], u;
static void start(void *f(void *)) { for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, f, 0); }
"""
LOOKS = "void *f(void *a) { int r = atomic_load(&x); assert(r == 0); return 0; }"
COUNTS = "int r = atomic_fetch_add(&x, 1);"
PROGRAMS = {
    "one is left": """
void *f(void *a) { pthread_mutex_lock(&m); return 0; }
int main(void) { start(f); pthread_join(t[A], 0); return 0; }""",
    "another thread hears of it": f"""
{LOOKS}
void *g(void *a) {{ if (atomic_load(&y)) atomic_store(&x, 1); return 0; }}
int main(void) {{ start(f); pthread_create(&u, 0, g, 0);
  pthread_join(t[A], 0); atomic_store(&y, 1); pthread_join(t[1 - A], 0); pthread_join(u, 0); return 0; }}""",
    "another thread is started": f"""
{LOOKS}
void *g(void *a) {{ atomic_store(&x, 1); return 0; }}
int main(void) {{ start(f);
  pthread_join(t[A], 0); pthread_create(&u, 0, g, 0); pthread_join(t[1 - A], 0); pthread_join(u, 0); return 0; }}""",
    "an assumption stops the second": f"""
void *f(void *a) {{ {COUNTS} __VERIFIER_assume(r == 0); return 0; }}
int main(void) {{ start(f); pthread_join(t[A], 0); assert(0); return 0; }}""",
    "the second never ends": f"""
void *f(void *a) {{ {COUNTS} if (r) for (;;) ; return 0; }}
int main(void) {{ start(f); pthread_detach(t[1 - A]); pthread_join(t[A], 0); assert(atomic_load(&x) == 1); }}""",
    "the second is cut": f"""
void *f(void *a) {{ {COUNTS} while (r && atomic_fetch_add(&y, 1) < 9) ; return 0; }}
int main(void) {{ start(f); pthread_join(t[A], 0); assert(0); return 0; }}""",
}
"""By what tells them apart. `A` is the one that is joined first."""


def program_text(name: str, first: int) -> str:
    return f"#define A {first}\n{PRELUDE}{PROGRAMS[name]}\n"
