"""Labels that start threads, and functions of CBMC without declaration."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.errors import InputError, UnsupportedError
from dekker.frontends.c import parse_c
from dekker.frontends.c.cprover import start_threads
from dekker.ir.instructions import Spawn, Store
from dekker.models import load_model
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check_program
from dekker.task import Limits, Search

pytestmark = needs_compiler

HEAD = """#include <pthread.h>
int x, y, seen_x, seen_y, done;
#define END __CPROVER_atomic_begin(); done = done + 1; __CPROVER_atomic_end();
void left() { x = 1; seen_y = y; END }
void right(int value) { y = value; seen_x = x; END }
"""
CHECK = """  __CPROVER_assume(done == 2);
  __CPROVER_assert(seen_x || seen_y, "one is seen");
"""


def result_of(folder: Path, text: str, model: str = "sc", *, name: str = "test.c") -> Result:
    return check_program(from_c(folder, text, name=name), load_model(model), CheckOptions()).result


def main_of(statements: str, check: str = CHECK) -> str:
    return f"{HEAD}int main(void) {{\n  int one = 1;\n{statements}\n{check}  return 0;\n}}\n"


FORMS = {
    "calls": "__CPROVER_ASYNC_1: left();\n__CPROVER_ASYNC_2: right(one);\none = 7;",
    "blocks": "__CPROVER_ASYNC_1: { x = 1; seen_y = y; END }\n"
    "__CPROVER_ASYNC_2:\n{ y = one; seen_x = x; END } one = 7;",
    "assignments": "__CPROVER_ASYNC_1: x = 1, seen_y = y, done = done + 1; __CPROVER_ASYNC_2: right(1);",
    "statements": "__CPROVER_ASYNC_1: if (one) left(); else { one++; }\n"
    "for (;one;) { __CPROVER_ASYNC_2: right(1); break; }",
    "loops in a thread": "__CPROVER_ASYNC_1: for (int i = 0; i < 3; i++) if (i == 2) left();\n"
    "__CPROVER_ASYNC_2: right(1);",
    "several labels": "A: __CPROVER_ASYNC_1: left(); __CPROVER_ASYNC_x: do right(1); while (0); if (0) goto A;",
    "macros": "#define ASYNC(n) __CPROVER_ASYNC_##n:\nASYNC(1) left();\nASYNC(2) right(one);",
    "a thread in a thread": "__CPROVER_ASYNC_1: { __CPROVER_ASYNC_2: left(); right(one); }",
    "text that looks like one": 'const char *t = "__CPROVER_ASYNC_9: f("; char q = \'"\'; __CPROVER_ASYNC_1: left();\n'
    "__CPROVER_ASYNC_2: right(t && q); /* __CPROVER_ASYNC_3: */",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("model", "fails"), [("sc", False), ("tso", True), ("power", True)])
def test_store_buffering(tmp_path: Path, form: str, model: str, fails: bool) -> None:
    result = result_of(tmp_path, main_of(FORMS[form]), model)
    assert [violation.kind for violation in result.violations] == ["assertion"] * fails
    assert result.complete_executions > 0


def test_as_with_pthread_create(tmp_path: Path) -> None:
    by_label = "x = one;\n__CPROVER_ASYNC_1: left();\n__CPROVER_ASYNC_2: right(1);"
    by_call = """x = one;
  pthread_t t;
  pthread_create(&t, 0, (void *(*)(void *))left, 0);
  pthread_create(&t, 0, (void *(*)(void *))right, (void *)1);"""
    for model in ("sc", "tso", "power"):
        found = [result_of(tmp_path, main_of(text), model) for text in (by_label, by_call)]
        first, second = ((r.complete_executions, r.blocked, r.statistics["failed"]) for r in found)
        assert first == second


def test_a_thread_has_its_own_copy_of_local_variables(tmp_path: Path) -> None:
    statements = """  int shared = 0, *where = &shared;
  for (int i = 1; i < 3; i++) {
    __CPROVER_ASYNC_1: { i += 10; one = i; *where = 1; __CPROVER_assert(one == 11 || one == 12, "copies"); END }
  }
  __CPROVER_assume(done == 2);
  __CPROVER_assert(one == 1, "not changed");
  __CPROVER_assert(shared == 1, "shared, because its address is taken");"""
    result = result_of(tmp_path, main_of(statements, ""))
    assert not result.violations
    assert result.complete_executions > 0


def test_threads_have_their_own_thread_local_variables(tmp_path: Path) -> None:
    text = """_Thread_local int mine = 5;
