"""C and C++ programs, through the compiler."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from tests.reference.sequential import Stuck, Violation, run
from tests.unit.frontends.c.programs import from_c, listing, needs_compiler

from dekker.engines.rsmc.engine import run as check_natively
from dekker.errors import InputError, UnsupportedError
from dekker.frontends.c import Options, parse_c
from dekker.frontends.c.driver import CompilerError, compile_file
from dekker.frontends.c.runtime import RUNTIME, External, ExternalCall, Runtime
from dekker.ir.expressions import ZERO, Expr
from dekker.ir.instructions import Assert, Assume, Choose, Spawn
from dekker.ir.program import SECTION_LOCK
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.source import Source
from dekker.task import Task

pytestmark = needs_compiler


def pthread_create(call: ExternalCall) -> Expr:
    """Enough of it to see how threads are started."""
    call.spawn(call.argument(2), (call.argument(3),))
    return ZERO


THREADS = Runtime(RUNTIME.table, {"pthread_create": External(pthread_create)})
CREATE = "#include <pthread.h>\nint main(void) { pthread_t t; return pthread_create(&t, 0, f, 0); }\n"


# --- the compiler


def test_compiler_errors_are_shown_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(CompilerError) as caught:
        from_c(tmp_path, "int main(void) { return y; }\n")
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/test.c:1:25: error: use of undeclared identifier 'y'")


def test_flags_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "extra.h").write_text("#define B 4\n")
    flags = ("-DA=3", f"-I{tmp_path}", "-include", "extra.h")
    assert run(from_c(tmp_path, "int main(void) { return A * 10 + B; }\n", flags=flags)).value == 34


def test_assertions_stay_unless_the_user_removes_them(tmp_path: Path) -> None:
    text = "#include <assert.h>\nint x;\nint main(void) { assert(x == 1); return 0; }\n"
    with pytest.raises(Violation, match="the assertion `x == 1` fails"):
        run(from_c(tmp_path, text))
    assert run(from_c(tmp_path, text, flags=("-DNDEBUG",))).value == 0


def test_another_compiler_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "test.c"
    path.write_text("int main(void) { return 3; }\n")
    module = tmp_path / "saved.ll"
    module.write_text(compile_file(str(path)).source.text)
    fake = tmp_path / "clang"
    fake.write_text(f'#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done\ncp {module} "$2"\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    assert run(parse_c([str(path)], Options(compiler=str(fake)))).value == 3
    with pytest.raises(InputError, match="no such program"):
        parse_c([str(path)], Options(compiler="/no/such/clang"))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.c: No such file"):
        parse_c([str(tmp_path / "missing.c")])


@pytest.mark.parametrize("name", ["test.c", "test.cpp"])
def test_without_a_cache_nothing_is_left_behind(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert run(from_c(tmp_path, "int main(void) { return 3; }\n", name=name)).value == 3
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("name", ["test.c", "test.cpp"])
def test_a_changed_header_is_noticed(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    header = tmp_path / "value.h"
    for number in (4, 5):
        header.write_text(f"#define VALUE {number}\n")
        assert (
            run(from_c(tmp_path, '#include "value.h"\nint main(void) { return VALUE; }\n', name=name)).value == number
        )


# --- programs


def test_instructions_know_their_lines(tmp_path: Path) -> None:
    program = from_c(tmp_path, "int x, y;\nint main(void) {\n  x = 1;\n  y = x;\n  return 0;\n}\n")
    body = program.function_by_name["main"]
    lines = [span and span.line for span in body.spans]
    assert lines == [3, 4, 4, 5]
    assert str(body.spans[0]).endswith("test.c:3:5")


def test_several_files_make_one_program(tmp_path: Path) -> None:
    first, second = tmp_path / "a.c", tmp_path / "b.c"
    first.write_text(
        "extern int twice(int); static int k = 5; extern int shared;\nint main(void) { return twice(k) + shared; }\n"
    )
    second.write_text("static int k = 2; int shared = 7;\nint twice(int x) { return k++ * x; }\n")
    program = parse_c([str(first), str(second)])
    assert run(program).value == 17
    assert {item.name for item in program.objects} == {"k", "k@2", "shared"}
    second.write_text("int main(void) { return 1; }\n")
    with pytest.raises(InputError, match=r"`main` is defined twice: at .*a\.c:2:.* and at .*b\.c:1:"):
        parse_c([str(first), str(second)])


def test_unknown_functions_are_named_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_natively(
            Task(from_c(tmp_path, "void mystery(void);\nint main(void) {\n  mystery();\n}\n"), load_model("sc"))
        )
    text = str(caught.value)
    assert "test.c:3:3: error: the function `mystery` is not defined" in text
    assert "; define it in a file" in text


def test_long_double_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"test\.c:1:.*x86_fp80"):
        from_c(tmp_path, "long double x; int main(void) { x = x * 2; return 0; }\n")


def test_main_has_arguments(tmp_path: Path) -> None:
    text = """#include <string.h>
