"""A program as the numbers that the explicit-state search reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dekker.engines.core_code import (
    DEFAULTS,
    WEAK,
    Coder,
    encode_observables,
    initial_bytes,
    object_ranges,
    signed,
)
from dekker.engines.states.footprints import Footprint, Footprints, footprints
from dekker.engines.states.liveness import needed_at_starts
from dekker.engines.states.locality import local_allocations, names_only
from dekker.ir.fences import FENCES
from dekker.ir.flow import Hidden
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Print,
    Recycle,
    Refuse,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout
from dekker.ir.passes.reuse import is_reusable, reuses_freed_memory
from dekker.ir.program import Function, Program
from dekker.ir.property import Observable, RegisterValue
from dekker.records import dataclass

OPERATIONS: tuple[type[Instruction], ...] = (
    *(Assign, Load, Store, StoreConditional, Rmw, CompareExchange, Fence, Jump, Branch, Assume, Assert, Choose, Exit),
    *(Await, Call, Return, Spawn, Join, Allocate, Free, AtomicBegin, AtomicEnd, Print, Refuse, Measure),
    *(Recycle, Renew, EndScope, Detach),
)
NO_FENCE, FLUSH, BEFORE_STORES, BEFORE_LOADS = range(4)
STACK, LOCAL, PERMANENT, CONFINED, UNSET, COPY, NAME = 16, 32, 64, 128, 256, 512, 1024
INSTRUCTION = DEFAULTS | {"fence": NO_FENCE, "touches": 0}

Block = tuple[list[int], int, list[tuple[int, int]], list[int], list[list[int]], list[Footprint]]


def encode(
    program: Program, places: Layout, observed: Sequence[Observable], *, pso: bool, static_local: bool
) -> tuple[Any, ...]:
    """The argument of the native search."""
    encoder = _Encoder(
        places,
        program=program,
        footprints=footprints(program),
        pso=pso,
        static_local=static_local,
        reuses=reuses_freed_memory(program),
        names=names_only(program),
    )
    encoder.blocks = {item.name: len(program.threads) + number for number, item in enumerate(program.functions)}
    threads, registers = [], []
    for number in range(len(program.threads)):
        wanted = [item.register for item in observed if isinstance(item, RegisterValue) and item.thread == number]
        threads.append(encoder.thread(number, wanted))
        registers.append(encoder.registers)
    functions = [encoder.function(item) for item in program.functions]
    return (
        threads,
        functions,
        encoder.expressions,
        encoder.arguments,
        [(places.starts[name], number) for name, number in encoder.blocks.items()],
        initial_bytes(program, places),
        object_ranges(program, places),
        encode_observables(observed, registers, places),
        _alike(program, observed),
    )


@dataclass(kw_only=True)
class _Encoder(Coder):
    program: Program
    footprints: Footprints
    pso: bool
    static_local: bool
    reuses: bool
    names: Mapping[str, Collection[int]]

    def thread(self, number: int, observed: Collection[str]) -> Block:
        """`registers` then holds the thread's numbering."""
        start = self.program.threads[number]
        self.begin_block()
        initial = self.initial_registers(start)
        for name in observed:
            self.register(name)
        return self._block(self.program.function_by_name[start.function], initial, [], frozenset(observed))

    def function(self, function: Function) -> Block:
        self.begin_block()
        return self._block(function, [], [self.register(name) for name in function.parameters], frozenset())

    def _block(
        self, function: Function, initial: list[tuple[int, int]], parameters: list[int], live: frozenset[str]
    ) -> Block:
        local = local_allocations(function) if self.static_local else frozenset()
        if self.reuses:  # another thread may get the same memory
            local = frozenset(index for index in local if not is_reusable(function.body[index]))
        code: list[int] = []
        for index in range(len(function.body)):
            code += self._instruction(function, index, is_local=index in local)
        dead = [self._dead(names) for names in needed_at_starts(function, live)]
        return code, len(self.registers), initial, parameters, dead, self.footprints.future[function.name]

    def _dead(self, live: Collection[object]) -> list[int]:
        found = [number for name, number in self.registers.items() if name not in live]
        return found if Hidden.LINK in live else [*found, len(self.registers)]

    def _instruction(self, function: Function, index: int, *, is_local: bool) -> list[int]:
        step = function.body[index]
        fields = INSTRUCTION | self.common_fields(step, function.labels)
        fields["operation"] = OPERATIONS.index(type(step))
        fields["touches"] = signed(self.footprints.touches[function.name][index])
        fields["flags"] |= LOCAL * is_local
        match step:
            case Fence():
                fields["fence"] = self._fence(step)
            case Assert():
                fields["flags"] |= WEAK * step.is_limit
            case Allocate():
                fields["flags"] |= STACK * step.stack | PERMANENT * step.permanent
                fields["flags"] |= CONFINED * step.confined | UNSET * (not step.zeroed)
                fields["flags"] |= NAME * (index in self.names[function.name])
            case Renew():
                fields["flags"] |= UNSET * (not step.zeroed)
            case Store():
                fields["flags"] |= COPY * step.copy
        return list(fields.values())

    def _fence(self, step: Fence) -> int:
        """Loads are done in order and at once, so only what a fence says about earlier stores matters. What keeps them
        before loads under TSO, where stores stay in order anyway, may as well write them."""
        orders = FENCES[step.kind].orders
        if "WR" in orders:
            return BEFORE_LOADS if self.pso and "WW" not in orders else FLUSH
        return BEFORE_STORES if self.pso and "WW" in orders else NO_FENCE


def _alike(program: Program, observed: Sequence[Observable]) -> list[int]:
    """For each thread the first that does the same; threads whose registers are shown are like no other."""
    shown = {item.thread for item in observed if isinstance(item, RegisterValue)}
    first: dict[object, int] = {}
    found = []
    for number, thread in enumerate(program.threads):
        key = number if number in shown else (thread.function, thread.registers)
        found.append(first.setdefault(key, number))
    return found
