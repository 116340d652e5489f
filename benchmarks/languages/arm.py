"""ARMv7."""

from __future__ import annotations

from benchmarks.languages.assembly import Assembly, Column
from benchmarks.sketch import Fence, LinkedIncrement, Load, StopIf, Store, Sum, TryLock, Unlock


def _place(column: Column, location: str) -> str:
    return f"[{column.pointers[location]}]"


def _store(column: Column, statement: Store) -> list[str]:
    place = _place(column, statement.location)
    if isinstance(statement.value, str):
        return [f"STR {column.registers[statement.value]},{place}"]
    return [f"MOV R0,#{statement.value}", f"STR R0,{place}"]


def _sum(column: Column, statement: Sum) -> list[str]:
    right = column.registers[statement.right] if isinstance(statement.right, str) else f"#{statement.right}"
    return [f"ADD {column.registers[statement.register]},{column.registers[statement.left]},{right}"]


def _linked_increment(column: Column, statement: LinkedIncrement) -> list[str]:
    place = _place(column, statement.location)
    return [f"LDREX R0,{place}", "ADD R0,R0,#1", f"STREX R1,R0,{place}", "CMP R1,#0", f"BEQ {column.end}"]


def _try_lock(column: Column, statement: TryLock) -> list[str]:
    place = _place(column, statement.location)
    look = [f"LDREX R0,{place}", "CMP R0,#0", f"BNE {column.end}"]
    return [*look, "MOV R0,#1", f"STREX R1,R0,{place}", "CMP R1,#0", f"BNE {column.end}", "DMB"]


ASSEMBLY = Assembly(
    architecture="ARM",
    registers=tuple(f"R{number}" for number in range(2, 7)),
    pointers=tuple(f"R{number}" for number in range(7, 13)),
    symbolic="%{}",
    translate={
        Load: lambda column, s: [f"LDR {column.registers[s.register]},{_place(column, s.location)}"],
        Store: _store,
        Sum: _sum,
        Fence: lambda *_: ["DMB"],
        StopIf: lambda column, s: [f"CMP {column.registers[s.register]},#{s.value}", f"BEQ {column.end}"],
        LinkedIncrement: _linked_increment,
        TryLock: _try_lock,
        Unlock: lambda column, s: ["DMB", "MOV R0,#0", f"STR R0,{_place(column, s.location)}"],
    },
)
