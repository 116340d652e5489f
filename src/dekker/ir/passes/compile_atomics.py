"""Compiles the atomics of C11 for a processor, by the tables in `atomic_mappings`.

Accesses get the order and the fences of their row, fences of C11 become those of the processor. Plain accesses, fences
of processors and everything else stay as they are, so a program that was compiled is not changed by compiling it again.
A jump to an access leads to the fences in front of it. What is put in has the span of what it belongs to.

Behind a compare-exchange the fences differ for success and failure, in front of it they are those of the success order
joined with the failure order. Consume is acquire, as in all compilers. A weak one that becomes one instruction fails
only if the values differ.

Unlike other passes this one moves instructions, so a witness is one of the compiled program. It makes loops out of
updates; so the pass for waiting loops should run before it, because it knows compare-exchanges better than their loops,
and after it, for those loops. What that pass changes is compiled to as many instructions as before, so that positions
are the same without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from dekker.errors import UnsupportedError
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.flow import defined, used
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.passes.atomic_mappings import MAPPINGS, AtomicMapping, Row
from dekker.ir.program import Function, Program
from dekker.ir.property import RegisterValue, observables
from dekker.records import dataclass
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

    def place(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def row(self, rows: Mapping[Order, Row], order: Order, what: str) -> Row:
        if order not in rows:
            raise UnsupportedError(
                f"there is no way to compile {what} of the order '{order.value}' for a processor",
                self.span,
                f"the orders of C11 for it are {', '.join(known.value for known in rows)}",
            )
        return rows[order]

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
    if expand is None or _is_machine_code(instruction):
        output.emit(instruction)
    else:
        expand(instruction, output)


def _is_machine_code(instruction: Instruction) -> bool:
    return getattr(instruction, "order", None) is Order.PLAIN or getattr(instruction, "exclusive", False)


def _load(load: Load, output: _Output) -> None:
    row = output.row(output.mapping.loads, _READ_PART.get(load.order, load.order), "a load")
    _surround(replace(load, order=row.order), load.dst, row, output)


def _store(store: Store, output: _Output) -> None:
    row = output.row(output.mapping.stores, _WRITE_PART.get(store.order, store.order), "a store")
    _surround(replace(store, order=row.order), None, row, output)


def _rmw(update: Rmw, output: _Output) -> None:
    """It keeps its result, because one without is ordered less on AArch64 (`stadd`)."""
    row = output.row(output.mapping.updates, _join(update.order, Order.RELAXED), "a read-modify-write")
    result = update.dst if update.dst is not None else output.fresh("old")
    if row.store_order is None:
        _surround(replace(update, dst=result, order=row.order), result, row, output)
        return
    again, old, status = output.fresh("again"), output.fresh("linked"), output.fresh("status")
    output.emit(*map(Fence, row.before))
    output.place(again)
    output.emit(Load(old, update.address, update.size, row.order, exclusive=True))
    done = output.fresh("done") if update.quiet else ""
    if update.op == "xchg":
        # A quiet one needs a branch, which the program does not have: indeterminate bits do not decide there. Positions
        # are the same with and without it.
        width = 8 * update.size
        is_there = Binary("eq", width, Unary("freeze", width, Reg(old)), update.operand)
        output.emit(Branch(is_there, done) if update.quiet else Assign(status, ZERO))
    output.emit(
        StoreConditional(status, update.address, _new_value(update, Reg(old)), update.size, row.store_order),
        Branch(_differs(64, Reg(status), ZERO), again),
        *map(Fence, row.after),
    )
    if update.quiet:
        output.place(done)
    output.emit(Assign(result, Reg(old)))


def _new_value(update: Rmw, old: Expr) -> Expr:
    width, operand = 8 * update.size, update.operand
    if update.op == "xchg":
        return operand
    if update.op == "nand":
        return Unary("not", width, Binary("and", width, old, operand))
    if update.op in _KEEPS_OLD:
        return Select(Binary(_KEEPS_OLD[update.op], width, old, operand), old, operand)
    return Binary(update.op, width, old, operand)


_KEEPS_OLD = {"max": "sge", "min": "sle", "umax": "uge", "umin": "ule"}


def _compare_exchange(exchange: CompareExchange, output: _Output) -> None:
    joined = _join(exchange.order, exchange.failure_order)
    row = output.row(output.mapping.exchanges, joined, "a compare-exchange")
    if row.store_order is None:
        one = replace(exchange, order=row.order, failure_order=row.order, weak=False)
        _surround(one, exchange.dst, row, output)
        return
    after_failure = row.after if exchange.failure_order in _ACQUIRES else ()
    again, failed, done = output.fresh("again"), output.fresh("failed"), output.fresh("done")
    old, status = output.fresh("linked"), output.fresh("status")
    output.emit(*map(Fence, row.before))
    output.place(again)
    output.emit(
        Load(old, exchange.address, exchange.size, row.order, exclusive=True),
        Branch(_differs(8 * exchange.size, Reg(old), exchange.expected), failed),
        StoreConditional(status, exchange.address, exchange.desired, exchange.size, row.store_order),
        Branch(_differs(64, Reg(status), ZERO), failed if exchange.weak else again),
        *map(Fence, row.after),
        *_success(exchange, 1),
        Jump(done),
    )
    output.place(failed)
    output.emit(*map(Fence, after_failure), *_success(exchange, 0))
    output.place(done)
    if exchange.dst is not None:
        output.emit(Assign(exchange.dst, Reg(old)))


def _success(exchange: CompareExchange, value: int) -> tuple[Instruction, ...]:
    return () if exchange.success is None else (Assign(exchange.success, Const(value)),)


def _differs(width: int, left: Expr, right: Expr) -> Expr:
    return Binary("ne", width, left, right)


def _surround(access: Instruction, result: str | None, row: Row, output: _Output) -> None:
    output.emit(*map(Fence, row.before), access)
    if row.ctrl and result is not None:
        behind = output.fresh("behind")
        output.emit(Branch(Binary("and", 64, Reg(result), ZERO), behind))
        output.place(behind)
    output.emit(*map(Fence, row.after))


def _fence(fence: Fence, output: _Output) -> None:
    output.emit(*map(Fence, output.mapping.fences.get(fence.kind, (fence.kind,))))


_EXPANSIONS: dict[type, Callable[..., None]] = {
    Load: _load,
    Store: _store,
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
