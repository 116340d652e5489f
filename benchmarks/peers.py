"""What other tools needed, measured elsewhere and once (`peers.csv`), and how fast this machine is beside that one.

Where the tool is on PATH it runs beside, and that is what counts. Where it is not, one program that was measured there
with Dekker, too, is measured here in the same run: seconds here over seconds there is the `pace`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import geometric_mean

from benchmarks.row import Options, Row, run_case
from benchmarks.sets.c_families import C_FAMILIES, FIB, family_case
from benchmarks.sets.case import Case

FILE = Path(__file__).parent / "peers.csv"
REFERENCE = family_case(FIB, "fib_bench 5", "rc11")
REFERENCE_THERE_S = 2.55 - 0.42
"""What Dekker needed there for the reference, without its start."""

Runner = Callable[[Case, Options], Row]


@dataclass(frozen=True)
class Peer:
    tool: str
    runs: int | None
    blocked: int | None
    seconds: float


@cache
def peers() -> dict[tuple[str, str], Peer]:
    with FILE.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["label"], row["model"]): _peer(row) for row in rows}


def _peer(row: dict[str, str]) -> Peer:
    return Peer(row["tool"], _number(row["runs"]), _number(row["blocked"]), float(row["seconds"]))


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def peer_of(case: Case) -> Peer | None:
    return peers().get((case.label, case.model or "")) if case.set_name in C_FAMILIES else None


def measured_pace(cases: Sequence[Case], options: Options, run: Runner = run_case) -> float | None:
    """None if there is nobody to compare with, or no time for the reference."""
    if not any(peer_of(case) for case in cases):
        return None
    row = run(REFERENCE, replace(options, engine="rsmc", tools=()))
    return None if not row.complete or row.own_s is None else row.own_s / REFERENCE_THERE_S


def ratio(row: Row, pace: float | None) -> float | None:
    """Dekker's seconds over those of the peer, as if both had been measured there."""
    peer = peer_of(row.case)
    if peer is None or pace is None or row.own_s is None:
        return None
    return row.own_s / pace / peer.seconds


def mean_text(rows: Sequence[Row], pace: float | None) -> str | None:
    """The geometric mean over the families, of each its own mean, so that none counts more for having more sizes."""
    ratios: dict[str, list[float]] = {}
    for row in rows:
        scaled = ratio(row, pace)
        if scaled is not None:
            ratios.setdefault(row.case.label.split()[0], []).append(scaled)
    if not ratios:
        return None
    mean = geometric_mean([geometric_mean(of_family) for of_family in ratios.values()])
    return f"geometric mean of scaled, over {len(ratios)} families: {mean:.2g}"


def pace_text(pace: float) -> str:
    return f"pace: {REFERENCE.label}, {REFERENCE.model}, takes {pace:.2g} times as long as where peers were measured"
