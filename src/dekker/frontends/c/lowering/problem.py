"""What has no translation; whoever knows the position turns it into an error."""

from __future__ import annotations


class Problem(Exception):
    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def left_out_message(name: str) -> str:
    if "basic_ostream" in name or "basic_istream" in name:
        return f"streams of the C++ library (`std::cout` …) are not modelled, use `printf`: `{name}` is called"
    return f"the function `{name}` of the C++ library is called, and its effect is not known"


def unknown_message(name: str) -> str:
    return (
        f"the function `{name}` is not defined, and its effect is not known; define it in a file of its own and name "
        "that file too, or leave the call out with the preprocessor"
    )
