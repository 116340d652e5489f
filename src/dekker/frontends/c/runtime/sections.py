"""Atomic sections as critical sections of one lock.

`__VERIFIER_atomic_begin` and `__VERIFIER_atomic_end`, and functions whose names begin with `__VERIFIER_atomic_`, keep
all other threads out. Here they keep other atomic sections out, with the order `seq_cst`: a thread that accesses
the same variables outside of any section may see it half done. So a program that is correct with this is correct; what
goes wrong is looked at again (`run.sections`). The states engine is exact.
"""

from __future__ import annotations

from dataclasses import replace

from dekker.frontends.c.runtime.templates import template_function
from dekker.ir.expressions import Address, Reg
from dekker.ir.instructions import AtomicBegin, AtomicEnd, Await, CompareExchange, Instruction, Return, Store
from dekker.ir.program import SECTION_LOCK, Function, Object, Program
from dekker.ir.validate import validate
from dekker.source import Span


def with_section_lock(program: Program) -> Program:
    """The program without `AtomicBegin` and `AtomicEnd`, which are checked before they go."""
    kinds = {type(step) for function in program.functions for step in function.body}
    if kinds.isdisjoint((AtomicBegin, AtomicEnd)):
        return program
    validate(program)
    functions = tuple(map(_convert, program.functions))
    return replace(program, functions=functions, objects=(*program.objects, Object(SECTION_LOCK, 4, (), 4)))


def _convert(function: Function) -> Function:
    body: list[Instruction] = []
    spans: list[Span | None] = []
    labels: dict[str, int] = {}
    names: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        names.setdefault(index, []).append(label)
    for index, step in enumerate((*function.body, None)):
        labels.update(dict.fromkeys(names.get(index, ()), len(body)))
        if step is None:
            break
        again = f"%section{index}"
        if isinstance(step, AtomicBegin):
            labels[again] = len(body)
        body += _steps(step, again)
        spans += [function.span(index)] * (len(body) - len(spans))
    return Function(function.name, function.parameters, tuple(body), labels, tuple(spans))


def _steps(step: Instruction, again: str) -> list[Instruction]:
    if isinstance(step, AtomicBegin):
        return [_named(item, again) for item in template_function("section_begin").body if not isinstance(item, Return)]
    if isinstance(step, AtomicEnd):
        return [_named(item, again) for item in template_function("section_end").body if not isinstance(item, Return)]
    return [step]


def _named(step: Instruction, again: str) -> Instruction:
    match step:
        case CompareExchange():
            return replace(step, dst=f"{again}.old", success=f"{again}.won", address=Address(SECTION_LOCK))
        case Await():
            return Await(Reg(f"{again}.won"), again)
        case Store():
            return replace(step, address=Address(SECTION_LOCK))
    return step
