"""Which delays have to be simulated so that no behaviour of a model is lost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dekker.errors import UnsupportedError
from dekker.ir.program import Program
from dekker.transform.events import AccessPoint, Delay, access_points


class Strategy(Enum):
    WEIGHTED = "weighted"
    ALL_PAIRS = "all-pairs"
    EVERY_ACCESS = "every-access"
    ONE_PER_CYCLE = "one-per-cycle"


@dataclass(frozen=True)
class Selection:
    """`delayed` are the accesses that may be delayed, which is what an instrumentation needs to know: the first of each
    pair in `delays`. With EVERY_ACCESS no pairs are computed, and a pair stands for an access with itself.

    `complete`: all critical cycles were enumerated. Otherwise the delays cover those that were not, too."""

    delays: frozenset[Delay]
    cycles: tuple[object, ...]
    complete: bool

    @property
    def delayed(self) -> frozenset[AccessPoint]:
        return frozenset(delay.first for delay in self.delays)


def select(program: Program, model: str, strategy: Strategy) -> Selection:
    """`program` is as engines run it: prepared for the model."""
    if strategy is not Strategy.EVERY_ACCESS:
        raise UnsupportedError(f"the selection '{strategy.value}' is not known yet")
    return Selection(frozenset(Delay(point, point) for point in access_points(program)), (), True)
