"""Which threads a program may have, and what each of their accesses may reach: an inclusion-based analysis.

Control flow does not count. Registers are told apart by thread and function, memory by object and, where offsets are
known, by word; what is allocated, by thread and place. Numbers are followed through registers and arguments, not
through memory: so threads that are given different indices access different elements.

A thread is one of the program's, or those that are started at one place with one function. It stands for many if that
place may be passed more than once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import partial
from typing import Any, NamedTuple

from dekker.ir.expressions import Address, Expr
from dekker.ir.flow import defined, successors, used
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    Choose,
    CompareExchange,
    Instruction,
    Join,
    Load,
    Measure,
    Recycle,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import layout
from dekker.ir.passes.reuse import is_reusable
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.transform.values import (
    ANY_NUMBER,
    NOTHING,
    NUMBER,
    ONLY_ZERO,
    Allocation,
    Base,
    Handle,
    Target,
    Value,
    blurred_pointers,
    evaluate,
    widened,
)

_WORD = 4
_WHOLE = "whole"
_RESULT = "result"


class Place(NamedTuple):
    """Bytes of an object; offset None is any."""

    base: Base
    offset: int | None
    size: int


@dataclass
class ThreadClass:
    """`started_at` is None for the threads that exist from the start."""

    name: str
    entry: str
    started_at: tuple[str, int] | None
    many: bool = False
    starters: set[int] = field(default_factory=set)


class Variable(NamedTuple):
    """A register of a function in a thread, its result, or a word of memory."""

    thread: int
    owner: Base
    name: object


_HEAP = Variable(-1, "", "heap")
"""All that can be freed."""


@dataclass
class PointsTo:
    """What was found. `callees` says which functions a call or spawn may run."""

    program: Program
    threads: list[ThreadClass]
    values: dict[Variable, Value]
    activations: dict[int, set[str]]

    def value(self, thread: int, function: str, expression: Expr) -> Value:
        return evaluate(expression, lambda name: self.values.get(Variable(thread, function, name), NOTHING))

    def callees(self, thread: int, function: str, instruction: Call | Spawn) -> tuple[str, ...]:
        return tuple(_functions(self.program, self.value(thread, function, instruction.function)))

    def places(self, thread: int, function: str, address: Expr, size: int) -> frozenset[Place] | None:
        """What an access may reach; None is everything."""
        value = reached(self.program, self.value(thread, function, address))
        found = frozenset(
            Place(base, _offset(self.program, base, offset, size), size)
            for base, offset in value
            if base != NUMBER and not isinstance(base, Handle)
        )
        if not found and Target(NUMBER, None) in value:
            return None
        anywhere = {place.base for place in found if place.offset is None}
        return frozenset(place for place in found if place.offset is None or place.base not in anywhere)

    def escaping(self) -> frozenset[Base]:
        """Objects that more than one thread may reach: globals, and what can be reached from them, from the arguments
        of threads and from what threads return."""
        pending: list[Base] = [item.name for item in self.program.objects]
        for number, thread in enumerate(self.threads):
            names = [_RESULT, *self.program.function_by_name[thread.entry].parameters]
            if thread.started_at is not None:
                for name in names:
                    found = self.values.get(Variable(number, thread.entry, name), NOTHING)
                    pending += [base for base, _ in found if base != NUMBER]
        escaped = set[Base]()
        while pending:
            base = pending.pop()
            if base not in escaped:
                escaped.add(base)
                pending += [target.base for target in self.values.get(Variable(-1, base, _WHOLE), NOTHING)]
        return frozenset(escaped)


def analyse(program: Program) -> PointsTo:
    solver = _Solver(program)
    for thread in program.threads:
        number = solver.add_thread(ThreadClass(thread.name, thread.function, None))
        for register, initial in thread.registers:
            found = evaluate(initial, lambda _: NOTHING)
            solver.include(Variable(number, thread.function, register), found)
    for item in program.objects:
        for cell in item.cells:
            if not isinstance(cell.value, int):
                value = frozenset((Target(cell.value.symbol, cell.value.offset),))
                solver.store(frozenset((Target(item.name, cell.offset),)), value, cell.size)
    solver.run()
    result = PointsTo(program, solver.threads, solver.values, dict(solver.activations))
    _count_threads(result)
    return result


def computes_addresses(program: Program) -> bool:
    """Whether what is added to an address may lead from one object to another, as in assembly. In other languages a
    pointer stays in its object."""
    return program.architecture not in ("C", "RSMC", "LANG")


def reached(program: Program, address: Value) -> Value:
    """Where an access to these targets is."""
    if not computes_addresses(program):
        return address
    found = set[Target]()
    for target in address:
        item = program.object_by_name.get(target.base) if isinstance(target.base, str) else None
        if item is None:
            found.add(target)
        elif target.offset is None:
            found |= {Target(other.name, None) for other in program.objects}
        elif 0 <= target.offset < item.size:
            found.add(target)
        else:
            found |= _elsewhere(program, Address(item.name, target.offset))
    return frozenset(found)


def _elsewhere(program: Program, address: Address) -> Value:
    places = layout(program)
    at = places.locate(places.resolve(address))
    return NOTHING if at is None else frozenset((Target(at.symbol, at.offset),))


def _functions(program: Program, value: Iterable[Target]) -> Iterator[str]:
    for name in sorted({str(base) for base, _ in value if isinstance(base, str)}):
        if name in program.function_by_name and name not in program.object_by_name:
            yield name


def _offset(program: Program, base: Base, offset: int | None, size: int) -> int | None:
    item = program.object_by_name.get(base) if isinstance(base, str) else None
    if item is None:
        return offset
    if item.size <= size:
        return 0
    return offset if offset is not None and 0 <= offset <= item.size - size else None


@dataclass
class _Solver:
    program: Program
    threads: list[ThreadClass] = field(default_factory=list)
    values: dict[Variable, Value] = field(default_factory=dict)
    activations: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    _readers: dict[Variable, set[tuple[int, str, int]]] = field(default_factory=lambda: defaultdict(set))
    _pending: deque[tuple[int, str, int]] = field(default_factory=deque)
    _waiting: set[tuple[int, str, int]] = field(default_factory=set)
    _starts: dict[tuple[str, int, str], int] = field(default_factory=dict)
    _initial: dict[str, frozenset[str]] = field(default_factory=dict)

    def add_thread(self, thread: ThreadClass) -> int:
        number = len(self.threads)
        self.threads.append(thread)
        self.activate(number, thread.entry)
        return number

    def activate(self, thread: int, name: str) -> None:
        if name in self.activations[thread]:
            return
        self.activations[thread].add(name)
        function = self.program.function_by_name[name]
        for register in self._uninitialised(function):
            self.include(Variable(thread, name, register), ONLY_ZERO)
        for index, instruction in enumerate(function.body):
            if type(instruction) in _TRANSFERS:
                self._push((thread, name, index))

    def _uninitialised(self, function: Function) -> frozenset[str]:
        if function.name not in self._initial:
            self._initial[function.name] = read_before_written(function)
        return self._initial[function.name]

    def run(self) -> None:
        while self._pending:
            item = self._pending.popleft()
            self._waiting.discard(item)
            thread, name, index = item
            instruction = self.program.function_by_name[name].body[index]
            _TRANSFERS[type(instruction)](_Step(self, thread, name, index), instruction)

    def include(self, variable: Variable, value: Value) -> None:
        old = self.values.get(variable, NOTHING)
        if value <= old:
            return
        new = widened(old | value)
        if new == old:
            return
        self.values[variable] = new
        for reader in self._readers.get(variable, ()):
            self._push(reader)

    def read(self, variable: Variable, reader: tuple[int, str, int]) -> Value:
        self._readers[variable].add(reader)
        return self.values.get(variable, NOTHING)

    def store(self, address: Value, value: Value, size: int) -> None:
        """Only pointers are followed through memory."""
        pointers = frozenset(item for item in value if item.base != NUMBER)
        if size < _WORD:
            pointers = blurred_pointers(pointers)
        if not pointers:
            return
        for base, offset in reached(self.program, address):
            if base == NUMBER:
                continue
            for word in _words(offset, size):
                self.include(Variable(-1, base, word), pointers)
            self.include(Variable(-1, base, _WHOLE), pointers)

    def load(self, address: Value, size: int, reader: tuple[int, str, int]) -> Value:
        found = set(ANY_NUMBER)
        for base, offset in reached(self.program, address):
            if base == NUMBER:
                continue
            names: tuple[object, ...] = (_WHOLE,) if offset is None else (None, *_words(offset, size))
            for name in names:
                found |= self.read(Variable(-1, base, name), reader)
        return frozenset(found) if size >= _WORD else ANY_NUMBER | blurred_pointers(found)

    def started(self, point: tuple[str, int], entry: str, starter: int) -> int:
        key = (*point, entry)
        if key not in self._starts:
            self._starts[key] = self.add_thread(ThreadClass(entry, entry, point))
        self.threads[self._starts[key]].starters.add(starter)
        return self._starts[key]

    def _push(self, item: tuple[int, str, int]) -> None:
        if item not in self._waiting:
            self._waiting.add(item)
            self._pending.append(item)


def read_before_written(function: Function) -> frozenset[str]:
    """Registers that may still be 0 when they are read, because nothing was written to them."""
    bits: dict[object, int] = {}

    def mask(items: Iterable[object]) -> int:
        found = 0
        for item in items:
            found |= 1 << bits.setdefault(item, len(bits))
        return found

    body = function.body
    reads, writes = [mask(used(step)) for step in body], [mask(defined(step)) for step in body]
    everything = (1 << len(bits)) - 1
    written = [everything] * (len(body) + 1)
    written[0] = mask(function.parameters) & everything
    pending, found = deque((0,)), 0
    seen = bytearray(len(body) + 1)
    while pending:
        index = pending.popleft()
        if index == len(body):
            continue
        seen[index] = 1
        found |= reads[index] & ~written[index]
        behind = written[index] | writes[index]
        for step in successors(function, index):
            if written[step] & behind != written[step] or not seen[step]:
                written[step] &= behind
                seen[step] = 1
                pending.append(step)
    return frozenset(item for item, bit in bits.items() if isinstance(item, str) and found >> bit & 1)


def _words(offset: int | None, size: int) -> tuple[int | None, ...]:
    if offset is None:
        return (None,)
    return tuple(range(offset // _WORD, (offset + size - 1) // _WORD + 1))


class _Step(NamedTuple):
    """An instruction of a thread, as a reader of variables."""

    solver: _Solver
    thread: int
    function: str
    at: int

    def value(self, expression: Expr) -> Value:
        return evaluate(expression, self._register)

    def _register(self, name: str) -> Value:
        return self.solver.read(Variable(self.thread, self.function, name), self[1:])

    def set(self, register: str | None, value: Value) -> None:
        if register is not None:
            self.solver.include(Variable(self.thread, self.function, register), value)

    def load(self, address: Expr, size: int) -> Value:
        return self.solver.load(self.value(address), size, self[1:])

    def store(self, address: Expr, value: Value, size: int) -> None:
        self.solver.store(self.value(address), value, size)

    def result_of(self, thread: int, function: str) -> Value:
        return self.solver.read(Variable(thread, function, _RESULT), self[1:])


def _assign(step: _Step, it: Assign) -> None:
    step.set(it.dst, step.value(it.value))


def _load(step: _Step, it: Load) -> None:
    step.set(it.dst, step.load(it.address, it.size))


def _store(step: _Step, it: Store | StoreConditional) -> None:
    step.store(it.address, step.value(it.value), it.size)
    if isinstance(it, StoreConditional):
        step.set(it.status, ANY_NUMBER)


def _update(step: _Step, it: Rmw) -> None:
    old, operand = step.load(it.address, it.size), step.value(it.operand)
    step.set(it.dst, old)
    step.store(it.address, operand if it.op == "xchg" else operand | blurred_pointers(old | operand), it.size)


def _compare_exchange(step: _Step, it: CompareExchange) -> None:
    step.set(it.dst, step.load(it.address, it.size))
    step.set(it.success, ANY_NUMBER)
    step.store(it.address, step.value(it.desired), it.size)


def _call(step: _Step, it: Call) -> None:
    for name in _functions(step.solver.program, step.value(it.function)):
        callee = step.solver.program.function_by_name[name]
        step.solver.activate(step.thread, name)
        for parameter, argument in zip(callee.parameters, it.arguments, strict=False):
            step.solver.include(Variable(step.thread, name, parameter), step.value(argument))
        step.set(it.dst, step.result_of(step.thread, name) | ANY_NUMBER)


def _return(step: _Step, it: Return) -> None:
    if it.value is not None:
        step.solver.include(Variable(step.thread, step.function, _RESULT), step.value(it.value))


def _spawn(step: _Step, it: Spawn) -> None:
    for name in _functions(step.solver.program, step.value(it.function)):
        thread = step.solver.started((step.function, step.at), name, step.thread)
        parameters = step.solver.program.function_by_name[name].parameters
        for parameter, argument in zip(parameters, it.arguments, strict=False):
            step.solver.include(Variable(thread, name, parameter), step.value(argument))
        step.set(it.dst, frozenset((Target(Handle(thread), 0),)))


def _join(step: _Step, it: Join) -> None:
    if it.dst is None:
        return
    for base, _ in step.value(it.thread):
        if isinstance(base, Handle):
            step.set(it.dst, step.result_of(base.thread, step.solver.threads[base.thread].entry) | ANY_NUMBER)


def _allocate(step: _Step, it: Allocate) -> None:
    found = frozenset((Target(Allocation(step.thread, step.function, step.at), 0),))
    step.set(it.dst, found)
    if is_reusable(it):
        step.solver.include(_HEAP, found)


def _recycle(step: _Step, it: Recycle) -> None:
    step.set(it.dst, step.solver.read(_HEAP, step[1:]) | ANY_NUMBER)


def _number(step: _Step, it: Choose | Measure) -> None:
    step.set(it.dst, ANY_NUMBER)


_TRANSFERS: dict[type[Instruction], Callable[[_Step, Any], None]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    StoreConditional: _store,
    Rmw: _update,
    CompareExchange: _compare_exchange,
    Call: _call,
    Return: _return,
    Spawn: _spawn,
    Join: _join,
    Allocate: _allocate,
    Choose: _number,
    Measure: _number,
    Recycle: _recycle,
}


# --- how often


def _count_threads(result: PointsTo) -> None:
    """A started thread is one only if its starter is one, and passes the place once."""
    once = partial(_runs_once, result, {})
    changed = True
    while changed:
        changed = False
        for thread in result.threads:
            if thread.many or thread.started_at is None:
                continue
            name, index = thread.started_at
            starters = list(thread.starters)
            single = len(starters) == 1 and not result.threads[starters[0]].many
            if not (single and once(starters[0], name) and not in_loop(result.program.function_by_name[name], index)):
                thread.many = changed = True


def _runs_once(result: PointsTo, known: dict[tuple[int, str], bool], thread: int, name: str) -> bool:
    """Whether a thread runs a function at most once."""
    key = (thread, name)
    if key not in known:
        known[key] = False  # for functions that call themselves
        known[key] = _calls_once(result, known, thread, name)
    return known[key]


def _calls_once(result: PointsTo, known: dict[tuple[int, str], bool], thread: int, name: str) -> bool:
    calls = [
        (caller, index)
        for caller in result.activations[thread]
        for index, step in enumerate(result.program.function_by_name[caller].body)
        if isinstance(step, Call) and name in result.callees(thread, caller, step)
    ]
    if result.threads[thread].entry == name:
        return not calls
    if len(calls) != 1:
        return False
    caller, index = calls[0]
    return _runs_once(result, known, thread, caller) and not in_loop(result.program.function_by_name[caller], index)


def in_loop(function: Function, index: int) -> bool:
    """Whether control may come back to an instruction."""
    seen = set[int]()
    pending = list(successors(function, index))
    while pending:
        at = pending.pop()
        if at == index:
            return True
        if at not in seen and at < len(function.body):
            seen.add(at)
            pending += successors(function, at)
    return False
