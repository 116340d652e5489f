"""The one error tree. Whatever is the user's to fix is a `DekkerError`; anything else that escapes is a bug."""

from __future__ import annotations

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


class ModelError(InputError):
    """A `.cat` file is wrong, or a model does not fit a program."""


class ValidationError(InputError):
    """A `Program` breaks a rule of the representation."""
