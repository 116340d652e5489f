"""Read-modify-writes as loops of load-linked and store-conditional, in place of single instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.ir.arithmetic import BINARY_OPERATORS
from dekker.ir.expressions import ZERO, Binary, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    Instruction,
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
    """The program with a loop for each read-modify-write."""
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
    else:
        yield instruction


def _update(update: Rmw, name: str) -> Iterator[Piece]:
    yield f"{name}.again"
    old, address, size = Reg(f"{name}.old"), update.address, update.size
    yield Load(old.name, address, size, READ_PART.get(update.order, update.order), exclusive=True)
    order = WRITE_PART.get(update.order, update.order)
    yield StoreConditional(f"{name}.status", address, _new_value(update, old), size, order)
    yield Branch(Binary("ne", 64, Reg(f"{name}.status"), ZERO), f"{name}.again")
    if update.dst is not None:
        yield Assign(update.dst, old)


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
