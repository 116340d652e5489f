"""Puts results into a document, between two marks, so that they can be made anew with one command."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dekker.errors import InputError

_RESULTS = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)


def publish(file: Path, command: str, text: str) -> None:
    document = require_place(file)
    block = f"\n{os.cpu_count()} cores; made by `{command}`:\n\n```text\n{text.rstrip()}\n```\n\n"
    file.write_text(_RESULTS.sub(lambda match: match[1] + block + match[2], document), encoding="utf-8")


def require_place(file: Path) -> str:
    """The document; an error if results cannot go there."""
    document = file.read_text(encoding="utf-8")
    if _RESULTS.search(document) is None:
        raise InputError(
            f"'{file}' has no place for results", hint="it needs the lines <!-- results --> and <!-- end of results -->"
        )
    return document
