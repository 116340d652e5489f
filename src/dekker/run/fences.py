"""`dekker fences`: from a program to the cheapest fences that make it right under a model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import PurePath

from dekker.cat.model import Model
from dekker.errors import InputError, LimitReached
from dekker.frontends.c.lowering.asynchronous import THREAD_COPY
from dekker.ir.instructions import Assign, Fence, Print
from dekker.ir.program import Function, Program
from dekker.ir.property import Quantifier
from dekker.models import load_model
from dekker.records import dataclass
from dekker.replay.demangle import demangled
from dekker.report.check_report import CheckReport
from dekker.report.fences_text import NO_HELP, NONE_NEEDED, PLACED, UNDECIDED, WRONG_ANYWAY, FencesReport, FenceView
from dekker.result import Verdict
from dekker.run.check import CheckOptions
from dekker.run.fence_markers import NO_EFFECT, Choice, Marked, mark, marker_of
from dekker.run.fence_notes import left_out, nothing_asserted, open_pairs, refused_places
from dekker.run.fence_search import Checker, Undecided, cheapest_fences, droppable
from dekker.run.fence_spelling import spellings
from dekker.run.fence_ties import dislike
from dekker.run.prepare import prepare
from dekker.run.supervision import supervised
from dekker.task import Progress
from dekker.transform.classes import classes_of
from dekker.transform.cycles import Cycles, Segment, candidates, critical_cycles
from dekker.transform.describe import describe_cycles
from dekker.transform.fence_placement import Placement, Places, broken_cycles, find_places, place_fences, useful_markers
from dekker.transform.graph import event_graph
from dekker.transform.rules import rules_for

SC = "sc"
MOST_DESCRIBED = 100
_PAIRS = 0.1
_ALL_TRIED = (
    "a fence in every place between two statements was tried, so that accesses of one statement, or of a function of"
    " the library, are out of order"
)
_MARKERS_CHANGE = (
    "the source with a place for a fence between any two statements is another program: a macro or a label of the"
    " source takes the statement behind it"
)


@dataclass(frozen=True)
class FenceOptions:
    """`robust`: break all cycles, whatever the property says. `minimal`: show what goes wrong without each fence.
    `costs` are those of kinds of fences that differ from the usual. `inside`: headers, or folders of headers, that are
    included in angle brackets and get fences as well."""

    robust: bool = False
    minimal: bool = False
    costs: tuple[tuple[str, float], ...] = ()
    timeout_s: float | None = None
    inside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """`texts` are the sources with the fences, in the order of the paths; `headers` the headers that get some, by
    path."""

    report: FencesReport
    texts: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)


def propose(
    paths: Sequence[str],
    model_name: str,
    check: CheckOptions,
    options: FenceOptions,
    progress: Progress | None = None,
) -> Proposal:
    started = time.monotonic()
    try:
        with supervised(check.limits):
            proposal = _propose(paths, model_name, check, options, progress)
    except LimitReached as limit:
        note = f"it ended without an answer ({limit.reason})"
        proposal = Proposal(FencesReport(PurePath(paths[0]).stem, model_name, UNDECIDED, notes=(note,)), ())
    return replace(proposal, report=replace(proposal.report, time_s=time.monotonic() - started))


def _propose(
    paths: Sequence[str],
    model_name: str,
    check: CheckOptions,
    options: FenceOptions,
    progress: Progress | None,
) -> Proposal:
    started = time.monotonic()
    model = load_model(model_name)
    rules = rules_for(model)
    if not rules.relaxed:
        raise InputError(f"the model '{model_name}' keeps everything in order, so that fences do nothing")
    marked = _asking(mark(paths, rules, dict(options.costs), check, options.inside))
    deadline = None if options.timeout_s is None else started + options.timeout_s
    work = _Work(marked, model, Checker(model, check, deadline, progress=progress), options, _analysis(marked, model))
    try:
        proposal = work.robust() if options.robust else work.cheapest()
    except Undecided as undecided:
        proposal = work.undecided(undecided)
    notes = (*proposal.report.notes, *nothing_asserted(marked.original))
    return replace(proposal, report=replace(proposal.report, checks=work.checker.checks, notes=notes))


def _asking(marked: Marked) -> Marked:
    """For a litmus test that asks whether a state exists, that state is what must not happen."""

    def forbidding(program: Program) -> Program:
        condition = program.property.condition
        if condition is None or condition.quantifier is not Quantifier.EXISTS:
            return program
        never = replace(condition, quantifier=Quantifier.NOT_EXISTS)
        return replace(program, property=replace(program.property, condition=never))

    return replace(marked, original=forbidding(marked.original), program=forbidding(marked.program))


@dataclass(frozen=True)
class _Analysis:
    places: Places
    cycles: Cycles


def _analysis(marked: Marked, model: Model) -> _Analysis:
    program = prepare(marked.program, model, reduce_updates=False)
    classes = classes_of(event_graph(program, rules_for(model)))
    functions = program.function_by_name
    places = find_places(classes, lambda name, index: marker_of(functions[name].span(index)))
    return _Analysis(places, critical_cycles(classes))


@dataclass(frozen=True)
class _Patch:
    """The texts of the files with fences, the program that they are, and how each kind is written."""

    texts: Sequence[str]
    program: Program
    written: Mapping[str, str]


@dataclass
class _Work:
    marked: Marked
    model: Model
    checker: Checker
    options: FenceOptions
    analysis: _Analysis
    _pairs: Counter[Segment] | None = None
    _disliked: Mapping[int, float] | None = None

    def cheapest(self) -> Proposal:
        before = self.checker.holds(self.marked.original)
        if before.verdict is Verdict.UNKNOWN:
            return self._plain(UNDECIDED, notes=(_empty(before),))
        if before.verdict is not Verdict.UNSAFE:
            return self._plain(NONE_NEEDED, self._how(before))
        alone = self.checker.holds(self.marked.original, load_model(SC))
        if alone.verdict is Verdict.UNSAFE:
            return self._plain(WRONG_ANYWAY, notes=(_what_goes_wrong(alone),))
        useful = self._useful()
        found = cheapest_fences(self.marked, self.checker, useful, self._dislike)
        if found.choice is None:
            everything = frozenset(range(len(self.marked.gaps)))
            found = cheapest_fences(self.marked, self.checker, everything, self._dislike)
        if found.choice is None:
            return self._plain(NO_HELP, notes=(_what_goes_wrong(found.report), *self._reasons()))
        if not found.choice:
            return self._plain(UNDECIDED, notes=(_MARKERS_CHANGE,))
        return self._placed(found.choice, before)

    def _reasons(self) -> tuple[str, ...]:
        """Why no choice of the places that were tried is enough."""
        pairs = self._placement().open_pairs if self.analysis.cycles.complete else ()
        found = self._open_pairs(pairs)
        return (*found, *left_out(self.marked.original, self.marked.files, found)) or (_ALL_TRIED,)

    def robust(self) -> Proposal:
        cycles = self.analysis.cycles
        if not cycles.complete:
            raise InputError(
                "there are too many critical cycles to break them all by an optimal choice",
                hint="without --robust, only what the property needs is fenced",
            )
        placement = self._placement()
        if not placement.fences and not placement.open_pairs:
            return self._plain(NONE_NEEDED, "there is no critical cycle")
        choice = {self._representatives().get(marker, marker): kind for marker, kind in placement.fences.items()}
        return self._placed(choice, None, self._open_pairs(placement.open_pairs))

    def undecided(self, undecided: Undecided) -> Proposal:
        """What breaks all cycles is a good answer, though not a verified one."""
        note = f"a check ended without an answer ({undecided}); more --timeout or --unroll may help"
        cycles = self.analysis.cycles
        if not cycles.complete:
            return self._plain(UNDECIDED, notes=(note,))
        placement = self._placement()
        patch = self._patched(placement.fences)
        views = self._views(placement.fences, patch.written, {})
        unverified = "these fences break all critical cycles; whether the property holds was not checked"
        report = FencesReport(
            self.marked.original.name, self.model.name, UNDECIDED, views, "", (note, unverified), len(cycles.found)
        )
        return self._proposal(report, patch.texts)

    def _placed(self, choice: Choice, before: CheckReport | None, notes: tuple[str, ...] = ()) -> Proposal:
        patch = self._patched(choice)
        after = self.checker.holds(patch.program)
        if after.verdict is Verdict.UNSAFE:
            fails = f"with the fences in the source the property fails: {_what_goes_wrong(after)}"
            return self._plain(NO_HELP, notes=(*notes, fails, *self._reasons()))
        without = self._without(choice) if self.options.minimal else {}
        if self.options.minimal and self.options.robust:
            notes += tuple(
                f"the fence of {self._position(marker)} is not needed for the property"
                for marker, said in without.items()
                if not said
            )
        is_checked = after.verdict is not Verdict.UNKNOWN
        verified = self._how(after) if is_checked else ""
        if not is_checked:
            notes += (_empty(after),)
        elif before is not None:
            verified += f"; without fences: {_what_goes_wrong(before)}"
        report = FencesReport(
            self.marked.original.name,
            self.model.name,
            PLACED if is_checked or self.options.robust else UNDECIDED,
            self._views(choice, patch.written, without),
            verified,
            notes + self._refused(),
            len(self.analysis.cycles.found),
            self.analysis.cycles.complete,
            self.options.minimal and all(without.values()),
        )
        return self._proposal(report, patch.texts)

    def _proposal(self, report: FencesReport, texts: Sequence[str]) -> Proposal:
        files, sheets = self.marked.files, self.marked.sheets
        sources = len(files.paths)
        changed = {
            path: text
            for path, text, sheet in zip(files.headers, texts[sources:], sheets[sources:], strict=True)
            if text != sheet.text
        }
        return Proposal(report, tuple(texts[:sources]), changed)

    def _patched(self, choice: Choice) -> _Patch:
        """Functions and macros of the source may not be known yet where a fence is needed: then it is assembly."""
        first = spellings(self.marked, rules_for(self.model).name)
        try:
            return self._written(choice, first)
        except InputError:
            return self._written(choice, self.marked.kinds.texts)

    def _written(self, choice: Choice, written: Mapping[str, str]) -> _Patch:
        texts = self.marked.texts(choice, written)
        program = self.marked.files.read(texts).program
        return _Patch(texts, replace(program, property=self.marked.original.property), written)

    def _refused(self) -> tuple[str, ...]:
        return tuple(refused_places(self.marked))

    def _open_pairs(self, segments: Iterable[Segment]) -> tuple[str, ...]:
        return tuple(open_pairs(self.analysis.places.classes, self.marked.files, segments))

    def _placement(self) -> Placement:
        return place_fences(self.analysis.places, self.analysis.cycles.found, self.marked.kinds, self._ties())

    def _without(self, choice: Choice) -> dict[int, str]:
        found = {}
        for marker, report in droppable(self.marked, self.checker, choice):
            found[marker] = _what_goes_wrong(report) if report.verdict is Verdict.UNSAFE else ""
        return found

    def _plain(self, outcome: str, verified: str = "", notes: tuple[str, ...] = ()) -> Proposal:
        cycles = self.analysis.cycles
        report = FencesReport(
            self.marked.original.name,
            self.model.name,
            outcome,
            (),
            verified,
            notes + (() if outcome in (NONE_NEEDED, WRONG_ANYWAY) else self._refused()),
            len(cycles.found),
            cycles.complete,
        )
        return self._proposal(report, [sheet.text for sheet in self.marked.sheets])

    def _useful(self) -> frozenset[int]:
        cycles = self.analysis.cycles
        if not cycles.complete:
            classes = self.analysis.places.classes
            segments = (segment for part in cycles.components for segment in candidates(classes, part))
            found = frozenset(marker for item in segments for marker in self.analysis.places.between(item))
        else:
            found = useful_markers(self.analysis.places, cycles.found)
        same = self._representatives()
        return frozenset(same.get(marker, marker) for marker in found)

    def _dislike(self, slot: tuple[int, str]) -> float:
        """Of places that are as good otherwise, that is better which keeps more of the pairs of cycles in order."""
        costs = self.marked.kinds.costs
        return self._ties()[slot[0]] + _PAIRS * (1 - self._merit(slot)) * costs[slot[1]] / max(costs.values())

    def _ties(self) -> Mapping[int, float]:
        if self._disliked is None:
            self._disliked = dislike(self.marked)
        return self._disliked

    def _merit(self, slot: tuple[int, str]) -> float:
        if self._pairs is None:
            weak = self.analysis.places.weak
            self._pairs = Counter(segment for cycle in self.analysis.cycles.found for segment in weak(cycle))
        kept = sum(count for pair, count in self._pairs.items() if self.analysis.places.breaks(pair, *slot))
        return kept / max(1, self._pairs.total())

    def _representatives(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for function in self.marked.program.functions:
            found |= _same_place(function)
        return found

    def _how(self, report: CheckReport) -> str:
        bound = " within the bounds" if report.verdict is Verdict.SAFE_WITHIN_BOUND else ""
        return f"the property holds{bound} in all executions under {self.model.name} (engine {report.engine})"

    def _position(self, marker: int) -> str:
        sheet, gap = self.marked.place(marker)
        return f"{sheet.path}:{gap.line}:{gap.column}"

    def _function(self, marker: int) -> str:
        functions = self.marked.program.functions
        found = next(item for item in functions if any(marker_of(span) == marker for span in item.spans))
        return demangled(found.name.partition(THREAD_COPY)[0])

    def _views(self, choice: Choice, written: Mapping[str, str], without: Mapping[int, str]) -> tuple[FenceView, ...]:
        places, cycles = self.analysis.places, self.analysis.cycles.found
        found = []
        for marker, kind in choice.items():
            sheet, gap = self.marked.place(marker)
            lines = sheet.text.split("\n")
            numbers = list(broken_cycles(places, cycles, marker, kind))
            broken = [cycles[index] for index in numbers[:MOST_DESCRIBED]]
            view = FenceView(
                sheet.path,
                gap.line,
                gap.after,
                kind,
                written[kind],
                self.marked.kinds.costs[kind],
                tuple(describe_cycles(places.classes, broken)),
                without.get(marker, ""),
                lines[gap.line - 1].strip() if gap.line <= len(lines) else "",
                self._function(marker),
                max(0, len(numbers) - MOST_DESCRIBED),
                gap.column,
                gap.beside,
            )
            found.append(view)
        return tuple(sorted(found, key=lambda view: (view.file, view.line, view.column)))


def _same_place(function: Function) -> dict[int, int]:
    """Markers with nothing but computation between them and a later one, by that one."""
    labels = set(function.labels.values())
    found: dict[int, int] = {}
    last: int | None = None
    for index in range(len(function.body) - 1, -1, -1):
        marker = marker_of(function.span(index))
        step = function.body[index]
        if marker is not None:
            if last is not None:
                found[marker] = found.get(last, last)
            last = marker
        elif not (isinstance(step, Assign | Print) or (isinstance(step, Fence) and step.kind == NO_EFFECT)):
            last = None
        if index in labels:
            last = None
    return found


def _empty(report: CheckReport) -> str:
    within = f" within --unroll {report.limits.unroll}" if report.result.cut else ""
    return f"nothing goes wrong, but {report.undecided}{within}, so that this says nothing about what the program does"


def _what_goes_wrong(report: CheckReport) -> str:
    if not report.violations:
        return report.verdict.value
    finding = report.violations[0].finding
    span = report.violations[0].span
    where = f" (line {span.line})" if span is not None else ""
    return f"{finding.kind}: {finding.message}{where}"
