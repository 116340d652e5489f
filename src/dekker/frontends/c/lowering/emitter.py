"""A function under construction: instructions, labels, positions, fresh names."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple

from dekker.frontends.c.lowering.expressions import is_leaf, negate
from dekker.ir.expressions import Binary, Const, Expr, Reg, evaluate_binary, is_unset
from dekker.ir.flow import defined, live_at_starts, successors, used
from dekker.ir.instructions import MEMORY_ACCESSES, Assert, Assign, Await, Branch, Exit, Instruction, Jump, Return
from dekker.ir.program import Function
from dekker.records import dataclass
from dekker.source import Span


class Struct(NamedTuple):
    """How a struct is laid out: which of its bytes belong to fields, as bits. The others are padding."""

    size: int
    fields: int


class Mark(NamedTuple):
    """What is known of an access: that it goes to a field, or to the padding, of such a struct, or to padding of what
    is copied, wherever that is."""

    access: Instruction
    struct: Struct | None
    padding: bool


@dataclass(slots=True)
class Emitter:
    """Names that begin with `%` are made here or have no name in the source; all others come from it.

    While there is a `struct` or `padding`, accesses are marked as parts of it; marks are found by the identity of the
    access."""

    body: list[Instruction] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    span: Span | None = None
    fresh: int = 0
    struct: Struct | None = None
    padding: bool = False
    marks: dict[int, Mark] = field(default_factory=dict)

    def emit(self, instruction: Instruction) -> None:
        self.body.append(instruction)
        self.spans.append(self.span)
        self._mark(instruction)

    def _mark(self, instruction: Instruction) -> None:
        if (self.struct is not None or self.padding) and isinstance(instruction, MEMORY_ACCESSES):
            self.marks[id(instruction)] = Mark(instruction, self.struct, self.padding)

    def redirect(self, register: str) -> None:
        """Lets the last instruction put its value there."""
        last = self.body[-1]
        fields = {key: getattr(last, key) for key in last.__slots__}
        self.body[-1] = type(last)(**(fields | {"dst": register}))
        self._mark(self.body[-1])

    def temporary(self) -> str:
        self.fresh += 1
        return f"%t{self.fresh}"

    def new_label(self) -> str:
        self.fresh += 1
        return f"%l{self.fresh}"

    def place(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def keep(self, value: Expr) -> Expr:
        """The value in a register, unless it is as short as one."""
        if is_leaf(value):
            return value
        name = self.temporary()
        self.emit(Assign(name, value))
        return Reg(name)

    def copy(self, value: Expr) -> Expr:
        """The value in a register that nobody changes."""
        name = self.temporary()
        self.emit(Assign(name, value))
        return Reg(name)

    def jump(self, target: str) -> None:
        self.emit(Jump(target))

    def branch(self, condition: Expr, target: str) -> None:
        """Goes to the target if the condition is not 0."""
        if isinstance(condition, Const):
            if condition.value:
                self.emit(Jump(target))
        else:
            self.emit(Branch(condition, target))

    def branch_unless(self, condition: Expr, target: str) -> None:
        self.branch(negate(condition), target)

    def require(self, condition: Expr, message: str, *, loose: bool = False) -> None:
        """A violation if the condition is 0. `loose`: there is no code for it that anything could depend on."""
        if not (isinstance(condition, Const) and condition.value):
            self.emit(Assert(condition, message, loose))

    def fail(self, message: str, *, loose: bool = False) -> None:
        """A violation that ends the program."""
        self.emit(Assert(Const(0), message, loose))
        self.emit(Exit(everything=True))

    def finish(self, name: str, parameters: tuple[str, ...]) -> Function:
        """Jumps go straight to where a chain of jumps leads; what no one reaches is left out."""
        self._thread_jumps()
        function = _without_dead_code(Function(name, parameters, tuple(self.body), self.labels, tuple(self.spans)))
        return without_unread(_without_needless_unset(function))

    def _thread_jumps(self) -> None:
        self.labels = {label: self._final(position) for label, position in self.labels.items()}
        targets = ((i, self.labels[s.target]) for i, s in enumerate(self.body) if isinstance(s, Jump | Branch | Await))
        heads = {target for index, target in targets if target <= index}
        computed = {name for step in self.body if not _sets_constant(step) for name in defined(step)}
        decided: dict[int, str] = {}
        for index, (before, step) in enumerate(pairwise(self.body), 1):
            if isinstance(before, Assign) and before.dst not in computed and isinstance(step, Branch | Jump):
                first = self._final(index)
                place = self._decided_place(before, first, heads)
                if place != first:
                    decided[index] = self.new_label()
                    self.labels[decided[index]] = place
        for index in sorted(decided, reverse=True):
            self._insert_jump(index, decided[index])

    def _decided_place(self, before: Assign, position: int, heads: set[int]) -> int:
        """Where control goes from there behind the assignment of a constant that branches depend on: compilers leave
        several blocks by one place, with a number that says where to go on, and that is never computed. Loops are
        entered by their heads."""
        while position < len(self.body) and position not in heads:
            step = self.body[position]
            goes = _decided(step, before)
            if goes is None:
                break
            position = self._final(self.labels[step.target] if goes and isinstance(step, Branch) else position + 1)
        return position

    def _insert_jump(self, index: int, label: str) -> None:
        self.labels = {name: at + (at >= index) for name, at in self.labels.items()}
        self.body.insert(index, Jump(label))
        self.spans.insert(index, self.spans[index - 1])

    def _final(self, position: int) -> int:
        seen: set[int] = set()
        while position < len(self.body) and position not in seen:
            seen.add(position)
            instruction = self.body[position]
            if not isinstance(instruction, Jump):
                break
            position = self.labels[instruction.target]
        return position


def _sets_constant(step: Instruction) -> bool:
    return isinstance(step, Assign) and (isinstance(step.value, Const) or is_unset(step.value))


def _decided(step: Instruction, before: Assign) -> bool | None:
    """Whether the branch is taken behind the assignment, if that alone decides it."""
    match step, before:
        case Branch(Binary(op, width, Reg(name), Const(right))), Assign(dst, Const(left)) if name == dst:
            return None if is_unset(before.value) else bool(evaluate_binary(op, width, left, right))
    return None


def _without_needless_unset(function: Function) -> Function:
    """Drops marks of variables that nobody reads before they are set."""
    marks = [i for i, step in enumerate(function.body) if isinstance(step, Assign) and is_unset(step.value)]
    open_marks = [index for index in marks if not _is_set_soon(function, index)]
    live = live_at_starts(function, frozenset()) if open_marks else []
    needed = {index for index in open_marks if getattr(function.body[index], "dst", None) in live[index + 1]}
    if len(needed) == len(marks):
        return function
    return kept_only(function, set(range(len(function.body))) - (set(marks) - needed))


def _is_set_soon(function: Function, index: int) -> bool:
    """Whether straight-line code sets the variable before it reads it."""
    names = defined(function.body[index])
    for step in function.body[index + 1 :]:
        if not names.isdisjoint(used(step)) or isinstance(step, Branch | Jump | Await | Return | Exit):
            return False
        if not names.isdisjoint(defined(step)):
            return True
    return False


def without_unread(function: Function) -> Function:
    """Drops assignments to registers that nothing reads."""
    while True:
        read = frozenset[object]().union(*map(used, function.body))
        unread = {i for i, step in enumerate(function.body) if isinstance(step, Assign) and step.dst not in read}
        if not unread:
            return function
        function = kept_only(function, set(range(len(function.body))) - unread)


def _without_dead_code(function: Function) -> Function:
    """Drops instructions that control does not reach, jumps to the next instruction and labels without use."""
    body, labels = function.body, dict(function.labels)
    kept = _reached(function)
    while True:
        redundant = {i for i in kept if _jumps_to_next(body[i], i, kept, labels)}
        if not redundant:
            break
        kept -= redundant
    return kept_only(Function(function.name, function.parameters, body, labels, function.spans), kept)


def kept_only(function: Function, kept: set[int]) -> Function:
    """The function with these instructions alone."""
    body, labels = function.body, function.labels
    order = sorted(kept)
    place = {old: new for new, old in enumerate(order)}
    positions = sorted(place)
    used = {getattr(body[i], "target", None) for i in order}
    moved = {label: _new_place(at, positions, place) for label, at in labels.items() if label in used}
    body = tuple(body[i] for i in order)
    return Function(function.name, function.parameters, body, moved, tuple(function.spans[i] for i in order))


def _reached(function: Function) -> set[int]:
    reached: set[int] = set()
    pending = [0]
    while pending:
        index = pending.pop()
        if index in reached or index >= len(function.body):
            continue
        reached.add(index)
        pending += successors(function, index)
    return reached


def _jumps_to_next(instruction: Instruction, index: int, kept: set[int], labels: dict[str, int]) -> bool:
    if not isinstance(instruction, Jump):
        return False
    target = labels[instruction.target]
    return target > index and not any(i in kept for i in range(index + 1, target))


def _new_place(old: int, positions: list[int], place: dict[int, int]) -> int:
    index = bisect_left(positions, old)
    return place[positions[index]] if index < len(positions) else len(positions)
