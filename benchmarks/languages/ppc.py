"""POWER. r0 is never written: it is the 0 that `lwarx` and `stwcx.` add to an address."""

from __future__ import annotations

from benchmarks.languages.assembly import Assembly, Column
from benchmarks.sketch import Fence, LinkedIncrement, Load, StopIf, Store, Sum, TryLock, Unlock


def _store(column: Column, statement: Store) -> list[str]:
    place = f"0({column.pointers[statement.location]})"
    if isinstance(statement.value, str):
        return [f"stw {column.registers[statement.value]},{place}"]
    return [f"li r3,{statement.value}", f"stw r3,{place}"]


def _sum(column: Column, statement: Sum) -> list[str]:
    target, left = column.registers[statement.register], column.registers[statement.left]
    if isinstance(statement.right, str):
        return [f"add {target},{left},{column.registers[statement.right]}"]
    return [f"addi {target},{left},{statement.right}"]


def _linked_increment(column: Column, statement: LinkedIncrement) -> list[str]:
    place = column.pointers[statement.location]
    return [f"lwarx r3,r0,{place}", "addi r3,r3,1", f"stwcx. r3,r0,{place}", f"beq {column.end}"]


def _try_lock(column: Column, statement: TryLock) -> list[str]:
    place = column.pointers[statement.location]
    take = ["li r4,1", f"stwcx. r4,r0,{place}", f"bne {column.end}", "isync"]
    return [f"lwarx r3,r0,{place}", "cmpwi r3,0", f"bne {column.end}", *take]


ASSEMBLY = Assembly(
    architecture="PPC",
    registers=tuple(f"r{number}" for number in range(5, 10)),
    pointers=tuple(f"r{number}" for number in range(10, 32)),
    symbolic="%{}",
    translate={
        Load: lambda column, s: [f"lwz {column.registers[s.register]},0({column.pointers[s.location]})"],
        Store: _store,
        Sum: _sum,
        Fence: lambda _, s: ["sync" if s.full else "lwsync"],
        StopIf: lambda column, s: [f"cmpwi {column.registers[s.register]},{s.value}", f"beq {column.end}"],
        LinkedIncrement: _linked_increment,
        TryLock: _try_lock,
        Unlock: lambda column, s: ["lwsync", "li r3,0", f"stw r3,0({column.pointers[s.location]})"],
    },
)