int main(void) {
  mine = 6;
  __CPROVER_ASYNC_1: { __CPROVER_assert(mine == 5, "fresh"); mine = 7; }
  __CPROVER_assert(mine == 6, "of the first thread");
}"""
    result = result_of(tmp_path, text)
    assert not result.violations
    assert result.complete_executions == 1


def test_a_function_that_starts_threads_may_be_called_often(tmp_path: Path) -> None:
    text = HEAD + "void start(int v) { __CPROVER_ASYNC_1: { x = v; END } }\n"
    text += "int main(void) { start(1); start(2); __CPROVER_assume(done == 2); __CPROVER_assert(x == WANTED, 0); }\n"
    for wanted in ("1", "2"):
        assert result_of(tmp_path, text.replace("WANTED", wanted)).violations
    assert not result_of(tmp_path, text.replace("x == WANTED", "x == 1 || x == 2")).violations


def test_labels_in_included_files_and_in_cpp(tmp_path: Path) -> None:
    (tmp_path / "threads.h").write_text("__CPROVER_ASYNC_1: left();\n__CPROVER_ASYNC_2: right(one);\n")
    text = main_of(f'#include "{tmp_path}/threads.h"')
    assert result_of(tmp_path, text, "tso").violations
    assert not result_of(tmp_path, text).violations
    assert result_of(tmp_path, main_of(FORMS["calls"]), "tso", name="test.cpp").violations


def test_lines_and_columns_stay(tmp_path: Path) -> None:
    text = main_of(
        '__CPROVER_ASYNC_1: { x = 1;\n  x = 2; } __CPROVER_assert(y, "y");\n  __CPROVER_assert(y == 2, "two");', ""
    )
    places = [violation.span for violation in result_of(tmp_path, text).violations]
    assert [(span.line, span.column, span.text) for span in places if span] == [(9, 12, '__CPROVER_assert(y, "y")')]
    program = from_c(tmp_path, text)
    (spawn,) = (i for i, step in enumerate(program.function_by_name["main"].body) if isinstance(step, Spawn))
    span = program.function_by_name["main"].span(spawn)
    assert span is not None
    assert span.line == 8


@pytest.mark.parametrize(
    ("statements", "message", "line"),
    [
        ("__CPROVER_ASYNC_1: return 0;", "`return` behind the label", 8),
        ("\n__CPROVER_ASYNC_1: { one = 2; goto END_OF_MAIN; }\nEND_OF_MAIN: ;", "`goto` behind the label", 9),
        ("while (one) { __CPROVER_ASYNC_1: { break; } }", "`break` behind the label", 8),
        ("while (one) __CPROVER_ASYNC_1: continue;", "`continue` behind the label", 8),
    ],
)
def test_jumps_out_of_a_thread_are_refused(tmp_path: Path, statements: str, message: str, line: int) -> None:
    with pytest.raises(UnsupportedError) as error:
        from_c(tmp_path, main_of(statements))
    assert message in error.value.diagnostic.message
    assert error.value.diagnostic.span is not None
    assert error.value.diagnostic.span.line == line


def test_other_refusals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pthread_self"):
        from_c(tmp_path, main_of("__CPROVER_ASYNC_1: left(); return pthread_self() == 0;", ""))
    file = tmp_path / "test.ll"
    file.write_text("define i32 @main() {\n  br label %__CPROVER_ASYNC_1\n\n__CPROVER_ASYNC_1:\n  ret i32 0\n}\n")
    with pytest.raises(UnsupportedError, match="the end of its statement is lost"):
        parse_c([str(file)])
    with pytest.raises(InputError, match="__CPROVER_frob"):
        result_of(tmp_path, "int main(void) { __CPROVER_assume(1); __CPROVER_frob(1); }")


@pytest.mark.parametrize(
    "text",
    [
        "__CPROVER_ASYNC_1: f(",
        "{ __CPROVER_ASYNC_1: }",
        "__CPROVER_ASYNC_1: f() }",
        "__CPROVER_ASYNC_1:",
        "if __CPROVER_ASYNC_1: if x;",
    ],
)
def test_texts_that_no_compiler_would_take(text: str) -> None:
    with pytest.raises(UnsupportedError):
        start_threads(f'# 1 "missing.c"\n{text}')


def test_a_text_without_labels_is_not_changed() -> None:
    text = '# 1 "a.c"\nint f(int __CPROVER_ASYNC_1) { return 1 ? __CPROVER_ASYNC_1 : 2; }\n'
    assert start_threads(text) == text


BUFFERED = """int x, y, r1, r2, d1, d2;
int main(void) {
__CPROVER_ASYNC_1: { x = 1; r1 = y; d1 = 1; }
__CPROVER_ASYNC_2: { y = 1; r2 = x; d2 = 1; }
  __CPROVER_assume(d1 && d2);
  __CPROVER_assert(r1 || r2, "one is seen");
}
"""


def test_a_thread_holds_its_statement_alone(tmp_path: Path) -> None:
    functions = from_c(tmp_path, BUFFERED).functions
    spawns = {function.name: sum(isinstance(step, Spawn) for step in function.body) for function in functions}
    assert spawns == {"main": 2, "main%async0": 0, "main%async1": 0}
    stores = {function.name: sum(isinstance(step, Store) for step in function.body) for function in functions}
    assert stores == {"main": 0, "main%async0": 3, "main%async1": 3}


def test_a_thread_that_starts_threads(tmp_path: Path) -> None:
    text = main_of("__CPROVER_ASYNC_1: { __CPROVER_ASYNC_2: right(one); left(); }")
    functions = from_c(tmp_path, text).function_by_name
    spawns = {name: sum(isinstance(step, Spawn) for step in function.body) for name, function in functions.items()}
    assert {name: count for name, count in spawns.items() if name.startswith("main")} == {
        "main": 1,
        "main%async0": 1,
        "main%async1": 0,
    }
    assert not result_of(tmp_path, text).violations
    assert result_of(tmp_path, text, "tso").violations


@pytest.mark.parametrize("engine", ["rsmc", "states", "transform", "axiomatic", "all"])
@pytest.mark.parametrize("buffer", [None, 2])
def test_engines_agree_about_threads_at_labels(engine: str, buffer: int | None, tmp_path: Path) -> None:
    fenced = BUFFERED.replace("x = 1;", "x = 1; __sync_synchronize();").replace(
        "y = 1;", "y = 1; __sync_synchronize();"
    )
    limits = Limits(unroll=4, counts_known_rounds=False, stop_at_first=engine != "all")
    options = CheckOptions(engine=engine, limits=limits, search=Search(buffer=buffer))
    for text, expected in ((BUFFERED, Verdict.UNSAFE), (fenced, Verdict.SAFE)):
        assert check_program(from_c(tmp_path, text), load_model("tso"), options).verdict is expected
