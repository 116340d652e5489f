"""The reader of LLVM IR text."""

from __future__ import annotations

import pytest

from dekker.errors import InputError, ParseError, UnsupportedError
from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.lexer import Cursor, unescaped, unquoted
from dekker.frontends.c.llvm.metadata import DebugInformation
from dekker.frontends.c.llvm.module import Module
from dekker.frontends.c.llvm.operands import read_operand, read_type
from dekker.frontends.c.llvm.syntax import Aggregate, Bytes, ConstantExpression, Global, Number, Operand, Zero
from dekker.frontends.c.llvm.types import FLOATS, INT, POINTER, Array, FunctionType, Integer, Named, Struct, Vector
from dekker.source import Source


def module(text: str) -> Module:
    return Module(Source("test.ll", text))


def cursor(text: str) -> Cursor:
    return Cursor(Source("test.ll", text), 0, len(text))


def instructions(*lines: str) -> list[syntax.Instruction]:
    body = "\n".join(f"  {line}" for line in lines)
    found = module(f"define void @f() {{\n{body}\n}}\n").blocks("f")
    return [instruction for block in found for instruction in block.instructions]


# --- types and values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("i32", INT),
        ("i7", Integer(7)),
        ("ptr addrspace(1)", POINTER),
        ("[4 x [2 x i32]]", Array(4, Array(2, INT))),
        ("<2 x float>", Vector(2, FLOATS["float"])),
        ("<{ i32, ptr }>", Struct((INT, POINTER), packed=True)),
        ('%"class.a b"', Named("class.a b")),
        ("i32 (ptr, ...)", FunctionType(INT, (POINTER,), variadic=True)),
    ],
)
def test_types(text: str, kind: object) -> None:
    assert read_type(cursor(text)) == kind


def test_pointers_with_types_are_refused_with_a_hint() -> None:
    with pytest.raises(UnsupportedError, match=r"pointers with a type") as caught:
        read_type(cursor("i32*"))
    assert "clang 15" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i8 -1", Number(255)),
        ("i1 true", Number(1)),
        ("i32 u0x10", Number(16)),
        ("double 1.500000e+00", Number(0x3FF8_0000_0000_0000)),
        ("float 0x3FB99999A0000000", Number(0x3DCC_CCCD)),
        ("float f0x3DCCCCCD", Number(0x3DCC_CCCD)),
        ("ptr null", Zero()),
        ("i32 poison", Zero(undefined=True, poison=True)),
        (r'[3 x i8] c"a\0A\00"', Bytes(b"a\n\0")),
        ("ptr @x", Global("x")),
        ('ptr @"a b"', Global("a b")),
        ("[2 x i32] [i32 1, i32 2]", Aggregate((Operand(INT, Number(1)), Operand(INT, Number(2))))),
        ("<2 x i32> splat (i32 7)", Aggregate((Operand(INT, Number(7)),) * 2)),
        (
            "ptr getelementptr inbounds nuw (i8, ptr @x, i64 4)",
            ConstantExpression(
                "getelementptr",
                (Operand(POINTER, Global("x")), Operand(Integer(64), Number(4))),
                (Integer(8),),
            ),
        ),
        (
            "i64 ptrtoint (ptr @x to i64)",
            ConstantExpression("ptrtoint", (Operand(POINTER, Global("x")),), (Integer(64),)),
        ),
    ],
)
def test_constants(text: str, value: object) -> None:
    assert read_operand(cursor(text)).value == value


def test_names_and_strings() -> None:
    assert [unquoted(text) for text in ("%x", '@"a b"', '"l 1":', "entry:", r'%"\22"')] == [
        "x",
        "a b",
        "l 1",
        "entry",
        '"',
    ]
    assert unescaped(r"\\a\41") == rb"\aA"


# --- instructions


