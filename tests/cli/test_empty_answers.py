"""Where nothing came to its end, nothing is known: every engine says so, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker import Result, Verdict, check, compare

pytest.importorskip("ziglang", reason="the compiler is not installed")

HEADER = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
extern void __VERIFIER_assume(int);
extern _Bool __VERIFIER_nondet_bool(void);
atomic_int l, x, flag;
pthread_t t;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
"""
RUN = "int main(void) { pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }"
START = "int main(void) { pthread_create(&t, 0, f, 0); return 0; }"
NO_END = "no execution comes to its end"
STRONG_SPIN = "void *f(void *a) { while (!atomic_load(&flag)); assert(0); return 0; }"

EMPTY = {
    "a lock that is never free": "int main(void) { while (atomic_fetch_add(&l, 1) != 1) atomic_fetch_add(&l, -1); }",
    "a spin with a counter": "int main(void) { int n = 0; while (!atomic_load(&flag)) { n++; if (n > 8) n = 0; } }",
    "a server": "void *f(void *a) { for (;;) { int v = atomic_load(&x); atomic_store(&x, v < 3 ? v + 1 : 0); } }" + RUN,
    "an assumption that fails": "int main(void) { __VERIFIER_assume(0); assert(0); }",
    "assumptions that exclude each other": "int main(void) { int b = __VERIFIER_nondet_bool(); __VERIFIER_assume(b);"
    " __VERIFIER_assume(!b); assert(0); }",
    "two that hand a lock round": "void *f(void *a) { for (;;) { pthread_mutex_lock(&m);"
    " x = 1; pthread_mutex_unlock(&m); } } int main(void) { pthread_create(&t, 0, f, 0); f(0); }",
}
ENDING = {
    "main returns while a thread spins": STRONG_SPIN + START,
    "main returns while a thread wants a lock": "void *f(void *a) { pthread_mutex_lock(&m); assert(0); return 0; }"
    "int main(void) { pthread_mutex_lock(&m); pthread_create(&t, 0, f, 0); return 0; }",
    "a server that may stop": "void *f(void *a) { while (__VERIFIER_nondet_bool()) atomic_store(&x, 1); return 0; }"
    + RUN,
    "exit": "int main(void) { exit(0); }",
}


