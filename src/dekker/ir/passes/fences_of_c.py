"""Fences of processors in C programs, under the models of C.

A fence becomes that of C11 which orders most of what it orders, and nothing else. A full one (`mfence`, `sync`, `dmb`)
is sequentially consistent. If C11 has none that is not stronger, as for those that order writes only, it stays, and the
model gives it no meaning. Those that order nothing by themselves (`lfence`, `isync`) stay, too.
"""

from __future__ import annotations

from dataclasses import replace

from dekker.ir.fences import FENCES
from dekker.ir.instructions import Fence, Instruction
from dekker.ir.passes.compile_atomics import C11
from dekker.ir.program import Function, Program

_OF_C = tuple(FENCES[f"c11.{order}"] for order in ("seq_cst", "acq_rel", "acquire", "release"))


def fences_of_c(program: Program) -> Program:
    """The program with fences of C11 in the place of others."""
    if program.architecture != C11:
        return program
    functions = tuple(map(_translated, program.functions))
    return program if functions == program.functions else replace(program, functions=functions)


def _translated(function: Function) -> Function:
    body = tuple(map(_fence_of_c, function.body))
    return function if body == function.body else replace(function, body=body)


def _fence_of_c(step: Instruction) -> Instruction:
    if not isinstance(step, Fence) or step.kind.startswith("c11."):
        return step
    orders = FENCES[step.kind].orders
    found = next((kind for kind in _OF_C if kind.orders <= orders), None)
    return step if found is None else Fence(found.name)
