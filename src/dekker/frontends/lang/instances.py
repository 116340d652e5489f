"""The two things that become of a Lang file: a `System` for the modular engine, and for every other engine a `Program`
with exactly the threads that the file counts.

A forbidden state is about what is reachable on the way, but those engines look at final states. So their threads may
stop for good wherever it matters (`lowering.Stops`): where a thread can be, it can stay. Labels and registers are then
what they were on the way; memory is not, because writes that have not taken effect will.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import PurePath

from dekker.errors import UnsupportedError
from dekker.frontends.lang.lowering import AT, Stops, lower_globals, lower_process
from dekker.frontends.lang.operators import SIZE
from dekker.frontends.lang.syntax import Global, LangFile, Process
from dekker.ir.expressions import Const
from dekker.ir.instructions import Assign, Choose, CompareExchange, Load
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import (
    And,
    Condition,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    Property,
    Quantifier,
    RegisterValue,
    Truth,
)
from dekker.ir.thread_classes import (
    AtLabel,
    ForbiddenState,
    Member,
    MemberRegister,
    Number,
    Operation,
    SharedValue,
    StateTerm,
    System,
    ThreadClass,
    atoms,
    members,
)
from dekker.records import dataclass

ARCHITECTURE = "LANG"


def system_of(file: LangFile) -> System:
    variables = {item.name: item for item in file.globals}
    functions = tuple(lower_process(process, variables) for process in file.processes)
    classes = tuple(
        ThreadClass(process.name, process.name, process.count, _initial(process)) for process in file.processes
    )
    program = Program(_name(file), ARCHITECTURE, lower_globals(file), functions, (), source=file.source)
    versions = {item.name: item.versions for item in file.globals if item.versions is not None}
    first_index = {item.name: item.low for item in file.globals if item.low is not None}
    return System(program, classes, file.forbidden, versions=versions, first_index=first_index)


def program_of(file: LangFile) -> Program:
    """Refuses what only the modular engine can check: any number of threads, and values of memory on the way."""
    for process in file.processes:
        if process.count is None:
            message = f"the class `{process.name}` has any number of threads, and this is for a fixed number"
            hint = f"`dekker modular` handles that; or write `class {process.name}(2)`"
            raise UnsupportedError(message, process.span, hint)
    on_the_way = [item for item in file.forbidden if not item.final]
    variables = {item.name: item for item in file.globals}
    stops = {process.name: _stops(process, on_the_way) for process in file.processes} if on_the_way else {}
    functions = tuple(lower_process(process, variables, stops.get(process.name)) for process in file.processes)
    threads = tuple(_threads(file))
    observed = _everything(file, functions, threads, stops=bool(stops))
    translation = _Translation(file, threads, stops)
    condition = translation.condition() if file.forbidden else None
    shown = Property(condition, observed=observed)
    return Program(_name(file), ARCHITECTURE, lower_globals(file), functions, threads, shown, file.source)


def _name(file: LangFile) -> str:
    return PurePath(file.source.name).stem


def _initial(process: Process) -> tuple[tuple[str, Const], ...]:
    return tuple((name, Const(value)) for name, value in process.initial)


def _threads(file: LangFile) -> Iterator[Thread]:
    for process in file.processes:
        for number in range(1, (process.count or 1) + 1):
            name = process.name if process.count == 1 else f"{process.name}#{number}"
            yield Thread(name, process.name, _initial(process))


def assigned_registers(function: Function) -> tuple[str, ...]:
    """In order of appearance; those of the translation begin with %."""
    found = dict.fromkeys(
        step.dst for step in function.body if isinstance(step, Assign | Load | CompareExchange | Choose)
    )
    return tuple(name for name in found if name is not None and not name.startswith("%"))


def _everything(
    file: LangFile, functions: tuple[Function, ...], threads: tuple[Thread, ...], *, stops: bool
) -> tuple[Observable, ...]:
    registers = {function.name: assigned_registers(function) for function in functions}
    shown: list[Observable] = [
        RegisterValue(number, name) for number, thread in enumerate(threads) for name in registers[thread.function]
    ]
    if stops:
        shown += [RegisterValue(number, AT, 64, "stopped") for number in range(len(threads))]
    return (*shown, *(value for item in file.globals for value in _elements(item)))


def _elements(item: Global) -> Iterator[MemoryValue]:
    for place in range(len(item.values)):
        label = item.name if item.low is None else f"{item.name}[{item.low + place}]"
        yield MemoryValue(item.name, SIZE * place, SIZE, label if place or item.low is not None else "")


def _stops(process: Process, forbidden: list[ForbiddenState]) -> Stops:
    own = [
        atom
        for item in forbidden
        for atom in atoms(item.term)
        if not isinstance(atom, SharedValue) and atom.member.thread_class == process.name
    ]
    labels = dict.fromkeys(atom.label for atom in own if isinstance(atom, AtLabel))
    registers = frozenset(atom.register for atom in own if isinstance(atom, MemberRegister))
    return Stops({label: number for number, label in enumerate(labels, 1)}, registers)


@dataclass(frozen=True, slots=True)
class _Translation:
    """Of forbidden states to one condition on final states."""

    file: LangFile
    threads: tuple[Thread, ...]
    stops: dict[str, Stops]

    def condition(self) -> Condition:
        forbidden = tuple(formula for item in self.file.forbidden for formula in self._formulas(item))
        return Condition(Quantifier.NOT_EXISTS, Or(forbidden) if len(forbidden) != 1 else forbidden[0])

    def _formulas(self, item: ForbiddenState) -> Iterator[Formula]:
        for assignment in self._assignments(members(item.term)):
            formula = _Formula(self, item, assignment).truth(item.term)
            if item.final and self.stops:
                formula = And((formula, *(Equals(_stopped(number), 0) for number in range(len(self.threads)))))
            yield formula

    def _assignments(self, found: tuple[Member, ...]) -> Iterator[dict[Member, int]]:
        """Different members are different threads."""
        by_class: dict[str, list[Member]] = {}
        for member in found:
            by_class.setdefault(member.thread_class, []).append(member)
        ways = []
        for name, group in by_class.items():
            own = [number for number, thread in enumerate(self.threads) if thread.function == name]
            ways.append([dict(zip(group, choice, strict=True)) for choice in permutations(own, len(group))])
        for choice in product(*ways):
            yield {member: number for part in choice for member, number in part.items()}


def _stopped(number: int) -> RegisterValue:
    return RegisterValue(number, AT, 64, "stopped")


@dataclass(frozen=True, slots=True)
class _Formula:
    translation: _Translation
    item: ForbiddenState
    assignment: dict[Member, int]

    def truth(self, term: StateTerm) -> Formula:
        match term:
            case Operation("and", (left, right)):
                return And((self.truth(left), self.truth(right)))
            case Operation("or", (left, right)):
                return Or((self.truth(left), self.truth(right)))
            case Operation("eq" | "ne" as op, (left, right)):
                equal = self._equal(left, right)
                return equal if op == "eq" else Not(equal)
            case AtLabel(member, label):
                return self._at(member, label)
            case Number(value):
                return Truth(value != 0)
            case MemberRegister() | SharedValue():
                return Not(Equals(self._value(term), 0))
        raise self._refusal("compares more than whether values are equal")

    def _equal(self, left: StateTerm, right: StateTerm) -> Formula:
        if isinstance(left, Number):
            left, right = right, left
        if isinstance(left, Number) and isinstance(right, Number):
            return Truth(left.value == right.value)
        if isinstance(right, Number) and not isinstance(left, MemberRegister | SharedValue):
            truth = self.truth(left)
            return Truth(False) if right.value not in (0, 1) else truth if right.value else Not(truth)
        return Equals(self._value(left), right.value if isinstance(right, Number) else self._value(right))

    def _at(self, member: Member, label: str) -> Formula:
        if self.item.final:
            raise self._refusal("names a label, but speaks of the end of all threads")
        number = self.translation.stops[member.thread_class].labels[label]
        return Equals(_stopped(self.assignment[member]), number)

    def _value(self, term: StateTerm) -> Observable:
        match term:
            case MemberRegister(member, register):
                return RegisterValue(self.assignment[member], register)
            case SharedValue(symbol, Number(index)) if self.item.final:
                item = next(item for item in self.translation.file.globals if item.name == symbol)
                return list(_elements(item))[index]
            case SharedValue():
                raise self._refusal("speaks of memory on the way, or of a computed index")
        raise self._refusal("computes with values")

    def _refusal(self, why: str) -> UnsupportedError:
        message = f"this forbidden state {why}"
        return UnsupportedError(message, self.item.span, "only `dekker modular` can check that")