def test_accesses() -> None:
    load, store, rmw, swap, fence = instructions(
        "%1 = load atomic volatile i32, ptr %p acquire, align 4, !dbg !7",
        "store i8 3, ptr @x, align 1, !tbaa !2",
        'atomicrmw volatile add ptr %p, i32 1 syncscope("singlethread") monotonic, align 4',
        "%2 = cmpxchg weak ptr %p, i32 0, i32 1 acq_rel monotonic, align 4",
        "fence seq_cst",
    )
    assert isinstance(load, syntax.Load)
    assert (load.result, load.order, load.volatile, load.align, load.debug) == ("1", "acquire", True, 4, "7")
    assert isinstance(store, syntax.Store)
    assert (store.value.value, store.order) == (Number(3), "")
    assert isinstance(rmw, syntax.AtomicUpdate)
    assert (rmw.op, rmw.order) == ("add", "monotonic")
    assert isinstance(swap, syntax.CompareExchange)
    assert (swap.weak, swap.order, swap.failure_order) == (True, "acq_rel", "monotonic")
    assert isinstance(fence, syntax.Fence)
    assert (fence.order, fence.single_thread) == ("seq_cst", False)


def test_calls_with_attributes() -> None:
    call, variadic, assembly = instructions(
        "%1 = tail call noundef zeroext range(i32 0, 9) i32 @f(ptr noundef nonnull align 8 dereferenceable(4) %p, "
        "ptr byval(%struct.S) align 8 %q, i32 signext 3) #4, !dbg !9, !srcloc !{i64 1, i64 2}",
        "%2 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 1)",
        'call void asm sideeffect "dmb ish", "~{memory}"() #1',
    )
    assert isinstance(call, syntax.Call)
    assert call.type == INT
    assert [(a.by_value, a.align) for a in call.arguments] == [(None, 8), (Named("struct.S"), 8), (None, 1)]
    assert call.debug == "9"
    assert isinstance(variadic, syntax.Call)
    assert variadic.fixed == 1
    assert isinstance(assembly, syntax.Call)
    assert assembly.callee.value == syntax.Assembly("dmb ish", "~{memory}")


def test_an_invoke_ends_its_block() -> None:
    blocks = module(
        """define void @f() personality ptr @p {
entry:
  invoke void @g()
          to label %cont unwind label %lpad

cont:
  ret void

lpad:
  %0 = landingpad { ptr, i32 }
          cleanup
          catch ptr null
  resume { ptr, i32 } %0
}
"""
    ).blocks("f")
    call = blocks[0].instructions[-1]
    assert isinstance(call, syntax.Call)
    assert (call.normal, call.unwind) == ("cont", "lpad")
    assert [type(i) for i in blocks[2].instructions] == [syntax.Unsupported, syntax.Unsupported]


def test_switch_phi_and_branches() -> None:
    switch, phi, branch = instructions(
        "switch i32 %x, label %d [\n    i32 -1, label %a\n    i32 2, label %b\n  ]",
        "%1 = phi i32 [ 0, %a ], [ %y, %b ]",
        "br i1 %c, label %a, label %b, !llvm.loop !4",
    )
    assert isinstance(switch, syntax.Switch)
    assert switch.cases == ((0xFFFF_FFFF, "a"), (2, "b"))
    assert isinstance(phi, syntax.Phi)
    assert [block for _, block in phi.incoming] == ["a", "b"]
    assert isinstance(branch, syntax.Branch)
    assert (branch.then, branch.other) == ("a", "b")


def test_both_forms_of_debug_declarations() -> None:
    record, call = instructions(
        "  #dbg_declare(ptr %x, !5, !DIExpression(), !6)",
        "call void @llvm.dbg.declare(metadata ptr %y, metadata !7, metadata !DIExpression()), !dbg !8",
    )
    assert isinstance(record, syntax.DebugValue)
    assert record.variable == "5"
    assert isinstance(call, syntax.Call)
    assert [argument.operand.value for argument in call.arguments[:2]] == [syntax.Local("y"), syntax.Metadata("7")]


