"""Branches and loads of the specification: no code stands for them where assertions and assumptions are not compiled.

A loose assertion or assumption is no branch, so nothing behind it depends on what it asks. Nor does anything depend on
the branches that do no more than compute what it asks: those of `assert(a && b)`, or of a function that an assertion
calls. They are found as a compiler finds dead code. Whatever has an effect is alive; so is what computes a value for
it, and so are branches that decide whether it happens. Branches that are not alive become loose, but for those that end
a loop: whether a loop ends has an effect of its own. Loads that are not alive become loose, too: what comes behind them
does not wait for their addresses.

A load is dead if its value is used, and only by what is dead: an access without a use is there for its own sake. A call
is dead if the same holds for its value and the callee only reads; such calls go to a copy of the callee in which
all loads, and all branches but those that end loops, are loose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from dekker.ir.expressions import Address, Binary, Const, Expr
from dekker.ir.flow import defined, successors, used
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Branch,
    Call,
    Choose,
    Exit,
    Instruction,
    Jump,
    Load,
    Print,
    Return,
)
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.source import Span

ASKED = "%asked"
"""Ends the names of copies of functions that only the specification calls."""
Loose = Branch | Assume | Assert | Load
_LOOSE = (Branch, Assume, Assert, Load)
_ONLY_COMPUTES = (Assign, Load, Branch, Jump, Return, Assert, Assume, Choose)


def loosen(program: Program) -> Program:
    """The program with the branches and loads of its specification made loose."""
    marked = _Loosening(program.function_by_name)
    functions = tuple(marked.loosened(_asserting(function)) for function in program.functions)
    return replace(program, functions=(*functions, *marked.copies.values()))


def tighten(program: Program, *kinds: type[Loose]) -> Program:
    """Nothing is loose of these kinds, or of any: for models under which it makes no difference, because they have no
    control dependencies."""
    functions = tuple(_tightened(function, kinds or _LOOSE) for function in program.functions)
    return program if functions == program.functions else replace(program, functions=functions)


def _tightened(function: Function, kinds: tuple[type[Loose], ...]) -> Function:
    if not any(getattr(step, "loose", False) for step in function.body):
        return function
    body = (replace(step, loose=False) if isinstance(step, kinds) else step for step in function.body)
    return replace(function, body=tuple(body))


# --- branches to failures


def _asserting(function: Function) -> Function:
    """A branch with one way that does nothing but fail, in a loose assertion, is an assertion; but a loop keeps its
    ends, if what fails comes behind it."""
    if not any(map(_is_failure, function.body)):
        return function
    kept = _last_ends(function)
    body: list[Instruction] = []
    spans: list[Span | None] = []
    starts: list[int] = []
    for index, step in enumerate(function.body):
        starts.append(len(body))
        found = [] if index in kept else list(_as_assertion(function, index))
        body += [instruction for instruction, _ in found] or [step]
        spans += [span for _, span in found] or [function.span(index)]
    starts.append(len(body))
    labels = {label: starts[at] for label, at in function.labels.items()}
    return replace(function, body=tuple(body), labels=labels, spans=tuple(spans) if function.spans else ())


def _is_failure(step: Instruction) -> bool:
    return isinstance(step, Assert) and step.loose and step.condition == Const(0)


def _as_assertion(function: Function, index: int) -> Iterator[tuple[Instruction, Span | None]]:
    branch = function.body[index]
    if not isinstance(branch, Branch):
        return
    taken, other = (_failure_at(function, at) for at in (function.labels[branch.target], index + 1))
    if (taken is None) == (other is None):
        return
    at = taken if taken is not None else other
    assert at is not None
    failure = function.body[at]
    assert isinstance(failure, Assert)
    condition = branch.condition if taken is None else _negated(branch.condition)
    yield replace(failure, condition=condition), function.span(at)
    if taken is None:
        yield Jump(branch.target), function.span(index)


def _last_ends(function: Function) -> set[int]:
    """Branches out of loops all of whose ways out fail, but for those of assertions in the loop."""
    found: set[int] = set()
    for inside in _loop_bodies(function):
        ways = {at: set(successors(function, at)) - inside for at in _branches_out(function, inside)}
        failures = {at: [_failure_at(function, way) for way in out] for at, out in ways.items()}
        if all(failure is not None for out in failures.values() for failure in out):
            found |= {at for at, out in failures.items() if any(_is_before(function, at, failure) for failure in out)}
    return found


def _is_before(function: Function, branch: int, failure: int | None) -> bool:
    """Whether the text of the branch comes first; that of an assertion begins with the assertion."""
    asking, failing = function.span(branch), None if failure is None else function.span(failure)
    if asking is None or failing is None or asking.source != failing.source:
        return False
    return asking.start < failing.start


def _failure_at(function: Function, index: int) -> int | None:
    """Where a loose failure stands that is all that happens from there on."""
    seen: set[int] = set()
    while index < len(function.body) and index not in seen:
        seen.add(index)
        step = function.body[index]
        if _is_failure(step):
            ends = index + 1 < len(function.body) and isinstance(function.body[index + 1], Exit)
            return index if ends else None
        if not isinstance(step, Jump):
            return None
        index = function.labels[step.target]
    return None


def _negated(condition: Expr) -> Expr:
    return Binary("eq", 64, condition, Const(0))


# --- what is alive


@dataclass
class _Loosening:
    functions: Mapping[str, Function]
    copies: dict[str, Function] = field(default_factory=dict)
    pure: dict[str, bool] = field(default_factory=dict)

    def loosened(self, function: Function) -> Function:
        if not any(_is_asked(step) for step in function.body) or not _ends_everywhere(function):
            return function
        alive = self._alive(function)
        changed: dict[int, Instruction] = {}
        for index, step in enumerate(function.body):
            if index in alive:
                continue
            if isinstance(step, Branch | Load):
                changed[index] = replace(step, loose=True)
            elif isinstance(step, Call) and isinstance(step.function, Address):
                changed[index] = replace(step, function=Address(self._copy(step.function.symbol)))
        if not changed:
            return function
        return replace(function, body=tuple(changed.get(index, step) for index, step in enumerate(function.body)))

    def _alive(self, function: Function) -> set[int]:
        body = function.body
        behind = _postdominators(function)
        reading: dict[object, list[int]] = {}
        writing: dict[object, list[int]] = {}
        for index, step in enumerate(body):
            for name in used(step):
                reading.setdefault(name, []).append(index)
            for name in defined(step):
                writing.setdefault(name, []).append(index)
        branches = [index for index, step in enumerate(body) if isinstance(step, Branch)]
        alive: set[int] = set()
        pending = [*_loop_ends(function), *(i for i, step in enumerate(body) if self._has_effect(step, reading))]
        while pending:
            index = pending.pop()
            if index in alive:
                continue
            alive.add(index)
            for name in used(body[index]):
                pending += writing.get(name, ())
            pending += (branch for branch in branches if _decides(function, behind, branch, index))
        return alive

    def _has_effect(self, step: Instruction, reading: Mapping[object, list[int]]) -> bool:
        match step:
            case Assign() | Branch() | Jump() | Choose():
                return False
            case Assert(loose=True) | Assume(loose=True):
                return False
            case Return():
                return step.value is not None
            case Load():
                return step.exclusive or step.dst not in reading
            case Call(dst, Address(symbol)):
                return dst is None or dst not in reading or not self._only_reads(symbol)
        return True

    def _only_reads(self, name: str) -> bool:
        if name not in self.pure:
            self.pure[name] = False  # as long as it is not known, for calls of itself
            function = self.functions.get(name)
            self.pure[name] = function is not None and all(map(self._is_harmless, function.body))
        return self.pure[name]

    def _is_harmless(self, step: Instruction) -> bool:
        if isinstance(step, Call):
            return isinstance(step.function, Address) and self._only_reads(step.function.symbol)
        return isinstance(step, (*_ONLY_COMPUTES, Print)) and not getattr(step, "exclusive", False)

    def _copy(self, name: str) -> str:
        new = name + ASKED
        if new not in self.copies:
            function = _asserting(self.functions[name])
            ends = _loop_ends(function)
            self.copies[new] = replace(function, name=new)
            body = tuple(self._copied(step) if index not in ends else step for index, step in enumerate(function.body))
            self.copies[new] = replace(function, name=new, body=body)
        return new

    def _copied(self, step: Instruction) -> Instruction:
        match step:
            case Branch() | Load():
                return replace(step, loose=True)
            case Call(_, Address(symbol)):
                return replace(step, function=Address(self._copy(symbol)))
        return step


def _is_asked(step: Instruction) -> bool:
    return isinstance(step, Assert | Assume) and step.loose


def _decides(function: Function, behind: list[int], branch: int, index: int) -> bool:
    """Does it depend on the branch whether control comes to the instruction?"""
    bit = 1 << index
    if index != branch and behind[branch] & bit:
        return False
    return any(behind[successor] & bit for successor in successors(function, branch))


def _postdominators(function: Function) -> list[int]:
    """For each instruction, the set of those that control comes to for sure from there on."""
    size = len(function.body)
    everything = (1 << (size + 1)) - 1
    found = [everything] * size + [1 << size]
    changed = True
    while changed:
        changed = False
        for index in range(size - 1, -1, -1):
            following = successors(function, index) or (size,)
            common = everything
            for successor in following:
                common &= found[successor]
            common |= 1 << index
            changed = changed or common != found[index]
            found[index] = common
    return found


def _ends_everywhere(function: Function) -> bool:
    """Does some way lead to the end from everywhere?"""
    size = len(function.body)
    before: list[list[int]] = [[] for _ in range(size + 1)]
    for index in range(size):
        for successor in successors(function, index) or (size,):
            before[successor].append(index)
    return len(_closure([size], before)) == size + 1


def _loop_ends(function: Function) -> set[int]:
    """Branches with a way out of a loop."""
    return {at for inside in _loop_bodies(function) for at in _branches_out(function, inside)}


def _branches_out(function: Function, inside: set[int]) -> Iterator[int]:
    branches = (at for at in inside if isinstance(function.body[at], Branch))
    return (at for at in branches if not set(successors(function, at)) <= inside)


def _loop_bodies(function: Function) -> Iterator[set[int]]:
    """One for each backward jump."""
    size = len(function.body)
    before: list[list[int]] = [[] for _ in range(size + 1)]
    for index in range(size):
        for successor in successors(function, index):
            before[successor].append(index)
    for index in range(size):
        for head in successors(function, index):
            if head > index:
                continue
            cut = [[] if at == head else list(sources) for at, sources in enumerate(before)]
            yield _closure([index], cut) | {head}


def _closure(start: list[int], steps: list[list[int]]) -> set[int]:
    seen: set[int] = set()
    pending = list(start)
    while pending:
        index = pending.pop()
        if index not in seen:
            seen.add(index)
            pending += steps[index]
    return seen
