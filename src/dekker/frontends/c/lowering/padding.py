"""Copies and fills move the padding of structs where somebody looks at it.

`memset`, `memcpy` and assignments of structs concern all bytes, those between the fields as well. Most programs never
look at these, and each access is an event. So what copies do with padding is marked while a program is translated, and
left out of the whole if nothing can tell: no other access may reach the bytes, and nothing that stays reads what was
copied from them.

What an access may reach is what the points-to analysis says. Where that does not know which element of an array it is,
the size of elements tells where in the element it is. Where that is not known either, an access to a member of a struct
stays in the fields of structs that are laid out like its own, and so does an assignment; `memcpy` and `memset` go
anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field, replace
from functools import lru_cache
from typing import NamedTuple

from dekker.frontends.c.lowering.emitter import Mark, Struct, kept_only, without_unread
from dekker.ir.expressions import Const, Expr
from dekker.ir.flow import used
from dekker.ir.instructions import MEMORY_ACCESSES, Allocate, Assign, Instruction, Load, Store
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.transform.points_to import PointsTo, analyse
from dekker.transform.strides import Stride, Strides, find_strides, overlap
from dekker.transform.values import NUMBER, Allocation, Base, Target

Marks = dict[int, Mark]


def without_needless_padding(program: Program, marks: Marks) -> Program:
    """`marks` are found by the identity of the instruction."""
    points_to = analyse(program)
    needed = _Needed(program, marks, points_to, find_strides(points_to))
    needed.find()
    return replace(program, functions=tuple(map(needed.reduced, program.functions)))


class _Reach(NamedTuple):
    """Bytes of an object."""

    base: Base
    at: Stride
    size: int


class _Look(NamedTuple):
    """Bytes that are accessed, as part of which struct."""

    at: Stride
    size: int
    struct: Struct | None


@dataclass(slots=True)
class _Looks:
    """What is accessed other than as padding, by object."""

    everywhere: bool = False
    at: dict[Base, set[_Look]] = field(default_factory=lambda: defaultdict(set))

    def add(self, reached: list[_Reach] | None, struct: Struct | None) -> None:
        if reached is None:
            self.everywhere = True
            return
        for base, at, size in reached:
            self.at[base].add(_Look(at, size, struct))

    def may_see(self, reached: list[_Reach] | None, struct: Struct | None) -> bool:
        if self.everywhere or reached is None:
            return True
        return any(_sees(look, _Look(at, size, struct)) for base, at, size in reached for look in self.at.get(base, ()))


def _sees(look: _Look, padding: _Look) -> bool:
    if not overlap(look.at, look.size, padding.at, padding.size):
        return False
    is_placed = look.at.step == padding.at.step == 0
    return is_placed or look.struct is None or padding.struct is None or not _fit(look.struct, padding.struct)


@lru_cache(1024)
def _fit(one: Struct, other: Struct) -> bool:
    """Whether fields and padding of the smaller struct are where those of some part of the larger one are."""
    small, large = sorted((one, other))
    mask = (1 << small.size) - 1
    return any(large.fields >> start & mask == small.fields for start in range(large.size - small.size + 1))


@dataclass(slots=True)
class _Needed:
    program: Program
    marks: Marks
    points_to: PointsTo
    strides: Strides
    looks: _Looks = field(default_factory=_Looks)
    kept: set[int] = field(default_factory=set)
    """By identity, the accesses to padding that stay."""

    def find(self) -> None:
        for function in self.program.functions:
            for step in function.body:
                if isinstance(step, MEMORY_ACCESSES) and not self._is_padding(step):
                    mark = self.marks.get(id(step))
                    self.looks.add(self._reached(function, step), None if mark is None else mark.struct)
        functions = [item for item in self.program.functions if any(map(self._is_padding, item.body))]
        while any(self._keep_more(function) for function in functions):
            pass

    def reduced(self, function: Function) -> Function:
        stays = {i for i, step in enumerate(function.body) if not self._is_padding(step) or id(step) in self.kept}
        return function if len(stays) == len(function.body) else without_unread(kept_only(function, stays))

    def _is_padding(self, step: Instruction) -> bool:
        mark = self.marks.get(id(step))
        return mark is not None and mark.padding

    def _keep_more(self, function: Function) -> bool:
        """Keeps loads whose values matter, and stores that something may see."""
        before = len(self.kept)
        wanted = self._wanted(function)
        for step in function.body:
            if not self._is_padding(step) or id(step) in self.kept:
                continue
            if isinstance(step, Load) and step.dst in wanted:
                self.kept.add(id(step))
                self.looks.add(self._reached(function, step), None)
            elif isinstance(step, Store) and self._is_needed(function, step):
                self.kept.add(id(step))
        return len(self.kept) > before

    def _wanted(self, function: Function) -> set[object]:
        """The registers that something depends on besides padding that may be left out."""
        sources: dict[object, set[object]] = defaultdict(set)
        pending: list[object] = []
        for step in function.body:
            if isinstance(step, Assign):
                sources[step.dst].update(used(step))
            elif not self._is_padding(step) or id(step) in self.kept:
                pending += used(step)
        wanted: set[object] = set()
        while pending:
            register = pending.pop()
            if register not in wanted:
                wanted.add(register)
                pending += sources.get(register, ())
        return wanted

    def _is_needed(self, function: Function, step: Store) -> bool:
        reached = self._reached(function, step)
        return self.looks.may_see(reached, self.marks[id(step)].struct) or any(map(self._is_outside, reached or ()))

    def _is_outside(self, place: _Reach) -> bool:
        """Whether it is a violation to go there."""
        item = self.program.object_by_name.get(place.base) if isinstance(place.base, str) else self._allocation(place)
        size = item.size if item is not None else None
        size = size.value if isinstance(size, Const) else size
        return place.at.step == 0 and isinstance(size, int) and not 0 <= place.at.rest <= size - place.size

    def _allocation(self, place: _Reach) -> Allocate | None:
        if not isinstance(place.base, Allocation):
            return None
        step = self.program.function_by_name[place.base.function].body[place.base.at]
        return step if isinstance(step, Allocate) else None

    def _reached(self, function: Function, step: Instruction) -> list[_Reach] | None:
        """None is everything."""
        assert isinstance(step, MEMORY_ACCESSES)
        found: set[_Reach] = set()
        for thread, active in self.points_to.activations.items():
            if function.name not in active:
                continue
            targets = self.points_to.value(thread, function.name, step.address)
            reached = {
                _Reach(base, self._place(function, step.address, offset), step.size)
                for base, offset in targets
                if base != NUMBER
            }
            if not reached and Target(NUMBER, None) in targets:
                return None
            found |= reached
        return list(found)

    def _place(self, function: Function, address: Expr, offset: int | None) -> Stride:
        return self.strides.of(function.name, address) if offset is None else Stride(offset, 0)
