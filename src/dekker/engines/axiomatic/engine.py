"""Enumerate reads-from × coherence, filter by the model, count final states."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from dekker.cat.algebra import union
from dekker.cat.interpreter import Slots, SlotValue, empty_slots, fill_inputs
from dekker.engines.axiomatic.alone import was_released
from dekker.engines.axiomatic.candidates import Search, Structure, build, order_with_prefix
from dekker.engines.axiomatic.claims import claimed_twice
from dekker.engines.axiomatic.evaluator import (
    COHERENCE,
    EVENTS,
    READS_FROM,
    Plan,
    raised_flags,
    run_plan,
    staged,
)
from dekker.engines.axiomatic.growth import Growth, NewFields, is_dynamic
from dekker.engines.axiomatic.leaks import leaks
from dekker.engines.axiomatic.overlaps import refuse_racing_pieces
from dekker.engines.axiomatic.own_values import breaks_trust
from dekker.engines.axiomatic.path import Discovered, Path
from dekker.engines.axiomatic.paths import thread_paths
from dekker.engines.axiomatic.release import reads_after_release, use_after_free, writes_after_release
from dekker.engines.axiomatic.rounds import program_loops
from dekker.engines.axiomatic.states import final_state
from dekker.engines.axiomatic.steps import SYNCHRONISATION_START, UNINITIALISED, UNSUPPORTED, start_address
from dekker.engines.axiomatic.threads import no_thread
from dekker.engines.axiomatic.traces import trace
from dekker.engines.axiomatic.unset import undecided_checks, undefined_uses
from dekker.errors import UnsupportedError
from dekker.execution import (
    DATA_RACE,
    DYNAMIC_NAMES,
    Event,
    Execution,
    Relation,
    Trace,
    as_seen_by,
    base_value,
    empty_relation,
    final_writes,
    from_read,
    pairs,
)
from dekker.interrupts import interrupted
from dekker.ir.conditions import formula_holds
from dekker.ir.flow import reads_between
from dekker.ir.instructions import Await
from dekker.ir.layout import FREED_WORD, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.ir.unset import may_be_undefined
from dekker.models import shipped_as
from dekker.records import dataclass
from dekker.resources import resident_mb
from dekker.result import ENDED_WAITING, Examples, Result, State, Violation
from dekker.source import Span
from dekker.task import Task

NAME = "axiomatic"


CHECKS_PER_LOOK_AT_MEMORY = 500


class LimitReached(Exception):
    """Its argument names the limit."""


def run(task: Task) -> Result:
    """Every execution that the model accepts, counted; what was counted so far if a limit is reached or on Ctrl-C."""
    oracle = _Oracle(task)
    try:
        oracle.explore()
    except LimitReached as limit:
        oracle.result.stopped_by = str(limit)
    except KeyboardInterrupt:
        oracle.result.stopped_by = "interrupt"
    except RecursionError:
        raise UnsupportedError("the axiomatic engine cannot follow executions that are so long") from None
    return oracle.result


@dataclass(frozen=True)
class Accepted:
    """An execution that the model accepts."""

    structure: Structure
    co: Relation
    flags: tuple[str, ...]

    def execution(self) -> Execution:
        primitive = {**self.structure.static_relations, "rf": self.structure.rf, "co": self.co}
        return Execution(self.structure.events, primitive)

    def trace(self) -> Trace:
        return trace(self.structure, self.co)


def accepted_executions(task: Task) -> Iterator[Accepted]:
    """The complete executions themselves, for those who want to look at them."""
    oracle = _Oracle(task)
    if is_dynamic(task.program):
        oracle.explore()
    for accepted in oracle.accepted():
        statuses = {"failed" if path.noted else path.status for path in accepted.structure.paths}
        if statuses <= {"complete", "unborn"} or ("ended" in statuses and not statuses & {"failed", "cut", "blocked"}):
            yield accepted


class _Oracle:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.result = Result()
        self.program = task.program
        self.property = task.program.property
        self.layout = layout(task.program)
        self.model = staged(task.model.program)
        self.discovered = Discovered()
        watches_races = DATA_RACE in (check.name for check in task.model.program.checks)
        self.pieces = frozenset[tuple[str, int]]() if watches_races else task.pieces
        self.may_be_undefined = may_be_undefined(task.program)
        self.n_checks = 0
        self.static_part: tuple[object, Slots, bool] | None = None
        self.deadline = None if task.limits.timeout_s is None else time.monotonic() + task.limits.timeout_s

    def explore(self) -> None:
        """Starts again whenever something turns out otherwise than assumed."""
        while True:
            self.result = Result()
            self.discovered.trusted.clear()
            try:
                for accepted in self.accepted():
                    self._note_writers(accepted.structure)
                    self._record(accepted)
                    self._stop_at_violation()
            except NewFields:
                continue
            return

    def accepted(self) -> Iterator[Accepted]:
        structures = self._grown_structures() if self._grows() else self._structures()
        for structure in structures:
            yield from self._consistent_coherence(structure)

    def _structures(self) -> Iterator[Structure]:
        """One path per thread, in every way, with sources for all reads."""
        memory = InitialMemory(self.program, self.layout)
        threads = range(len(self.program.threads))
        for combination in product(*(self._paths(thread) for thread in threads)):
            search = Search(combination, memory, self._check_limits)
            for known, sources in search.run():
                yield build(combination, memory, known, sources)
            self.result.self_justifying += search.unresolved

    def _paths(self, thread: int) -> list[Path]:
        paths = []
        for path in thread_paths(self.program, self.layout, thread, self.task.limits):
            self._check_limits()
            paths.append(path)
        return paths

    def _grows(self) -> bool:
        """Which rounds of loops count may depend on who writes where."""
        has_open_rounds = not self.task.limits.counts_known_rounds and any(program_loops(self.program).values())
        return has_open_rounds or is_dynamic(self.program)

    def _grown_structures(self) -> Iterator[Structure]:
        limits, model = self.task.limits, self.task.model
        coherent = shipped_as(model) is not None
        growth = Growth(
            self.program,
            self.layout,
            limits,
            self.discovered,
            coherent,
            self._may_be_accepted,
            self._check_limits,
        )
        yield from growth.structures()
        self.result.self_justifying += growth.unresolved

    def _consistent_coherence(self, structure: Structure) -> Iterator[Accepted]:
        slots = self._slots_with_reads_from(structure)
        if slots is None:
            return
        locations = self._orders_by_location(structure, slots)
        program, size = self.model.program, len(structure.events)
        for choice in product(*locations):
            self._check_limits()
            self.result.candidates += 1
            co = _merge(choice, size)
            if self._holds(self.model.plans[COHERENCE], structure, slots, co):
                yield Accepted(structure, co, raised_flags(program, self.model.flag_plan, size, slots))

    def _static_slots(self, structure: Structure) -> Slots:
        """What depends on nothing but the events."""
        program = self.model.program
        slots = empty_slots(program)
        execution = Execution(structure.events, as_seen_by(structure.static_relations, self.task.model.uses))
        static = {item.name for item in program.inputs} - DYNAMIC_NAMES
        fill_inputs(program, slots, {name: base_value(name, execution) for name in static})
        return slots

    def _slots_with_reads_from(self, structure: Structure) -> Slots | None:
        """Everything that does not depend on coherence; None if that alone is forbidden."""
        program, size = self.model.program, len(structure.events)
        slots = self._static_slots(structure)
        fill_inputs(program, slots, {"rf": structure.rf})
        possible = all(run_plan(program, self.model.plans[stage], size, slots) for stage in (EVENTS, READS_FROM))
        return slots if possible else None

    def _may_be_accepted(self, partial: Structure) -> bool:
        """Where some reads have no source yet, and of coherence only the first writes are known."""
        program, size = self.model.program, len(partial.events)
        if self.static_part is None or self.static_part[0] is not partial.static_relations:
            slots = self._static_slots(partial)
            allowed = run_plan(program, self.model.early_plans[EVENTS], size, slots)
            self.static_part = partial.static_relations, slots, allowed
        _, known, allowed = self.static_part
        slots = list(known)
        co = _merge([order_with_prefix(writes[:1], writes[1:], size) for writes in partial.writes.values()], size)
        fill_inputs(program, slots, {"rf": partial.rf, "co": co, "fr": from_read(partial.rf, co), "FW": 0})
        return allowed and all(run_plan(program, plan, size, slots) for plan in self.model.early_plans[READS_FROM:])

    def _orders_by_location(self, structure: Structure, slots: Slots) -> list[list[Relation]]:
        """Per location, the orders of its writes that the model does not rule out by themselves."""
        locations = []
        for initial, *others in structure.writes.values():
            locations.append(list(self._extend_order(structure, slots, [initial], others)))
        if sum(len(orders) > 1 for orders in locations) <= 1:
            return locations
        partial = self.model.partial_plan
        return [[co for co in orders if self._holds(partial, structure, slots, co)] for orders in locations]

    def _extend_order(
        self, structure: Structure, slots: Slots, prefix: list[int], others: list[int]
    ) -> Iterator[Relation]:
        """All ways to go on after `prefix`; nothing is known yet about the order of the `others`."""
        self._check_limits()
        co = order_with_prefix(prefix, others, len(structure.events))
        if not self._holds(self.model.cheap_partial_plan, structure, slots, co):
            return
        if len(others) <= 1:
            yield co
            return
        for write in others:
            rest = [other for other in others if other != write]
            yield from self._extend_order(structure, slots, [*prefix, write], rest)

    def _holds(self, plan: Plan, structure: Structure, slots: Slots, co: Relation) -> bool:
        values: dict[str, SlotValue] = {
            "co": co,
            "fr": from_read(structure.rf, co),
            "FW": final_writes(structure.events, co),
        }
        fill_inputs(self.model.program, slots, values)
        return run_plan(self.model.program, plan, len(structure.events), slots)

    def _note_writers(self, structure: Structure) -> None:
        for event in structure.events:
            is_store = event.kind == "W" and not event.initial and not structure.path_event(event).release
            if is_store and breaks_trust(self.discovered, event.address, event.thread):
                raise NewFields

    def _refuse_racing_pieces(self, accepted: Accepted) -> None:
        structure, relations = accepted.structure, accepted.execution().relations
        sources = [None if event.initial else structure.path_event(event) for event in structure.events]
        pieces = {
            number
            for number, source in enumerate(sources)
            if source is not None and source.kind != "F" and (source.function, source.instruction) in self.pieces
        }
        refuse_racing_pieces(sources, structure.events, relations, pieces)

    def _record(self, accepted: Accepted) -> None:
        result = self.result
        if self.pieces:
            self._refuse_racing_pieces(accepted)
        goes_wrong = self._record_violations(accepted)
        statuses = {path.status for path in accepted.structure.paths}
        if goes_wrong:
            return
        if "cut" in statuses:
            result.cut += 1
            return
        ended = "ended" in statuses
        if "blocked" in statuses:
            result.blocked += 1
            return
        if statuses & {"waiting", "joining"} and not ended:
            result.blocked += 1
            self._count_deadlock(accepted)
            self._count_flags(accepted)
            return
        if statuses & {"blocked", "waiting", "joining"}:
            result.statistics[ENDED_WAITING] = result.statistics.get(ENDED_WAITING, 0) + 1
        if result.complete_executions == self.task.limits.max_traces:
            raise LimitReached("traces")
        self._count(accepted)
        if self.property.leaks:
            for violation in leaks(self.program, self.layout, accepted.structure, accepted.co):
                self._add_violation(violation, accepted)

    def _count(self, accepted: Accepted) -> None:
        result, structure = self.result, accepted.structure
        registers = [
            {name: structure.final_value(value) for name, value in path.frames[0].registers.items()}
            for path in structure.paths[: len(self.program.threads)]
        ]
        memory = _final_memory(accepted)
        values = final_state(self.property, registers, memory, self.layout, structure.memory)
        if self.property.filter is not None and not formula_holds(self.property.filter, values, self.layout):
            return
        state = tuple(values[observable] for observable in self.property.observed)
        result.states[state] = result.states.get(state, 0) + 1
        self._count_flags(accepted)
        if self.task.examples:
            _keep_example(result.examples, state, accepted)
        condition = self.property.condition
        if condition is None or formula_holds(condition.formula, values, self.layout):
            result.satisfying += 1
        else:
            result.violating += 1

    def _count_deadlock(self, accepted: Accepted) -> None:
        if waits_for_ever(accepted, self.program):
            self.result.deadlocks += 1
            if self.task.examples and self.result.examples.deadlock is None:
                self.result.examples.deadlock = accepted.trace()

    def _count_flags(self, accepted: Accepted) -> None:
        """Undefined behaviour is undefined whether or not a thread waits afterwards."""
        for flag in accepted.flags:
            self.result.flags[flag] = self.result.flags.get(flag, 0) + 1
            if self.task.examples and flag not in self.result.examples.flags:
                self.result.examples.flags[flag] = accepted.trace()

    def _stop_at_violation(self) -> None:
        result, limits = self.result, self.task.limits
        is_deadlock = limits.deadlocks and result.deadlocks
        if limits.stop_at_first and (result.violations or is_deadlock or result.flags):
            raise LimitReached("violation")

    def _record_violations(self, accepted: Accepted) -> bool:
        """Whether the execution does not count, because it comes to a violation that ends it."""
        structure = accepted.structure
        after_release = dict(reads_after_release(structure))
        unset = undefined_uses(structure) if self.may_be_undefined else []
        checks = undecided_checks(structure) if self.may_be_undefined else ()
        claims = claimed_twice(structure)
        released = [(event.thread, event.index, event.index, use_after_free(event)) for event in after_release.values()]
        used = [(event.thread, event.index, event.index, unset_value(event.span)) for event in unset]
        decided = [(thread, check.n_events - 1, check.n_events, unset_value(check.span)) for thread, check in checks]
        first = [*released, *used, *decided]
        misled = misled_threads(structure, ((thread, index) for thread, index, _, _ in first))
        found = [
            violation
            for thread, index, n_events, violation in first
            if index == misled[thread] and not claims.is_behind(thread, n_events)
        ]
        failed = {thread: path for thread, path in enumerate(structure.paths) if path.status == "failed"}
        own = [path for thread, path in failed.items() if thread not in misled and not claims.is_behind(thread)]
        found += [Violation(path.failure_kind, path.failure, path.failure_span) for path in own]
        noted = [(thread, *item) for thread, path in enumerate(structure.paths) for item in enumerate(path.noted)]
        for thread, number, failure in noted:
            is_misled = failure.n_events > misled.get(thread, failure.n_events)
            if not is_misled and not claims.is_behind(thread, failure.n_events, number):
                found.append(Violation(failure.kind, failure.message, failure.span))
        for thread, claim in claims.second():
            if claim.n_events <= misled.get(thread, claim.n_events):
                found.append(Violation("join", no_thread(claim.handle), claim.span))
        misused = list(writes_after_release(structure, accepted.co))
        outside = (item for item in self._outside(structure) if item[0] not in unset)
        for event, violation in [*misused, *outside]:
            is_misled = event.index > misled.get(event.thread, event.index)
            if not is_misled and not claims.is_behind(event.thread, event.index):
                found.append(violation)
        for violation in found:
            if violation.kind == UNSUPPORTED:
                raise UnsupportedError(violation.message, violation.span)
            self._add_violation(violation, accepted)
        return bool(failed or noted or misled or misused or claims.made)

    def _outside(self, structure: Structure) -> Iterator[tuple[Event, Violation]]:
        for event in structure.events:
            if event.accesses_memory and not event.initial and not self._is_in_object(structure, event):
                if any(was_released(path, event.address) for path in structure.paths):
                    yield event, use_after_free(event)
                    continue
                message = f"access to {event.size} bytes at {event.address:#x}, which lie in no object"
                yield event, Violation("memory", message, event.span)

    def _is_in_object(self, structure: Structure, event: Event) -> bool:
        source = structure.path_event(event)
        is_of_threads = SYNCHRONISATION_START <= event.address < start_address(len(structure.paths))
        if is_of_threads or source.release or source.renewal:
            return True
        if any(start + FREED_WORD == event.address for start, _ in self.discovered.freed):
            return True
        objects = (
            item
            for path in structure.paths
            for item in path.objects
            if structure.reuses or item[0] not in path.released
        )
        inside = any(start <= event.address and event.address + event.size <= start + size for start, size in objects)
        return inside or self.layout.contains(event.address, event.size)

    def _add_violation(self, violation: Violation, accepted: Accepted) -> None:
        self.result.violations[violation] = None
        if self.task.examples and violation not in self.result.examples.violations:
            self.result.examples.violations[violation] = accepted.trace()

    def _check_limits(self) -> None:
        if interrupted():
            raise LimitReached("interrupt")
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached("time")
        most = self.task.limits.memory_mb
        self.n_checks += 1
        if most is not None and self.n_checks % CHECKS_PER_LOOK_AT_MEMORY == 0 and resident_mb() > most:
            raise LimitReached("memory")


def unset_value(span: Span | None) -> Violation:
    return Violation(UNINITIALISED, "the value was never set", span)


def misled_threads(structure: Structure, places: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Threads that go wrong, given with the index of the event where they do, and those that hear of what follows: each
    with the index of the first such event."""
    misled: dict[int, int] = {}
    for thread, index in places:
        misled[thread] = min(index, misled.get(thread, index))
    heard = [(structure.events[write], structure.events[read]) for write, read in pairs(structure.rf)]
    heard = [(write, read) for write, read in heard if not write.initial and write.thread != read.thread]
    known: dict[int, int] = {}
    while known != misled:
        known = dict(misled)
        for write, read in heard:
            if misled.get(write.thread, write.index + 1) <= write.index:
                misled[read.thread] = min(read.index, misled.get(read.thread, read.index))
    return misled


