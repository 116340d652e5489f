"""`dekker modular` on the examples, and on calls and programs that do not fit."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from tests.cli.calls import Outcome, dekker

from dekker.frontends.c import driver

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "lang"
MODELS = ("sc", "ibm370", "tso", "pso")
STATUS = {"SAFE": 0, "UNSAFE": 1, "UNKNOWN": 3}


def rows(heading: str) -> list[list[str]]:
    """The table below a heading of the README."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    part = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    return found[2:]


def answer(*arguments: str) -> dict[str, object]:
    outcome = dekker("modular", "--json", "-", *arguments)
    found: dict[str, object] = json.loads(outcome.out)
    assert outcome.status == STATUS[str(found["verdict"])]
    return found


def shown(found: dict[str, object]) -> str:
    verdict = str(found["verdict"])
    return {"SAFE": f"safe {found['states']}", "UNSAFE": "**unsafe**", "UNKNOWN": "unknown"}[verdict]


CELLS = [
    (re.findall(r"\((.*)\)", row[0])[0], model, cell)
    for heading in ("Fixed processes", "Any number of threads")
    for row in rows(heading)
    for model, cell in zip(MODELS, row[1:], strict=True)
]


@pytest.mark.parametrize(("file", "model", "cell"), CELLS)
def test_examples(file: str, model: str, cell: str) -> None:
    found = answer(str(EXAMPLES / file), "-m", model)
    assert shown(found) == cell
    covers = str(found["covers"])
    assert covers.startswith("any number of threads" if found["concrete"] else "exactly these threads")
    if found["verdict"] == "UNSAFE":
        assert found["findings"]
        assert bool(found["instance"]) == bool(found["concrete"])


def test_every_example_is_in_the_tables() -> None:
    assert {file for file, _, _ in CELLS} == {path.name for path in EXAMPLES.glob("*.lang")}


def c_rows() -> list[tuple[str, tuple[str, ...], tuple[str, ...], list[str]]]:
    """File, classes, flags and the cells of all models, or why the program does not fit."""
    found = []
    for row in rows("From C"):
        link = re.search(r"\((.*)\)", row[0])
        if link is not None:
            classes = tuple(part for name in row[1].strip("`").split() for part in ("--class", name))
            found.append((link[1], classes, tuple(row[2].strip("`").split()), row[3:]))
    return found


@pytest.fixture
def compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All models of a row see the same compiled program."""
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    monkeypatch.setattr("dekker.frontends.c.compile_file", cache(driver.compile_file))


@pytest.mark.usefixtures("compile_once")
@pytest.mark.parametrize(("file", "classes", "flags", "cells"), [row for row in c_rows() if row[3]])
def test_examples_in_c(file: str, classes: tuple[str, ...], flags: tuple[str, ...], cells: list[str]) -> None:
    for model, cell in zip(MODELS, cells, strict=True):
        found = answer(str(EXAMPLES / file), *classes, "-m", model, *(("--", *flags) if flags else ()))
        assert shown(found).partition(" ")[0] == cell
        assert ("many" in str(found["threads"])) == any("many" in name for name in classes)
        if cell == "**unsafe**":
            assert bool(found["instance"]) == bool(found["concrete"])
        if cell == "unknown":
            assert found["unbounded"]


@pytest.mark.parametrize(("file", "classes"), [row[:2] for row in c_rows() if not row[3]])
def test_examples_in_c_that_do_not_fit(file: str, classes: tuple[str, ...]) -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    (why,) = (row[2] for row in rows("From C") if row[0].endswith(f"({file})") and len(row) == 3)
    found = dekker("modular", str(EXAMPLES / file), *classes)
    assert found.status == 2
    assert why in found.err
    assert re.search(r"\.c:\d+:\d+: error: ", found.err)


def test_every_example_in_c_is_in_the_table() -> None:
    assert {row[0] for row in c_rows()} == {f"c/{path.name}" for path in EXAMPLES.glob("c/*.c")} | {"spin-lock.c"}


def test_tickets_without_end_are_unknown() -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    found = dekker("modular", str(EXAMPLES / "c" / "ticket.c"), "--class", "worker=many", "--max-states", "20000")
    assert found.status == 3
    assert "`next` had" in found.out


TABLE = re.compile(r"^\| `([\w-]+\.lang)` \| (yes|no) \| (\d+) \|", re.MULTILINE)


def test_the_tables_of_the_paper() -> None:
    """Verdicts as in the paper, counts as in the documentation, and Treiber's runs in under 20 seconds each."""
    found = TABLE.findall((ROOT / "docs" / "modular.md").read_text(encoding="utf-8"))
    assert len(found) == 8
    for file, bad, states in found:
        result = answer(str(EXAMPLES / file), "--keep-going")
        assert (result["verdict"], result["states"]) == ("UNSAFE" if bad == "yes" else "SAFE", int(states)), file
        assert isinstance(result["time_s"], float)
        assert result["time_s"] < 20


