"""Atomics as library calls, atomic sections, output, clocks, and the form of the library itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, from_ir, listing, main_of, needs_compiler
from tests.unit.frontends.c.verdicts import HEADERS, MODELS, is_fine, messages, result_of, two_threads

from dekker.errors import InputError
from dekker.frontends.c.runtime.templates import function_files, library, template_function
from dekker.ir.expressions import Address
from dekker.ir.flow import successors
from dekker.ir.instructions import AtomicBegin, AtomicEnd, Await, Branch, Call, Jump, Print

CHOSEN_BY_NAME = {"construct", "lock", "unlock", "trylock", "checked_unlock", "begin_wait", "clear_mutexes"}


LOOPING = ("strings.ir", "numbers.ir", "sorting.ir", "format.ir")


def test_only_what_goes_over_bytes_and_elements_loops() -> None:
    """A loop counts against the bound of the user's program."""
    files = {name: place for name, place in function_files().items() if place not in LOOPING}
    assert len(files) > 30
    for function in map(template_function, files):
        for index, step in enumerate(function.body):
            if isinstance(step, Jump | Branch):
                assert function.labels[step.target] > index, function.name


def test_everything_in_the_library_is_reached_and_known() -> None:
    for function in library().values():
        reached, pending = set(), [0]
        while pending:
            index = pending.pop()
            if index not in reached and index < len(function.body):
                reached.add(index)
                pending += successors(function, index)
        assert reached == set(range(len(function.body))), function.name
        for step in function.body:
            if isinstance(step, Call) and isinstance(step.function, Address):
                assert step.function.symbol in library().keys() | CHOSEN_BY_NAME


def test_awaits_of_the_library_go_back_to_what_they_read() -> None:
    awaits = [(function, step) for function in library().values() for step in function.body if isinstance(step, Await)]
    assert len(awaits) > 10
    for function, step in awaits:
        assert function.labels[step.target] <= function.body.index(step)


# --- atomics


def numbered_anew(lines: list[str]) -> list[str]:
    """With names that the front end makes numbered in the order of their appearance."""
    names: dict[str, str] = {}
    return [re.sub(r"%[tl]\d+", lambda match: names.setdefault(match[0], f"%{len(names) + 1}"), line) for line in lines]


def test_atomic_library_calls_become_accesses_with_their_order(tmp_path: Path) -> None:
    before = """@x = global i32 0
declare i32 @__atomic_load_4(ptr, i32)
declare void @__atomic_store_4(ptr, i32, i32)
declare i32 @__atomic_fetch_add_4(ptr, i32, i32)
declare i32 @__sync_add_and_fetch_4(ptr, i32)
declare void @__atomic_load(i64, ptr, ptr, i32)
declare i1 @__atomic_compare_exchange_4(ptr, ptr, i32, i32, i32)
declare void @__sync_synchronize()
@y = global i32 0
"""
    body = """
  %a = call i32 @__atomic_load_4(ptr @x, i32 2)
  call void @__atomic_store_4(ptr @x, i32 %a, i32 3)
  %b = call i32 @__atomic_fetch_add_4(ptr @x, i32 1, i32 0)
  %c = call i32 @__sync_add_and_fetch_4(ptr @x, i32 5)
  call void @__atomic_load(i64 4, ptr @x, ptr @y, i32 5)
  %d = call i1 @__atomic_compare_exchange_4(ptr @x, ptr @y, i32 7, i32 4, i32 2)
  call void @__sync_synchronize()
  %e = add i32 %b, %c
  ret i32 %e"""
    lines = listing(from_ir(tmp_path, main_of(body, before)))
    assert numbered_anew(lines) == [
        "a = load.4 [&x] acquire",
        "store.4 [&x] = a release",
        "b = rmw.add.4 [&x], 1 relaxed",
        "c = rmw.add.4 [&x], 5 seq_cst",
        "%1 = load.4 [&x] seq_cst",
        "store.4 [&y] = %1",
        "%2 = load.4 [&y]",
        "%3, %4 = cmpxchg.4 [&x] %2 -> 7 acq_rel/acquire",
        "branch %4 -> %5",
        "store.4 [&y] = %3",
        "fence c11.seq_cst",
        "exit everything b add.32 (c add.32 5)",
    ]


def test_wide_atomics_are_refused(tmp_path: Path) -> None:
    before = "@x = global i128 0\n@y = global i128 0\ndeclare void @__atomic_load(i64, ptr, ptr, i32)\n"
    body = "  call void @__atomic_load(i64 16, ptr @x, ptr @y, i32 5)\n  ret i32 0"
    with pytest.raises(InputError, match="`__atomic_load`: atomic accesses of 16 bytes are not supported"):
        from_ir(tmp_path, main_of(body, before))


