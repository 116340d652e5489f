"""Reading the operands of one assembly instruction, and small pieces that architectures share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from dekker.frontends.litmus.architecture import InstructionError
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Binary, Const, Expr, evaluate_binary
from dekker.ir.instructions import Instruction
from dekker.records import dataclass

# Takes the results of instructions whose destination is a zero register; no instruction reads it.
DISCARDED = "discarded"


class Operand(NamedTuple):
    """One operand and where it starts in the text of its instruction."""

    text: str
    offset: int

    def error(self, message: str, hint: str | None = None) -> InstructionError:
        return InstructionError(message, self.offset, max(1, len(self.text)), hint)

    def expected(self, what: str, hint: str | None = None) -> InstructionError:
        return self.error(f"expected {what}, not `{self.text}`" if self.text else f"expected {what}", hint)


class Words(NamedTuple):
    """An instruction as written: its name in lower case and its operands."""

    mnemonic: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """How a mnemonic is translated, and how many operands it takes."""

    translate: Callable[..., tuple[Instruction, ...]]
    minimum: int
    maximum: int
    arguments: tuple[object, ...] = ()


def form(
    translate: Callable[..., tuple[Instruction, ...]], minimum: int, maximum: int | None = None, *arguments: object
) -> Form:
    """`translate` is called with `arguments` and the operands."""
    return Form(translate, minimum, minimum if maximum is None else maximum, arguments)


def translate(
    text: str, forms: Mapping[str, Form], architecture: str, reject: Callable[[str], str | None]
) -> tuple[Instruction, ...]:
    """Translates one instruction by the table. `reject` says why a mnemonic that is not in it has no meaning here."""
    mnemonic, operands = split(text)
    found = forms.get(mnemonic)
    if found is None:
        raise _unknown(text, mnemonic, forms, architecture, reject(mnemonic))
    if not found.minimum <= len(operands) <= found.maximum:
        counts = str(found.minimum)
        if found.maximum != found.minimum:
            counts += (" or " if found.maximum == found.minimum + 1 else " to ") + str(found.maximum)
        noun = "operand" if counts == "1" else "operands"
        raise InstructionError(f"`{text[: len(mnemonic)]}` takes {counts} {noun}, not {len(operands)}", 0, len(text))
    return found.translate(*found.arguments, *operands)


def _unknown(text: str, mnemonic: str, known: Iterable[str], architecture: str, reason: str | None) -> InstructionError:
    written = text[: len(mnemonic)]
    if reason is not None:
        return InstructionError(f"`{written}` is not supported: {reason}", 0, len(mnemonic))
    from difflib import get_close_matches  # noqa: PLC0415 — slow to load

    close = get_close_matches(mnemonic, known, n=4, cutoff=0.6) if len(mnemonic) < 24 else ()
    upper = written.isupper()
    hint = (
        "did you mean " + " or ".join(f"`{name.upper() if upper else name}`" for name in close) + "?" if close else None
    )
    return InstructionError(f"unknown {architecture} instruction `{written}`", 0, max(1, len(mnemonic)), hint)


def outside(patterns: Mapping[str, str]) -> Callable[[str], str | None]:
    """A `reject` for `translate`, from what is not modelled (`caches are`) and patterns of mnemonics between spaces."""
    compiled = tuple((re.compile(words.replace(" ", "|")), what) for what, words in patterns.items())

    def reason(mnemonic: str) -> str | None:
        found = next((what for pattern, what in compiled if pattern.fullmatch(mnemonic)), None)
        return None if found is None else f"{found} outside what Dekker models"

    return reason


_MNEMONIC = re.compile(r"\S*")
_OPENING, _CLOSING = "[({", "])}"


def split(text: str) -> Words:
    """Cuts an instruction at the commas that stand outside brackets."""
    mnemonic = _MNEMONIC.match(text)
    assert mnemonic is not None
    return Words(mnemonic[0].lower(), split_operands(text, mnemonic.end(), len(text)))


def split_operands(text: str, start: int, end: int, offset: int = 0) -> tuple[Operand, ...]:
    """The operands in `text[start:end]`; `offset` is where `text` itself starts."""
    if not text[start:end].strip():
        return ()
    operands: list[Operand] = []
    depth = 0
    first = start
    for position in range(start, end):
        character = text[position]
        if character == "," and depth == 0:
            operands.append(_trimmed(text, first, position, offset))
            first = position + 1
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
    operands.append(_trimmed(text, first, end, offset))
    return tuple(operands)


def _trimmed(text: str, start: int, end: int, offset: int) -> Operand:
    piece = text[start:end]
    stripped = piece.strip()
    return Operand(stripped, offset + start + len(piece) - len(piece.lstrip()))


_NUMBER = re.compile(r"#?\s*([-+]?)\s*(0[xX][0-9a-fA-F]{1,32}|0[bB][01]{1,64}|[0-9]{1,32})")
_LABEL = re.compile(r"[A-Za-z_.$][\w.$/-]*")


def number(operand: Operand) -> int | None:
    """The value of a literal, with or without `#`; None if the operand is none."""
    found = _NUMBER.fullmatch(operand.text)
    if found is None:
        return None
    digits = found[2]
    value = int(digits, 0) if digits[:2].lower() in ("0x", "0b") else int(digits)
    return -value if found[1] == "-" else value


def immediate(operand: Operand, low: int = -(1 << 63), high: int = (1 << 64) - 1) -> int:
    value = number(operand)
    if value is None:
        raise operand.expected("a number")
    if not low <= value <= high:
        raise operand.error(f"{value} is out of range: from {low} to {high}")
    return value


def label(operand: Operand) -> str:
    if _LABEL.fullmatch(operand.text) is None:
        raise operand.expected("a label")
    return operand.text


def compute(op: str, width: int, left: Expr, right: Expr) -> Expr:
    """A `Binary`, or its value if no register is involved."""
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(evaluate_binary(op, width, left.value, right.value))
    return Binary(op, width, left, right)


def displaced(base: Expr, offset: int) -> Expr:
    """An address `offset` bytes after another."""
    match base:
        case Binary("add", 64, start, Const(first)):
            return displaced(start, (first + offset) & mask(64))
    return compute("add", 64, base, Const(offset)) if offset else base
