"""Errors inside one thread, before it is known where in the file the thread stands."""

from __future__ import annotations

from dekker.errors import InputError, UnsupportedError


class CError(Exception):
    """`start` and `length` point into the text of the thread; `error` is what the user gets to see."""

    def __init__(
        self,
        message: str,
        start: int,
        length: int = 1,
        hint: str | None = None,
        error: type[InputError] = UnsupportedError,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.length = length
        self.hint = hint
        self.error = error
