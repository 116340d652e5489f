"""From LLVM IR to instructions: what they are, and what they compute when they run."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.reference.sequential import Violation, run
from tests.unit.frontends.c.programs import from_c, from_ir, listing, main_of, needs_compiler

from dekker.errors import InputError, UnsupportedError
from dekker.ir.arithmetic import mask, signed
from dekker.ir.instructions import Fence
from dekker.ir.text import parse_program, print_program
from dekker.source import Source


def value(folder: Path, body: str, before: str = "") -> int:
    """What `main` returns."""
    return run(from_ir(folder, main_of(body, before))).value


# --- variables in registers


def test_a_loop_over_variables_becomes_assignments(tmp_path: Path) -> None:
    program = from_ir(
        tmp_path,
        main_of(
            """entry:
  %i = alloca i32, align 4
  %t = alloca i32, align 4
  store i32 0, ptr %t, align 4
  store i32 0, ptr %i, align 4
  br label %head
head:
  %0 = load i32, ptr %i, align 4
  %c = icmp slt i32 %0, 5
  br i1 %c, label %body, label %end
body:
  %1 = load i32, ptr %i, align 4
  %2 = load i32, ptr %t, align 4
  %3 = add nsw i32 %2, %1
  store i32 %3, ptr %t, align 4
  %4 = load i32, ptr %i, align 4
  %5 = add nsw i32 %4, 1
  store i32 %5, ptr %i, align 4
  br label %head
end:
  %6 = load i32, ptr %t, align 4
  ret i32 %6"""
        ),
    )
    assert listing(program) == [
        "t = 0",
        "i = 0",
        "branch i sge.32 5 -> end",
        "t = t add.32 i",
        "i = i add.32 1",
        "jump head",
        "exit everything t",
    ]
    assert run(program).value == 10


def test_a_value_that_waits_is_computed_before_its_variable_changes(tmp_path: Path) -> None:
    body = """
  %x = alloca i32, align 4
  store i32 3, ptr %x, align 4
  %old = load i32, ptr %x, align 4
  %twice = mul i32 %old, 2
  store i32 100, ptr %x, align 4
  %new = load i32, ptr %x, align 4
  %sum = add i32 %twice, %new
  ret i32 %sum"""
    assert value(tmp_path, body) == 106


@pytest.mark.parametrize(
    "use",
    [
        "call void @keep(ptr %x)",
        "store ptr %x, ptr @p, align 8",
        "%v = load volatile i32, ptr %x, align 4",
        "%q = getelementptr i8, ptr %x, i64 %n",
        "%v = load atomic i32, ptr %x seq_cst, align 4",
        "%q = select i1 true, ptr %x, ptr null",
        "%q = ptrtoint ptr %x to i64",
    ],
)
def test_a_variable_whose_address_escapes_lives_in_memory(tmp_path: Path, use: str) -> None:
    before = "@p = global ptr null, align 8\n@m = global i64 0\ndefine void @keep(ptr %0) {\n  ret void\n}\n"
    body = f"  %x = alloca i32, align 4\n  %n = load i64, ptr @m\n  store i32 1, ptr %x, align 4\n  {use}\n  ret i32 0"
    lines = listing(from_ir(tmp_path, main_of(body, before)))
    assert lines[0].startswith("x = allocate 4 align 4 stack")
    assert "store.4 [x] = 1" in lines


def test_fields_and_overlapping_accesses_are_pieces(tmp_path: Path) -> None:
    """A struct of two ints is written through one access of 8 bytes, as calling conventions do."""
    body = """
  %s = alloca { i32, i32 }, align 4
  store i64 30064771077, ptr %s, align 4
  %f = getelementptr inbounds { i32, i32 }, ptr %s, i32 0, i32 1
  %b = load i32, ptr %f, align 4
  %a = load i32, ptr %s, align 4
  %c = mul i32 %a, 10
  %d = add i32 %c, %b
  ret i32 %d"""
    program = from_ir(tmp_path, main_of(body))
    assert not any("load" in line or "store" in line for line in listing(program))
    assert run(program).value == 57


def test_copies_between_variables_and_memory_move_fields(tmp_path: Path) -> None:
    before = """%S = type { i8, i32, i16 }
