"""`dekker check` as a person calls it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.cli.calls import Outcome, dekker, watched

pytest.importorskip("ziglang", reason="the compiler is not installed")

STORE_BUFFERING = r"""#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, y;
int seen_y, seen_x;
void *left(void *_) {
  atomic_store_explicit(&x, 1, ORDER);
  seen_y = atomic_load_explicit(&y, ORDER);
  return 0;
}
void *right(void *_) {
  atomic_store_explicit(&y, 1, ORDER);
  seen_x = atomic_load_explicit(&x, ORDER);
  return 0;
}
int main(void) {
  pthread_t l, r;
  pthread_create(&l, 0, left, 0);
  pthread_create(&r, 0, right, 0);
  pthread_join(l, 0);
  pthread_join(r, 0);
  assert(seen_x || seen_y);
}
"""
RELAXED, STRONG = "-DORDER=memory_order_relaxed", "-DORDER=memory_order_seq_cst"


def check(folder: Path, text: str, *arguments: str) -> Outcome:
    file = folder / "program.c"
    file.write_text(text, encoding="utf-8")
    return dekker("check", str(file), *arguments)


@pytest.mark.parametrize(
    ("model", "flag", "status"),
    [
        ("sc", RELAXED, 0),
        *((model, RELAXED, 1) for model in ("tso", "power", "aarch64", "rc11")),
        *((model, STRONG, 0) for model in ("sc", "tso", "power", "aarch64", "rc11")),
    ],
)
def test_an_assertion_fails_where_the_model_lets_it(tmp_path: Path, model: str, flag: str, status: int) -> None:
    outcome = check(tmp_path, STORE_BUFFERING, "--model", model, "--", flag)
    assert outcome.status == status, outcome.err
    assert outcome.out.startswith(f"{'UNSAFE' if status else 'SAFE'} under {model}: ")
    assert ("program.c:22:3: violation: assertion" in outcome.out) == bool(status)


def test_json(tmp_path: Path) -> None:
    # Which engine is first is chance, and each has its own bound: here one is asked.
    arguments = ("-m", "tso", "--engine", "rsmc", "--json", "-", "--", RELAXED)
    answer = json.loads(check(tmp_path, STORE_BUFFERING, *arguments).out)
    assert answer.keys() == {"verdict", "model", "engine", "complete", "bounds", "stats", "violation", "unchecked"}
    assert (answer["verdict"], answer["model"], answer["complete"]) == ("UNSAFE", "tso", False)
    assert answer["bounds"] == {"unroll": 1, "nondet": [], "reuse": None, "cut": [], "stopped_by": "violation"}
    violation = answer["violation"]
    assert violation.keys() >= {"kind", "message", "file", "line", "thread", "witness"}
    assert (violation["kind"], violation["line"], violation["column"]) == ("assertion", 22, 3)
    assert violation["file"].endswith("program.c")
    assert (violation["thread"], violation["function"]) == (0, "main")
    assert [(frame["function"], frame["line"]) for frame in violation["stack"]] == [("main", 22)]
    assert violation["witness"]["format"] == "dekker-witness"
    safe = json.loads(check(tmp_path, STORE_BUFFERING, "-m", "sc", "--json", "-", "--", RELAXED).out)
    assert (safe["verdict"], safe["complete"], safe["violation"]) == ("SAFE", True, None)


def test_everything_is_explored_if_asked(tmp_path: Path) -> None:
    arguments = ("-m", "tso", "--keep-going", "--json", "-", "--", RELAXED)
    answer = json.loads(check(tmp_path, STORE_BUFFERING, *arguments).out)
    assert (answer["verdict"], answer["complete"], answer["bounds"]["stopped_by"]) == ("UNSAFE", True, None)
    assert answer["stats"]["complete"] + answer["stats"]["failed"] == 4
    text = check(tmp_path, STORE_BUFFERING, "-m", "tso", "--", RELAXED).out
    assert "stopped at the first violation" in text
    assert "--keep-going explores all" in text
    assert "stopped" not in check(tmp_path, STORE_BUFFERING, "-m", "tso", "--keep-going", "--", RELAXED).out


def test_all_violations_are_listed(tmp_path: Path) -> None:
    text = "#include <assert.h>\nint __VERIFIER_nondet_int(void);\nint main(void) {\n  if (__VERIFIER_nondet_int())\n"
    text += "    assert(0);\n  else\n    assert(!1);\n}\n"
    answer = json.loads(check(tmp_path, text, "-m", "sc", "--keep-going", "--json", "-").out)
    found = [answer["violation"], *answer["violation"]["others"]]
    assert sorted(item["line"] for item in found) == [5, 7]
    assert answer["stats"]["violations"] == 2


# --- the run that shows it


def test_the_run_is_shown_by_lines(tmp_path: Path) -> None:
    out = check(tmp_path, STORE_BUFFERING, "-m", "tso", "--", RELAXED).out
    run = out[out.index("The run that shows it") :]
    assert "thread 1 runs left, started by thread 0 at line 18" in run
    assert re.search(r"^ +7  #\d+ writes x = 1 +atomic_store_explicit\(&x, 1, ORDER\);$", run, re.MULTILINE)
    assert re.search(r"^ +8  #\d+ reads y = 0, the initial value +seen_y = ", run, re.MULTILINE)
    assert re.search(r"^ +18  #\d+ pthread_create: starts thread 1 +pthread_create", run, re.MULTILINE)
    assert re.search(r"^ +20  #\d+ pthread_join: thread 1 has ended +pthread_join", run, re.MULTILINE)
    assert re.search(r"^ +22  #\d+ reads seen_x = 0, from #\d+ of thread 2 ", run, re.MULTILINE)
    assert re.search(r"thread 1: #\d+ writes x \(line 7\), and then #\d+ reads y \(line 8\)", run)
    assert re.search(r"because of the cycle #\d+ -po-> #\d+ -fr-> #\d+ -po-> #\d+ -fr-> #\d+", run)
    assert "fence" not in run


WRONG = r"""#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, k = PTHREAD_MUTEX_INITIALIZER;
struct { int head; int items[2]; } queue;
int *shared;
static void take(pthread_mutex_t *a, pthread_mutex_t *b) {
  pthread_mutex_lock(a);
  pthread_mutex_lock(b);
  queue.items[1] = 3;
  pthread_mutex_unlock(b);
  pthread_mutex_unlock(a);
}
void *worker(void *_) {
  printf("worker %s %d\n", "says", 7);
#if CASE == 1
  take(&m, &k);
#elif CASE == 2
  free(shared);
#elif CASE == 3
  queue.items[1] = 1;
#endif
  return 0;
}
int main(void) {
  pthread_t t;
  shared = malloc(4);
  pthread_create(&t, 0, worker, 0);
#if CASE == 1
  take(&k, &m);
#elif CASE == 2
  *shared = 1;
#elif CASE == 3
  queue.items[1] = 2;
#elif CASE == 4
  queue.items[queue.head + 2] = 1;
#elif CASE == 5
  pthread_mutex_unlock(&m);
#endif
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize(
    ("case", "model", "lines"),
    [
        (
            1,
            "sc",
            [
                ":9:3: violation: deadlock: 2 threads wait for ever",
                "thread 0 (main) waits at ",
                "program.c:9: pthread_mutex_lock(b);",
                "    take at ",
                "    worker at ",
                "program.c:17",
                "in take (line 17):",
            ],
        ),
        (
            2,
            "sc",
            [":32:", "use after free: access to 4 bytes of `malloc:27`", "`malloc:27` was allocated", ":19: free"],
        ),
        (3, "rc11", ["data race: two threads access `queue.items[1]`", "(main) writes 2", "(worker) writes 1"]),
        (4, "sc", ["out of bounds: access to 4 bytes at `queue`+12, 4 bytes beyond the end (it has 12 bytes)"]),
        (5, "sc", [":38:3: violation: lock misuse: `pthread_mutex_unlock`: the mutex is not locked"]),
    ],
)
def test_what_goes_wrong_is_told(tmp_path: Path, case: int, model: str, lines: list[str]) -> None:
    outcome = check(tmp_path, WRONG, "-m", model, "--", f"-DCASE={case}")
    assert outcome.status == 1
    for line in lines:
        assert line in outcome.out
    assert r'prints "worker says 7\n"' in outcome.out


def test_the_witness_is_written_and_replays_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    assert check(tmp_path, WRONG, "-m", "power", "--witness", str(file), "--", "-DCASE=1").status == 1
    (tmp_path / "program.c").unlink()
    outcome = dekker("replay", str(file))
    assert outcome.status == 0, outcome.out
    assert outcome.out.rstrip().endswith("holds: power allows this execution")
    assert "pthread_mutex_lock(b);" in outcome.out
    content = json.loads(file.read_text(encoding="utf-8"))
    content["violation"]["stack"][0]["line"] += 1
    file.write_text(json.dumps(content), encoding="utf-8")
    assert dekker("replay", str(file)).status == 1
    content["program"]["positions"]["main"][0] = [99, 1, 1, 1]
    file.write_text(json.dumps(content), encoding="utf-8")
    assert dekker("replay", str(file)).status == 2


def test_no_violation_no_witness(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    outcome = check(tmp_path, STORE_BUFFERING, "-m", "sc", "--witness", str(file), "--", RELAXED)
    assert outcome.status == 0
    assert "no witness" in outcome.err
    assert not file.exists()


def test_litmus_tests_show_the_final_state(tmp_path: Path) -> None:
    test = tmp_path / "t.litmus"
    test.write_text("X86 t\n{ }\n P0 ;\n MOV [x],$1 ;\n~exists (x=1)\n")
    outcome = dekker("check", str(test))
    assert outcome.status == 1
    assert "final state: ~exists ([x]=1) does not hold" in outcome.out
    assert "a: W x=1" in outcome.out


def test_what_was_found_before_an_interrupt_is_kept(tmp_path: Path) -> None:
    """With all violations wanted, Ctrl-C ends a search that would take years. Every execution has one."""
    text = "#include <pthread.h>\n#include <stdatomic.h>\n#include <assert.h>\natomic_int x;\n"
    text += "void *w(void *_) { for (int i = 0; i < 20; i++) x++; assert(x < 60); return 0; }\n"
    text += "int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, w, 0); }\n"
    file = tmp_path / "program.c"
    file.write_text(text, encoding="utf-8")
    with watched([sys.executable, "-m", "dekker", "check", str(file), "-m", "sc", "--keep-going"]) as process:
        process.wait_for(r"\r\d+ executions", 3)  # those that end with a violation do not count
        outcome = process.interrupt()
    assert outcome.status == 1, outcome
    assert "stopped by interrupt" in outcome.out
    assert "violation: assertion" in outcome.out
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main(void) { return 0 }", "expected ';'"),
        ("int f(void) { return 0; }", "main"),
        ("int far(void); int main(void) { return far(); }", "far"),
    ],
)
def test_wrong_programs_are_the_users_fault(tmp_path: Path, text: str, message: str) -> None:
    outcome = check(tmp_path, text)
    assert outcome.status == 2
    assert message in outcome.err


