"""Large numbers that are known roughly, for a person."""

from __future__ import annotations

import math


def rough(number: float) -> str:
    """Two digits that mean something: 184759 is 180 thousand."""
    if number < 1000:
        return f"{number:.0f}"
    if number >= 1e15:
        return f"{number:.1e}"
    digits = 1 - math.floor(math.log10(number))
    rounded = round(number, digits)
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if rounded >= size:
            return f"{rounded / size:.3g} {name}"
    return f"{rounded:.0f}"


def estimate_line(mean: float, low: float, high: float) -> str:
    return f"about {rough(mean)} complete executions (likely {rough(low)} to {rough(high)})"


def lower_bound_line(mean: float, at_least: float) -> str:
    """Where there is no interval that could be trusted."""
    if not at_least:
        return "no probe came to a complete execution: how many there are is open"
    if at_least == 1:
        return f"perhaps {rough(mean)} complete executions: more than a guess is not possible"
    return f"at least {rough(at_least)} complete executions, perhaps {rough(mean)} or far more"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{rough(seconds / 3600)} h" if seconds < 86400 * 3 else f"{rough(seconds / 86400)} days"
