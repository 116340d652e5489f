"""What programs print, the clock, random numbers, and what they ask the system.

Printing changes nothing. A call is kept as `Print`, so that a witness can show what the program prints. A call returns
the length of its text, or 0 if the format has directives, whose values are not formatted here. Of a text that a pointer
leads to, the first byte is read.

Time stands still: clocks show 0. A random number is any number from 0 to the end of the range of
`__VERIFIER_nondet_int`. There are 2 processors; the environment is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dekker.frontends.c.lowering.expressions import offset, truncate
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.basic import given, nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import Choose, Load, Print, Store


def _prints(position: int, *, formatted: bool = True, newline: bool = False) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        text = call.text(position)
        shown = "(a text that the program computes)" if text is None else text
        if formatted and text is not None and "%n" in text.replace("%%", ""):
            raise Problem(f"`{call.name}` with the directive `%n`, which writes to memory, is not supported")
        shown = shown if formatted and text is not None else shown.replace("%", "%%")
        values = [parts[0] for parts in call.arguments[position + 1 :] if parts] if formatted else []
        variadic = not call.name.startswith("v")
        check_set(call, values)
        _read_texts(call, _text_arguments(call, text, values) if formatted and variadic else [call.argument(position)])
        call.emitter.emit(Print(shown + ("\n" if newline else ""), tuple(values)))
        known = text is not None and not (formatted and "%" in text)
        return Const(len((text or "").encode()) + newline if known else 0)

    return lower


_DIRECTIVE = re.compile(r"%[-+ #0']*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|j|z|t|L|q)?([a-zA-Z%])")


def _text_arguments(call: ExternalCall, text: str | None, values: list[Expr]) -> list[Expr]:
    """The arguments that `%s` prints. A format that is not constant says nothing about them."""
    found: list[Expr] = []
    position = 0
    for width, precision, letter in _DIRECTIVE.findall(text or ""):
        position += (width == "*") + (precision == "*")
        if letter in "%m":
            continue
        if position >= len(values):
            raise Problem(f"`{call.name}`: its format asks for more values than there are", f"the format is {text!r}")
        if letter == "s" and precision != "0":
            found.append(values[position])
        position += 1
    return found


def check_set(call: ExternalCall, values: Iterable[Expr]) -> None:
    """What a function of the library gets has been set: of what has not, no comparison is known."""
    for value in values:
        if not isinstance(value, Const | Address):
            call.emitter.require(Binary("uge", 64, value, ZERO), f"`{call.name}`: a value was never set", loose=True)


def _read_texts(call: ExternalCall, texts: list[Expr]) -> None:
    """Their first bytes, so that a text is found that is not there any more. All of them would be a loop, with a
    bound."""
    for text in texts:
        if not isinstance(text, Address):
            call.emitter.emit(Load(call.emitter.temporary(), text, 1))


def _print_character(call: ExternalCall) -> Expr:
    value = call.argument(0)
    check_set(call, [value])
    call.emitter.emit(Print("%c", (value,)))
    return truncate(8, value)


def _random(call: ExternalCall) -> Expr:
    call.emitter.emit(Choose(call.register, 0, max(0, call.lowering.unit.nondet[1]), partial=True))
    return Reg(call.register)


def _time(call: ExternalCall) -> Expr:
    """`time(place)`"""
    _clear(call, call.argument(0), 8)
    return ZERO


def _fill_time(position: int) -> Handler:
    """Two numbers of 8 bytes: seconds and a fraction."""

    def lower(call: ExternalCall) -> Expr:
        _clear(call, call.argument(position), 16)
        return ZERO

    return lower


def _clear(call: ExternalCall, place: Expr, size: int) -> None:
    if place == ZERO:
        return
    e, end = call.emitter, call.emitter.new_label()
    if not isinstance(place, Address):
        e.branch_unless(place, end)
    for start in range(0, size, 8):
        e.emit(Store(offset(place, start), ZERO, 8))
    e.place(end)


OUTPUT: Mapping[str, External] = {
    **dict.fromkeys(("printf", "vprintf"), External(_prints(0))),
    **dict.fromkeys(("fprintf", "vfprintf", "dprintf", "__printf_chk"), External(_prints(1))),
    "__fprintf_chk": External(_prints(2)),
    "puts": External(_prints(0, formatted=False, newline=True)),
    **dict.fromkeys(("fputs", "perror"), External(_prints(0, formatted=False))),
    **dict.fromkeys(("putchar", "fputc", "putc"), External(_print_character)),
    **dict.fromkeys(("fflush", "setbuf", "setvbuf", "srand", "srandom"), External(nothing)),
    **dict.fromkeys(("rand", "random", "rand_r", "lrand48", "arc4random"), External(_random)),
    **dict.fromkeys(("getenv", "secure_getenv", "setlocale", "isatty", "sched_getcpu"), given(nothing)),
    **dict.fromkeys(("getpid", "gettid", "getppid", "getuid"), given(lambda call: ONE)),
    **dict.fromkeys(("sysconf", "get_nprocs", "get_nprocs_conf"), given(lambda call: Const(2))),
    "time": given(_time),
    "clock": given(nothing),
    "clock_gettime": given(_fill_time(1)),
    **dict.fromkeys(("gettimeofday", "timespec_get"), given(_fill_time(0))),
}
