"""The one error tree. Whatever is the user's to fix is a `DekkerError`; anything else that escapes is a bug."""

from __future__ import annotations

from dekker.records import dataclass
from dekker.source import Diagnostic, Span


class DekkerError(Exception):
    """Carries a `Diagnostic`; `str(error)` is its rendered form."""

    def __init__(self, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)

    def __str__(self) -> str:
        return self.diagnostic.render()


class InputError(DekkerError):
    """The input text or the call is at fault (exit status 2)."""


class ParseError(InputError):
    """A text does not follow its grammar."""


class UnsupportedError(InputError):
    """Valid input that an engine or front end does not handle, named."""


@dataclass(frozen=True, slots=True)
class AccessPlace:
    """An access of memory: the function and position of its instruction, its address and size."""

    function: str
    index: int
    address: int
    size: int
    span: Span | None


class MixedSizes(UnsupportedError):
    """Accesses that overlap without being equal, or, if `racing`, a piece of a larger access that is not in order with
    an access of another thread. The first is the later one, or the piece."""

    def __init__(self, first: AccessPlace, second: AccessPlace, *, racing: bool = False) -> None:
        where = "" if second.span is None else f" at {second.span.source.name}:{second.span.line}"
        message = f"accesses of different sizes overlap: {first.size} bytes here and {second.size} bytes{where}"
        if racing:
            message = f"threads access the same bytes in different sizes, here and{where}, and nothing orders that"
        hint = "under a memory model, threads that race can share bytes only in accesses of one size"
        super().__init__(message, first.span, hint)
        self.first = first
        self.second = second
        self.racing = racing


class ModelError(InputError):
    """A `.cat` file is wrong, or a model does not fit a program."""


class ValidationError(InputError):
    """A `Program` breaks a rule of the representation."""


class LimitReached(BaseException):
    """A limit of time or memory was met where no engine looks at it. Nobody who handles errors may take it for one."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"stopped by {reason}")
        self.reason = reason
