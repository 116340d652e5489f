"""Programs with something wrong in them end in a clear message and the right status, never in a traceback or a hang."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import Outcome, dekker

pytest.importorskip("ziglang", reason="the compiler is not installed")

THREADS = "#include <pthread.h>\n#include <stdlib.h>\nvoid *f(void *p) { return 0; }\n"

REFUSED = [
    ("int main(void) { return 0 }", "expected ';'"),
    ("int f(void) { return 0; }", "there is no function `main`"),
    ("", "there is no function `main`"),
    ("int far(void); int main(void) { return far(); }", "the function `far` is not defined"),
    ("int main(void) { return never_declared(); }", "the function `never_declared` is not defined"),
    ("extern int far; int main(void) { return far; }", "the variable `far` is declared, but no file defines it"),
    ("long double x; int main(void) { return x > 0; }", "`x86_fp80` are not supported"),
    ("int main(void) { void *l[] = {&&a}; goto *l[0]; a: return 0; }", "computed goto"),
    ('int main(void) { __asm__("movl $1, %eax"); return 0; }', "the inline assembly `movl $$1, %eax` is not supported"),
    ("_Atomic __int128 x; int main(void) { x++; return 0; }", "atomic accesses of 16 bytes"),
    ("char huge[3000000000UL]; int main(void) { return huge[1]; }", "do not fit into memory"),
    ('#include <stdio.h>\nint main(void) { int x; return scanf("%d", &x); }', "reads input"),
]

VIOLATING = [
    ("int main(void) { int x = 0; return 5 / x; }", "division by zero"),
    ("int main(void) { int x = -1, y = -2147483647 - 1; return y / x; }", "does not fit its type"),
    ("int main(void) { int x = 40; return 1 << x; }", "a shift of 32 bits by as many or more"),
    ("int main(void) { __builtin_unreachable(); }", "never reaches"),
    ("int f(int n) { return f(n + 1) + 1; } int main(void) { return f(0); }", "nested too deeply"),
    ("#include <stdlib.h>\nint main(void) { char *p = malloc(1UL << 40); return p[5]; }", "allocation"),
    ("#include <stdlib.h>\nint main(void) { for (;;) malloc(1 << 20); }", "allocation"),
    ("int main(void) { int *p; return *p; }", "uninitialised pointer"),
    ("int main(void) { int a[3], i = 5; return a[i]; }", "out of bounds"),
    ("int main(void) { void (*f)(void) = 0; f(); }", "invalid call"),
    ("#include <stdlib.h>\nint main(void) { int x; free(&x); }", "invalid free"),
    ("#include <stdlib.h>\nint main(void) { int *p = malloc(4); free(p); free(p); }", "double free"),
    ("#include <stdlib.h>\nint main(void) { int *p = malloc(4); free(p); return *p; }", "use after free"),
    ("#include <stdlib.h>\nint main(void) { abort(); }", "`abort` is called"),
    (THREADS + "int main(void) { pthread_join(7, 0); }", "7 is no thread"),
]


def check(folder: Path, text: str, *arguments: str) -> Outcome:
    file = folder / "program.c"
    file.write_text(text + "\n", encoding="utf-8")
    return dekker("check", str(file), "-m", "sc", "--timeout", "600", *arguments)


def test_long_stacks_are_folded(tmp_path: Path) -> None:
    outcome = check(tmp_path, "int f(int n) { return f(n + 1) + 1; } int main(void) { return f(0); }")
    assert "more calls" in outcome.out
    assert len(outcome.out) < 4000


def test_a_bound_that_no_execution_keeps_is_told(tmp_path: Path) -> None:
    text = "int n; void *g(void *p) { for (n = 0; n < 9; n++) ; return 0; }\n"
    main = "int main(void) { pthread_t t; pthread_create(&t, 0, g, 0); n = 0; return pthread_join(t, 0); }"
    text = f"{THREADS}{text}{main}"
    assert "no execution comes to its end" in check(tmp_path, text, "--engine", "rsmc").out
    assert "no execution comes to its end" not in check(tmp_path, text, "--engine", "rsmc", "--unroll", "10").out


@pytest.mark.parametrize("output", ["std::cout << 1", 'std::cerr << "text"'])
def test_streams_of_the_cpp_library_are_named(tmp_path: Path, output: str) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(f"#include <iostream>\nint main() {{ {output}; }}\n", encoding="utf-8")
    outcome = dekker("check", str(file))
    assert (outcome.status, outcome.out) == (2, "")
    assert "program.cpp:2:24: error: " in outcome.err
    assert "use `printf`" in outcome.err


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_be_checked_is_the_users_fault(tmp_path: Path, text: str, message: str) -> None:
    outcome = check(tmp_path, text)
    assert outcome.status == 2, outcome.out
    assert message in outcome.err
    assert "program.c" in outcome.err or "do not fit" in message


@pytest.mark.parametrize(("text", "message"), VIOLATING)
def test_what_goes_wrong_is_a_violation_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    outcome = check(tmp_path, text)
    assert outcome.status == 1, outcome.err
    assert message in outcome.out
    assert f"program.c:{len(text.splitlines())}:" in outcome.out


@pytest.mark.parametrize(
    "loop", ["for (;;) {}", "for (int i = 0;; i++) {}", "int n = 3; while (n) n = n * 5 + 2 | 1;", "while (1) f(0);"]
)
def test_loops_without_end_are_no_violation_and_end(tmp_path: Path, loop: str) -> None:
    outcome = check(tmp_path, f"{THREADS}int main(void) {{ {loop} }}")
    assert outcome.status == 3, outcome.out + outcome.err
    assert "no execution comes to its end" in outcome.out


def test_an_endless_loop_that_starts_threads_has_a_bound(tmp_path: Path) -> None:
    outcome = check(tmp_path, f"{THREADS}int main(void) {{ pthread_t t; while (1) pthread_create(&t, 0, f, 0); }}")
    assert outcome.status == 3, outcome.out + outcome.err
    assert "cut where the loop at" in outcome.out


def test_hundreds_of_threads_run(tmp_path: Path) -> None:
    body = "pthread_t t[300]; for (int i = 0; i < 300; i++) pthread_create(&t[i], 0, f, 0);"
    outcome = check(tmp_path, f"{THREADS}int main(void) {{ {body} }}")
    assert (outcome.status, outcome.out) == (
        0,
        "SAFE under sc: 1 complete execution, up to the names of alike threads (rsmc)\n",
    )


def test_large_arrays_on_the_stack_are_fine(tmp_path: Path) -> None:
    assert check(tmp_path, "int main(void) { char a[20000000]; a[19999999] = 1; return a[5]; }").status == 0


def test_a_definition_in_two_files_is_an_error_that_names_both(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.c", "two.c")]
    for file in files:
        file.write_text("int f(void) { return 1; }\nint main(void) { return f(); }\n", encoding="utf-8")
    outcome = dekker("check", *map(str, files))
    assert outcome.status == 2
    assert "defined twice" in outcome.err
    assert all(file.name in outcome.err for file in files)


def test_functions_of_one_file_and_tentative_definitions(tmp_path: Path) -> None:
    one, two = tmp_path / "one.c", tmp_path / "two.c"
    one.write_text(
        "#include <assert.h>\nint t; extern int u; static int f(void) { return 1; } int g(void);\n"
        "int main(void) { assert(f() == 1 && g() == 2 && t == 0 && u == 7); }\n"
    )
    two.write_text("int t, u = 7; static int f(void) { return 2; } int g(void) { return f(); }\n")
    assert dekker("check", str(one), str(two), "-m", "sc").status == 0


LEAK = """#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; } *head;
void *f(void *keep) {
  int *p = malloc(4);
  *p = 1;
  if (keep) free(p);
  return 0;
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    struct node *n = malloc(sizeof *n);
    n->next = head;
    head = n;
  }
  pthread_t t;
  pthread_create(&t, 0, f, FREE);
  pthread_join(t, 0);
}
"""


def test_leaks(tmp_path: Path) -> None:
    assert check(tmp_path, LEAK, "--", "-DFREE=0").status == 0
    outcome = check(tmp_path, LEAK, "--leaks", "--json", "-", "--", "-DFREE=0")
    assert outcome.status == 1
    violation = json.loads(outcome.out)["violation"]
    assert (violation["kind"], violation["line"]) == ("leak", 5)
    assert check(tmp_path, LEAK, "--leaks", "--", "-DFREE=&head").status == 0


LOST_SOMETIMES = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x;
void *set(void *a) { x = 1; return 0; }
void *lose(void *a) { if (!x) malloc(4); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, set, 0);
  pthread_create(&u, 0, lose, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
}
"""


