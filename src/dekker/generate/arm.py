"""ARMv7: `LDR R0,[%x0]`, `STR`, and `LDREX`/`STREX` for read-modify-writes. Addresses are symbolic registers."""

from __future__ import annotations

from dekker.generate.assembly import Assembler, Thread
from dekker.generate.edges import Edge, Vocabulary
from dekker.generate.synthesis import Access

FENCES = {"DMB": "DMB", "DSB": "DSB", "DMB.ST": "DMB ST", "DSB.ST": "DSB ST", "ISB": "ISB"}

VOCABULARY = Vocabulary(
    architecture="ARM",
    fences=tuple(FENCES),
    dependencies=("Addr", "Data", "Ctrl", "CtrlIsb"),
    atomics=("LxSx",),
    annotations={"P": "RW"},
    synonyms={"Rmw": "LxSx", "DpCtrlISB": "DpCtrlIsb"},
)


def zero(thread: Thread, register: str) -> str:
    result = thread.fresh()
    thread.emit(f"EOR {result},{register},{register}")
    return result


def branch(thread: Thread, register: str) -> None:
    label = thread.label()
    thread.emit(f"CMP {register},{register}", f"BNE {label}", f"{label}:")


def load(thread: Thread, access: Access, offset: str | None) -> str:
    register = thread.fresh()
    thread.emit(f"LDR {register},{place(thread, access.location, offset)}")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    register = value(thread, access.value, data)
    thread.emit(f"STR {register},{place(thread, access.location, offset)}")


def place(thread: Thread, location: str, offset: str | None) -> str:
    address = thread.address(location)
    return f"[{offset},{address}]" if offset else f"[{address}]"


def value(thread: Thread, number: int, data: str | None) -> str:
    register = data or thread.fresh()
    thread.emit(f"ADD {register},{register},#{number}" if data else f"MOV {register},#{number}")
    return register


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    new = value(thread, write.value, None)
    address = thread.address(read.location)
    if offset:
        thread.emit(f"ADD {offset},{offset},{address}")
        address = offset
    old, status = thread.fresh(), thread.fresh()
    thread.emit(f"LDREX {old},[{address}]", f"STREX {status},{new},[{address}]")
    thread.checks.append((status, 0))
    return old


ASSEMBLER = Assembler(
    registers=[f"R{number}" for number in range(13)],
    fences=FENCES,
    zero=zero,
    branch=branch,
    control_fences={"CtrlIsb": "ISB"},
    load=load,
    store=store,
    exchange=exchange,
    name_address=lambda location, thread: f"%{location}{thread}",
)
