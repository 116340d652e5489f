"""What SC, TSO, PSO and RMO say about the classic tests, by their definitions: oracle and operational machines agree.

Threads are written `x=1` (store), `r0=x` (load), `x=1+r0` (data dependency), `x+r0=1` and `r1=x+r0` (address
dependency), `if r0` (control dependency), `r0=x!1` (exchange), `r0=x?9` (compare-exchange that expects 9 and fails),
and `RR`, `RW`, `WR`, `WW` (a fence that orders just these pairs).
"""

from __future__ import annotations

import re

import pytest
from tests.reference import out_of_order, store_buffers

from dekker.engines.axiomatic.engine import run
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import Branch, CompareExchange, Fence, Instruction, Load, Rmw, Store
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue
from dekker.models import load_model
from dekker.task import Task

FENCES = {"RR": "membar.loadload", "RW": "membar.loadstore", "WR": "membar.storeload", "WW": "stbar"}
MODELS = ("sc", "tso", "pso", "rmo")

# Name, threads, an outcome, and the models that allow it.
CLASSICS = """
SB                  | x=1; r0=y // y=1; r0=x                                 | 0:r0=0 1:r0=0               | tso pso rmo
SB+WR+po            | x=1; WR; r0=y // y=1; r0=x                             | 0:r0=0 1:r0=0               | tso pso rmo
SB+WRs              | x=1; WR; r0=y // y=1; WR; r0=x                         | 0:r0=0 1:r0=0               |
SB+lwsyncs          | x=1; lwsync; r0=y // y=1; lwsync; r0=x                 | 0:r0=0 1:r0=0               | tso pso rmo
SB+rfi-addrs        | x=1; r0=x; r1=y+r0 // y=1; r0=y; r1=x+r0               | 0:r0=1 0:r1=0 1:r0=1 1:r1=0 | tso pso rmo
SB+rfi-RRs          | x=1; r0=x; RR; r1=y // y=1; r0=y; RR; r1=x             | 0:r0=1 0:r1=0 1:r0=1 1:r1=0 | tso pso rmo
MP                  | x=1; y=1 // r0=y; r1=x                                 | 1:r0=1 1:r1=0               | pso rmo
MP+WW+po            | x=1; WW; y=1 // r0=y; r1=x                             | 1:r0=1 1:r1=0               | rmo
MP+po+addr          | x=1; y=1 // r0=y; r1=x+r0                              | 1:r0=1 1:r1=0               | pso rmo
MP+WR+addr          | x=1; WR; y=1 // r0=y; r1=x+r0                          | 1:r0=1 1:r1=0               | pso rmo
MP+WW+addr          | x=1; WW; y=1 // r0=y; r1=x+r0                          | 1:r0=1 1:r1=0               |
MP+WW+ctrl          | x=1; WW; y=1 // r0=y; if r0; r1=x                      | 1:r0=1 1:r1=0               | rmo
MP+WW+RR            | x=1; WW; y=1 // r0=y; RR; r1=x                         | 1:r0=1 1:r1=0               |
MP+WW+RW            | x=1; WW; y=1 // r0=y; RW; r1=x                         | 1:r0=1 1:r1=0               | rmo
MP+WW+data-rfi-addr | x=1; WW; y=1 // r0=y; z=1+r0; r1=z; r2=x+r1            | 1:r0=1 1:r1=1 1:r2=0        |
MP+WW+ctrl-rfi-addr | x=1; WW; y=1 // r0=y; if r0; z=1; r1=z; r2=x+r1        | 1:r0=1 1:r1=1 1:r2=0        |
MP+WW+po-rfi-addr   | x=1; WW; y=1 // r0=y; z=1; r1=z; r2=x+r1               | 1:r0=1 1:r1=1 1:r2=0        | rmo
MP+WW+addr-po       | x=1; WW; y=1 // r0=y; r1=z+r0; r2=x                    | 1:r0=1 1:r2=0               | rmo
LB                  | r0=x; y=1 // r0=y; x=1                                 | 0:r0=1 1:r0=1               | rmo
LB+data+po          | r0=x; y=1+r0 // r0=y; x=1                              | 0:r0=1 1:r0=1               | rmo
LB+datas            | r0=x; y=1+r0 // r0=y; x=1+r0                           | 0:r0=1 1:r0=1               |
LB+addrs            | r0=x; y+r0=1 // r0=y; x+r0=1                           | 0:r0=1 1:r0=1               |
LB+ctrls            | r0=x; if r0; y=1 // r0=y; if r0; x=1                   | 0:r0=1 1:r0=1               |
LB+RWs              | r0=x; RW; y=1 // r0=y; RW; x=1                         | 0:r0=1 1:r0=1               |
LB+RRs              | r0=x; RR; y=1 // r0=y; RR; x=1                         | 0:r0=1 1:r0=1               | rmo
LB+addr-pos         | r0=x; r1=z+r0; y=1 // r0=y; r1=z+r0; x=1               | 0:r0=1 1:r0=1               | rmo
S                   | x=2; y=1 // r0=y; x=1                                  | 1:r0=1 x=2                  | pso rmo
S+WW+po             | x=2; WW; y=1 // r0=y; x=1                              | 1:r0=1 x=2                  | rmo
S+WW+data           | x=2; WW; y=1 // r0=y; x=1+r0                           | 1:r0=1 x=2                  |
S+WW+ctrl           | x=2; WW; y=1 // r0=y; if r0; x=1                       | 1:r0=1 x=2                  |
R                   | x=1; y=1 // y=2; r0=x                                  | 1:r0=0 y=2                  | tso pso rmo
R+po+WR             | x=1; y=1 // y=2; WR; r0=x                              | 1:r0=0 y=2                  | pso rmo
R+WW+WR             | x=1; WW; y=1 // y=2; WR; r0=x                          | 1:r0=0 y=2                  |
2+2W                | x=1; y=2 // y=1; x=2                                   | x=1 y=1                     | pso rmo
2+2W+WW+po          | x=1; WW; y=2 // y=1; x=2                               | x=1 y=1                     | pso rmo
2+2W+WWs            | x=1; WW; y=2 // y=1; WW; x=2                           | x=1 y=1                     |
WRC                 | x=1 // r0=x; y=1 // r0=y; r1=x                         | 1:r0=1 2:r0=1 2:r1=0        | rmo
WRC+data+po         | x=1 // r0=x; y=1+r0 // r0=y; r1=x                      | 1:r0=1 2:r0=1 2:r1=0        | rmo
WRC+data+addr       | x=1 // r0=x; y=1+r0 // r0=y; r1=x+r0                   | 1:r0=1 2:r0=1 2:r1=0        |
IRIW                | x=1 // r0=x; r1=y // y=1 // r0=y; r1=x                 | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | rmo
IRIW+addr+po        | x=1 // r0=x; r1=y+r0 // y=1 // r0=y; r1=x              | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | rmo
IRIW+addrs          | x=1 // r0=x; r1=y+r0 // y=1 // r0=y; r1=x+r0           | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 |
IRIW+RRs            | x=1 // r0=x; RR; r1=y // y=1 // r0=y; RR; r1=x         | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 |
CoRR                | x=1 // r0=x; r1=x                                      | 1:r0=1 1:r1=0               | rmo
CoRR+addr           | x=1 // r0=x; r1=x+r0                                   | 1:r0=1 1:r1=0               |
CoRR+RR             | x=1 // r0=x; RR; r1=x                                  | 1:r0=1 1:r1=0               |
CoWW                | x=1; x=2                                               | x=1                         |
CoWR                | x=1; r0=x // x=2                                       | 0:r0=2 x=1                  |
CoWR0               | x=1; r0=x                                              | 0:r0=0                      |
CoRW1               | r0=x; x=1                                              | 0:r0=1                      |
CoRW2               | r0=x; x=1 // x=2                                       | 0:r0=2 x=2                  |
SB+xchg+po          | x=1; r0=y!2 // y=1; r0=x                               | 0:r0=0 1:r0=0               | tso pso rmo
SB+xchgs            | x=1; r0=y!2 // y=1; r0=x!2                             | 0:r0=0 1:r0=0               |
SB+xchg-pos         | r0=x!1; r1=y // r0=y!1; r1=x                           | 0:r1=0 1:r1=0               |
SB+failed-cas       | x=1; r0=y?9 // y=1; r0=x?9                             | 0:r0=0 1:r0=0               |
SB+po-failed-cas-po | x=1; r0=z?9; r1=y // y=1; r0=z?9; r1=x                 | 0:r1=0 1:r1=0               |
MP+xchg-po+addr     | r0=x!1; y=1 // r0=y; r1=x+r0                           | 1:r0=1 1:r1=0               |
MP+WW+failed-cas-po | x=1; WW; y=1 // r0=y?9; r1=x                           | 1:r0=1 1:r1=0               |
LB+failed-cas-pos   | r0=x?9; y=1 // r0=y?9; x=1                             | 0:r0=1 1:r0=1               |
xchg+xchg           | r0=x!1 // r0=x!2                                       | 0:r0=0 1:r0=0               |
2+2W+xchg-pos       | r0=x!1; y=2 // r0=y!1; x=2                             | x=1 y=1                     |
"""


