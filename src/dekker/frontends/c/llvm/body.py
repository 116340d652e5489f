"""Reads the instructions of a function."""

from __future__ import annotations

from collections.abc import Callable

from dekker.errors import UnsupportedError
from dekker.frontends.c.llvm.lexer import END, Cursor, unquoted
from dekker.frontends.c.llvm.operands import (
    BINARY,
    CASTS,
    read_operand,
    read_type,
    read_value,
    skip_attributes,
    skip_flags,
)
from dekker.frontends.c.llvm.syntax import (
    Alloca,
    Argument,
    AtomicUpdate,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    CompareExchange,
    DebugValue,
    ElementPointer,
    Extract,
    ExtractElement,
    Fence,
    Insert,
    InsertElement,
    Instruction,
    Jump,
    Load,
    Local,
    Metadata,
    Operand,
    Phi,
    Return,
    Select,
    Store,
    Switch,
    Unary,
    Unreachable,
    Unsupported,
    VariadicArgument,
    Zero,
)
from dekker.frontends.c.llvm.types import POINTER, VOID, FunctionType, Type

ORDERS = frozenset(("unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"))
_TERMINATORS = (Jump, Branch, Switch, Return, Unreachable)


def read_body(cursor: Cursor, unnamed: int) -> list[Block]:
    """The blocks between the braces. Local values and blocks without a name are counted, starting at `unnamed`."""
    blocks: list[Block] = []
    if not cursor.token.endswith(":"):
        blocks.append(Block(str(unnamed)))
    while cursor.token != END:
        token = cursor.token
        if token.endswith(":"):
            cursor.index += 1
            blocks.append(Block(unquoted(token)))
        elif token[0] == "#":
            _debug_record(cursor, blocks[-1])
        else:
            blocks[-1].instructions.append(_instruction(cursor))
    return blocks


def is_terminator(instruction: Instruction) -> bool:
    if isinstance(instruction, Call):
        return instruction.normal is not None
    return isinstance(instruction, _TERMINATORS) or (isinstance(instruction, Unsupported) and instruction.terminator)


def _instruction(cursor: Cursor) -> Instruction:
    offset = cursor.offset
    result: str | None = None
    token = cursor.token
    if token[0] == "%":
        cursor.index += 1
        result = unquoted(token)
        cursor.expect("=")
        token = cursor.token
    while token in ("tail", "musttail", "notail"):
        cursor.index += 1
        token = cursor.token
    reader = _READERS.get(token)
    if reader is None:
        return cursor.fail(f"the instruction `{token}` is not supported", None, UnsupportedError)
    cursor.index += 1
    instruction = reader(cursor, token, offset)
    instruction.result = result
    _attachments(cursor, instruction)
    return instruction


def _attachments(cursor: Cursor, instruction: Instruction) -> None:
    """`, align 4, !dbg !5, …`: the rest of an instruction."""
    while cursor.accept(","):
        token = cursor.take()
        if token == "align":
            align = cursor.number()
            if isinstance(instruction, Alloca | Load | Store):
                instruction.align = align
        elif token[:1] == "!":
            node = cursor.take()
            if cursor.token in ("{", "("):
                cursor.skip_brackets()
            if token == "!dbg":
                instruction.debug = node[1:]
            elif token == "!tbaa.struct":
                instruction.layout = node[1:]
        elif token == "addrspace":
            cursor.skip_brackets()
        else:
            cursor.index -= 1
            cursor.fail("this is not expected behind an instruction")


def _debug_record(cursor: Cursor, block: Block) -> None:
    offset, name = cursor.offset, cursor.take()
    start = cursor.index
    if name == "#dbg_declare" and cursor.accept("("):
        address = read_operand(cursor)
        cursor.expect(",")
        variable = cursor.take()
        block.instructions.append(DebugValue(offset=offset, address=address, variable=variable[1:]))
    cursor.index = start
    cursor.skip_brackets()


def _same_type(cursor: Cursor) -> tuple[Operand, Operand]:
    """`i32 %a, %b`."""
    left = read_operand(cursor)
    cursor.expect(",")
    return left, Operand(left.type, read_value(cursor, left.type))