@pytest.mark.parametrize("engine", ["rsmc", "states", "axiomatic", "all"])
def test_leaks_are_found_by_every_engine(tmp_path: Path, engine: str) -> None:
    outcome = check(tmp_path, LOST_SOMETIMES, "--leaks", "--model", "sc", "--engine", engine)
    assert (outcome.status, "violation: leak" in outcome.out) == (1, True), outcome
    kept = LOST_SOMETIMES.replace("if (!x) malloc(4)", "if (!x) free(malloc(4))")
    assert check(tmp_path, kept, "--leaks", "--model", "sc", "--engine", engine).status == 0


NONDET = """extern int __VERIFIER_nondet_int(void); extern void reach_error(void);
int main(void) { if (__VERIFIER_nondet_int() == 5) reach_error(); }
"""


def test_numbers_that_are_left_open_bound_the_verdict(tmp_path: Path) -> None:
    bounded = check(tmp_path, NONDET)
    assert bounded.out.startswith("SAFE_WITHIN_BOUND")
    assert "from -1 to 2 (--nondet)" in bounded.out
    assert check(tmp_path, NONDET, "--nondet", "0..5").status == 1
    assert check(tmp_path, NONDET, "--nondet", "5..0").status == 2
    assert "from -5 to -3 (--nondet)" in check(tmp_path, NONDET, "--nondet", "-5..-3").out
    byte = NONDET.replace("_int", "_uchar").replace("extern int", "extern unsigned char")
    assert "from 255 to 255 (--nondet)" in check(tmp_path, byte, "--nondet", "300..400").out
    exact = NONDET.replace("_int", "_bool").replace("extern int", "extern _Bool")
    for arguments in ((), ("--nondet", "0..0"), ("--nondet", "5..6")):
        assert check(tmp_path, exact, *arguments).out.startswith("SAFE under")


