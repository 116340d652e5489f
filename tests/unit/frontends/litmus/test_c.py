"""C tests as programs: instructions, labels, objects, conditions, positions."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dekker.frontends.litmus import default_model, parse_litmus
from dekker.frontends.litmus.c.lowering import lower_thread
from dekker.ir.expressions import Address, Const
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Fence, Load, Order, Store
from dekker.ir.program import Cell, Object, Program, Thread
from dekker.ir.property import AddressValue, And, Equals, Formula, MemoryValue, RegisterValue
from dekker.ir.text import parse_program, print_instruction, print_program
from dekker.ir.validate import validate
from dekker.source import Source

CORPUS = Path(__file__).parents[5] / "shared" / "corpus" / "C11"


def parse(text: str) -> Program:
    program = parse_litmus(Source("test.litmus", text))
    validate(program)
    assert parse_program(Source("printed", print_program(program))) == program
    return program


def thread(body: str, parameters: str = "atomic_int* x, int* y", init: str = "") -> Program:
    return parse(f"C test\n{{ {init} }}\nP0 ({parameters}) {{ {body} }}\nexists (true)\n")


def shown(program: Program, number: int = 0) -> list[str]:
    """Labels and instructions of a thread, one per line."""
    function = program.functions[number]
    lines: list[str] = []
    for index in range(len(function.body) + 1):
        lines += [f"{label}:" for label, position in function.labels.items() if position == index]
        if index < len(function.body):
            lines.append(print_instruction(function.body[index]))
    return lines


def atoms(formula: Formula) -> list[Formula]:
    return list(formula.operands) if isinstance(formula, And) else [formula]


def condition_atoms(program: Program) -> list[Formula]:
    assert program.property.condition is not None
    return atoms(program.property.condition.formula)


MESSAGE_PASSING = """\
C MP+rel+acq
"what it is about"
{ [x] = 0; y = 0; }

// Writer
P0 (atomic_int* x, int* y) {
  *y = 1;
  atomic_store_explicit(x, 1, memory_order_release);
}

/* Reader */
P1 (atomic_int* x, int* y) {
  int r0 = atomic_load_explicit(x, memory_order_acquire);
  int r1 = -1;
  if (r0) {
    r1 = *y;
  }
}