def test_other_engines_agree_on_fixed_instances() -> None:
    for name, unsafe in (("peterson", False), ("peterson-without-barrier", True), ("burns-without-barrier", True)):
        found = dekker("check", str(EXAMPLES / f"{name}.lang"), "--engine", "states", "-m", "tso")
        assert found.status == int(unsafe), found.out


def test_a_way_to_the_bad_state_is_shown() -> None:
    found = dekker("modular", str(EXAMPLES / "dekker-without-first.lang"))
    assert found.status == 1
    assert "exactly these threads: P0, P1" in found.out
    assert "comes to critical" in found.out
    assert "P0: at critical; yet to take effect: flag[0] = 1" in found.out


def test_an_instance_shows_the_error() -> None:
    found = dekker("modular", str(EXAMPLES / "treiber.lang"))
    assert "shown by push (3), pop (3):" in found.out
    assert "any number of threads: push (any number), pop (any number)" in found.out


def test_a_doubt_is_no_error() -> None:
    """With two concrete threads the lock cannot be told from a broken one, and no instance shows an error."""
    found = dekker("modular", str(EXAMPLES / "readers-writer-lock.lang"), "--concrete", "2", "--instances", "2")
    assert found.status == 3
    assert "no instance that was tried shows it; reader (2), writer (2) do not" in found.out
    assert "in the abstraction:" in found.out
    assert "another reader" in found.out


def test_writes_without_bound_name_the_loop() -> None:
    found = dekker("modular", str(EXAMPLES / "burns-unbounded.lang"))
    assert found.status == 3
    assert "P1 has no bound: in the loop at" in found.out
    assert "burns-unbounded.lang:20:3" in found.out


def test_classes_can_be_counted_in_the_call() -> None:
    file = str(EXAMPLES / "spin-lock.lang")
    assert answer(file, "--class", "worker=3")["threads"] == {"worker": 3}
    assert answer(file, "--class", "worker=3")["concrete"] is None


def lang(tmp_path: Path, text: str, *arguments: str) -> Outcome:
    path = tmp_path / "test.lang"
    path.write_text(text, encoding="utf-8")
    return dekker("modular", str(path), *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--class", "worker"), "neither NAME=many nor NAME=COUNT"),
        (("--class", "worker=-1"), "neither NAME=many nor NAME=COUNT"),
        (("--class", "nobody=2"), "there is no class `nobody`"),
        (("--class", "worker=2", "--class", "worker=3"), "counted twice"),
        (("--class", "worker=0"), "there is no thread left"),
        (("--class", "worker=1"), "this speaks of thread 2 of `worker`"),
        (("--model", "power"), "power"),
        (("--concrete", "9"), "9"),
        (("--", "-DX"), "nothing to compile"),
    ],
)
def test_wrong_calls(arguments: tuple[str, ...], message: str) -> None:
    found = dekker("modular", str(EXAMPLES / "spin-lock.lang"), *arguments)
    assert (found.status, found.out) == (2, "")
    assert message in found.err


def test_wrong_files(tmp_path: Path) -> None:
    assert "there is no file" in dekker("modular", str(tmp_path / "none.lang")).err
    assert "neither a Lang program" in dekker("modular", str(tmp_path / "none.txt")).err
    two = str(EXAMPLES / "spin-lock.lang"), str(EXAMPLES / "burns.lang")
    assert "read alone" in dekker("modular", *two).err


def test_limits(tmp_path: Path) -> None:
    counting = "var x = 0; class c(many) { read: r := x; s := r + 1; write: x := s }"
    found = lang(tmp_path, counting, "--max-states", "20000", "--concrete", "1")
    assert found.status == 3
    assert "stopped by the limit of states" in found.out
    assert "`x` had" in found.out
    assert lang(tmp_path, counting, "--timeout", "0.3", "--max-states", "100000000").status == 3


def test_what_needs_fixed_threads_is_refused(tmp_path: Path) -> None:
    found = lang(tmp_path, "class c(many) { r := 1 } forbidden final c:r = 0;")
    assert (found.status, "test.lang:1:26: error: the end of all threads" in found.err) == (2, True)
    many = dekker("check", str(EXAMPLES / "spin-lock.lang"))
    assert (many.status, "`dekker modular` handles that" in many.err) == (2, True)


