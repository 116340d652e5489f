"""Updates as loops of load-linked and store-conditional, in place of the single instructions that Dekker keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.ir.arithmetic import BINARY_OPERATORS
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    StoreConditional,
)
from dekker.ir.program import Function, Program

READ_PART = {Order.RELEASE: Order.PLAIN, Order.ACQ_REL: Order.ACQUIRE}
WRITE_PART = {Order.ACQUIRE: Order.PLAIN, Order.ACQ_REL: Order.RELEASE, Order.SEQ_CST: Order.RELEASE}

Piece = Instruction | str
"""An instruction, or a label."""


def with_exclusive_pairs(program: Program) -> Program:
    """The program with a loop for each read-modify-write and compare-exchange."""
    return replace(program, functions=tuple(map(_rewrite, program.functions)))


def _rewrite(function: Function) -> Function:
    body: list[Instruction] = []
    labels: dict[str, int] = {}
    starts = []
    for number, instruction in enumerate(function.body):
        starts.append(len(body))
        for piece in _pieces(instruction, f"pair{number}"):
            if isinstance(piece, str):
                labels[piece] = len(body)
            else:
                body.append(piece)
    starts.append(len(body))
    labels |= {label: starts[index] for label, index in function.labels.items()}
    return replace(function, body=tuple(body), labels=labels, spans=())


def _pieces(instruction: Instruction, name: str) -> Iterator[Piece]:
    if isinstance(instruction, Rmw):
        yield from _update(instruction, name)
    elif isinstance(instruction, CompareExchange):
        yield from _exchange(instruction, name)
    else:
        yield instruction


def _load_linked(update: Rmw | CompareExchange, name: str) -> Load:
    order = READ_PART.get(update.order, update.order)
    return Load(f"{name}.old", update.address, update.size, order, exclusive=True)


def _store_conditional(update: Rmw | CompareExchange, value: Expr, name: str) -> StoreConditional:
    order = WRITE_PART.get(update.order, update.order)
    return StoreConditional(f"{name}.status", update.address, value, update.size, order)


def _update(update: Rmw, name: str) -> Iterator[Piece]:
    yield f"{name}.again"
    yield _load_linked(update, name)
    yield _store_conditional(update, _new_value(update, Reg(f"{name}.old")), name)
    yield Branch(Binary("ne", 64, Reg(f"{name}.status"), ZERO), f"{name}.again")
    if update.dst is not None:
        yield Assign(update.dst, Reg(f"{name}.old"))


def _new_value(update: Rmw, old: Expr) -> Expr:
    width, operand = 8 * update.size, update.operand
    if update.op == "xchg":
        return operand
    if update.op in BINARY_OPERATORS:
        return Binary(update.op, width, old, operand)
    if update.op == "nand":
        return Unary("not", width, Binary("and", width, old, operand))
    comparison = {"max": "sge", "min": "sle", "umax": "uge", "umin": "ule"}[update.op]
    return Select(Binary(comparison, width, old, operand), old, operand)


def _exchange(exchange: CompareExchange, name: str) -> Iterator[Piece]:
    old, success = Reg(f"{name}.old"), exchange.success or f"{name}.success"
    yield f"{name}.again"
    yield _load_linked(exchange, name)
    yield Branch(Binary("ne", 8 * exchange.size, old, exchange.expected), f"{name}.failed")
    yield _store_conditional(exchange, exchange.desired, name)
    retry = f"{name}.failed" if exchange.weak else f"{name}.again"
    yield Branch(Binary("ne", 64, Reg(f"{name}.status"), ZERO), retry)
    yield Assign(success, Const(1))
    yield Jump(f"{name}.done")
    yield f"{name}.failed"
    yield Assign(success, Const(0))
    yield f"{name}.done"
    yield Assign(exchange.dst, old)
