"""How runs are shown to a person."""

from __future__ import annotations

from dekker.records import dataclass

WIDTH = 100


@dataclass(frozen=True)
class RunStyle:
    """`table`: threads side by side, if the width is enough for that."""

    table: bool = False
    color: bool = False


LIST = RunStyle()