exists (1:r0=1 /\\ 1:r1=0 /\\ x=1)
"""


def test_program() -> None:
    program = parse(MESSAGE_PASSING)
    assert (program.name, program.architecture) == ("MP+rel+acq", "C")
    assert default_model(program.architecture) == "cpp20"
    assert program.objects == (Object("x", 8, (Cell(0, 4, 0),)), Object("y", 8, (Cell(0, 4, 0),)))
    assert program.threads == (Thread("P0", "P0"), Thread("P1", "P1"))
    assert shown(program) == ["store.4 [&y] = 1", "store.4 [&x] = 1 release"]
    assert shown(program, 1) == [
        "r0 = load.4 [&x] acquire",
        "r1 = 4294967295",
        "branch r0 eq.32 0 -> end.1",
        "r1 = load.4 [&y]",
        "end.1:",
    ]
    assert condition_atoms(program) == [
        Equals(RegisterValue(1, "r0", 32), 1),
        Equals(RegisterValue(1, "r1", 32), 0),
        Equals(MemoryValue("x"), 1),
    ]


def test_spans() -> None:
    program = parse(MESSAGE_PASSING)
    first, second = program.functions
    spans = [span.text for span in first.spans + second.spans if span is not None]
    assert spans == [
        "*y = 1",
        "atomic_store_explicit(x, 1, memory_order_release)",
        "atomic_load_explicit(x, memory_order_acquire)",
        "r1 = -1",
        "r0",
        "*y",
    ]
    span = second.span(3)
    assert span is not None
    assert (span.line, span.column) == (16, 10)


def test_threads_shared_between_tests_keep_their_own_positions() -> None:
    first, second = parse(MESSAGE_PASSING), parse("C longer-name\n" + MESSAGE_PASSING.partition("\n")[2])
    assert first.functions == second.functions
    span, moved = first.functions[0].span(0), second.functions[0].span(0)
    assert span is not None
    assert moved is not None
    assert span.text == moved.text == "*y = 1"


@pytest.mark.parametrize("header", ["P0 (int* x)", "void P0(int *x)", "static void P0 (int* const x)", "P0(int x[])"])
def test_headers(header: str) -> None:
    assert shown(parse(f"C t\n{{}}\n{header} {{ *x = 1; }}\nexists (x=1)")) == ["store.4 [&x] = 1"]


def test_threads_in_any_order_with_lines_in_between() -> None:
    program = parse(
        "C t\n{}\n#include <stdatomic.h>\n// P9 (\nP1 (int* x) { *x = 2; }\n (* that was (* P1 *) *) \n"
        "P0 (int* x) { *x = 1; };\n#define N 1\nexists (x=2)"
    )
    assert [shown(program, number) for number in (0, 1)] == [["store.4 [&x] = 1"], ["store.4 [&x] = 2"]]


@pytest.mark.parametrize("word", ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("prefix", ["memory_order_", "memory_order::", "std::memory_order_", "mo_", "__ATOMIC_"])
def test_memory_orders(prefix: str, word: str) -> None:
    spelled = prefix + (word.upper() if prefix == "__ATOMIC_" else word)
    assert shown(thread(f"atomic_exchange_explicit(x, 1, {spelled});")) == [f"rmw.xchg.4 [&x], 1 {word}"]


def test_orders_that_do_not_fit_the_access() -> None:
    program = thread(
        "int r0 = atomic_load_explicit(x, mo_release); int r1 = atomic_load_explicit(x, mo_acq_rel);"
        "atomic_store_explicit(x, 1, mo_acquire); atomic_store_explicit(x, 1, mo_acq_rel);"
    )
    orders = [item.order for item in program.functions[0].body if isinstance(item, Load | Store)]
    assert orders == [Order.RELAXED, Order.ACQUIRE, Order.RELAXED, Order.RELEASE]


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ("relaxed", "c11.relaxed"),
        ("consume", "c11.acquire"),
        ("acquire", "c11.acquire"),
        ("release", "c11.release"),
        ("acq_rel", "c11.acq_rel"),
        ("seq_cst", "c11.seq_cst"),
    ],
)
def test_fences(order: str, kind: str) -> None:
    assert thread(f"atomic_thread_fence(memory_order_{order});").functions[0].body == (Fence(kind),)
    assert kind in FENCES


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("atomic_load(x);", ["tmp.1 = load.4 [&x] seq_cst"]),
        ("int r = atomic_load(x);", ["r = load.4 [&x] seq_cst"]),
        ("long r = atomic_load(x);", ["tmp.1 = load.4 [&x] seq_cst", "r = sext.32 tmp.1"]),
        ("atomic_store(x, 1);", ["store.4 [&x] = 1 seq_cst"]),
        ("atomic_init(x, 1);", ["store.4 [&x] = 1"]),
        ("atomic_fetch_add(x, 1);", ["rmw.add.4 [&x], 1 seq_cst"]),
        ("int r = atomic_fetch_or_explicit(x, 1, mo_rlx);", ["r = rmw.or.4 [&x], 1 relaxed"]),
        ("int r = __atomic_load_n(x, __ATOMIC_ACQUIRE);", ["r = load.4 [&x] acquire"]),
        ("__atomic_store_n(x, 2, __ATOMIC_RELEASE);", ["store.4 [&x] = 2 release"]),
        ("__sync_synchronize();", ["fence c11.seq_cst"]),
        ("__sync_lock_release(x);", ["store.4 [&x] = 0 release"]),
        ("atomic_flag_clear_explicit(x, memory_order_release);", ["store.4 [&x] = 0 release"]),
        ("atomic_signal_fence(memory_order_seq_cst);", []),
        ("__assume(*y == 1);", ["tmp.1 = load.4 [&y]", "assume tmp.1 eq.32 1"]),
        ("assert(*y != 2);", ["tmp.1 = load.4 [&y]", 'assert tmp.1 ne.32 2, "*y != 2"']),
        ("*x;", ["tmp.1 = load.4 [&x]"]),
        ("(void)*x;", ["tmp.1 = load.4 [&x]"]),
        ("*(char*)x;", ["tmp.1 = load.1 [&x]"]),
        ("atomic_fetch_add((atomic_char*)x, 1);", ["rmw.add.1 [&x], 1 seq_cst"]),
        ("int e; atomic_compare_exchange_strong(x, &e, 1);", ["e = cmpxchg.4 [&x] e -> 1 seq_cst/seq_cst"]),
    ],
)
def test_functions(body: str, lines: list[str]) -> None:
    assert shown(thread(body)) == lines


def test_compare_exchange_with_shared_expected_value() -> None:
    assert shown(thread("int r = atomic_compare_exchange_strong_explicit(x, y, 2, mo_acq_rel, mo_acquire);")) == [
        "tmp.1 = load.4 [&y]",
        "tmp.2, r = cmpxchg.4 [&x] tmp.1 -> 2 acq_rel/acquire",
        "branch r -> end.3",
        "store.4 [&y] = tmp.2",
        "end.3:",
    ]


def test_compare_exchange_with_local_expected_value() -> None:
    assert shown(
        thread("int e = 0; while (!atomic_compare_exchange_weak_explicit(x, &e, 1, mo_acq_rel, mo_rlx)) e = 0;")
    ) == [
        "e = 0",
        "while.1:",
        "e, tmp.2 = cmpxchg.4 weak [&x] e -> 1 acq_rel/relaxed",
        "branch tmp.2 -> end.1",
        "e = 0",
        "jump while.1",
        "end.1:",
    ]


def test_one_order_of_compare_exchange_gives_the_other() -> None:
    (line,) = shown(thread("int e; atomic_compare_exchange_strong_explicit(x, &e, 1, memory_order_acq_rel);"))
    assert line.endswith("acq_rel/acquire")


def test_data_flow_is_kept() -> None:
    assert shown(thread("int r0 = *y; atomic_store_explicit(x, (r0 ^ r0) + 1, mo_rlx);")) == [
        "r0 = load.4 [&y]",
        "store.4 [&x] = (r0 xor.32 r0) add.32 1 relaxed",
    ]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "int a, b; if (a && b) a = 1; else a = 2;",
            [
                "branch a eq.32 0 -> else.1",
                "branch b eq.32 0 -> else.1",
                "a = 1",
                "jump end.1",
                "else.1:",
                "a = 2",
                "end.1:",
            ],
        ),
        (
            "int a, b; if (a || !b) a = 1;",
            ["branch a -> skip.2", "branch b -> end.1", "skip.2:", "a = 1", "end.1:"],
        ),
        (
            "int a; do { a = 1; } while (a < 3);",
            ["do.1:", "a = 1", "while.1:", "branch a slt.32 3 -> do.1", "end.1:"],
        ),
        ("int a; for (;;) { a = 1; }", ["for.1:", "a = 1", "step.1:", "jump for.1", "end.1:"]),
        ("int a; while (0) a = 1;", ["while.1:", "jump end.1", "a = 1", "jump while.1", "end.1:"]),
        ("again: goto again;", ["again:", "jump again"]),
        ("int a, b; b = a ? 1 : 2;", ["b = a ? 1 : 2"]),
        ("return;", ["return"]),
        (";;{}", []),
    ],
)
def test_control(body: str, lines: list[str]) -> None:
    assert shown(thread(body)) == lines


# Local variables and what conditions call them


def registers_of(condition: str, body: str) -> list[RegisterValue]:
    program = parse(f"C t\n{{}}\nP0 (int* x) {{ {body} }}\nexists ({condition})")
    found = [atom.left for atom in condition_atoms(program) if isinstance(atom, Equals)]
    return [value for value in found if isinstance(value, RegisterValue)]


def test_inner_variables_are_visible() -> None:
    assert registers_of("0:r1=1", "if (*x) { int r1 = *x; }") == [RegisterValue(0, "r1", 32)]


def test_variables_of_separate_blocks_share_the_register() -> None:
    body = "if (*x) { int r1 = 1; } else { int r1 = 2; }"
    assert registers_of("0:r1=1", body) == [RegisterValue(0, "r1", 32)]
    assert [line for line in shown(thread(body)) if line.startswith("r1")] == ["r1 = 1", "r1 = 2"]


def test_hiding_variable_has_its_own_register() -> None:
    body = "int r1 = 1; { int r1 = 2; r1 = 3; } r1 = 4;"
    assert shown(thread(body)) == ["r1 = 1", "r1.1 = 2", "r1.1 = 3", "r1 = 4"]
    assert registers_of("0:r1=1", body) == [RegisterValue(0, "r1.1", 32, "r1")]


def test_widths_in_conditions() -> None:
    body = "char c; unsigned short s; unsigned u; long l; bool b; int* p;"
    widths = [value.width for value in registers_of("0:c=1 /\\ 0:s=1 /\\ 0:u=1 /\\ 0:l=1 /\\ 0:b=1 /\\ 0:p=x", body)]
    assert widths == [8, 16, 32, 64, 8, 64]


def test_undeclared_variable() -> None:
    assert registers_of("0:r0=1", "r0 = *x;") == [RegisterValue(0, "r0", 32)]
    assert shown(thread("if (*y) r0 = *x; *y = 1;"))[2:] == ["r0 = load.4 [&x]", "end.1:", "store.4 [&y] = 1"]


def test_address_in_condition() -> None:
    program = parse("C t\n{ p = &x; }\nP0 (int** p) { int* r0 = *p; }\nexists (0:r0=x /\\ p=x)")
    assert condition_atoms(program) == [
        Equals(RegisterValue(0, "r0", 64), AddressValue("x")),
        Equals(MemoryValue("p", 0, 8), AddressValue("x")),
    ]


# Shared variables


@pytest.mark.parametrize(
    ("init", "parameters", "objects"),
    [
        ("", "int* x", [Object("x", 8)]),
        ("*x = 1;", "int* x", [Object("x", 8, (Cell(0, 4, 1),))]),
        ("[x] = 1;", "long* x", [Object("x", 8, (Cell(0, 8, 1),))]),
        ("x = -1;", "atomic_char* x", [Object("x", 8, (Cell(0, 1, 255),))]),
        ("uint16_t x = 1;", "", [Object("x", 8, (Cell(0, 2, 1),))]),
        ("int x[3] = {1, 2, 3};", "int* x", [Object("x", 12, (Cell(0, 4, 1), Cell(4, 4, 2), Cell(8, 4, 3)))]),
        ("x = &y;", "int** x, int* y", [Object("x", 8, (Cell(0, 8, Address("y")),)), Object("y", 8)]),
        ("atomic_int x = 1;", "_Atomic(int)* x", [Object("x", 8, (Cell(0, 4, 1),))]),
    ],
)
def test_objects(init: str, parameters: str, objects: list[Object]) -> None:
    assert list(thread("", parameters, init).objects) == objects


def test_size_of_memory_in_conditions() -> None:
    program = parse("C t\n{}\nP0 (long* x, char* y, int* z) {}\nexists (x=1 /\\ [y]=1 /\\ *z=1 /\\ w=0)")
    found = [atom.left for atom in condition_atoms(program) if isinstance(atom, Equals)]
    assert [value.size for value in found if isinstance(value, MemoryValue)] == [8, 1, 4, 4]


def test_initial_registers() -> None:
    program = thread("int r0; long r1;", "int* x", "0:r0 = -1; 0:r1 = -1; 0:p = x;")
    assert program.threads[0].registers == (("r0", Const(0xFFFFFFFF)), ("r1", Const(-1)), ("p", Address("x")))


def test_assigned_parameter_starts_as_address() -> None:
    program = thread("x = y; *x = 1;", "int* x, int* y")
    assert program.threads[0].registers == (("x", Address("x")),)
    assert shown(program) == ["x = &y", "store.4 [x] = 1"]


# All of it


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of litmus tests is not here")
def test_the_corpus_is_read() -> None:
    files = sorted(CORPUS.rglob("*.litmus"))
    assert files
    for file in files:
        program = parse_litmus(Source(str(file), file.read_text()))
        validate(program)
        assert program.property.condition is not None


def test_speed() -> None:
    source = Source("test.litmus", MESSAGE_PASSING)
    best = 1.0
    for _ in range(20):
        lower_thread.cache_clear()
        start = time.perf_counter()
        parse_litmus(source)
        best = min(best, time.perf_counter() - start)
    assert best < 0.005, "ten times slower than it should be"


def test_elements_are_scaled_by_the_type_of_the_parameter() -> None:
    program = parse("C t\n{ p = &x[1]; 0:q = x[2]; }\nP0 (long* x, long** p) { *q = 1; }\nexists (x=1)\n")
    assert condition_atoms(program) == [Equals(MemoryValue("x", 0, 8), 1)]
    assert Object("p", 8, (Cell(0, 8, Address("x", 8)),)) in program.objects
    assert program.threads[0].registers == (("q", Address("x", 16)),)


def test_keywords_of_the_final_part_are_names_in_threads() -> None:
    program = parse(
        "C t\n{}\nP0 (atomic_int* x) {\nint final = 0;\nfinal = 1;\nexists:\natomic_store(x, final);\n}\nexists (x=1)\n"
    )
    assert condition_atoms(program) == [Equals(MemoryValue("x"), 1)]