C_HEAD = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <assert.h>
atomic_int x; int plain;
"""
C_MAIN = """
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, ARGUMENT);
  pthread_join(t, 0);
  return 0;
}
"""


RECURSIVE = (
    "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);"
    "pthread_mutex_init(&m, &a);"
)


@pytest.mark.parametrize(
    ("code", "main", "message", "line"),
    [
        (
            "void *worker(void *a) { int *p = malloc(4); *p = x; x = *p; free(p); return 0; }",
            C_MAIN,
            "allocates memory",
            6,
        ),
        ("void *worker(void *a) { return worker(a); }", C_MAIN, "calls itself", 6),
        (
            "pthread_t t;\nvoid *worker(void *a) { x = pthread_equal(t, pthread_self()); return 0; }",
            C_MAIN,
            "asks which thread it is",
            10,
        ),
        (
            "pthread_mutex_t m;\nvoid *worker(void *a) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }",
            C_MAIN.replace("pthread_t t;", f"pthread_t t; {RECURSIVE}"),
            "asks which thread it is",
            7,
        ),
        (
            "void *worker(void *a) { x = 1; return 0; }",
            C_MAIN.replace("return 0", "assert(x == 1); return 0"),
            "`main` looks at shared memory here",
            11,
        ),
        (
            "void *worker(void *a) { x = (int)(long)a; return 0; }",
            C_MAIN.replace("pthread_join", "pthread_create(&t, 0, worker, (void *)7);\n  pthread_join"),
            "different arguments",
            10,
        ),
        (
            "void *worker(void *a) { x = *(int *)a; return 0; }",
            C_MAIN.replace("pthread_t t;", "pthread_t t; int local = 1;").replace("ARGUMENT", "&local"),
            "pointer to a local variable",
            9,
        ),
        ("void *worker(void *a) { *(char *)&x = 1; x = 2; return 0; }", C_MAIN, "accesses of different sizes", 6),
        (
            "_Atomic(int *) shared;\nvoid *worker(void *a) { x = *shared; return 0; }",
            C_MAIN.replace("pthread_t t;", "pthread_t t; int *p = malloc(4); *p = 1; shared = p;"),
            "puts a pointer to its own memory into shared memory",
            9,
        ),
        (
            "int *shared;\nvoid *worker(void *a) { x = *shared; return 0; }",
            C_MAIN.replace("pthread_t t;", "pthread_t t; int local = 1; shared = &local;"),
            "puts a pointer to its own memory into shared memory",
            9,
        ),
    ],
)
def test_c_that_does_not_fit(tmp_path: Path, code: str, main: str, message: str, line: int) -> None:
    path = tmp_path / "test.c"
    path.write_text(C_HEAD + code + main.replace("ARGUMENT", "0"), encoding="utf-8")
    found = dekker("modular", str(path), "--class", "worker=many")
    assert (found.status, found.out) == (2, "")
    assert message in found.err
    assert f"test.c:{line}:" in found.err


def test_a_weak_exchange_of_main(tmp_path: Path) -> None:
    """Under tso it is one locked instruction, which does not fail without a reason."""
    code = "void *worker(void *a) { assert(x == 2); return 0; }"
    main = C_MAIN.replace("pthread_t t;", "pthread_t t; int e = 0; atomic_compare_exchange_weak(&x, &e, 2);")
    path = tmp_path / "test.c"
    path.write_text(C_HEAD + code + main.replace("ARGUMENT", "0"), encoding="utf-8")
    found = dekker("modular", str(path), "--class", "worker=many", "-m", "sc")
    assert (found.status, found.out) == (2, "")
    assert "weak compare-exchange here, which may fail" in found.err
    assert "test.c:8:" in found.err
    assert answer(str(path), "-m", "tso")["verdict"] == "SAFE"


def test_a_weak_exchange_of_main_that_must_fail(tmp_path: Path) -> None:
    code = "void *worker(void *a) { assert(x == 1); return 0; }"
    main = C_MAIN.replace("pthread_t t;", "pthread_t t; x = 1; int e = 0; atomic_compare_exchange_weak(&x, &e, 2);")
    path = tmp_path / "test.c"
    path.write_text(C_HEAD + code + main.replace("ARGUMENT", "0"), encoding="utf-8")
    assert answer(str(path))["verdict"] == "SAFE"


def test_main_prepares_the_memory(tmp_path: Path) -> None:
    code = """