# --- atomic sections

SECTION = "__VERIFIER_atomic_begin(); n++; __VERIFIER_atomic_end();"
DECLARED = "int n; void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);"
NAMED = "int n; void __VERIFIER_atomic_add(void) { if (n > 100) return; n++; }"


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("before", "body"), [(DECLARED, SECTION), (NAMED, "__VERIFIER_atomic_add();")])
def test_atomic_sections_exclude_one_another(tmp_path: Path, model: str, before: str, body: str) -> None:
    text = two_threads(body, body, before=before, check="assert(n == 2);")
    program = from_c(tmp_path, HEADERS + text)
    assert not any(isinstance(step, AtomicBegin | AtomicEnd) for f in program.functions for step in f.body)
    assert is_fine(result_of(tmp_path, text, model))


@needs_compiler
def test_a_section_left_open_blocks_the_others(tmp_path: Path) -> None:
    text = two_threads(SECTION.replace("__VERIFIER_atomic_end();", ""), SECTION, before=DECLARED)
    assert result_of(tmp_path, text).deadlocks > 0


# --- output, clocks, random numbers


@needs_compiler
def test_output_has_no_effect_and_is_noted(tmp_path: Path) -> None:
    text = """
int main(void) {
  int n = printf("%d of %s\\n", 3, "x");
  assert(puts("done") == 5);
  fprintf(stderr, "plain");
  fputc('!', stdout);
  fflush(stdout);
  return n;
}"""
    program = from_c(tmp_path, HEADERS + text)
    function = program.function_by_name["main"]
    notes = [
        (step.text, len(step.arguments), span.line)
        for step, span in zip(function.body, function.spans, strict=True)
        if isinstance(step, Print) and span is not None
    ]
    first = HEADERS.count("\n") + 3
    assert notes == [
        ("%d of %s\n", 2, first),
        ("done\n", 0, first + 1),
        ("plain", 0, first + 2),
        ("%c", 1, first + 3),
    ]
    assert is_fine(result_of(tmp_path, text))


@needs_compiler
def test_printing_may_not_write_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`printf` with the directive `%n`"):
        from_c(tmp_path, HEADERS + 'int main(void) { int n; printf("%n", &n); return n; }')


@needs_compiler
def test_random_numbers_are_any_of_a_range_and_clocks_stand_still(tmp_path: Path) -> None:
    text = """#include <time.h>
int main(void) {
  srand(time(0));
  int r = rand();
  assert(r >= 0 && r <= 2 && time(0) == 0);
  assert(r != 2);
  return 0;
}"""
    assert messages(result_of(tmp_path, text)) == {"the assertion `r != 2` fails"}


@needs_compiler
@pytest.mark.parametrize("name", ["getpwnam", "uname"])
def test_what_is_not_known_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"the function `{name}` is not defined")):
        result_of(tmp_path, f"int {name}(void); int main(void) {{ return {name}(); }}")


@needs_compiler
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ('system("x")', "a program is one process"),
        ('(long)fopen("x", "r")', "files are not modelled"),
        ("pthread_cancel(pthread_self())", "threads are not cancelled from outside"),
        ('scanf("")', "the program reads input"),
        ("getchar()", "the program reads input"),
        ("setjmp(buffer)", "jumps out of functions"),
    ],
)
def test_what_cannot_be_checked_is_an_error_that_says_why(tmp_path: Path, call: str, reason: str) -> None:
    text = f"#include <setjmp.h>\njmp_buf buffer;\nint main(void) {{ return {call}; }}"
    with pytest.raises(InputError, match=re.escape(reason)) as found:
        result_of(tmp_path, text)
    assert found.value.diagnostic.span is not None


@needs_compiler
@pytest.mark.parametrize("call", ['system("x")', "not_defined()"])
def test_what_is_never_reached_is_no_error(tmp_path: Path, call: str) -> None:
    text = f"int not_defined(void); int main(int argc, char **argv) {{ return argc == 1 ? 0 : {call}; }}"
    assert result_of(tmp_path, text).complete_executions == 1


@needs_compiler
def test_waiting_for_time_to_pass_does_nothing(tmp_path: Path) -> None:
    text = "#include <unistd.h>\n#include <sched.h>\nint main(void) { usleep(5); sleep(1); return sched_yield(); }"
    program = from_c(tmp_path, HEADERS + text)
    assert listing(program) == ["exit everything 0"]
