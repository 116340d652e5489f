"""From tokens to variables and threads. The grammar stands at the head of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from dekker.errors import ParseError
from dekker.frontends.rsmc.cursor import Cursor, listed, suggestion
from dekker.frontends.rsmc.expressions import BINARY_MARKS, Scope, address_name, known_variable, parse_expression
from dekker.frontends.rsmc.lexer import FENCES, FINAL_WORDS, Token, number_value
from dekker.ir.expressions import Address, Expr
from dekker.ir.instructions import Assign, Branch, Fence, Instruction, Jump, Load, Store
from dekker.ir.program import Cell, Function, Object
from dekker.records import dataclass
from dekker.source import Span

SIZE = 8


@dataclass(slots=True)
class ParsedThread:
    """`registers` are those that some instruction assigns, in order; `targets` the labels that branches name."""

    name: str
    scope: Scope
    body: list[Instruction] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, None] = field(default_factory=dict)
    targets: list[Token] = field(default_factory=list)

    def function(self) -> Function:
        return Function(self.name, (), tuple(self.body), self.labels, tuple(self.spans))


def parse_variables(cursor: Cursor) -> tuple[Object, ...]:
    values: dict[str, int | Token] = {}
    tokens: dict[str, Token] = {}
    while cursor.current.kind not in ("thread", "end"):
        token = cursor.name("a variable or a thread", _PROGRAM_HINT)
        if cursor.current.kind != "=":
            raise _misplaced(cursor, token)
        _enter(cursor, tokens, token, "variable")
        cursor.take()
        values[token.text] = address_name(cursor) if cursor.accept("&") else _number(cursor)
        cursor.accept(";")
    names = frozenset(values)
    return tuple(Object(name, SIZE, _cells(cursor, value, names)) for name, value in values.items())


def parse_threads(cursor: Cursor, variables: frozenset[str]) -> list[ParsedThread]:
    """All threads, up to the final part or the end."""
    threads: list[ParsedThread] = []
    names: dict[str, Token] = {}
    labels: dict[str, Token] = {}
    while cursor.accept("thread"):
        name = _thread_name(cursor, len(threads))
        _enter(cursor, names, name, "thread")
        cursor.expect(":", "a thread begins with `thread P:`")
        threads.append(_thread(cursor, ParsedThread(name.text, Scope(variables)), labels))
    if not threads:
        raise cursor.expected("a thread", "a program has at least one: `thread P:`, then its instructions")
    for thread in threads:
        _check_targets(cursor, thread, threads)
        _check_reads(cursor, thread)
    return threads


_PROGRAM_HINT = "a program is variables, `x = 0`, then threads, `thread P:`, then perhaps a condition, `exists (…)`"


def _misplaced(cursor: Cursor, token: Token) -> ParseError:
    if cursor.current.kind in (":", ":="):
        message = "instructions belong to a thread"
        return ParseError(message, cursor.since(token), "begin it with `thread P:`; variables are declared with `=`")
    return cursor.expected("`=`", _PROGRAM_HINT)


def _enter(cursor: Cursor, known: dict[str, Token], token: Token, what: str) -> None:
    first = known.setdefault(token.text, token)
    if first is not token:
        span = cursor.span(first)
        hint = f"the first one is in line {span.line}, column {span.column}"
        raise ParseError(f"there are two {what}s `{token.text}`", cursor.span(token), hint)


def _number(cursor: Cursor) -> int:
    start = cursor.current
    sign = "-" if cursor.accept("-") else ""
    if cursor.current.kind != "number":
        raise cursor.expected("a number", "initial values are numbers, or addresses `&y` of variables")
    return number_value(sign + cursor.take().text, cursor.since(start))


def _cells(cursor: Cursor, value: int | Token, variables: frozenset[str]) -> tuple[Cell, ...]:
    if isinstance(value, Token):
        return (Cell(0, SIZE, Address(known_variable(cursor, value, variables))),)
    return (Cell(0, SIZE, value & (1 << 8 * SIZE) - 1),) if value else ()


def _thread_name(cursor: Cursor, number: int) -> Token:
    """A number must be that of the thread, so that it means the same in conditions."""
    if cursor.current.kind != "number":
        return cursor.name("the name of the thread", "a thread begins with `thread P:`")
    if cursor.current.text != str(number):
        raise cursor.expected(f"a name or the number {number}", "threads are numbered from 0 in the order of the text")
    return cursor.take()


# Statements


_ENDS_THREAD = FINAL_WORDS | {"thread", "end"}


def _thread(cursor: Cursor, thread: ParsedThread, labels: dict[str, Token]) -> ParsedThread:
    while cursor.current.kind not in _ENDS_THREAD:
        if cursor.current.kind == "name" and cursor.ahead.kind == ":":
            _label(cursor, thread, labels)
        elif not cursor.accept(";"):
            _statement(cursor, thread)
    if not thread.body:
        hint = "write threads one below the other, each with its instructions"
        raise cursor.expected(f"an instruction of thread {thread.name}", hint)
    return thread


def _label(cursor: Cursor, thread: ParsedThread, labels: dict[str, Token]) -> None:
    token = cursor.take()
    _enter(cursor, labels, token, "label")
    thread.labels[token.text] = len(thread.body)
    cursor.take()


def _statement(cursor: Cursor, thread: ParsedThread) -> None:
    start = cursor.current
    read = _INSTRUCTIONS.get(start.kind)
    if read is None:
        raise cursor.expected("an instruction", _INSTRUCTION_HINT)
    instruction = read(cursor, thread)
    thread.body.append(instruction)
    thread.spans.append(cursor.since(start))
    if not cursor.accept(";") and not cursor.current.first:
        raise cursor.expected("`;`", _after(instruction))


_INSTRUCTION_HINT = (
    "instructions are `r := e`, `r := [a]`, `[a] := e`, `r := x`, `x := e`, `if e goto L`, `goto L` and the fences "
    + ", ".join(f"`{fence}`" for fence in FENCES)
)


def _after(instruction: Instruction) -> str:
    if isinstance(instruction, Load):
        return "a load stands alone: load into a register first, then compute with it"
    if isinstance(instruction, Fence):
        return f"`{instruction.kind}` is a fence: it takes no operands, and nothing else has its name"
    return "end an instruction with `;`, or with the line"


def _assignment(cursor: Cursor, thread: ParsedThread) -> Instruction:
    target = cursor.take()
    if cursor.current.kind != ":=":
        raise _not_assigned(cursor, target)
    cursor.take()
    if target.text in thread.scope.variables:
        return Store(Address(target.text), parse_expression(cursor, thread.scope), SIZE)
    thread.registers[target.text] = None
    if cursor.current.kind == "[":
        return Load(target.text, _place(cursor, thread), SIZE)
    if cursor.current.text in thread.scope.variables and cursor.ahead.kind not in BINARY_MARKS:
        return Load(target.text, Address(cursor.take().text), SIZE)
    return Assign(target.text, parse_expression(cursor, thread.scope))


def _not_assigned(cursor: Cursor, target: Token) -> ParseError:
    if cursor.current.kind == "=":
        return cursor.expected("`:=`", "threads assign with `:=`; `x = 0` declares a variable, before the first thread")
    if cursor.current.first or cursor.current.kind == ";":
        known = (*FENCES, "goto", "if", "thread", "exists")
        hint = suggestion(target.text, known) or _INSTRUCTION_HINT
        return ParseError(f"`{target.text}` is not an instruction", cursor.span(target), hint)
    return cursor.expected("`:=`", _INSTRUCTION_HINT)


def _place(cursor: Cursor, thread: ParsedThread) -> Expr:
    cursor.take()
    address = parse_expression(cursor, thread.scope)
    cursor.expect("]", "a bracket is not closed")
    return address


def _store(cursor: Cursor, thread: ParsedThread) -> Instruction:
    address = _place(cursor, thread)
    cursor.expect(":=", "a store looks like `[a] := e`")
    return Store(address, parse_expression(cursor, thread.scope), SIZE)


def _branch(cursor: Cursor, thread: ParsedThread) -> Instruction:
    cursor.take()
    condition = parse_expression(cursor, thread.scope)
    if cursor.current.kind != "goto":
        raise cursor.expected("`goto`", "a branch looks like `if r0 = 1 goto L`")
    return Branch(condition, _target(cursor, thread))


def _jump(cursor: Cursor, thread: ParsedThread) -> Instruction:
    return Jump(_target(cursor, thread))


def _target(cursor: Cursor, thread: ParsedThread) -> str:
    cursor.take()
    thread.targets.append(cursor.name("a label", "`goto L` goes to the instruction behind `L:`"))
    return thread.targets[-1].text


def _fence(cursor: Cursor, thread: ParsedThread) -> Instruction:
    return Fence(cursor.take().text)


_INSTRUCTIONS: dict[str, Callable[[Cursor, ParsedThread], Instruction]] = {
    "name": _assignment,
    "[": _store,
    "if": _branch,
    "goto": _jump,
    **dict.fromkeys(FENCES, _fence),
}


# What only the whole thread can tell


def _check_targets(cursor: Cursor, thread: ParsedThread, threads: list[ParsedThread]) -> None:
    for token in thread.targets:
        if token.text in thread.labels:
            continue
        owners = [other.name for other in threads if token.text in other.labels]
        hint = f"it is in thread {owners[0]}, but branches stay in their thread" if owners else ""
        raise ParseError(
            f"there is no label `{token.text}` in thread {thread.name}",
            cursor.span(token),
            hint or suggestion(token.text, thread.labels) or listed("labels of this thread", thread.labels),
        )


def _check_reads(cursor: Cursor, thread: ParsedThread) -> None:
    """A register that nothing assigns is most likely a variable that nobody declared."""
    for name, token in thread.scope.reads.items():
        if name not in thread.registers:
            raise ParseError(
                f"nothing in thread {thread.name} assigns the register `{name}`",
                cursor.span(token),
                f"if `{name}` is a shared variable, declare it before the first thread: `{name} = 0`",
            )