int main(int argc, char **argv) { return argc * 100 + strlen(argv[0]) + (argv[1] == 0); }
"""
    assert run(from_c(tmp_path, text)).value == 108


def test_heap_and_its_errors(tmp_path: Path) -> None:
    text = """#include <stdlib.h>
int main(void) { int *p = malloc(8); p[1] = 3; int r = p[INDEX]; free(p); TWICE; free(0); return r; }
"""
    assert run(from_c(tmp_path, text, flags=("-DINDEX=1", "-DTWICE="))).value == 3
    with pytest.raises(Violation, match="in no object"):
        run(from_c(tmp_path, text, flags=("-DINDEX=2", "-DTWICE=")))
    with pytest.raises(Violation, match="free"):
        run(from_c(tmp_path, text, flags=("-DINDEX=1", "-DTWICE=free(p)")))


def test_functions_of_verification_tasks(tmp_path: Path) -> None:
    program = from_c(
        tmp_path,
        """
extern void abort(void);
void reach_error() {}
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void);
void assume_abort_if_not(int c) { if (!c) { abort(); } }
int x;
void __VERIFIER_atomic_step(void) { x++; }
int main(void) {
  int n = __VERIFIER_nondet_int();
  _Bool b = __VERIFIER_nondet_bool();
  assume_abort_if_not(n > 0);
  __VERIFIER_atomic_begin();
  x += b;
  __VERIFIER_atomic_end();
  __VERIFIER_atomic_step();
  if (x > 5) reach_error();
  return 0;
}
""",
    )
    body = program.function_by_name["main"].body
    assert [(step.low, step.high) for step in body if isinstance(step, Choose)] == [(-1, 2), (0, 1)]
    assert sum(isinstance(step, Assume) for step in body) == 1
    assert [step.message for step in body if isinstance(step, Assert)] == ["`reach_error` is called"]
    for name in ("main", "__VERIFIER_atomic_step"):
        assert sum(f'[&"{SECTION_LOCK}"]' in line for line in listing(program, name)) == 2
    with pytest.raises(Stuck, match="assumption"):
        run(program)


@pytest.mark.parametrize(("before", "outcome"), [("", "violation"), ("void reach_error(void);", "end")])
def test_abort_is_an_error_except_in_verification_tasks(tmp_path: Path, before: str, outcome: str) -> None:
    use = "if (x) reach_error();" if before else ""
    text = f"#include <stdlib.h>\n{before}\nint x; int main(void) {{ {use} abort(); }}\n"
    program = from_c(tmp_path, text)
    if outcome == "end":
        assert run(program).value == 0
    else:
        with pytest.raises(Violation, match="abort"):
            run(program)


def test_thread_local_variables(tmp_path: Path) -> None:
    """Every thread has its own object, made by the function that it starts with."""
    text = "_Thread_local int k = 41; _Thread_local long z;\nvoid *f(void *p) { return (void *)(long)k++; }\n" + CREATE
    program = from_c(tmp_path, text, THREADS)
    assert program.threads[0].function == "%start"
    assert all(f.parameters[0] == "%self" for f in program.functions if not f.name.startswith("%"))
    (spawn,) = [step for step in program.function_by_name["main"].body if isinstance(step, Spawn)]
    assert listing(program, "%thread") == [
        "%self = allocate 12 zeroed stack confined",
        "store.4 [%self add.64 8] = 41",
        "result = call start(%self, argument0)",
        "return result",
    ]
    assert print_program(program).count("spawn &%thread(&f, 0)") == 1
    assert len(spawn.arguments) == 2
    assert parse_program(Source("x", print_program(program))) == program


def test_without_thread_local_variables_there_is_no_context(tmp_path: Path) -> None:
    program = from_c(tmp_path, "void *f(void *p) { return p; }\n" + CREATE, THREADS)
    assert program.threads[0].function == "main"
    assert "spawn &f(0)" in "\n".join(listing(program))


def test_thread_local_variables_have_their_initial_values(tmp_path: Path) -> None:
    text = """_Thread_local int a = 3, b; int *where(void) { return &b; }
