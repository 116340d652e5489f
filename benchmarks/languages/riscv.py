"""RISC-V with the A extension."""

from __future__ import annotations

from benchmarks.languages.assembly import Assembly, Column
from benchmarks.sketch import AtomicIncrement, Fence, LinkedIncrement, Load, StopIf, Store, Sum, TryLock, Unlock


def _store(column: Column, statement: Store) -> list[str]:
    place = f"0({column.pointers[statement.location]})"
    if isinstance(statement.value, str):
        return [f"sw {column.registers[statement.value]},{place}"]
    return [f"ori x5,x0,{statement.value}", f"sw x5,{place}"]


def _sum(column: Column, statement: Sum) -> list[str]:
    target, left = column.registers[statement.register], column.registers[statement.left]
    if isinstance(statement.right, str):
        return [f"add {target},{left},{column.registers[statement.right]}"]
    return [f"addi {target},{left},{statement.right}"]


def _stop_if(column: Column, statement: StopIf) -> list[str]:
    return [f"ori x5,x0,{statement.value}", f"beq {column.registers[statement.register]},x5,{column.end}"]


def _atomic_increment(column: Column, statement: AtomicIncrement) -> list[str]:
    register = "x6" if statement.register is None else column.registers[statement.register]
    return ["ori x5,x0,1", f"amoadd.w {register},x5,({column.pointers[statement.location]})"]


def _linked_increment(column: Column, statement: LinkedIncrement) -> list[str]:
    place = f"({column.pointers[statement.location]})"
    return [f"lr.w x5,{place}", "addi x5,x5,1", f"sc.w x6,x5,{place}", f"beq x6,x0,{column.end}"]


def _try_lock(column: Column, statement: TryLock) -> list[str]:
    place = f"({column.pointers[statement.location]})"
    return ["ori x5,x0,1", f"amoswap.w.aq x6,x5,{place}", f"bne x6,x0,{column.end}"]


ASSEMBLY = Assembly(
    architecture="RISCV",
    registers=tuple(f"x{number}" for number in range(10, 16)),
    pointers=tuple(f"x{number}" for number in range(16, 32)),
    translate={
        Load: lambda column, s: [f"lw {column.registers[s.register]},0({column.pointers[s.location]})"],
        Store: _store,
        Sum: _sum,
        Fence: lambda *_: ["fence rw,rw"],
        StopIf: _stop_if,
        AtomicIncrement: _atomic_increment,
        LinkedIncrement: _linked_increment,
        TryLock: _try_lock,
        Unlock: lambda column, s: ["fence rw,w", f"sw x0,0({column.pointers[s.location]})"],
    },
)