def test_what_was_not_covered_is_said(tmp_path: Path) -> None:
    stopped = check(tmp_path, STORE_BUFFERING, "-m", "sc", "--max-traces", "1", "--", RELAXED)
    assert stopped.status == 3
    assert "stopped by traces" in stopped.out
    # Whether it ends depends on what is read, and it does not only wait.
    counting = "int x; int main(void) { int n = 0; while (!*(volatile int *)&x) n++; return n; }"
    cut = check(tmp_path, counting, "-m", "sc", "--unroll", "4")
    assert (cut.status, cut.out.startswith("UNKNOWN")) == (3, True)
    assert "no execution comes to its end within the bound" in cut.out
    assert re.search(r"cut where the loop at .*program\.c:1:36 went round more than 4 times \(--unroll 4\)", cut.out)
    bounds = json.loads(check(tmp_path, counting, "-m", "sc", "--unroll", "4", "--json", "-").out)["bounds"]
    assert [(place["line"], place["column"]) for place in bounds["cut"]] == [(1, 36)]


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "power", "aarch64", "riscv", "rc11"])
def test_all_engines_agree_on_a_program_with_threads(tmp_path: Path, model: str) -> None:
    outcome = check(tmp_path, STORE_BUFFERING, "--model", model, "--engine", "all", "--", RELAXED)
    assert outcome.status == (0 if model == "sc" else 1), outcome.err
    assert "(all)" in outcome.out