def _keep_example(examples: Examples, state: State, accepted: Accepted) -> None:
    if state not in examples.states:
        examples.states[state] = accepted.trace()


def waits_for_ever(accepted: Accepted, program: Program) -> bool:
    """Whether every read of the last round of every waiting thread takes the last value of its location: another round
    would read the same."""
    structure = accepted.structure
    overwritten = {write for write, later in enumerate(accepted.co) if later}
    outdated = {read for write, read in pairs(structure.rf) if write in overwritten}
    start = len(structure.events) - sum(len(path.events) for path in structure.paths)
    for path in structure.paths:
        last_round = range(start + path.last_round, start + len(path.events))
        if path.status == "waiting" and (not waits_for_memory(path, program) or not outdated.isdisjoint(last_round)):
            return False
        start += len(path.events)
    return True


def waits_for_memory(path: Path, program: Program) -> bool:
    """A loop that reads nothing does not wait for anything."""
    frame = path.frames[-1]
    waiting = frame.function.body[frame.pc - 1]
    assert isinstance(waiting, Await)
    return reads_between(program, frame.function, frame.function.labels[waiting.target], frame.pc)


def _merge(parts: Sequence[Relation], size: int) -> Relation:
    merged = empty_relation(size)
    for part in parts:
        merged = union(merged, part)
    return merged


def _final_memory(accepted: Accepted) -> dict[tuple[int, int], int]:
    """The value of the coherence-last write of every location."""
    structure = accepted.structure
    last = {}
    for location, writes in structure.writes.items():
        (final,) = (write for write in writes if not accepted.co[write])
        last[location] = structure.events[final].value
    return last
