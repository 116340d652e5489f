"""AArch64, with the atomic instructions of ARMv8.1."""

from __future__ import annotations

from benchmarks.languages.assembly import Assembly, Column
from benchmarks.sketch import (
    AtomicIncrement,
    CompareAndIncrement,
    Fence,
    LinkedIncrement,
    Load,
    StopIf,
    Store,
    Sum,
    TryLock,
    Unlock,
)


def _place(column: Column, location: str) -> str:
    return f"[{column.pointers[location]}]"


def _store(column: Column, statement: Store) -> list[str]:
    place = _place(column, statement.location)
    if isinstance(statement.value, str):
        return [f"STR {column.registers[statement.value]},{place}"]
    return [f"MOV W0,#{statement.value}", f"STR W0,{place}"]


def _sum(column: Column, statement: Sum) -> list[str]:
    right = column.registers[statement.right] if isinstance(statement.right, str) else f"#{statement.right}"
    return [f"ADD {column.registers[statement.register]},{column.registers[statement.left]},{right}"]


def _atomic_increment(column: Column, statement: AtomicIncrement) -> list[str]:
    register = "W1" if statement.register is None else column.registers[statement.register]
    return ["MOV W0,#1", f"LDADD W0,{register},{_place(column, statement.location)}"]


def _compare_and_increment(column: Column, statement: CompareAndIncrement) -> list[str]:
    place = _place(column, statement.location)
    values = [f"LDR W0,{place}", "ADD W1,W0,#1", "MOV W2,W0"]
    return [*values, f"CAS W2,W1,{place}", "CMP W2,W0", f"B.EQ {column.end}"]


def _linked_increment(column: Column, statement: LinkedIncrement) -> list[str]:
    place = _place(column, statement.location)
    return [f"LDXR W0,{place}", "ADD W0,W0,#1", f"STXR W1,W0,{place}", f"CBZ W1,{column.end}"]


def _try_lock(column: Column, statement: TryLock) -> list[str]:
    return ["MOV W0,#1", f"SWPA W0,W1,{_place(column, statement.location)}", f"CBNZ W1,{column.end}"]


ASSEMBLY = Assembly(
    architecture="AArch64",
    registers=tuple(f"W{number}" for number in range(3, 9)),
    pointers=tuple(f"X{number}" for number in range(9, 29)),
    symbolic="X%{}",
    displayed=lambda register: register.replace("W", "X"),
    translate={
        Load: lambda column, s: [f"LDR {column.registers[s.register]},{_place(column, s.location)}"],
        Store: _store,
        Sum: _sum,
        Fence: lambda *_: ["DMB SY"],
        StopIf: lambda column, s: [f"CMP {column.registers[s.register]},#{s.value}", f"B.EQ {column.end}"],
        AtomicIncrement: _atomic_increment,
        CompareAndIncrement: _compare_and_increment,
        LinkedIncrement: _linked_increment,
        TryLock: _try_lock,
        Unlock: lambda column, s: [f"STLR WZR,{_place(column, s.location)}"],
    },
)