static int table[3];
static void fill(void) { for (int i = 0; i < 3; i++) table[i] = i + 1; }
void *worker(void *a) { int seen = table[(long)a]; assert(seen == (long)a + 1); return 0; }
int main(void) {
  pthread_t t[3];
  fill();
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
"""
    path = tmp_path / "test.c"
    path.write_text(C_HEAD + code, encoding="utf-8")
    found = answer(str(path))
    assert (found["verdict"], found["threads"]) == ("SAFE", {"worker.1": 1, "worker.2": 1, "worker.3": 1})
    path.write_text(C_HEAD + code.replace("i + 1;", "i;"), encoding="utf-8")
    assert answer(str(path))["verdict"] == "UNSAFE"


def test_main_looks_at_what_the_threads_leave(tmp_path: Path) -> None:
    code = """
int expected;
void *worker(void *a) { UPDATE return 0; }
int main(void) {
  pthread_t t[2];
  expected = 2;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  plain = x;
  assert(plain == expected);
  return 0;
}
"""
    path = tmp_path / "test.c"
    path.write_text(C_HEAD + code.replace("UPDATE", "x++;"), encoding="utf-8")
    assert answer(str(path))["verdict"] == "SAFE"
    path.write_text(C_HEAD + code.replace("UPDATE", "x = x + 1;"), encoding="utf-8")
    found = dekker("modular", str(path))
    assert (found.status, "the assertion `plain == expected` fails" in found.out) == (1, True)
    path.write_text(
        C_HEAD + code.replace("UPDATE", "x++;").replace("i < 2; i++) pthread_join", "i < 1; i++) pthread_join")
    )
    running = dekker("modular", str(path))
    assert (running.status, "while threads that it has started run" in running.err) == (2, True)


def test_open_numbers_are_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "test.c"
    code = "int __VERIFIER_nondet_int(void);\nvoid *worker(void *a) { x = __VERIFIER_nondet_int(); return 0; }"
    path.write_text(C_HEAD + code + C_MAIN.replace("ARGUMENT", "0"), encoding="utf-8")
    found = dekker("modular", str(path), "--class", "worker=many")
    assert found.status == 0
    assert found.out.startswith("SAFE_WITHIN_BOUND")
    assert "taken from -1..2" in found.out


MUTEX = """
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *worker(void *a) { LOCK assert(plain == 0); plain = 1; plain = 0; pthread_mutex_unlock(&m); return 0; }
"""


@pytest.mark.parametrize("model", MODELS)
def test_mutexes_of_the_library(tmp_path: Path, model: str) -> None:
    path = tmp_path / "test.c"
    text = C_HEAD + MUTEX + C_MAIN.replace("ARGUMENT", "0")
    path.write_text(text.replace("LOCK", "pthread_mutex_lock(&m);"), encoding="utf-8")
    assert answer(str(path), "--class", "worker=many", "-m", model)["verdict"] == "SAFE"
    path.write_text(text.replace("LOCK", ""), encoding="utf-8")
    found = dekker("modular", str(path), "--class", "worker=many", "-m", model)
    assert (found.status, "the mutex is not locked" in found.out) == (1, True)


C_EXAMPLES = ROOT / "examples" / "c"
FITTING = (
    "clh_lock",
    "dekker",
    "lamport",
    "peterson",
    "pgsql_bnd",
    "szymanski",
    "seqlock",
    "spsc_ring",
    "stack",
    "ticket_lock",
)


def c_cells() -> list[tuple[str, str, str, bool]]:
    """File, options, model and whether an assertion fails, from the tables of the examples in C."""
    found = []
    models: list[str] = []
    for line in (C_EXAMPLES / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == ["program", "options"]:
            models = cells[2:]
        link = re.match(r"\[(\w+)\.c\]\((.*)\)", cells[0])
        if link is None or link[1] not in FITTING:
            continue
        for model, cell in zip(models, cells[2:], strict=True):
            if model in ("tso", "pso") and cell != "**deadlock**":
                found.append((link[2], cells[1], model, "assertion" in cell))
    return found


@pytest.mark.parametrize(("file", "options", "model", "fails"), c_cells())
def test_examples_in_c_have_the_verdicts_of_their_tables(file: str, options: str, model: str, fails: bool) -> None:
    flags = options.replace("`", "").split()
    found = answer(str(C_EXAMPLES / file), "-m", model, *(("--", *flags) if flags else ()))
    assert found["verdict"] == ("UNSAFE" if fails else "SAFE")


def test_all_fitting_examples_are_found() -> None:
    assert {Path(file).stem for file, _, _, _ in c_cells()} == set(FITTING)