# --- modules

MODULE = """\
; ModuleID = 'a.c'
source_filename = "a.c"
target datalayout = "e-m:e-i64:64"
target triple = "x86_64-unknown-linux-gnu"

%struct.S = type { i32, ptr }
%struct.T = type opaque
$inline = comdat any

@x = dso_local global i32 5, align 4, !dbg !0
@s = internal constant %struct.S { i32 1, ptr @x }, section ".rodata", comdat($inline), align 8
@t = thread_local(initialexec) global i64 0
@e = external global ptr, align 8
@a = weak alias i32, ptr @x

define linkonce_odr dso_local noundef i32 @inline(i32 noundef %0, ptr %p, ...) local_unnamed_addr #0 comdat !dbg !3 {
  ret i32 %0
}

declare !dbg !4 void @g(ptr noundef byval(%struct.S) align 8, i32) #1

attributes #0 = { nounwind "a"="}" }
!0 = !DILocation(line: 2, column: 3, scope: !3)
!3 = distinct !DISubprogram(name: "inline", scope: !1, file: !1, line: 1)
!1 = !DIFile(filename: "a.c", directory: "DIRECTORY")
!5 = !{i64 0, i64 4, !0, i64 8, i64 8, !0}
"""


def test_module_level_items() -> None:
    found = module(MODULE)
    assert found.defined_functions == ("inline",)
    x, s, t, e, a = (found.entity(name) for name in ("x", "s", "t", "e", "a"))
    assert isinstance(x, syntax.Variable)
    assert (x.initial, x.align) == (Operand(INT, Number(5)), 4)
    assert isinstance(s, syntax.Variable)
    assert (s.linkage, s.constant, s.align) == ("internal", True, 8)
    assert isinstance(t, syntax.Variable)
    assert t.thread_local
    assert isinstance(e, syntax.Variable)
    assert e.initial is None
    assert isinstance(a, syntax.Alias)
    assert a.target.value == Global("x")
    header = found.entity("inline")
    assert isinstance(header, syntax.Header)
    assert (header.linkage, header.variadic, header.debug) == ("linkonce_odr", True, "3")
    assert [parameter.name for parameter in header.parameters] == ["0", "p"]
    declared = found.entity("g")
    assert isinstance(declared, syntax.Header)
    assert declared.parameters[0].by_value == Named("struct.S")
    assert not found.is_defined("g")


def test_positions_and_fields_from_metadata(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.c").write_text("int x;\n  return x;\n")
    information = DebugInformation(module(MODULE.replace("DIRECTORY", str(tmp_path))))
    span = information.span("0")
    assert span is not None
    assert (span.line, span.column, span.text) == (2, 3, "return")
    assert information.name("3") == "inline"
    assert information.fields("5") == ((0, 4), (8, 8))


# --- errors


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("int main() {}\n", ParseError, "no LLVM IR"),
        ("define void @f() {\n  ret void\n", ParseError, "no end"),
        ('target datalayout = "E-m:e"\n', UnsupportedError, "big-endian"),
        ('target triple = "i686-pc-linux-gnu"\n', UnsupportedError, "64-bit"),
        ('module asm "nop"\n', UnsupportedError, "assembly outside"),
    ],
)
def test_modules_that_are_refused(text: str, kind: type[InputError], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        module(text)
    assert "test.ll:1:" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%1 = frobnicate i32 3", "`frobnicate` is not supported"),
        ("%1 = add i32 %a", "`,` is expected"),
        ("%1 = add i32 %a, ]", "a value is expected"),
        ("%1 = load banana, ptr %p", "a type is expected"),
        ("indirectbr ptr %p, []", "computed goto"),
        ("store i32 1, ptr %p, banana", "not expected behind"),
    ],
)
def test_errors_name_the_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        instructions("fence acquire", line)
    assert "test.ll:3:" in str(caught.value)
