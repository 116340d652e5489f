"""`Result`: what an engine found, what it covered, and which limits it met."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from dekker.execution import Trace
from dekker.ir.property import Condition, Quantifier
from dekker.records import dataclass
from dekker.source import Span

State = tuple[int, ...]
"""Final values, in the order of `Property.observed`."""


ENDED_WAITING = "ended waiting"
"""A statistic: complete executions in which the program ended while threads waited. How many there are is a matter of
taste: engines need not tell apart what a thread sees that waits in vain."""

MERGED = "merged"
"""A statistic: whether states that differ in which thread is which were counted once, and joins in a row as one."""

UP_TO_RENAMING = "up_to_renaming"
"""A statistic: ends of runs that stand for those that differ from them in the names of alike threads only."""

UP_TO_ORDER = "up_to_order"
"""A statistic: ends of runs that stand for all orders of writes that nobody sees."""

LEFT_OUT = "left_out"
"""A statistic: rounds that an engine did not explore because they leave nothing behind. Others count them."""


class Verdict(Enum):
    SAFE = "SAFE"
    SAFE_WITHIN_BOUND = "SAFE_WITHIN_BOUND"
    UNSAFE = "UNSAFE"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Violation:
    """A runtime error that some execution shows."""

    kind: str
    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class ScheduleStep:
    """What a thread does at one moment of a run, what is then in the store buffers (by thread, oldest first), and what
    it overtakes there. `kind` is what the engine calls it, such as `read`, `buffered` or `commit`."""

    thread: int
    span: Span | None
    text: str
    buffers: tuple[tuple[int, tuple[str, ...]], ...] = ()
    overtaken: str = ""
    kind: str = ""


@dataclass
class Examples:
    """One execution for each final state, and for each runtime violation and flag, and for a deadlock, as far as the
    engine gives them."""

    states: dict[State, Trace] = field(default_factory=dict)
    violations: dict[Violation, Trace] = field(default_factory=dict)
    flags: dict[str, Trace] = field(default_factory=dict)
    deadlock: Trace | None = None
    schedule: tuple[ScheduleStep, ...] = ()
    """Of the first violation, moment by moment, from engines that know the order."""


@dataclass
class Result:
    """Counts are of executions that the model accepts. `satisfying` ones satisfy the formula of the condition, whatever
    its quantifier; `violating` ones do not; together they are the complete ones, in which all threads end. In `blocked`
    ones no thread goes on, but some have stopped at a failed assumption or wait at an await. `deadlocks` are the
    blocked ones in which all threads that did not end wait for ever: what they read in their last round is the last
    word on each location. `cut` ones go on beyond the bound, at the loops `cut_at`. `flags` are
    those of complete executions and of those in which threads wait. `too_long_at` is where an execution came to have
    more events than the engine can hold. `bound` says what the result is limited to besides, and is empty if it is not;
    `choice` why this engine was chosen, if it was. `examples` is empty unless the task asks for them; `statistics` is
    the work that the engine counted, under its own names. `rounds` is the bound on loops with which it was found, if
    that has grown."""

    satisfying: int = 0
    violating: int = 0
    states: dict[State, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    violations: dict[Violation, None] = field(default_factory=dict)
    blocked: int = 0
    deadlocks: int = 0
    cut: int = 0
    cut_at: tuple[Span, ...] = ()
    self_justifying: int = 0
    candidates: int = 0
    stopped_by: str | None = None
    too_long_at: Span | None = None
    bound: str = ""
    choice: str = ""
    examples: Examples = field(default_factory=Examples)
    statistics: dict[str, int] = field(default_factory=dict)
    rounds: int | None = None

    @property
    def counts_executions(self) -> bool:
        """Searches of states do not."""
        return "states" not in self.statistics

    @property
    def is_up_to_renaming(self) -> bool:
        """Whether threads that do the same were not told apart: one execution stands for several, and counts as one."""
        return self.statistics.get(UP_TO_RENAMING, 0) > 0

    @property
    def is_up_to_order(self) -> bool:
        """Whether the order of writes was left open where nobody sees it: one execution stands for all orders."""
        return self.statistics.get(UP_TO_ORDER, 0) > 0

    @property
    def complete_executions(self) -> int:
        return self.satisfying + self.violating

    @property
    def came_to_end(self) -> bool:
        """Some execution did. What holds of none says nothing."""
        return self.complete_executions > 0

    def observation(self) -> str:
        """How often the formula of the condition was seen to hold."""
        if self.satisfying == 0:
            return "Never"
        return "Always" if self.violating == 0 else "Sometimes"


def verdict(result: Result, condition: Condition | None) -> Verdict:
    """Whether the property holds. What one execution shows is final; what all must show needs a complete run, and one
    execution at least that came to its end."""
    if result.violations or _refuted(result, condition):
        return Verdict.UNSAFE
    if condition is not None and condition.quantifier is Quantifier.EXISTS:
        return Verdict.SAFE if result.satisfying else Verdict.UNKNOWN
    if result.stopped_by is not None or not result.came_to_end:
        return Verdict.UNKNOWN
    return Verdict.SAFE_WITHIN_BOUND if result.cut or result.bound else Verdict.SAFE


def _refuted(result: Result, condition: Condition | None) -> bool:
    if condition is None:
        return False
    match condition.quantifier:
        case Quantifier.EXISTS:
            covered_everything = result.stopped_by is None and not result.cut and not result.bound
            ended = result.came_to_end or result.deadlocks > 0
            return covered_everything and ended and result.satisfying == 0
        case Quantifier.NOT_EXISTS:
            return result.satisfying > 0
        case Quantifier.FORALL:
            return result.violating > 0
