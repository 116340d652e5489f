"""The final part: that of litmus tests, with threads known by name too, and nothing but the program's own names."""

from __future__ import annotations

from dekker.errors import ParseError
from dekker.frontends.litmus.condition import Names, parse_property
from dekker.frontends.litmus.format import LitmusFile
from dekker.frontends.rsmc.cursor import Cursor, listed, suggestion
from dekker.frontends.rsmc.lexer import FENCES, Token
from dekker.frontends.rsmc.parser import SIZE, ParsedThread
from dekker.ir.property import AddressValue, MemoryValue, Property, RegisterValue


def parse_final(cursor: Cursor, variables: frozenset[str], threads: list[ParsedThread]) -> Property:
    """Without a final part, final states show every register and every variable."""
    if cursor.current.kind == "end":
        return Property(observed=_everything(variables, threads))
    start = cursor.current.start
    _check_names(cursor, variables, threads)
    frame = LitmusFile(cursor.tokens.source, "", "", (), (0, start), start, cursor.tokens.text, "")
    return parse_property(frame, _names(threads))


def _everything(variables: frozenset[str], threads: list[ParsedThread]) -> tuple[RegisterValue | MemoryValue, ...]:
    registers = (RegisterValue(number, name) for number, thread in enumerate(threads) for name in thread.registers)
    return (*registers, *(MemoryValue(name, 0, SIZE) for name in sorted(variables)))


def _names(threads: list[ParsedThread]) -> Names:
    return Names(
        threads=len(threads),
        register=RegisterValue,
        memory=lambda name, index: MemoryValue(name, 0, SIZE),
        address=AddressValue,
        thread_names={thread.name: number for number, thread in enumerate(threads)},
    )


_CODE = frozenset(("thread", "if", "goto", ":=", "%", *FENCES))
_HINT = "a condition looks like `exists (P:r0=1 /\\ x=2)`; all threads stand before it"


def _check_names(cursor: Cursor, variables: frozenset[str], threads: list[ParsedThread]) -> None:
    while cursor.current.kind != "end":
        token = cursor.take()
        if token.kind in _CODE:
            raise ParseError(f"`{token.text}` does not belong in a condition", cursor.span(token), _HINT)
        if token.kind in ("name", "number") and cursor.current.kind == ":":
            thread = _thread(cursor, token, threads)
            cursor.take()
            _check_register(cursor, thread)
        elif token.kind == "name" and token.text not in variables:
            raise _unknown(cursor, token, variables, threads)
        elif token.kind == "{" or (token.kind == "name" and cursor.current.kind == "["):
            raise ParseError("there are no arrays: a variable holds one number", cursor.span(token), _HINT)


def _thread(cursor: Cursor, token: Token, threads: list[ParsedThread]) -> ParsedThread:
    for number, thread in enumerate(threads):
        if token.text in (thread.name, str(number)):
            return thread
    hint = listed("threads", [thread.name for thread in threads]) + "; or their numbers, from 0"
    raise ParseError(f"there is no thread {token.text}", cursor.span(token), hint)


def _check_register(cursor: Cursor, thread: ParsedThread) -> None:
    token = cursor.name("a register", "`P:r0` is the register `r0` of thread P")
    if token.text not in thread.registers:
        raise ParseError(
            f"nothing in thread {thread.name} assigns the register `{token.text}`",
            cursor.span(token),
            suggestion(token.text, thread.registers) or listed(f"registers of {thread.name}", thread.registers),
        )


def _unknown(cursor: Cursor, token: Token, variables: frozenset[str], threads: list[ParsedThread]) -> ParseError:
    owners = [thread.name for thread in threads if token.text in thread.registers]
    hint = f"the register is `{owners[0]}:{token.text}`" if owners else suggestion(token.text, sorted(variables))
    message = f"there is no variable `{token.text}`"
    return ParseError(message, cursor.span(token), hint or listed("variables", sorted(variables)))
