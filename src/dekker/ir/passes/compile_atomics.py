"""Compiles the atomics of C11 for a processor, by the tables in `atomic_mappings`.

Accesses get the order and the fences of their row, fences of C11 become those of the processor. Plain accesses, fences
of processors and everything else stay as they are, so a program that was compiled is not changed by compiling it again.
A jump to an access leads to the fences in front of it. What is put in has the span of what it belongs to.

A compare-exchange gets what stands in front by its success order, joined with its failure order; behind it, a failure
whose order does not acquire jumps over the fences. Consume is acquire, as in all compilers.

Unlike the other passes this one moves instructions: a witness is one of the compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from dekker.errors import UnsupportedError
from dekker.ir.expressions import ZERO, Binary, Reg
from dekker.ir.flow import defined, used
from dekker.ir.instructions import (
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.passes.atomic_mappings import MAPPINGS, AtomicMapping, Row
from dekker.ir.program import Function, Program
from dekker.ir.property import RegisterValue, observables
from dekker.source import Span

C11 = "C"


def compile_atomics(program: Program, target: str) -> Program:
    """The program for the processor family `target`, a name in `MAPPINGS`. The text of other architectures is machine
    code already: only programs of the architecture `C` change."""
    if program.architecture != C11:
        return program
    mapping, taken = MAPPINGS[target], _outer_registers(program)
    functions = tuple(_compile(function, mapping, taken) for function in program.functions)
    return program if functions == program.functions else replace(program, functions=functions)


def _outer_registers(program: Program) -> set[str]:
    """Registers that are named outside of functions."""
    prop = program.property
    formulas = [prop.condition.formula] if prop.condition is not None else []
    formulas += [prop.filter] if prop.filter is not None else []
    shown = {*prop.observed, *(item for formula in formulas for item in observables(formula))}
    initial = {name for thread in program.threads for name, _ in thread.registers}
    return initial | {item.register for item in shown if isinstance(item, RegisterValue)}


@dataclass
class _Output:
    """The function as far as it is compiled. `taken` holds the names of registers and labels that are in use."""

    mapping: AtomicMapping
    taken: set[str]
    span: Span | None = None
    body: list[Instruction] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def emit(self, *instructions: Instruction) -> None:
        self.body += instructions
        self.spans += [self.span] * len(instructions)

    def fresh(self, stem: str) -> str:
        number = 0
        while f"{stem}{number}" in self.taken:
            number += 1
        name = f"{stem}{number}"
        self.taken.add(name)
        return name


def _compile(function: Function, mapping: AtomicMapping, outer: set[str]) -> Function:
    output = _Output(mapping, outer | set(_names(function)))
    starts = []
    for index, instruction in enumerate(function.body):
        starts.append(len(output.body))
        output.span = function.span(index)
        _expand(instruction, output)
    starts.append(len(output.body))
    labels = {label: starts[index] for label, index in function.labels.items()} | output.labels
    body = tuple(output.body)
    if body == function.body:
        return function
    return replace(function, body=body, labels=labels, spans=tuple(output.spans) if function.spans else ())


def _names(function: Function) -> Iterator[str]:
    yield from function.parameters
    yield from function.labels
    for instruction in function.body:
        yield from (name for name in used(instruction) | defined(instruction) if isinstance(name, str))


def _expand(instruction: Instruction, output: _Output) -> None:
    expand = _EXPANSIONS.get(type(instruction))
    if expand is None or getattr(instruction, "order", Order.RELAXED) is Order.PLAIN:
        output.emit(instruction)
    else:
        expand(instruction, output)


def _load(load: Load, output: _Output) -> None:
    row = output.mapping.loads.get(_READ_PART.get(load.order, load.order))
    if row is None or load.exclusive:
        raise _refusal("a load-linked" if load.exclusive else "a load", load.order, output)
    _surround(replace(load, order=row.order), load.dst, row, output)


def _store(store: Store, output: _Output) -> None:
    row = output.mapping.stores.get(_WRITE_PART.get(store.order, store.order))
    if row is None:
        raise _refusal("a store", store.order, output)
    _surround(replace(store, order=row.order), None, row, output)


def _store_conditional(store: StoreConditional, output: _Output) -> None:
    raise _refusal("a store-conditional", store.order, output)


def _rmw(update: Rmw, output: _Output) -> None:
    """It keeps its result, because one without is ordered less on AArch64 (`stadd`)."""
    row = output.mapping.updates.get(_join(update.order, Order.RELAXED))
    if row is None:
        raise _refusal("a read-modify-write", update.order, output)
    result = update.dst if update.dst is not None else output.fresh("old")
    _surround(replace(update, dst=result, order=row.order), result, row, output)


def _compare_exchange(exchange: CompareExchange, output: _Output) -> None:
    row = output.mapping.updates.get(_join(exchange.order, exchange.failure_order))
    if row is None:
        raise _refusal("a compare-exchange", exchange.order, output)
    failed = Order.PLAIN if row.order is Order.RELEASE else _READ_PART.get(row.order, row.order)
    compiled = replace(exchange, order=row.order, failure_order=failed)
    if row.after and exchange.failure_order not in _ACQUIRES:
        _fence_successes(compiled, row, output)
    else:
        branches = row.ctrl or output.mapping.branching_exchange
        _surround(compiled, exchange.dst, replace(row, ctrl=branches), output)


def _fence_successes(exchange: CompareExchange, row: Row, output: _Output) -> None:
    success = exchange.success if exchange.success is not None else output.fresh("succeeded")
    end = output.fresh("after")
    output.emit(*map(Fence, row.before), replace(exchange, success=success))
    output.emit(Branch(Binary("eq", 64, Reg(success), ZERO), end), *map(Fence, row.after))
    output.labels[end] = len(output.body)


def _surround(access: Instruction, result: str | None, row: Row, output: _Output) -> None:
    output.emit(*map(Fence, row.before), access)
    if row.ctrl and result is not None:
        behind = output.fresh("after")
        output.emit(Branch(Binary("ne", 64, Reg(result), Reg(result)), behind))
        output.labels[behind] = len(output.body)
    output.emit(*map(Fence, row.after))


def _fence(fence: Fence, output: _Output) -> None:
    output.emit(*map(Fence, output.mapping.fences.get(fence.kind, (fence.kind,))))


_EXPANSIONS: dict[type, Callable[..., None]] = {
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _fence,
}


# --- orders

_READ_PART = {Order.CONSUME: Order.ACQUIRE, Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}
_WRITE_PART = {Order.ACQUIRE: Order.RELAXED, Order.ACQ_REL: Order.RELEASE}
_ACQUIRES = frozenset((Order.CONSUME, Order.ACQUIRE, Order.ACQ_REL, Order.SEQ_CST))
_RELEASES = frozenset((Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))


def _join(first: Order, second: Order) -> Order:
    """The weakest order, without consume, that is as strong as both."""
    both = {first, second}
    if Order.ACQUIRE_PC in both or Order.SEQ_CST in both:
        return Order.ACQUIRE_PC if Order.ACQUIRE_PC in both else Order.SEQ_CST
    acquires, releases = bool(both & _ACQUIRES), bool(both & _RELEASES)
    if acquires and releases:
        return Order.ACQ_REL
    return Order.ACQUIRE if acquires else Order.RELEASE if releases else Order.RELAXED


def _refusal(what: str, order: Order, output: _Output) -> UnsupportedError:
    return UnsupportedError(
        f"there is no way to compile {what} of the order '{order.value}' for this processor",
        output.span,
        "C11 has loads, stores, read-modify-writes and compare-exchanges with its own orders",
    )