@g = global %S { i8 1, i32 70000, i16 -2 }, align 4
@h = global %S zeroinitializer, align 4
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
    body = """
  %s = alloca %S, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %s, ptr align 4 @g, i64 12, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 @h, ptr align 4 %s, i64 12, i1 false)
  %f = getelementptr %S, ptr @h, i32 0, i32 1
  %v = load i32, ptr %f, align 4
  ret i32 %v"""
    program = from_ir(tmp_path, main_of(body, before))
    assert listing(program)[:6] == [
        "s%0 = load.1 [&g]",
        "s%4 = load.4 [&g+4]",
        "s%8 = load.2 [&g+8]",
        "store.1 copied [&h] = s%0",
        "store.4 copied [&h+4] = s%4",
        "store.2 copied [&h+8] = s%8",
    ]
    assert run(program).value == 70000


def test_variables_are_named_by_debug_information(tmp_path: Path) -> None:
    body = """  %1 = alloca i32, align 4
  store i32 1, ptr %1, align 4
    #dbg_declare(ptr %1, !5, !DIExpression(), !6)
  br label %2
2:
  %3 = load i32, ptr %1, align 4
  ret i32 %3"""
    text = main_of(body) + '!5 = !DILocalVariable(name: "counter", scope: !7, line: 1)\n'
    assert listing(from_ir(tmp_path, text)) == ["counter = 1", "exit everything counter"]


# --- arithmetic

_BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_NUMBERS = (0, 1, 5, 0x7F, 0x80, 0xFFFF_FFFF, 1 << 63, (1 << 64) - 1, (1 << 127) + 12345, (1 << 128) - 1, 0x1234 << 60)
_VARIABLES = "@a = global i{0} {1}, align 16\n@b = global i{0} {2}, align 16\n"


def compute(folder: Path, width: int, left: int, right: int, *lines: str) -> int:
    """Runs lines over `%a` and `%b`, from memory so that nothing is folded, that define `%r` of the same width."""
    before = _VARIABLES.format(width, left & mask(width), right & mask(width)) + f"@r = global i{width} 0, align 16\n"
    loads = f"  %a = load i{width}, ptr @a\n  %b = load i{width}, ptr @b\n"
    body = loads + "\n".join(f"  {line}" for line in lines) + f"\n  store i{width} %r, ptr @r\n  ret i32 0"
    machine = run(from_ir(folder, main_of(body, before)))
    size = (width + 7) // 8
    return machine.read(machine.layout.starts["r"], size) & mask(width)


@pytest.mark.parametrize("width", [1, 8, 16, 24, 33, 64, 72, 128])
@pytest.mark.parametrize("op", _BINARY)
def test_operations_at_all_widths(tmp_path: Path, width: int, op: str) -> None:
    for left in _NUMBERS[::2]:
        for right in _NUMBERS[1::3]:
            a, b = left & mask(width), right & mask(width)
            assert compute(tmp_path, width, a, b, f"%r = {op} i{width} %a, %b") == _BINARY[op](a, b) & mask(width)


@pytest.mark.parametrize("width", [8, 64, 72, 128])
@pytest.mark.parametrize("count", [0, 1, 7, 63, 64, 65, 127])
def test_shifts(tmp_path: Path, width: int, count: int) -> None:
    if count >= width:
        return
    number = 0x9234_5678_9ABC_DEF0_F123_4567_89AB_CDEF & mask(width)
    expected = {
        "shl": number << count & mask(width),
        "lshr": number >> count,
        "ashr": signed(width, number) >> count & mask(width),
    }
    for op, result in expected.items():
        assert compute(tmp_path, width, number, count, f"%r = {op} i{width} %a, %b") == result


