"""The search for candidates: through the code in program order, to the first place where something else can matter.

The paper's search (section 5.3) keeps (U, σ, cnt, F) and leaves what it passes in the code; that loses outcomes
(section 5.6 and `docs/modular.md`). Here what is passed is *captured*: assignments are executed, ifs and loops are
resolved, and writes become constants, cell and value. So σ is the registers themselves, U is not needed, and the code
that has yet to take effect is a sequence of constant writes, and the code from a position on. Rules that this replaces:

    (2), (4) for assignments    executed when passed
    (2), (4) for writes         captured when passed; which of them are candidates is for the rule sets to say
    (5), (6)                    the position goes forward
    (7), (10), (11)             a condition is evaluated: nothing that is passed depends on a read to come
    (8)                         does not occur: the search stops at the read that would make it unknown
    (9)                         a loop that writes for ever: see `Capture.endless`
    (12)                        the search stops at the first read, CMPXCHG or barrier

`Terminates` is decided, not guessed: between two stops a thread is alone with its registers, so its run either comes to
a stop, and all loops on its way are in `Terminates`, or comes back to where it was, and they are not. The paper takes a
loop for one that is not until the search has seen it end (`Terminates*`), and then revisits the states that asked. Here
the answer is there when it is asked for, so that nothing has to be revisited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import Any, NamedTuple

from dekker.engines.modular.code import (
    Assign,
    Assume,
    Branch,
    Check,
    Code,
    Jump,
    PartialBarrier,
    Read,
    Refused,
    Registers,
    Step,
    Update,
    Write,
    changed,
)
from dekker.engines.modular.memory import Cell, Memory
from dekker.errors import UnsupportedError
from dekker.records import dataclass
from dekker.source import Span

MOST_LOCAL_STEPS = 50_000

NOWHERE = -1
"""The position of a thread that goes on for ever without reading or writing, or has failed an assumption."""


class Mark(Enum):
    """A partial barrier among the passed writes: those behind it wait, or reads wait."""

    BEFORE_WRITES = "before writes"
    BEFORE_READS = "before reads"


class PassedWrite(NamedTuple):
    cell: Cell
    value: int


Passed = tuple[PassedWrite | Mark, ...]
Round = tuple[int, Registers]
"""Where a round of a loop begins, and the registers there."""


class Failure(NamedTuple):
    kind: str
    message: str
    span: Span | None


class Local(NamedTuple):
    """A control state and registers: `passed` and the code from `position` on have yet to take effect. If `failure` is
    given the thread has stopped there."""

    thread_class: int
    position: int
    registers: Registers
    passed: Passed = ()
    failure: Failure | None = None


class NotFinite(Exception):
    """A loop for which the states of a thread do not end."""

    def __init__(self, position: int, thread_class: int, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.thread_class = thread_class
        self.why = why


@dataclass
class Capture:
    """For one class of threads. `passes_writes` is false under SC, where a write is never passed; `keeps_marks` is true
    where passed writes can overtake one another, so that partial barriers matter."""

    thread_class: int
    code: Code
    memory: Memory
    passes_writes: bool = True
    keeps_marks: bool = False
    endless: dict[Round, frozenset[Cell]] = field(default_factory=dict)
    """Rounds that come back to themselves without a stop, with the cells that are written on the way."""

    def initial(self) -> Local:
        return self.capture(0, self.code.initial, ())

    def capture(self, position: int, registers: Registers, passed: Passed) -> Local:
        """Goes on to the next stop."""
        run = _Run(self, position, registers, passed)
        run.to_stop()
        return Local(self.thread_class, run.position, run.live_registers(), tuple(run.passed), run.failure)


class _Run:
    """A thread by itself."""

    def __init__(self, capture: Capture, position: int, registers: Registers, passed: Passed) -> None:
        self.capture = capture
        self.position = position
        self.registers = registers
        self.passed = list(passed)
        self.failure: Failure | None = None

    def live_registers(self) -> Registers:
        """Those that nothing will look at become 0, so that more states, and more rounds, are equal."""
        code = self.capture.code
        live = code.always_live if self.position == NOWHERE else code.live[self.position]
        return tuple(value if live >> slot & 1 else 0 for slot, value in enumerate(self.registers))

    def to_stop(self) -> None:
        steps = self.capture.code.steps
        rounds: dict[Round, int] = {}
        n_steps = 0
        if self.waits_in((self.position, self.live_registers())):
            return
        while self.position != NOWHERE:
            before = self.position
            if not self.advance(steps[before]):
                return
            n_steps += 1
            if not 0 <= self.position <= before:
                continue
            here = self.position, self.live_registers()
            if here in rounds and not self._learn(rounds, here):
                self.position = NOWHERE
                return
            if self.waits_in(here):
                return
            if n_steps > MOST_LOCAL_STEPS:
                why = f"after {MOST_LOCAL_STEPS} steps without a read, every round is still different from all others"
                raise NotFinite(self.position, self.capture.thread_class, why)
            rounds[here] = len(self.passed)

    def waits_in(self, here: Round) -> bool:
        """What an endless round writes waits for what was passed, and no read will look at it: so there is no need to
        pass any more (rule 9). Where writes overtake one another, only those to the same cell wait."""
        cells = self.capture.endless.get(here)
        if cells is None:
            return False
        return any(
            isinstance(item, PassedWrite) and (item.cell in cells or not self.capture.keeps_marks)
            for item in self.passed
        )

    def _learn(self, rounds: dict[Round, int], here: Round) -> bool:
        """The run has come back to `here`; false if it has written nothing since."""
        capture = self.capture
        since = rounds[here]
        cells = frozenset(item.cell for item in self.passed[since:] if isinstance(item, PassedWrite))
        if not cells:
            return False
        capture.endless |= {place: cells for place, passed in rounds.items() if passed >= since}
        if capture.keeps_marks and len(cells) > 1:
            why = "it writes to several variables without end, and these writes may overtake one another"
            raise NotFinite(here[0], capture.thread_class, why)
        return True

    def advance(self, step: Step) -> bool:
        """Passes one step; false if the search stops there."""
        handler = _PASSED.get(type(step))
        return handler is not None and handler(self, step)

    def cell(self, address: int, size: int) -> Cell | None:
        """None, and a failure, if there is nothing at the address."""
        span = self.capture.code.spans[self.position]
        cell = self.capture.memory.cell(address, size, span)
        if cell is None:
            self.fail("memory", f"access to {size} bytes at {address:#x}, which lie in no object")
        return cell

    def fail(self, kind: str, message: str) -> None:
        self.failure = Failure(kind, message, self.capture.code.spans[self.position])
        self.position = NOWHERE


def _assign(run: _Run, step: Assign) -> bool:
    run.registers = changed(run.registers, step.register, step.value(run.registers))
    run.position += 1
    return True


def _write(run: _Run, step: Write) -> bool:
    cell = run.cell(step.address(run.registers), step.size)
    if cell is None or not run.capture.passes_writes:
        return False
    run.passed.append(PassedWrite(cell, step.value(run.registers)))
    run.position += 1
    return True


def _access(run: _Run, step: Read | Update) -> bool:
    run.cell(step.address(run.registers), step.size)
    return False


def _mark(run: _Run, step: PartialBarrier) -> bool:
    if run.capture.keeps_marks and run.passed:
        mark = Mark.BEFORE_WRITES if step.before_writes else Mark.BEFORE_READS
        since_last_write = run.passed[_last_write(run.passed) + 1 :]
        if mark not in since_last_write:
            run.passed.append(mark)
    elif not step.before_writes and run.passed:
        return False
    run.position += 1
    return True


def _last_write(passed: list[PassedWrite | Mark]) -> int:
    return max(place for place, item in enumerate(passed) if isinstance(item, PassedWrite))


def _jump(run: _Run, step: Jump) -> bool:
    run.position = run.position + 1 if step.target < 0 else step.target
    return True


def _branch(run: _Run, step: Branch) -> bool:
    run.position = step.target if step.condition(run.registers) else run.position + 1
    return True


def _check(run: _Run, step: Check) -> bool:
    if step.condition(run.registers):
        run.position += 1
        return True
    run.fail("assertion", step.message)
    return False


def _assume(run: _Run, step: Assume) -> bool:
    run.position = run.position + 1 if step.condition(run.registers) else NOWHERE
    return True


def _refused(run: _Run, step: Refused) -> bool:
    raise UnsupportedError(step.message, run.capture.code.spans[run.position])


_PASSED: dict[type, Callable[[_Run, Any], bool]] = {
    Assign: _assign,
    Write: _write,
    Read: _access,
    Update: _access,
    PartialBarrier: _mark,
    Jump: _jump,
    Branch: _branch,
    Check: _check,
    Assume: _assume,
    Refused: _refused,
}
