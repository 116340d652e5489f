"""The customary names of cycles, by how each thread begins and ends: MP is a thread that writes twice and one that
reads twice. One letter is a thread with one access."""

from __future__ import annotations

from collections.abc import Sequence

FAMILIES = {
    "SB": "WR WR",
    "MP": "WW RR",
    "LB": "RW RW",
    "S": "WW RW",
    "R": "WW WR",
    "2+2W": "WW WW",
    "WRC": "W RW RR",
    "WWC": "W RW RW",
    "RWC": "W RR WR",
    "WRR+2W": "W RR WW",
    "WRW+2W": "W RW WW",
    "WRW+WR": "W RW WR",
    "ISA2": "WW RW RR",
    "W+RWC": "WW RR WR",
    "Z6.0": "WW RW WR",
    "Z6.1": "WW WW RW",
    "Z6.2": "WW RW RW",
    "Z6.3": "WW WW RR",
    "Z6.4": "WW WR WR",
    "Z6.5": "WW WW WR",
    "IRIW": "W RR W RR",
    "IRWIW": "W RW W RW",
    "IRRWIW": "W RR W RW",
}
REPEATED = {"SB": "WR", "LB": "RW", "2W": "WW"}


def family_of(shapes: Sequence[str]) -> str:
    """The name of a cycle of threads with these shapes, from whichever of them it begins; spelt out if it has none."""
    turns = [tuple(shapes[at:]) + tuple(shapes[:at]) for at in range(len(shapes))]
    for turn in turns:
        for family, shape in FAMILIES.items():
            if shape == " ".join(turn):
                return family
    for family, shape in REPEATED.items():
        if len(shapes) > 2 and set(shapes) == {shape}:
            return f"{len(shapes)}.{family}"
    return "+".join(max(turns))