int main(void) { *where() = 4; return a * 10 + b; }
"""
    assert run(from_c(tmp_path, text)).value == 34


def test_the_address_of_a_library_function(tmp_path: Path) -> None:
    text = """#include <stdlib.h>
void (*release)(void *) = free;
int main(void) { release(malloc(4)); release(0); return 5; }
"""
    assert run(from_c(tmp_path, text)).value == 5


def test_a_definition_of_the_program_wins(tmp_path: Path) -> None:
    text = """#include <stddef.h>
size_t strlen(const char *s) { return 77; }
int main(void) { const char *volatile s = "a"; return strlen(s); }
"""
    assert run(from_c(tmp_path, text, flags=("-fno-builtin",))).value == 77


def test_local_variables_are_registers_and_dependencies_those_of_the_source(tmp_path: Path) -> None:
    text = """#include <stdatomic.h>
atomic_int x, y;
int main(void) {
  int r = atomic_load_explicit(&x, memory_order_acquire);
  atomic_store_explicit(&y, r + 1, memory_order_release);
  return 0;
}
"""
    assert listing(from_c(tmp_path, text)) == [
        "r = load.4 [&x] acquire",
        "store.4 [&y] = r add.32 1 release",
        "exit everything 0",
    ]


CPLUSPLUS = """
#include <atomic>
#include <memory>
struct Base { virtual int f(int x) { return x; } virtual ~Base() {} };
struct Derived : Base { int k; explicit Derived(int k) : k(k) {} int f(int x) override { return x * k; } };
template <class T> T twice(T x) { return x + x; }
static int seed = [] { return 20; }();
std::atomic<int> shared{1};
int main() {
  std::unique_ptr<Base> base(new Derived(3));
  static int late = twice(shared.fetch_add(4));
  auto add = [&](int x) { return x + late; };
  try { if (late == 99) throw late; } catch (int e) { return e; }
  return base->f(5) + add(seed) + shared.load(std::memory_order_relaxed);
}
"""


def test_cplusplus(tmp_path: Path) -> None:
    assert run(from_c(tmp_path, CPLUSPLUS, name="test.cpp")).value == 15 + 22 + 5


def test_an_exception_that_nobody_catches_is_a_violation(tmp_path: Path) -> None:
    with pytest.raises(Violation, match="an exception is thrown"):
        run(from_c(tmp_path, "int main() { throw 3; }\n", name="test.cpp"))


def test_an_exception_that_could_be_caught_is_an_error(tmp_path: Path) -> None:
    text = "int main() { try { throw 3; } catch (int e) { return e; } }\n"
    program = from_c(tmp_path, text, name="test.cpp")
    with pytest.raises(UnsupportedError, match="an exception is thrown, and what happens then is not followed"):
        check_natively(Task(program, load_model("sc")))


@pytest.mark.parametrize(
    ("defined", "expected"), [("", set()), ("int opt(void) { return 1; }", {"the assertion `!n` fails"})]
)
def test_a_weak_function_that_nobody_defines_is_null(tmp_path: Path, defined: str, expected: set[str]) -> None:
    text = f"""
#include <assert.h>
extern int opt(void) __attribute__((weak));
int main(void) {{ int n = 0; if (opt) n = opt(); assert(!n); }}
{defined}
"""
    found = check_natively(Task(from_c(tmp_path, text), load_model("sc")))
    assert {violation.message for violation in found.violations} == expected