@pytest.mark.parametrize("width", [8, 64, 72, 128])
@pytest.mark.parametrize("predicate", ["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"])
def test_comparisons(tmp_path: Path, width: int, predicate: str) -> None:
    for left in (0, 1, mask(width), 1 << (width - 1)):
        for right in (0, 1, mask(width), mask(width - 1)):
            a, b = (signed(width, left), signed(width, right)) if predicate[0] == "s" else (left, right)
            name = {"e": "eq", "n": "ne"}.get(predicate[0], predicate[1:])
            expected = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[name]
            lines = f"%c = icmp {predicate} i{width} %a, %b", f"%r = zext i1 %c to i{width}"
            assert compute(tmp_path, width, left, right, *lines) == expected


@pytest.mark.parametrize("narrow", [1, 8, 31, 64, 72])
@pytest.mark.parametrize("wide", [32, 64, 72, 128])
@pytest.mark.parametrize("op", ["zext", "sext"])
def test_extensions(tmp_path: Path, narrow: int, wide: int, op: str) -> None:
    if narrow >= wide:
        return
    for number in (0, 1, mask(narrow), 1 << (narrow - 1), mask(narrow) >> 1):
        expected = signed(narrow, number) & mask(wide) if op == "sext" else number
        lines = f"%n = trunc i{wide} %a to i{narrow}", f"%r = {op} i{narrow} %n to i{wide}"
        assert compute(tmp_path, wide, number, 0, *lines) == expected


_OVERFLOWING = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}