def source(folder: Path, text: str) -> str:
    file = folder / "program.c"
    file.write_text(HEADER + text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("engine", ["rsmc", "states", "transform", None])
@pytest.mark.parametrize("text", EMPTY.values(), ids=EMPTY)
def test_nothing_is_known(tmp_path: Path, text: str, engine: str | None) -> None:
    chosen = [] if engine is None else ["--engine", engine]
    outcome = dekker("check", source(tmp_path, text), "-m", "tso", *chosen)
    assert (outcome.status, outcome.out.split()[0]) == (3, "UNKNOWN"), outcome.out
    assert NO_END in outcome.out or "stopped by" in outcome.out


@pytest.mark.parametrize("engine", ["rsmc", "states", "transform", None])
def test_a_spin_with_back_off_waits_for_ever(tmp_path: Path, engine: str | None) -> None:
    """How long it waits between two looks is nothing that the program computes with."""
    text = "void *f(void *a) { int n = 1; while (!atomic_load(&flag)) n = n < 64 ? 2 * n : 1; }" + RUN
    chosen = [] if engine is None else ["--engine", engine]
    outcome = dekker("check", source(tmp_path, text), "-m", "tso", *chosen)
    assert (outcome.status, "threads wait for ever" in outcome.out) == (1, True), outcome.out


@pytest.mark.parametrize("name", ["an assumption that fails", "a spin with a counter"])
def test_the_oracle_knows_nothing_either(tmp_path: Path, name: str) -> None:
    for engine in ("axiomatic", "all"):
        outcome = dekker("check", source(tmp_path, EMPTY[name]), "-m", "sc", "--engine", engine)
        assert (outcome.status, NO_END in outcome.out) == (3, True), outcome.out


@pytest.mark.parametrize("engine", ["rsmc", "states", "transform", "axiomatic"])
@pytest.mark.parametrize("text", ENDING.values(), ids=ENDING)
def test_what_ends_counts(tmp_path: Path, text: str, engine: str) -> None:
    outcome = dekker("check", source(tmp_path, text), "-m", "tso", "--engine", engine, "--unroll", "2")
    assert outcome.status == 0, outcome.out + outcome.err
    assert " 0 complete" not in outcome.out
    assert " 0 outcomes" not in outcome.out


def test_a_deadlock_is_an_end_unless_nobody_wants_to_know(tmp_path: Path) -> None:
    text = "int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); }"
    for engine in ("rsmc", "states", "axiomatic"):
        program = source(tmp_path, text)
        assert dekker("check", program, "-m", "sc", "--engine", engine).status == 1
        assert dekker("check", program, "-m", "sc", "--engine", engine, "--no-deadlocks").status == 3


def test_every_format_says_so(tmp_path: Path) -> None:
    program = source(tmp_path, EMPTY["a server"])
    files = {form: tmp_path / f"answer.{form}" for form in ("json", "sarif", "junit", "html")}
    options = [word for form, file in files.items() for word in (f"--{form}", str(file))]
    witness = tmp_path / "witness.yml"
    outcome = dekker("check", program, "-m", "tso", *options, "--witness-yaml", str(witness))
    assert outcome.status == 3
    answer = json.loads(files["json"].read_text())
    assert (answer["verdict"], answer["undecided"]) == ("UNKNOWN", NO_END)
    assert f"undecided under tso: {NO_END}" in files["sarif"].read_text()
    assert f"undecided: {NO_END}" in files["junit"].read_text()
    assert NO_END in files["html"].read_text()
    assert "UNKNOWN" in files["html"].read_text()
    assert not witness.exists()


def test_the_api_says_so(tmp_path: Path) -> None:
    program = source(tmp_path, EMPTY["a server"])
    found = check(program, "tso")
    assert (found.verdict, found.holds) == (Verdict.UNKNOWN, False)
    assert NO_END in str(found)
    assert {item.verdict for item in compare(program, ["sc", "power"]).values()} == {Verdict.UNKNOWN}
    assert isinstance(found, Result)


def test_a_comparison_says_so(tmp_path: Path) -> None:
    outcome = dekker("compare", source(tmp_path, EMPTY["a server"]), "-m", "sc,power")
    assert outcome.status == 3
    assert outcome.out.count(NO_END) == 2


def test_a_checkpoint_says_so(tmp_path: Path) -> None:
    file = str(tmp_path / "state")
    program = source(tmp_path, EMPTY["an assumption that fails"])
    assert dekker("check", program, "-m", "sc", "--checkpoint", file).status == 3
    resumed = dekker("resume", file)
    assert (resumed.status, NO_END in resumed.out) == (3, True)


def test_no_fence_is_known_to_be_needed_or_not(tmp_path: Path) -> None:
    outcome = dekker("fences", source(tmp_path, EMPTY["a server"]), "-m", "tso")
    assert outcome.status == 3
    assert "undecided" in outcome.out
    assert NO_END in outcome.out
    assert "no fence is needed" not in outcome.out


def test_fences_against_what_goes_wrong_are_not_verified(tmp_path: Path) -> None:
    text = """volatile int a, b, r, s;
void *f(void *p) { a = 1; r = b; for (;;) x = x < 3 ? x + 1 : 0; }
int main(void) { pthread_create(&t, 0, f, 0); b = 1; s = a; assert(r || s || !flag); for (;;) x = 0; }
"""
    outcome = dekker("fences", source(tmp_path, text), "-m", "tso", "--unroll", "1")
    assert "verified" not in outcome.out
    assert outcome.status == 3


FILTERED = "X86 filtered\n{ }\n P0 ;\n MOV [x],$1 ;\n MOV EAX,[x] ;\nfilter (0:EAX=7)\n"
NEVER_LINKED = """AArch64 never
{ 0:X0=x; 0:X3=y; }
 P0              ;
 L:              ;
 LDXR W1,[X0]    ;
 STXR W2,W1,[X3] ;
 CBNZ W2,L       ;
"""
RUNAWAY = "X86 runaway\n{ }\n P0 ;\n L: ;\n XOR [x],$1 ;\n JMP L ;\n"


@pytest.mark.parametrize("quantifier", ["exists", "~exists", "forall"])
@pytest.mark.parametrize("text", [FILTERED, NEVER_LINKED, RUNAWAY], ids=["filtered", "never linked", "runaway"])
def test_litmus_tests(tmp_path: Path, text: str, quantifier: str) -> None:
    test = tmp_path / "empty.litmus"
    test.write_text(f"{text}{quantifier} (x=1)\n")
    for engine in ("rsmc", "axiomatic", "states", "transform", "all", "auto"):
        outcome = dekker("litmus", str(test), "--model", "tso", "--engine", engine)
        assert (outcome.status, "\nUnknown\n" in outcome.out) == (3, True), (engine, outcome.out)


def test_every_format_of_litmus_tests_says_so(tmp_path: Path) -> None:
    test = tmp_path / "never.litmus"
    test.write_text(f"{NEVER_LINKED}exists (x=1)\n")
    files = {form: tmp_path / f"answer.{form}" for form in ("json", "junit", "html")}
    options = [word for form, file in files.items() for word in (f"--{form}", str(file))]
    assert dekker("litmus", str(test), *options).status == 3
    answer = json.loads(files["json"].read_text())
    assert (answer["verdict"], answer["positive"], answer["negative"]) == ("Unknown", 0, 0)
    assert f"undecided: {NO_END}" in files["junit"].read_text()
    assert NO_END in files["html"].read_text()
    assert "Unknown" in files["html"].read_text()
    assert dekker("check", str(test)).status == 3
    assert dekker("compare", str(test), "-m", "sc,aarch64").status == 3


@pytest.mark.parametrize(("quantifier", "status"), [("exists", 1), ("~exists", 3), ("forall", 3)])
def test_where_all_wait_for_ever_nothing_holds(tmp_path: Path, quantifier: str, status: int) -> None:
    test = tmp_path / "waits.litmus"
    test.write_text(f"X86 waits\n{{ }}\n P0 ;\n L: ;\n MOV EAX,[x] ;\n CMP EAX,$1 ;\n JNE L ;\n{quantifier} (x=1)\n")
    for engine in ("rsmc", "axiomatic", "states", "all"):
        outcome = dekker("litmus", str(test), "--model", "tso", "--engine", engine)
        said = "\nNo\n" if status == 1 else "\nUnknown\n"
        assert (outcome.status, said in outcome.out) == (status, True), (engine, outcome.out)
        assert (NO_END in outcome.out) == (status == 3)
        assert "\nDeadlock 1\n" in outcome.out


UNREACHED = f"{NO_END}: nothing goes wrong in these states, but in none of them all threads have ended"


@pytest.mark.parametrize(
    "thread",
    ["for (;;) x = 1;", "x = 1; __VERIFIER_assume(x == 2);", "while (!flag); assert(0);"],
    ids=["a server", "an assumption that fails", "a flag that nobody sets"],
)
@pytest.mark.parametrize("check", ["assert(x == 2);", "assert(0);", ""])
def test_the_modular_engine_checks_what_follows_threads_that_end(tmp_path: Path, thread: str, check: str) -> None:
    body = f"void *f(void *a) {{ {thread} return 0; }}"
    main = f"int main(void) {{ pthread_t own; pthread_create(&own, 0, f, 0); pthread_join(own, 0); {check} return 0; }}"
    outcome = dekker("modular", source(tmp_path, body + main))
    assert (outcome.status, UNREACHED in outcome.out) == (3, True), outcome


@pytest.mark.parametrize(
    "text",
    ["process w { r := 1; assume(r = 0); assert(r = 1) }", "class w(many) { r := 0; while(r = 0) { read: r := x } }"],
)
def test_lang_programs_that_never_end(tmp_path: Path, text: str) -> None:
    program = tmp_path / "never.lang"
    program.write_text(f"var x = 0;\n{text}\n", encoding="utf-8")
    page, record = tmp_path / "answer.html", tmp_path / "answer.json"
    outcome = dekker("modular", str(program), "--html", str(page), "--json", str(record))
    assert (outcome.status, UNREACHED in outcome.out) == (3, True)
    assert UNREACHED in page.read_text(encoding="utf-8")
    assert json.loads(record.read_text(encoding="utf-8"))["verdict"] == "UNKNOWN"


@pytest.mark.parametrize(("assumed", "status"), [("x == 2", 3), ("x == 1", 1), ("x == 3", 3)])
def test_what_main_assumes_when_all_have_ended(tmp_path: Path, assumed: str, status: int) -> None:
    start = "pthread_t own; pthread_create(&own, 0, f, 0); pthread_join(own, 0);"
    main = f"int main(void) {{ {start} __VERIFIER_assume({assumed}); assert(0); }}"
    outcome = dekker("modular", source(tmp_path, "void *f(void *a) { x = 1; return 0; }" + main))
    assert (outcome.status, UNREACHED in outcome.out) == (status, status == 3), outcome
