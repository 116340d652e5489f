"""x86, Intel's order of operands. The one fence is the full one: under pso and rmo a lighter one would do less."""

from __future__ import annotations

from benchmarks.languages.assembly import Assembly, Column
from benchmarks.sketch import (
    AtomicIncrement,
    CompareAndIncrement,
    Fence,
    Load,
    StopIf,
    Store,
    Sum,
    TryLock,
    Unlock,
)


def _value(column: Column, value: int | str) -> str:
    return column.registers[value] if isinstance(value, str) else f"${value}"


def _sum(column: Column, statement: Sum) -> list[str]:
    right = _value(column, statement.right)
    into = f"MOV {column.registers[statement.register]},EAX"
    return [f"MOV EAX,{column.registers[statement.left]}", f"ADD EAX,{right}", into]


def _atomic_increment(column: Column, statement: AtomicIncrement) -> list[str]:
    if statement.register is None:
        return [f"LOCK INC [{statement.location}]"]
    register = column.registers[statement.register]
    return [f"MOV {register},$1", f"LOCK XADD [{statement.location}],{register}"]


def _compare_and_increment(column: Column, statement: CompareAndIncrement) -> list[str]:
    place = f"[{statement.location}]"
    return [f"MOV EAX,{place}", "MOV EDI,EAX", "ADD EDI,$1", f"LOCK CMPXCHG {place},EDI", f"JE {column.end}"]


def _try_lock(column: Column, statement: TryLock) -> list[str]:
    return ["MOV EAX,$1", f"XCHG [{statement.location}],EAX", "CMP EAX,$0", f"JNE {column.end}"]


ASSEMBLY = Assembly(
    architecture="X86",
    registers=("EBX", "ECX", "EDX", "ESI"),
    translate={
        Load: lambda column, s: [f"MOV {column.registers[s.register]},[{s.location}]"],
        Store: lambda column, s: [f"MOV [{s.location}],{_value(column, s.value)}"],
        Sum: _sum,
        Fence: lambda *_: ["MFENCE"],
        StopIf: lambda column, s: [f"CMP {column.registers[s.register]},${s.value}", f"JE {column.end}"],
        AtomicIncrement: _atomic_increment,
        CompareAndIncrement: _compare_and_increment,
        TryLock: _try_lock,
        Unlock: lambda _, s: [f"MOV [{s.location}],$0"],
    },
)
