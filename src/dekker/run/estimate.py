"""How many executions a program has, estimated by random probes of the rsmc engine's exploration.

The mean of the weights is unbiased (Knuth 1975), but if all ways have the same chance, few probes come to the branches
that hold most executions: the mean is too small more often than not, and its usual error says little. So probes learn
which ways have many executions behind them (`core/include/dekker/rsmc/probe_guide.hpp`); each is unbiased whatever
those before it have learnt. The first half only teaches, the second is what counts.

The interval is one of factors. It is that of a normal distribution of the logarithm, from the effective number of
probes, made wider by the tail index (Hill) of the largest weights, and never narrower than that index asks. How much
wider was fitted to programs whose counts are known. Where few probes carry the mean, it is not to be trusted, and not
shown.

What is known even then is a lower bound. An unbiased mean of numbers that are not negative exceeds the truth c times
with a probability of 1/c at most (Markov), whatever came before; so that all of k means, one after the other, do with
1/c to the power of k.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.ir.instructions import Await
from dekker.ir.program import Program
from dekker.native import ProbeGuide
from dekker.records import dataclass
from dekker.task import Task

DEFAULT_SECONDS = 5.0
FIRST_BATCH, LARGEST_BATCH = 100, 5_000
NORMAL = 1.96
NARROW = 1.15
"""A factor with which nobody wants to know it better."""
FEWEST_PROBES = 1_000
HEAVY_TAIL = 1.0
LARGEST_TAIL, LARGEST_SHARE, FEWEST_EFFECTIVE = 0.8, 0.05, 100
"""Of an interval to be trusted: the tail index, the share of one probe in the mean, and the probes that count."""
GROUPS, PROBES_OF_GROUP, DOUBT = 7, 10, 0.01
"""The lower bound is wrong with this probability at most."""
LARGEST_WEIGHT = 1e150
"""Of one probe, so that squares are finite. What is larger counts as this, which keeps the lower bound true."""
_STOPPED = {
    "mixed sizes": "accesses of different sizes overlap",
    "guess": "the model lets a load take a value that is not known yet",
    "events": "an execution has too many events",
}


class NoProbe(UnsupportedError):
    """No probe came to its end before the time was up."""


@dataclass(frozen=True)
class Estimate:
    """Complete executions: at least `at_least`, almost certainly; about `mean`, and if that is `trusted`, most likely
    from `low` to `high`. `blocked` estimates those that are blocked."""

    mean: float
    low: float
    high: float
    blocked: float
    probes: int
    at_least: float
    trusted: bool
    time_s: float
    interrupted: bool = False


def estimate(task: Task, seconds: float = DEFAULT_SECONDS, seed: int = 1) -> Estimate:
    """Probes until the interval is narrow or the time is up; `UnsupportedError` for what the engine cannot run."""
    started = time.monotonic()
    runs, stop = probes(task, seconds, seed)
    return estimate_from(runs, stop, seconds, time.monotonic() - started, waits=has_waits(task.program))


def probes(task: Task, seconds: float, seed: int) -> tuple[list[tuple[float, float]], str]:
    """Weights of the runs that count, and what stopped them before the interval was narrow."""
    started = time.monotonic()
    runs: list[tuple[float, float]] = []
    size, guide = FIRST_BATCH, ProbeGuide()
    while True:
        left = started + seconds - time.monotonic()
        batch = replace(task, limits=replace(task.limits, timeout_s=max(left, 1e-3), max_traces=None))
        found, stop = rsmc.probe(batch, size, seed + len(runs), guide)
        runs += found
        counted = later_half(runs)
        if stop or (len(counted) >= FEWEST_PROBES and _factor(_finite(weight for weight, _ in counted)) <= NARROW):
            return counted, stop
        size = min(LARGEST_BATCH, 2 * size)


def later_half(runs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return list(runs[len(runs) // 2 :])


def has_waits(program: Program) -> bool:
    """A read after which a thread would only wait is left out once in an exploration, but in every probe that comes to
    it, so that executions behind it may count several times."""
    return any(isinstance(step, Await) for function in program.functions for step in function.body)


def estimate_from(
    runs: Sequence[tuple[float, float]], stop: str, seconds: float, time_s: float, *, waits: bool
) -> Estimate:
    if stop in _STOPPED:
        raise UnsupportedError(f"there is no estimate: {_STOPPED[stop]}")
    if len(runs) < 2:
        raise NoProbe(f"there is no estimate: no probe came to its end in {seconds:g} seconds")
    return summary(runs, time_s, stop == "interrupt", waits=waits)


def summary(runs: Sequence[tuple[float, float]], time_s: float, interrupted: bool, *, waits: bool = False) -> Estimate:
    weights = _finite(weight for weight, _ in runs)
    mean, factor = fmean(weights), _factor(weights)
    return Estimate(
        mean,
        mean / factor,
        mean * factor,
        fmean(_finite(weight for _, weight in runs)),
        len(runs),
        float(any(weights)) if waits else _lower_bound(weights),
        not waits and _is_trusted(weights),
        time_s,
        interrupted,
    )


def _finite(weights: Iterable[float]) -> list[float]:
    return [min(weight, LARGEST_WEIGHT) for weight in weights]


def _lower_bound(weights: Sequence[float]) -> float:
    groups = min(GROUPS, len(weights) // PROBES_OF_GROUP)
    if not groups:
        return float(any(weights))
    size = len(weights) // groups
    least = min(fmean(weights[first * size : (first + 1) * size]) for first in range(groups))
    return max(float(any(weights)), least * math.exp(math.log(DOUBT) / groups))


def _is_trusted(weights: Sequence[float]) -> bool:
    total = sum(weights)
    if (
        not total
        or max(weights) > min(LARGEST_SHARE * total, LARGEST_WEIGHT / 2)
        or _tail_index(weights) > LARGEST_TAIL
    ):
        return False
    return total * total / sum(weight * weight for weight in weights) >= FEWEST_EFFECTIVE


def _factor(weights: Sequence[float]) -> float:
    total = sum(weights)
    if not total:
        return 1.0
    effective = total * total / sum(weight * weight for weight in weights)
    tail = _tail_index(weights)
    spread = NORMAL * math.sqrt(math.log1p(1 / effective)) * max(1.0, tail)
    return math.exp(max(spread, 2 * (tail - HEAVY_TAIL)))


def _tail_index(weights: Sequence[float]) -> float:
    """Hill's estimator: above 1/2 the variance of such a tail is infinite, above 1 the mean is."""
    ordered = sorted((weight for weight in weights if weight > 0), reverse=True)
    most = int(min(len(weights) / 5, 3 * math.sqrt(len(weights)), len(ordered) - 1))
    if most < 2:
        return 0.0
    return fmean(math.log(weight / ordered[most]) for weight in ordered[:most])
