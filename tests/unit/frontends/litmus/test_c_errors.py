"""What C tests cannot say, and how they are told."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dekker.errors import DekkerError, ParseError, UnsupportedError
from dekker.frontends.litmus import parse_litmus
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.source import Source


def failure(text: str) -> DekkerError:
    with pytest.raises(DekkerError) as caught:
        parse_litmus(Source("test.litmus", text))
    return caught.value


def in_thread(body: str, parameters: str = "atomic_int* x") -> DekkerError:
    """The error in a thread whose body starts on line 4."""
    error = failure(f"C test\n{{}}\nP0 ({parameters}) {{\n{body}\n}}\nexists (true)\n")
    assert error.diagnostic.span is not None
    return error


@pytest.mark.parametrize(
    ("body", "column", "message", "hint"),
    [
        ("r0 = atomic_laod(x);", 6, "unknown function `atomic_laod`", "`atomic_load`"),
        ("frobnicate(x, x, x);", 1, "unknown function `frobnicate`", "<stdatomic.h>"),
        ("atomic_load(x, 1);", 1, "takes 1 argument, found 2", "atomic_load(pointer)"),
        ("atomic_store(x);", 1, "takes 2 arguments, found 1", "pointer, value"),
        ("atomic_store_explicit(x, 1, memory_order_weird);", 29, "found `memory_order_weird`", "_acquire"),
        ("atomic_store_explicit(x, 1, 5);", 29, "expected a memory order", "_acquire"),
        ("int r0 = q;", 10, "unknown name `q`", "int* q"),
        ("int count; int r0 = coumt;", 21, "unknown name `coumt`", "`count`"),
        ("int r0 = memory_order_relaxed;", 10, "does not belong here", "atomic operations"),
        ("goto out;", 1, "no label `out`", "`out:`"),
        ("in: goto out;", 5, "no label `out`", "`in`"),
        ("a: a: ;", 4, "two labels `a`", None),
        ("break;", 1, "`break` is not inside a loop", None),
        ("int r1; int* r0 = &r1;", 19, "address of the local variable `r1`", "registers"),
        ("int* r0 = &x;", 11, "already the address", "leave out"),
        ("atomic_fetch_add(1, x);", 18, "a number is not the address", "parameters"),
        ("1 = 2;", 1, "cannot be assigned", "variables"),
        ("int r0 = atomic_store(x, 1);", 10, "no value", None),
        ("int r0 = -x;", 10, "`-` needs a number", None),
        ("int* r0 = x * 2;", 11, "does not work on pointers", None),
        ("int r0 = 08;", 10, "`08` is not a number", None),
        ("int r0 = 99999999999999999999;", 10, "does not fit into 64 bits", None),
        ("int r0 = 'ab';", 10, "single character", None),
        ("itn r0 = 1;", 1, "unknown type `itn`", "`int`"),
        ("int int r0;", 1, "do not make a type", None),
        ("void r0;", 6, "cannot have type `void`", None),
        ("int r0 = 1", 11, "expected `;`", None),
        ("int r0 = (1 + ;", 15, "expected an expression, found `;`", None),
        ("else x;", 1, "no `if`", None),
        ("int r0 = @;", 10, "unexpected character `@`", None),
        ('int r0 = ";', 10, "unexpected character", "not closed"),
    ],
)
def test_mistakes(body: str, column: int, message: str, hint: str | None) -> None:
    diagnostic = in_thread(body).diagnostic
    assert message in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (4, column)
    assert hint is None or hint in (diagnostic.hint or "")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("struct s { int a; } t;", "structures"),
        ("union u t;", "unions"),
        ("typedef int t;", "type definitions"),
        ("double d;", "`double`"),
        ("__int128 d;", "`__int128`"),
        ("int a[3];", "local arrays"),
        ("int f(int);", "the function `f`"),
        ("switch (1) {}", "`switch`"),
        ("x->y = 1;", "members"),
        ('int r0 = "text";', "strings"),
        ("int r0 = sizeof(r0);", "`sizeof`"),
        ("lock(x);", "lock function `lock`"),
        ("unlock(x);", "lock function `unlock`"),
    ],
)
def test_unsupported(body: str, message: str) -> None:
    error = in_thread(body)
    assert isinstance(error, UnsupportedError)
    assert message in error.diagnostic.message


@pytest.mark.parametrize(
    "call",
    [
        "READ_ONCE(*x)",
        "WRITE_ONCE(*x, 1)",
        "smp_mb()",
        "smp_wmb()",
        "smp_rmb()",
        "smp_load_acquire(x)",
        "smp_store_release(x, 1)",
        "rcu_read_lock()",
        "rcu_dereference(*x)",
        "synchronize_rcu()",
        "srcu_read_lock(x)",
        "spin_lock(x)",
        "spin_unlock(x)",
        "atomic_read(x)",
        "atomic_set(x, 1)",
        "atomic_inc(x)",
        "atomic_add_return_relaxed(1, x)",
        "atomic_fetch_add_acquire(1, x)",
        "atomic_cmpxchg(x, 0, 1)",
        "xchg_release(x, 1)",
        "cmpxchg(x, 1, 2)",
        "__load{once}(x)",
        "__fence{mb}",
    ],
)
def test_linux_kernel(call: str) -> None:
    diagnostic = in_thread(f"{call};").diagnostic
    assert diagnostic.message.startswith(f"`{call.partition('(')[0].partition('{')[0]}`")
    assert "Linux kernel memory model is not shipped" in diagnostic.message
    assert "C11" in (diagnostic.hint or "")


@pytest.mark.parametrize("text", ["{}\nP0 (atomic_t* x) {}", "{ spinlock_t x; }\nP0 (int* x) {}"])
def test_linux_kernel_types(text: str) -> None:
    assert "Linux kernel" in str(failure(f"C t\n{text}\nexists (true)"))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", "there are no threads"),
        ("P0 (int* x) {} P0 (int* x) {}", "P0 is defined twice"),
        ("P0 (int* x) {} P2 (int* x) {}", "P1 is missing"),
        ("P0 (int* x) {} }", "expected a thread, found `}`"),
        ("P0 {}", "expected the parameters"),
        ("int f(int a) { return a; } P0 (int* x) {}", "beside the threads"),
        ("P0 (int* x, int* x) {}", "two parameters `x`"),
        ("P0 (x) {}", "expected a type"),
        ("P0 (int*) {}", "name of a parameter"),
        ("P0 (int* x) { if (*x) {", "this block is not closed"),
        ("P0 (int* x) { *x = 1;\nP1 (int* x) { *x = 2; }", "`P1` starts inside another thread"),
    ],
)
def test_frame(program: str, message: str) -> None:
    error = failure(f"C test\n{{}}\n{program}\nexists (true)\n")
    assert isinstance(error, ParseError | UnsupportedError)
    assert error.diagnostic.span is not None
    assert message in error.diagnostic.message


@pytest.mark.parametrize(
    ("condition", "message", "hint"),
    [
        ("0:r1=1", "P0 has no variable `r1`", "r0"),
        ("1:r0=1", "no thread 1", "0 to 0"),
        ("r0=1", "`r0` is not a shared variable", "`0:r0`"),
    ],
)
def test_conditions(condition: str, message: str, hint: str) -> None:
    diagnostic = failure(f"C test\n{{}}\nP0 (int* x) {{ int r0; }}\nexists ({condition})\n").diagnostic
    assert message in diagnostic.message
    assert hint in (diagnostic.hint or "")
    assert diagnostic.span is not None
    assert diagnostic.span.line == 4


def test_initial_register_of_a_missing_thread() -> None:
    assert "there is no thread 3" in str(failure("C t\n{ 3:r0=1; }\nP0 (int* x) {}\nexists (x=1)"))


@pytest.mark.parametrize("init", ["x=1; x=2;", "0:r0=1; 0:r0=x;", "int x=1; x=0x100000000;"])
def test_contradictions_in_the_initial_state(init: str) -> None:
    error = failure(f"C t\n{{{init}}}\nP0 (int* x) {{}}\nexists (x=1)")
    assert "has another initial value already" in str(error)
    assert "the first one is in line 2" in str(error)


@pytest.mark.parametrize(
    "nested", ["(" * 3000 + "1" + ")" * 3000, "- " * 500 + "1", "1" + "+1" * 500, "!" * 5000 + "1"]
)
def test_deep_nesting(nested: str) -> None:
    assert "nested too deeply" in str(in_thread(f"int r0 = {nested};"))


def test_deep_blocks() -> None:
    assert "nested too deeply" in str(in_thread("{" * 3000 + "}" * 3000))


# Whatever the text, nothing but a DekkerError


SEED = """\
C seed
{ x = 0; int y = 1; int z[2] = {1, 2}; int* p = &x; 0:r9 = 3; }
P0 (atomic_int* x, volatile int* y, int* z, int** p) {
  int r0 = atomic_load_explicit(x, memory_order_acquire), r1 = -1;
  if (r0 == 1 && (*y | 2) != 0x3) { int r1 = z[1]; *y += r1 << 2; } else **p = 'a';
  for (int i = 0; i < 2; i++) { if (i) continue; atomic_fetch_add_explicit(x, i, memory_order_relaxed); }
  do { r1 = r0 ? *y : r9; } while (!atomic_compare_exchange_weak(x, &r1, 2));
out: atomic_thread_fence(memory_order_seq_cst);
  assert(r1 < 5); goto out;
}
P1 (atomic_int* x) { (void)atomic_exchange(x, (long)sizeof(int)); while (1) break; return; }
exists (0:r0=1 /\\ z[1]=0 \\/ [y]=2)
"""
PIECES = [*"(){}[];,*&+-<>=!?:.#'\"\\@~|^%/", "\n", " ", "P0", "int", "long", "x", "r0", "0", "9999999999999999999999"]
PIECES += [
    "if",
    "else",
    "while",
    "atomic_store(",
    "&&",
    "==",
    "<<=",
    "->",
    "exists",
    "memory_order_acquire",
    "void",
    "/*",
]
PIECES += [
    "(*",
    "//",
    "static",
    "sizeof",
    "goto",
    "return",
    "unsigned",
    "atomic_t",
    "_Atomic(",
    "é",
    "\0",
    "\t",
    "$",
    "++",
]


def check(text: str) -> None:
    with suppress(DekkerError):
        program = parse_litmus(Source("fuzz.litmus", text))
        print_program(program)
        validate(program)


def test_the_seed_is_good() -> None:
    validate(parse_litmus(Source("seed.litmus", SEED)))


@settings(max_examples=200)
@given(st.integers(0, len(SEED)))
def test_truncated(end: int) -> None:
    check(SEED[:end])


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 8), st.sampled_from(PIECES)), max_size=4))
def test_edited(edits: list[tuple[int, int, str]]) -> None:
    text = SEED
    for position, length, piece in edits:
        text = text[:position] + piece + text[position + length :]
    check(text)


@settings(max_examples=100)
@given(st.sets(st.integers(0, SEED.count("\n"))))
def test_lines_missing(missing: set[int]) -> None:
    check("\n".join(line for number, line in enumerate(SEED.split("\n")) if number not in missing))


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_junk_in_a_thread(pieces: list[str]) -> None:
    check(f"C junk\n{{}}\nP0 (int* x) {{ int r0; {' '.join(pieces)} }}\nexists (x=1)")


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_junk(text: str) -> None:
    check(f"C junk\n{{}}\nP0 (int* x) {{ {text} }}\nexists (x=1)")
    check(f"C {text}")