@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize("op", _OVERFLOWING)
@pytest.mark.parametrize("sign", ["s", "u"])
def test_overflow_checks(tmp_path: Path, width: int, op: str, sign: str) -> None:
    name = f"@llvm.{sign}{op}.with.overflow.i{width}"
    lines = (
        f"%p = call {{ i{width}, i1 }} {name}(i{width} %a, i{width} %b)",
        f"%o = extractvalue {{ i{width}, i1 }} %p, 1",
        f"%r = zext i1 %o to i{width}",
    )
    numbers = (0, 1, 3, mask(width), 1 << (width - 1), mask(width - 1), mask(width // 2))
    for left in numbers:
        for right in numbers[1:]:
            a, b = (signed(width, left), signed(width, right)) if sign == "s" else (left, right)
            exact = _OVERFLOWING[op](a, b)
            fits = -(1 << (width - 1)) <= exact <= mask(width - 1) if sign == "s" else 0 <= exact <= mask(width)
            assert compute(tmp_path, width, left, right, *lines) == (not fits), (left, right)


_COUNTS: dict[str, Callable[[int, int], int]] = {
    "ctpop": lambda n, w: n.bit_count(),
    "ctlz": lambda n, w: w - n.bit_length(),
    "cttz": lambda n, w: (n & -n).bit_length() - 1 if n else w,
    "bitreverse": lambda n, w: int(f"{n:0{w}b}"[::-1], 2),
    "bswap": lambda n, w: int.from_bytes(n.to_bytes(w // 8, "little"), "big"),
    "abs": lambda n, w: abs(signed(w, n)) & mask(w),
}


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("name", _COUNTS)
def test_bit_functions(tmp_path: Path, width: int, name: str) -> None:
    extra = ", i1 false" if name in ("ctlz", "cttz", "abs") else ""
    for number in (0, 1, 0x50, mask(width), 1 << (width - 1), 0x1234_5678_9ABC_DEF0 & mask(width)):
        line = f"%r = call i{width} @llvm.{name}.i{width}(i{width} %a{extra})"
        assert compute(tmp_path, width, number, 0, line) == _COUNTS[name](number, width)


@pytest.mark.parametrize(
    ("predicate", "results"),
    [
        ("olt", (1, 0, 0, 0)),
        ("ole", (1, 0, 1, 0)),
        ("ogt", (0, 1, 0, 0)),
        ("oge", (0, 1, 1, 0)),
        ("oeq", (0, 0, 1, 0)),
        ("one", (1, 1, 0, 0)),
        ("ord", (1, 1, 1, 0)),
        ("uno", (0, 0, 0, 1)),
        ("une", (1, 1, 0, 1)),
        ("ueq", (0, 0, 1, 1)),
        ("ult", (1, 0, 0, 1)),
        ("uge", (0, 1, 1, 1)),
    ],
)
def test_comparisons_of_floats(tmp_path: Path, predicate: str, results: tuple[int, ...]) -> None:
    pairs = [("1.0", "2.0"), ("2.0", "1.0"), ("2.0", "2.0"), ("0x7FF8000000000000", "2.0")]
    for (left, right), expected in zip(pairs, results, strict=True):
        before = f"@a = global double {left}\n@b = global double {right}\n"
        body = f"""  %a = load double, ptr @a
  %b = load double, ptr @b
  %c = fcmp {predicate} double %a, %b
  %r = zext i1 %c to i32
  ret i32 %r"""
        assert value(tmp_path, body, before) == expected


@pytest.mark.parametrize(("op", "left", "right"), [("sdiv", 5, 0), ("urem", 5, 0), ("sdiv", 1 << 31, mask(32))])
def test_divisions_that_stop_the_processor_are_violations(tmp_path: Path, op: str, left: int, right: int) -> None:
    with pytest.raises(Violation, match="division"):
        compute(tmp_path, 32, left, right, f"%r = {op} i32 %a, %b")


# --- control


def test_phis_read_before_they_write(tmp_path: Path) -> None:
    body = """entry:
  br label %loop
loop:
  %a = phi i32 [ 1, %entry ], [ %b, %loop ]
  %b = phi i32 [ 2, %entry ], [ %a, %loop ]
  %n = phi i32 [ 0, %entry ], [ %m, %loop ]
  %m = add i32 %n, 1
  %c = icmp ult i32 %m, 4
  br i1 %c, label %loop, label %end
end:
  %x = mul i32 %a, 10
  %y = add i32 %x, %b
  ret i32 %y"""
    assert value(tmp_path, body) == 21


@pytest.mark.parametrize(("number", "result"), [(1, 10), (2, 20), (3, 20), (9, 30)])
def test_switch_with_phis(tmp_path: Path, number: int, result: int) -> None:
    body = """entry:
  %x = load i32, ptr @x
  switch i32 %x, label %end [ i32 1, label %one
    i32 2, label %two
    i32 3, label %two ]
one:
  br label %end
two:
  br label %end
end:
  %r = phi i32 [ 30, %entry ], [ 10, %one ], [ 20, %two ]
  ret i32 %r"""
    assert value(tmp_path, body, f"@x = global i32 {number}\n") == result


def test_calls_direct_indirect_recursive_and_of_pairs(tmp_path: Path) -> None:
    before = """@table = global [2 x ptr] [ptr @factorial, ptr null]
define i32 @factorial(i32 %n) {
  %c = icmp ult i32 %n, 2
  br i1 %c, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %f = call i32 @factorial(i32 %m)
  %r = mul i32 %f, %n
  ret i32 %r
}
define { i64, i32 } @pair(i64 %a, i32 %b) {
  %x = insertvalue { i64, i32 } poison, i64 %a, 0
  %y = insertvalue { i64, i32 } %x, i32 %b, 1
  ret { i64, i32 } %y
}
"""
    body = """
  %f = load ptr, ptr @table
  %x = call i32 %f(i32 5)
  %p = call { i64, i32 } @pair(i64 7, i32 3)
  %a = extractvalue { i64, i32 } %p, 0
  %b = extractvalue { i64, i32 } %p, 1
  %t = trunc i64 %a to i32
  %y = add i32 %x, %t
  %z = sub i32 %y, %b
  ret i32 %z"""
    assert value(tmp_path, body, before) == 124


def test_structs_by_value_are_copied(tmp_path: Path) -> None:
    before = """%S = type { i64, i64, i64 }
@s = global %S { i64 1, i64 2, i64 3 }
define i64 @change(ptr byval(%S) align 8 %p) {
  store i64 50, ptr %p
  %q = getelementptr %S, ptr %p, i32 0, i32 2
  %v = load i64, ptr %q
  ret i64 %v
}
"""
    body = """
  %a = call i64 @change(ptr byval(%S) align 8 @s)
  %b = load i64, ptr @s
  %c = add i64 %a, %b
  %d = trunc i64 %c to i32
  ret i32 %d"""
    assert value(tmp_path, body, before) == 4


# --- memory orders, fences, assembly


def test_orders(tmp_path: Path) -> None:
    body = """
  %a = load atomic i32, ptr @x unordered, align 4
  %b = load atomic i32, ptr @x acquire, align 4
  store atomic i32 %a, ptr @x release, align 4
  store volatile i32 %b, ptr @x, align 4
  %c = atomicrmw umax ptr @x, i32 3 acq_rel
  %d = atomicrmw xchg ptr @x, i32 %c seq_cst
  %e = cmpxchg weak ptr @x, i32 0, i32 1 acq_rel acquire
  %f = extractvalue { i32, i1 } %e, 0
  ret i32 %f"""
    assert listing(from_ir(tmp_path, main_of(body, "@x = global i32 0\n"))) == [
        "a = load.4 [&x] relaxed",
        "b = load.4 [&x] acquire",
        "store.4 [&x] = a release",
        "store.4 [&x] = b",
        "c = rmw.umax.4 [&x], 3 acq_rel",
        "rmw.xchg.4 [&x], c seq_cst",
        "e%0, e%1 = cmpxchg.4 weak [&x] 0 -> 1 acq_rel/acquire",
        "exit everything e%0",
    ]


def test_for_others_what_is_atomic_in_a_single_thread_is_not(tmp_path: Path) -> None:
    body = """
  %a = load atomic i32, ptr @x syncscope("singlethread") acquire, align 4
  store atomic i32 %a, ptr @x syncscope("singlethread") release, align 4
  ret i32 0"""
    before = "@x = global i32 0\n"
    assert listing(from_ir(tmp_path, main_of(body, before)))[:2] == ["a = load.4 [&x]", "store.4 [&x] = a"]
    for update in (
        "atomicrmw add ptr @x, i32 1 SCOPE monotonic",
        "cmpxchg ptr @x, i32 0, i32 1 SCOPE acquire monotonic",
    ):
        line = f"  %a = {update}\n  ret i32 0".replace("SCOPE", 'syncscope("singlethread")')
        with pytest.raises(InputError, match="atomic updates whose scope is a single thread are not supported"):
            from_ir(tmp_path, main_of(line, before))


@pytest.mark.parametrize(
    ("template", "kinds"),
    [
        ("mfence", ["mfence"]),
        ("lwsync", ["lwsync"]),
        ("hwsync", ["sync"]),
        ("sync", ["sync"]),
        ("isync", ["isync"]),
        ("eieio", ["eieio"]),
        ("dmb ish", ["dmb.ish"]),
        ("dmb\\09ishld", ["dmb.ishld"]),
        ("dmb", ["dmb.sy"]),
        ("DSB SY", ["dsb.sy"]),
        ("isb", ["isb"]),
        ("fence rw,rw", ["fence.rw.rw"]),
        ("fence iorw, ow", ["fence.rw.w"]),
        ("fence.tso", ["fence.tso"]),
        ("fence tso", ["fence.tso"]),
        ("membar #StoreLoad", ["membar.storeload"]),
        ("lock; addl $$0,0(%rsp)", ["mfence"]),
        ("sfence; lfence\\0A", ["sfence", "lfence"]),
        ("rep; nop", []),
        ("pause", []),
        ("", ["compiler"]),
    ],
)
def test_inline_assembly_fences(tmp_path: Path, template: str, kinds: list[str]) -> None:
    body = f'  call void asm sideeffect "{template}", "~{{memory}},~{{flags}}"()\n  ret i32 0'
    program = from_ir(tmp_path, main_of(body))
    assert [step.kind for step in program.functions[0].body if isinstance(step, Fence)] == kinds


@needs_compiler
def test_fences_and_pause_of_the_compilers_own(tmp_path: Path) -> None:
    program = from_c(
        tmp_path,
        "#include <immintrin.h>\n"
        "int main(void) { _mm_mfence(); _mm_pause(); _mm_lfence(); _mm_sfence(); __builtin_ia32_pause(); return 0; }",
    )
    kinds = [step.kind for function in program.functions for step in function.body if isinstance(step, Fence)]
    assert kinds == ["mfence", "lfence", "sfence"]


def test_other_assembly_is_shown(tmp_path: Path) -> None:
    body = '  call void asm sideeffect "cli; hlt", "~{memory}"()\n  ret i32 0'
    with pytest.raises(UnsupportedError, match=r"`cli; hlt` is not supported"):
        from_ir(tmp_path, main_of(body))


def test_empty_assembly_passes_its_operand_on(tmp_path: Path) -> None:
    body = '  %x = load i32, ptr @x\n  %y = call i32 asm "", "=r,0"(i32 %x)\n  ret i32 %y'
    assert value(tmp_path, body, "@x = global i32 8\n") == 8


# --- initial values


def test_initial_values(tmp_path: Path) -> None:
    before = """@bytes = constant [4 x i8] c"ab\\00\\FF"
@far = global ptr getelementptr inbounds ([4 x i8], ptr @bytes, i64 0, i64 3)
@number = global i64 ptrtoint (ptr getelementptr (i8, ptr @bytes, i64 1) to i64)
%T = type { i16, ptr }
%U = type { i8, [2 x %T], i128, double }
@nested = global %U { i8 1, [2 x %T] [%T { i16 -1, ptr @f }, %T zeroinitializer], i128 -2, double 1.0 }
@other = alias i8, getelementptr (i8, ptr @bytes, i64 2)
@q = global ptr @other
define void @f() {
  ret void
}
"""
    body = """
  %a = load ptr, ptr @far
  %b = load i64, ptr @number
  %c = load i8, ptr @nested
  %d = load ptr, ptr @q
  ret i32 0"""
    program = from_ir(tmp_path, main_of(body, before))
    shown = {item.name: [(c.offset, c.size, c.value) for c in item.cells] for item in program.objects}
    address = type(program.object_by_name["far"].cells[0].value)
    assert shown["bytes"] == [(0, 1, 97), (1, 1, 98), (3, 1, 255)]
    assert shown["far"] == [(0, 8, address("bytes", 3))]
    assert shown["number"] == [(0, 8, address("bytes", 1))]
    assert shown["q"] == [(0, 8, address("bytes", 2))]
    assert shown["nested"] == [
        (0, 1, 1),
        (8, 2, 0xFFFF),
        (16, 8, address("f")),
        (48, 8, mask(64) - 1),
        (56, 8, mask(64)),
        (64, 8, 0x3FF0_0000_0000_0000),
    ]


def test_only_what_main_reaches_is_part_of_the_program(tmp_path: Path) -> None:
    before = """@unused = global ptr @dead
@used = global i32 1
declare void @missing()
define void @dead() {
  call void @missing()
  ret void
}
"""
    program = from_ir(tmp_path, main_of("  %x = load i32, ptr @used\n  ret i32 %x", before))
    assert [item.name for item in program.objects] == ["used"]
    assert [function.name for function in program.functions] == ["main"]


def test_the_result_prints_and_parses_back(tmp_path: Path) -> None:
    program = from_ir(
        tmp_path,
        main_of("  %1 = load float, ptr @x\n  %2 = fptosi float %1 to i32\n  ret i32 %2", "@x = global float 2.0\n"),
    )
    assert parse_program(Source("x", print_program(program))) == program


# --- errors


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  %x = load i32, ptr @gone\n  ret i32 %x", "the variable `gone` is declared, but no file defines it"),
        ("  %x = load x86_fp80, ptr @y\n  ret i32 0", "`x86_fp80` are not supported"),
        ("  %x = load i128, ptr @y\n  %z = udiv i128 %x, %x\n  %t = trunc i128 %z to i32\n  ret i32 %t", "128-bit"),
        ("  %x = atomicrmw fmax ptr @y, float 1.0 seq_cst\n  ret i32 0", "`fmax` is not supported"),
        ("  %x = load atomic i128, ptr @y seq_cst, align 16\n  ret i32 0", "more than 8 bytes"),
        ("  %x = call i32 @llvm.strange.i32(i32 1)\n  ret i32 %x", "`llvm.strange.i32` is not supported"),
        ("  br label %nowhere", "there is no block `%nowhere`"),
    ],
)
def test_what_is_not_supported_is_named_with_its_line(tmp_path: Path, body: str, message: str) -> None:
    before = "@x = global i32 0\n@gone = external global i32\n@y = global i128 0\n"
    with pytest.raises(InputError) as caught:
        from_ir(tmp_path, main_of(body, before))
    text = str(caught.value)
    assert message in text
    line = int(text.split("test.ll:")[1].split(":", maxsplit=1)[0])
    assert 6 <= line <= 7


def test_a_program_without_main_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no function `main`"):
        from_ir(tmp_path, "define void @f() {\n  ret void\n}\n")


WHOLE = """%S = type { i32, ptr, [2 x i8] }
@x = global i32 5, align 4
@s = internal global %S { i32 1, ptr @x, [2 x i8] c"ab" }, align 8
declare ptr @malloc(i64 noundef) #1
define internal i32 @twice(i32 noundef %0) #0 !dbg !3 {
  %2 = alloca i32, align 4
  store i32 %0, ptr %2, align 4
  %3 = load i32, ptr %2, align 4, !dbg !5
  %4 = mul nsw i32 %3, 2
  ret i32 %4
}
define i32 @main() {
entry:
  %p = call noalias ptr @malloc(i64 noundef 16) #2
  %q = getelementptr inbounds %S, ptr @s, i32 0, i32 1
  %r = load ptr, ptr %q, align 8
  %v = load atomic i32, ptr %r acquire, align 4
  %w = cmpxchg weak ptr %r, i32 %v, i32 7 seq_cst monotonic, align 4
  %ok = extractvalue { i32, i1 } %w, 1
  br i1 %ok, label %then, label %end
then:
  %t = call i32 @twice(i32 noundef %v)
  switch i32 %t, label %end [
    i32 10, label %then2
  ]
then2:
  br label %end
end:
  %f = phi i32 [ %t, %then ], [ 3, %then2 ], [ 0, %entry ]
  ret i32 %f
}
!3 = distinct !DISubprogram(name: "twice", line: 2)
!5 = !DILocation(line: 3, column: 1, scope: !3)
"""


@pytest.mark.parametrize("seed", range(150))
def test_a_damaged_module_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    """Whatever a person gets is a message with a position, never a traceback."""
    random = Random(seed)
    words = re.split(r"(\s+|[(),\[\]{}])", WHOLE)
    others = (
        "i32",
        "ptr",
        "%x",
        "@main",
        "-1",
        "9" * 30,
        "{",
        "]",
        "null",
        "i128",
        "double",
        "x86_fp80",
        "!5",
        "void",
        "",
    )
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(words))
        words[at : at + random.choice((1, 1, 1, 9))] = [random.choice((*others, random.choice(words)))]
    with contextlib.suppress(InputError):
        from_ir(tmp_path, "".join(words))


def test_the_whole_module_is_fine_as_it_is(tmp_path: Path) -> None:
    assert run(from_ir(tmp_path, WHOLE)).value == 3