def cases() -> list[object]:
    rows = (re.split(r" *\| ?", line) for line in CLASSICS.strip().splitlines())
    return [pytest.param(threads, outcome, allowed.split(), id=name) for name, threads, outcome, allowed in rows]


def parse(threads: str, outcome: str) -> tuple[Program, tuple[int, ...]]:
    functions = [parse_thread(f"P{i}", text) for i, text in enumerate(threads.split("//"))]
    expected = {observable(name): int(value) for name, value in (item.split("=") for item in outcome.split())}
    objects = tuple(Object(name, 8) for name in ("x", "y", "z"))
    started = tuple(Thread(function.name, function.name) for function in functions)
    program = Program("classic", "none", objects, tuple(functions), started, Property(observed=tuple(expected)))
    return program, tuple(expected.values())


def parse_thread(name: str, text: str) -> Function:
    body: list[Instruction] = []
    labels = {}
    for statement in (part.strip() for part in text.split(";")):
        body.append(parse_statement(statement, f"L{len(body)}"))
        labels[f"L{len(body) - 1}"] = len(body)
    return Function(name, (), tuple(body), labels)


def parse_statement(text: str, next_label: str) -> Instruction:
    if text.startswith("if "):
        return Branch(Binary("ne", 32, Reg(text[3:]), Const(0)), next_label)
    if "=" not in text:
        return Fence(FENCES.get(text, text))
    left, right = text.split("=")
    if "!" in right:
        location, value = right.split("!")
        return Rmw(left, "xchg", operand(location), operand(value), 4)
    if "?" in right:
        location, value = right.split("?")
        return CompareExchange(left, None, operand(location), operand(value), Const(0), 4)
    if left.startswith("r"):
        return Load(left, operand(right), 4)
    return Store(operand(left), operand(right), 4)


def operand(text: str) -> Expr:
    base, _, register = text.partition("+")
    value: Expr = Const(int(base)) if base.isdigit() else Address(base)
    return Binary("add", 64, value, Binary("xor", 64, Reg(register), Reg(register))) if register else value


def observable(name: str) -> Observable:
    thread, colon, register = name.partition(":")
    return RegisterValue(int(thread), register) if colon else MemoryValue(name)


@pytest.mark.parametrize(("threads", "outcome", "allowed"), cases())
def test_oracle(threads: str, outcome: str, allowed: list[str]) -> None:
    program, state = parse(threads, outcome)
    assert [name for name in MODELS if state in run(Task(program, load_model(name))).states] == allowed


@pytest.mark.parametrize(("threads", "outcome", "allowed"), cases())
def test_machines(threads: str, outcome: str, allowed: list[str]) -> None:
    program, state = parse(threads, outcome)
    final = {buffers.value: store_buffers.explore(program, buffers).final for buffers in store_buffers.Buffers}
    final["rmo"] = out_of_order.explore(program)
    assert [name for name in MODELS if state in final[name]] == allowed