ENVIRONMENT = "#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n#include <assert.h>\n"


@pytest.mark.parametrize(
    ("main", "given"),
    [
        ("int main(int argc, char **argv) { assert(argc < 2); }", "the arguments of main"),
        ("int main(int argc, char **argv) { return argv[0][0] == 'x'; }", "the arguments of main"),
        ('int main(void) { if (getenv("DEBUG")) assert(0); }', "getenv"),
        ("int main(void) { assert(time(0) < 5); }", "time"),
        ("int main(void) { assert(sysconf(_SC_NPROCESSORS_ONLN) == 2); }", "sysconf"),
        (
            "int main(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return time(0); }",
            "clock_gettime, time",
        ),
    ],
)
def test_what_the_environment_decides_bounds_the_verdict(tmp_path: Path, main: str, given: str) -> None:
    outcome = check(tmp_path, ENVIRONMENT + main)
    assert outcome.status == 0
    assert outcome.out.startswith("SAFE_WITHIN_BOUND under sc")
    assert f"the environment gave one value each: {given}\n" in outcome.out
    record = json.loads(check(tmp_path, ENVIRONMENT + main, "--json", "-").out)
    assert not record["complete"]
    assert given in record["bounds"]["other"]


def test_what_is_not_asked_of_the_environment_is_no_bound(tmp_path: Path) -> None:
    text = '#include <stdlib.h>\nint f(void) { return !getenv("X"); } int main(int argc, char **argv) { return 0; }'
    assert check(tmp_path, text).out.startswith("SAFE under sc")


def test_a_checkpoint_keeps_what_the_environment_decides(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    check(tmp_path, ENVIRONMENT + "int main(int argc, char **argv) { assert(argc < 2); }", "--checkpoint", state)
    assert "the arguments of main" in dekker("resume", state).out
