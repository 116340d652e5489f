"""What has no translation; whoever knows the position turns it into an error."""

from __future__ import annotations


class Problem(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
