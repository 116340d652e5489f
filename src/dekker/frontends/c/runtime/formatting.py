"""`sprintf` and `snprintf`: texts that are put together in memory, byte by byte (`library/format.ir`).

Formats are constant, with the directives `%d %i %u %o %x %X %c %s %%`, their lengths, a width, the flags `-` and `0`,
and a precision of texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary, select, sign_extend, truncate
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.output import check_set
from dekker.frontends.c.runtime.templates import expand
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import Assign
from dekker.records import dataclass

_UNLIMITED = Const(mask(64))
_DIRECTIVE = re.compile(r"%([-0]*)(\d*)(?:\.(\d+))?(hh|h|ll|l|j|z|t)?([diuoxXcs%])")
_WIDTHS = {"hh": 8, "h": 16, None: 32}
_BASES = {"d": 10, "i": 10, "u": 10, "o": 8, "x": 16, "X": 16}
_LETTERS = {"x": 39, "X": 7}
_HINT = "those that are: %d %i %u %o %x %X %c %s %%, with a length, a width and the flags - and 0"


def _formats(place: int, size: int | None, text: int) -> Handler:
    """The positions of the buffer, of its size, and of the format among the arguments."""

    def lower(call: ExternalCall) -> Expr:
        pattern = call.text(text)
        if pattern is None:
            raise Problem(f"`{call.name}` with a format that is not constant is not supported")
        limit = _UNLIMITED if size is None else call.argument(size)
        output = _Output(call, call.argument(place), limit, call.emitter.temporary())
        values = [parts[0] for parts in call.arguments[text + 1 :] if parts]
        check_set(call, values)
        for part in _parts(call, pattern):
            if isinstance(part, str):
                for byte in part.encode():
                    output.put("put_byte", Const(byte))
            elif not values:
                raise Problem(f"`{call.name}`: its format asks for more values than there are")
            else:
                _put_value(output, part, values.pop(0))
        expand(call, "put_end", output.place, limit, Reg(output.count))
        return truncate(32, Reg(output.count))

    return lower


@dataclass(frozen=True)
class _Directive:
    flags: str
    width: int
    precision: int | None
    length: str | None
    letter: str


@dataclass
class _Output:
    """`count` is the register with the number of bytes so far."""

    call: ExternalCall
    place: Expr
    size: Expr
    count: str

    def __post_init__(self) -> None:
        self.call.emitter.emit(Assign(self.count, ZERO))

    def put(self, function: str, *arguments: Expr) -> None:
        value = expand(self.call, function, self.place, self.size, Reg(self.count), *arguments)
        self.call.emitter.emit(Assign(self.count, value))

    def length(self, function: str, *arguments: Expr) -> Expr:
        """How many bytes that would be; none is written."""
        return self.call.emitter.keep(expand(self.call, function, self.place, ZERO, ZERO, *arguments))


def _parts(call: ExternalCall, pattern: str) -> list[str | _Directive]:
    found: list[str | _Directive] = []
    position = 0
    while position < len(pattern):
        end = pattern.find("%", position)
        if end != position:
            found.append(pattern[position : end if end >= 0 else len(pattern)])
            position = end if end >= 0 else len(pattern)
            continue
        match = _DIRECTIVE.match(pattern, position)
        if match is None:
            raise Problem(
                f"`{call.name}`: the directive at `{pattern[position:]}` of its format is not supported", _HINT
            )
        flags, width, precision, length, letter = match.groups()
        if precision is not None and letter != "s":
            raise Problem(f"`{call.name}`: a precision is supported for texts only, not in `{match[0]}`", _HINT)
        limit = None if precision is None else int(precision)
        found.append("%" if letter == "%" else _Directive(flags, int(width or 0), limit, length, letter))
        position = match.end()
    return found


def _put_value(output: _Output, directive: _Directive, value: Expr) -> None:
    if directive.letter == "s":
        most = _UNLIMITED if directive.precision is None else Const(directive.precision)
        _put_padded(output, directive, "put_text", value, most)
    elif directive.letter == "c":
        _put_padded(output, directive, "put_byte", output.call.emitter.keep(truncate(8, value)))
    else:
        _put_number(output, directive, value)


def _put_padded(output: _Output, directive: _Directive, function: str, *arguments: Expr) -> None:
    padding: Expr = ZERO
    if directive.width:
        length = output.length(function, *arguments)
        padding = output.call.emitter.keep(binary("sub", 64, Const(directive.width), length))
    if directive.width and "-" not in directive.flags:
        output.put("put_bytes", Const(ord(" ")), padding)
    output.put(function, *arguments)
    if directive.width and "-" in directive.flags:
        output.put("put_bytes", Const(ord(" ")), padding)


def _put_number(output: _Output, directive: _Directive, value: Expr) -> None:
    e = output.call.emitter
    bits = _WIDTHS.get(directive.length, 64)
    signed = directive.letter in "di"
    number = e.keep(sign_extend(bits, 64, value) if signed else truncate(bits, value))
    negative = e.keep(binary("slt", 64, number, ZERO)) if signed else ZERO
    size = e.keep(select(negative, binary("sub", 64, ZERO, number), number)) if signed else number
    arguments = (size, Const(_BASES[directive.letter]), Const(_LETTERS.get(directive.letter, 0)))
    padding: Expr = ZERO
    if directive.width:
        length = binary("add", 64, output.length("put_number", *arguments), negative)
        padding = e.keep(binary("sub", 64, Const(directive.width), length))
    left, zeros = "-" in directive.flags, "0" in directive.flags
    if directive.width and not left and not zeros:
        output.put("put_bytes", Const(ord(" ")), padding)
    if signed:
        behind = e.new_label()
        e.branch_unless(negative, behind)
        output.put("put_byte", Const(ord("-")))
        e.place(behind)
    if directive.width and zeros and not left:
        output.put("put_bytes", Const(ord("0")), padding)
    output.put("put_number", *arguments)
    if directive.width and left:
        output.put("put_bytes", Const(ord(" ")), padding)


FORMATTING: Mapping[str, External] = {
    "sprintf": External(_formats(0, None, 1)),
    "snprintf": External(_formats(0, 1, 2)),
    "__sprintf_chk": External(_formats(0, None, 3)),
    "__snprintf_chk": External(_formats(0, 1, 4)),
}