BYTES = r"""#include <assert.h>
#include <pthread.h>
int number, early;
void *fill(void *_) {
  number = 0x01020304;
  return 0;
}
int main(void) {
  pthread_t thread;
  int sum = 0;
  unsigned char *bytes = (unsigned char *)&number;
  pthread_create(&thread, 0, fill, 0);
  if (EARLY) early = bytes[1];
  pthread_join(thread, 0);
  for (int i = 0; i < 4; i++) sum += bytes[i];
  assert(sum == 10);
}
"""


@pytest.mark.parametrize("model", ["sc", "tso", "power", "rc11"])
def test_an_int_may_be_read_by_bytes_where_nothing_races(tmp_path: Path, model: str) -> None:
    outcome = check(tmp_path, BYTES, "--model", model, "--", "-DEARLY=0")
    assert (outcome.status, outcome.err) == (0, "")


def test_what_races_in_different_sizes_is_refused_with_both_lines(tmp_path: Path) -> None:
    outcome = check(tmp_path, BYTES, "--model", "tso", "--", "-DEARLY=1")
    assert outcome.status == 2
    assert "program.c:5:10: error: threads access the same bytes in different sizes" in outcome.err
    assert "program.c:13" in outcome.err


RESET = r"""#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
union { int whole; char bytes[4]; } u;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *end;
void *writer(void *_) {
  pthread_mutex_lock(&lock);
  u.whole = 0x01020304;
  end = (int *)malloc(8) + 2;
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  pthread_mutex_lock(&lock);
  if (end) assert(u.bytes[1] != 3);
  pthread_mutex_unlock(&lock);
  pthread_join(t, 0);
}
"""


@pytest.mark.parametrize("model", ["rc11", "power"])
def test_what_goes_wrong_in_pieces_has_a_run_that_replays(tmp_path: Path, model: str) -> None:
    witness = tmp_path / "run.json"
    outcome = check(tmp_path, RESET, "--model", model, "--witness", str(witness))
    assert outcome.status == 1
    assert "program.c:19:12: violation: assertion: the assertion `u.bytes[1] != 3` fails" in outcome.out
    assert re.search(r"reads u\S* = 3, from #", outcome.out)
    assert "end = &malloc:11+8" in outcome.out
    replayed = dekker("replay", str(witness))
    assert replayed.status == 0
    assert "holds" in replayed.out


def test_floating_point_runs_on_the_rsmc_engine(tmp_path: Path) -> None:
    text = r"""#include <assert.h>
#include <pthread.h>
double half = 0.5;
float sum;
void *add(void *_) {
  sum = (float)(half * 3) + 0.25f;
  return 0;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  pthread_join(thread, 0);
  assert(sum == 1.75f && (int)(sum * 4) == 7);
}
"""
    outcome = check(tmp_path, text, "--model", "tso")
    assert (outcome.status, outcome.err) == (0, "")
    assert "(rsmc)" in outcome.out