def _binary(cursor: Cursor, op: str, offset: int) -> Instruction:
    flags = skip_flags(cursor)
    left, right = _same_type(cursor)
    return Binary(offset=offset, op=op, left=left, right=right, is_signed="nsw" in flags)


def _unary(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    return Unary(offset=offset, op=op, operand=read_operand(cursor))


def _compare(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    predicate = cursor.take()
    left, right = _same_type(cursor)
    return Compare(offset=offset, op=op, predicate=predicate, left=left, right=right)


def _cast(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    operand = read_operand(cursor)
    cursor.expect("to")
    return Cast(offset=offset, op=op, operand=operand, type=read_type(cursor))


def _alloca(cursor: Cursor, op: str, offset: int) -> Instruction:
    cursor.accept("inalloca")
    kind = read_type(cursor)
    count: Operand | None = None
    if cursor.token == "," and cursor.tokens[cursor.index + 1][0] == "i":
        cursor.index += 1
        count = read_operand(cursor)
    return Alloca(offset=offset, type=kind, count=count, align=1)


def _order(cursor: Cursor) -> tuple[str, bool]:
    """An optional `syncscope("…")` and a memory order."""
    single = False
    if cursor.accept("syncscope"):
        single = "singlethread" in cursor.tokens[cursor.index + 1]
        cursor.skip_brackets()
    return (cursor.take() if cursor.token in ORDERS else ""), single


def _access_order(cursor: Cursor) -> str:
    """For other threads, an access whose scope is a single thread is not atomic."""
    order, single = _order(cursor)
    return "" if single else order


def _load(cursor: Cursor, op: str, offset: int) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    kind = read_type(cursor)
    cursor.expect(",")
    address = read_operand(cursor)
    order = _access_order(cursor) if atomic else ""
    return Load(offset=offset, type=kind, address=address, order=order, volatile=volatile)


def _store(cursor: Cursor, op: str, offset: int) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    value = read_operand(cursor)
    cursor.expect(",")
    address = read_operand(cursor)
    order = _access_order(cursor) if atomic else ""
    return Store(offset=offset, value=value, address=address, order=order, volatile=volatile)


def _element_pointer(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    kind = read_type(cursor)
    cursor.expect(",")
    base = read_operand(cursor)
    indices: list[Operand] = []
    while cursor.token == "," and cursor.tokens[cursor.index + 1][0] != "!":
        cursor.index += 1
        indices.append(read_operand(cursor))
    return ElementPointer(offset=offset, type=kind, base=base, indices=tuple(indices))


def _compare_exchange(cursor: Cursor, op: str, offset: int) -> Instruction:
    weak = cursor.accept("weak")
    cursor.accept("volatile")
    address = read_operand(cursor)
    cursor.expect(",")
    expected = read_operand(cursor)
    cursor.expect(",")
    desired = read_operand(cursor)
    order, single = _order(cursor)
    failure, _ = _order(cursor)
    return CompareExchange(
        offset=offset,
        address=address,
        expected=expected,
        desired=desired,
        order=order,
        failure_order=failure,
        weak=weak,
        single_thread=single,
    )


def _atomic_update(cursor: Cursor, op: str, offset: int) -> Instruction:
    cursor.accept("volatile")
    name = cursor.take()
    address = read_operand(cursor)
    cursor.expect(",")
    operand = read_operand(cursor)
    order, single = _order(cursor)
    return AtomicUpdate(offset=offset, op=name, address=address, operand=operand, order=order, single_thread=single)


def _fence(cursor: Cursor, op: str, offset: int) -> Instruction:
    order, single = _order(cursor)
    return Fence(offset=offset, order=order, single_thread=single)


def _path(cursor: Cursor) -> tuple[int, ...]:
    path: list[int] = []
    while cursor.token == "," and cursor.tokens[cursor.index + 1].isdecimal():
        cursor.index += 1
        path.append(cursor.number())
    return tuple(path)


def _extract(cursor: Cursor, op: str, offset: int) -> Instruction:
    return Extract(offset=offset, aggregate=read_operand(cursor), path=_path(cursor))


def _insert(cursor: Cursor, op: str, offset: int) -> Instruction:
    aggregate = read_operand(cursor)
    cursor.expect(",")
    element = read_operand(cursor)
    return Insert(offset=offset, aggregate=aggregate, element=element, path=_path(cursor))


def _operands(cursor: Cursor, count: int) -> list[Operand]:
    found = [read_operand(cursor)]
    for _ in range(count - 1):
        cursor.expect(",")
        found.append(read_operand(cursor))
    return found


def _extract_element(cursor: Cursor, op: str, offset: int) -> Instruction:
    vector, index = _operands(cursor, 2)
    return ExtractElement(offset=offset, vector=vector, index=index)


def _insert_element(cursor: Cursor, op: str, offset: int) -> Instruction:
    vector, element, index = _operands(cursor, 3)
    return InsertElement(offset=offset, vector=vector, element=element, index=index)


def _shuffle(cursor: Cursor, op: str, offset: int) -> Instruction:
    _operands(cursor, 3)
    return Unsupported(offset=offset, op=op)


def _select(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    condition, then, other = _operands(cursor, 3)
    return Select(offset=offset, condition=condition, then=then, other=other)


def _phi(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    kind = read_type(cursor)
    incoming: list[tuple[Operand, str]] = []
    while cursor.token == "[" or (cursor.token == "," and cursor.tokens[cursor.index + 1] == "["):
        cursor.accept(",")
        cursor.expect("[")
        value = read_value(cursor, kind)
        cursor.expect(",")
        incoming.append((Operand(kind, value), unquoted(cursor.take())))
        cursor.expect("]")
    return Phi(offset=offset, type=kind, incoming=tuple(incoming))


# --- calls

_CALLING_CONVENTIONS = frozenset(
    "ccc fastcc coldcc tailcc swiftcc preserve_mostcc preserve_allcc cxx_fast_tlscc".split()
)
_CALL_ATTRIBUTES = frozenset(
    "nounwind noreturn readnone readonly writeonly argmemonly willreturn cold builtin nobuiltin nomerge convergent "
    "returns_twice noinline alwaysinline strictfp mustprogress nosync nofree speculatable memory allocsize".split()
)


def skip_calling_convention(cursor: Cursor) -> None:
    while cursor.token in _CALLING_CONVENTIONS or cursor.token == "cc":
        if cursor.take() == "cc":
            cursor.take()


def read_result_type(cursor: Cursor) -> Type:
    """Attributes of the result, then its type."""
    while True:
        token = cursor.token
        if token in ("noundef", "signext", "zeroext", "nonnull", "noalias", "inreg"):
            cursor.index += 1
        elif token in ("range", "dereferenceable", "dereferenceable_or_null", "nofpclass", "captures"):
            cursor.index += 1
            cursor.skip_brackets()
        elif token == "align":
            cursor.index += 2
        else:
            return read_type(cursor)


def _call(cursor: Cursor, op: str, offset: int) -> Instruction:
    skip_flags(cursor)
    skip_calling_convention(cursor)
    kind = read_result_type(cursor)
    fixed: int | None = None
    if isinstance(kind, FunctionType):
        fixed = len(kind.parameters) if kind.variadic else None
        kind = kind.result
    if cursor.accept("addrspace"):
        cursor.skip_brackets()
    callee = Operand(POINTER, read_value(cursor, POINTER))
    arguments = _arguments(cursor)
    _skip_call_attributes(cursor)
    call = Call(offset=offset, type=kind, callee=callee, arguments=arguments, fixed=fixed)
    if op == "invoke":
        cursor.expect("to")
        call.normal = _label(cursor)
        cursor.expect("unwind")
        call.unwind = _label(cursor)
    return call


def _arguments(cursor: Cursor) -> tuple[Argument, ...]:
    cursor.expect("(")
    found: list[Argument] = []
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        kind = read_type(cursor)
        start = cursor.index
        attributes = skip_attributes(cursor)
        is_defined = "noundef" in cursor.tokens[start : cursor.index]
        value = read_value(cursor, kind)
        if isinstance(value, Zero) and value.poison and not is_defined:
            value = Zero(undefined=True)  # what the function does not look at
        found.append(Argument(Operand(kind, value), *attributes))
    return tuple(found)


def _skip_call_attributes(cursor: Cursor) -> None:
    while True:
        token = cursor.token
        if token[:1] in ("#", '"') and not token.startswith("#dbg_"):
            cursor.index += 1
            if cursor.accept("="):
                cursor.take()
        elif token in _CALL_ATTRIBUTES:
            cursor.index += 1
            if cursor.token == "(":
                cursor.skip_brackets()
        elif token == "[":
            cursor.skip_brackets()
        else:
            return


def _landing_pad(cursor: Cursor, op: str, offset: int) -> Instruction:
    read_type(cursor)
    while cursor.token in ("cleanup", "catch", "filter"):
        if cursor.take() != "cleanup":
            read_operand(cursor)
    return Unsupported(offset=offset, op=op)


def _resume(cursor: Cursor, op: str, offset: int) -> Instruction:
    read_operand(cursor)
    return Unsupported(offset=offset, op=op, terminator=True)


def _variadic_argument(cursor: Cursor, op: str, offset: int) -> Instruction:
    pointer = read_operand(cursor)
    cursor.expect(",")
    return VariadicArgument(offset=offset, list=pointer, type=read_type(cursor))


# --- control


def _label(cursor: Cursor) -> str:
    cursor.expect("label")
    return unquoted(cursor.take())


def _branch(cursor: Cursor, op: str, offset: int) -> Instruction:
    if cursor.token == "label":
        return Jump(offset=offset, target=_label(cursor))
    condition = read_operand(cursor)
    cursor.expect(",")
    then = _label(cursor)
    cursor.expect(",")
    return Branch(offset=offset, condition=condition, then=then, other=_label(cursor))


def _switch(cursor: Cursor, op: str, offset: int) -> Instruction:
    value = read_operand(cursor)
    cursor.expect(",")
    default = _label(cursor)
    cursor.expect("[")
    cases: list[tuple[int, str]] = []
    while not cursor.accept("]"):
        case = read_operand(cursor).value
        cursor.expect(",")
        cases.append((getattr(case, "value", 0), _label(cursor)))
    return Switch(offset=offset, value=value, default=default, cases=tuple(cases))


def _indirect_branch(cursor: Cursor, op: str, offset: int) -> Instruction:
    return cursor.fail("computed goto is not supported", None, UnsupportedError)


def _return(cursor: Cursor, op: str, offset: int) -> Instruction:
    kind = read_type(cursor)
    return Return(offset=offset, value=None if kind == VOID else Operand(kind, read_value(cursor, kind)))


def _unreachable(cursor: Cursor, op: str, offset: int) -> Instruction:
    return Unreachable(offset=offset)


_READERS: dict[str, Callable[[Cursor, str, int], Instruction]] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("fneg", "freeze"), _unary),
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    **dict.fromkeys(("call", "invoke"), _call),
    "alloca": _alloca,
    "load": _load,
    "store": _store,
    "getelementptr": _element_pointer,
    "cmpxchg": _compare_exchange,
    "atomicrmw": _atomic_update,
    "fence": _fence,
    "extractvalue": _extract,
    "insertvalue": _insert,
    "extractelement": _extract_element,
    "insertelement": _insert_element,
    "shufflevector": _shuffle,
    "select": _select,
    "phi": _phi,
    "landingpad": _landing_pad,
    "resume": _resume,
    "va_arg": _variadic_argument,
    "br": _branch,
    "switch": _switch,
    "indirectbr": _indirect_branch,
    "ret": _return,
    "unreachable": _unreachable,
}


def debug_declaration(call: Call) -> DebugValue | None:
    """`call void @llvm.dbg.declare(metadata ptr %x, metadata !5, …)`, as clang wrote it before version 19."""
    if len(call.arguments) < 2:
        return None
    place, variable = (argument.operand for argument in call.arguments[:2])
    if not isinstance(place.value, Local) or not isinstance(variable.value, Metadata):
        return None
    return DebugValue(offset=call.offset, address=place, variable=variable.value.text)
