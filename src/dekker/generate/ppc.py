"""POWER: `lwz r1,0(r2)`, `stw`, and `lwarx`/`stwcx.` for read-modify-writes."""

from __future__ import annotations

from dekker.generate.assembly import Assembler, Thread
from dekker.generate.edges import Edge, Vocabulary
from dekker.generate.synthesis import Access

FENCES = {"Sync": "sync", "LwSync": "lwsync", "Eieio": "eieio", "ISync": "isync"}

VOCABULARY = Vocabulary(
    architecture="PPC",
    fences=tuple(FENCES),
    dependencies=("Addr", "Data", "Ctrl", "CtrlIsync"),
    atomics=("LxSx",),
    annotations={"P": "RW"},
    synonyms={"Rmw": "LxSx"},
)


def zero(thread: Thread, register: str) -> str:
    result = thread.fresh()
    thread.emit(f"xor {result},{register},{register}")
    return result


def branch(thread: Thread, register: str) -> None:
    label = thread.label()
    thread.emit(f"cmpw {register},{register}", f"beq {label}", f"{label}:")


def load(thread: Thread, access: Access, offset: str | None) -> str:
    register = thread.fresh()
    address = thread.address(access.location)
    thread.emit(f"lwzx {register},{offset},{address}" if offset else f"lwz {register},0({address})")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    register = value(thread, access.value, data)
    address = thread.address(access.location)
    thread.emit(f"stwx {register},{offset},{address}" if offset else f"stw {register},0({address})")


def value(thread: Thread, number: int, data: str | None) -> str:
    register = data or thread.fresh()
    thread.emit(f"addi {register},{register},{number}" if data else f"li {register},{number}")
    return register


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    """`stwcx.` tells its success in a condition bit only: a register is set to 1 behind a branch over it."""
    new = value(thread, write.value, None)
    old, address, done = thread.fresh(), thread.address(read.location), thread.fresh()
    label, base = thread.label(), offset or "0"
    thread.emit(f"lwarx {old},{base},{address}", f"stwcx. {new},{base},{address}")
    thread.emit(f"bne {label}", f"li {done},1", f"{label}:")
    thread.checks.append((done, 1))
    return old


ASSEMBLER = Assembler(
    registers=[f"r{number}" for number in range(1, 32)],
    fences=FENCES,
    zero=zero,
    branch=branch,
    control_fences={"CtrlIsync": "isync"},
    load=load,
    store=store,
    exchange=exchange,
)
