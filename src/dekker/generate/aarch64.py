"""AArch64: `LDR`/`STR` and their acquire and release forms, exclusives, and the atomic instructions.

Annotations: P plain, A acquire (LDAR), Q acquire of the weaker kind (LDAPR), L release (STLR), X exclusive (a read is
LDXR and a STXR of what was read, a write is LDXR and STXR), XA and XL exclusive with acquire, with release.
"""

from __future__ import annotations

from dekker.generate.assembly import Assembler, Thread
from dekker.generate.edges import Edge, Vocabulary
from dekker.generate.synthesis import Access

FENCES = {
    "DMB.SY": "DMB SY",
    "DMB.LD": "DMB LD",
    "DMB.ST": "DMB ST",
    "DSB.SY": "DSB SY",
    "DSB.LD": "DSB LD",
    "DSB.ST": "DSB ST",
    "ISB": "ISB",
}

VOCABULARY = Vocabulary(
    architecture="AArch64",
    fences=tuple(FENCES),
    dependencies=("Addr", "Data", "Ctrl", "CtrlIsb"),
    atomics=("LxSx", "Amo.Swp", "Amo.Cas", "Amo.LdAdd"),
    annotations={"P": "RW", "A": "R", "Q": "R", "L": "W", "X": "RW", "XA": "R", "XL": "W"},
    atomic_pairs=frozenset({("P", "P"), ("A", "P"), ("P", "L"), ("A", "L")}),
    synonyms={"Rmw": "LxSx", "DpCtrlISB": "DpCtrlIsb"},
)

EXCLUSIVE = frozenset({"X", "XA", "XL"})
LOADS = {"P": "LDR", "A": "LDAR", "Q": "LDAPR"}
STORES = {"P": "STR", "L": "STLR"}
LOAD_EXCLUSIVE = {"A": "LDAXR", "XA": "LDAXR"}
STORE_EXCLUSIVE = {"L": "STLXR", "XL": "STLXR"}


def zero(thread: Thread, register: str) -> str:
    result = thread.fresh()
    thread.emit(f"EOR {result},{register},{register}")
    return result


def branch(thread: Thread, register: str) -> None:
    label = thread.label()
    thread.emit(f"CBNZ {register},{label}", f"{label}:")


def load(thread: Thread, access: Access, offset: str | None) -> str:
    if access.annotation in EXCLUSIVE:
        address = exact_address(thread, access.location, offset)
        register = thread.fresh()
        exclusive_pair(thread, address, register, register, access.annotation, "P")
        return register
    register = thread.fresh()
    thread.emit(f"{LOADS[access.annotation]} {register},{place(thread, access, offset)}")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    register = value(thread, access.value, data)
    if access.annotation in EXCLUSIVE:
        address = exact_address(thread, access.location, offset)
        old = thread.fresh()
        exclusive_pair(thread, address, old, register, "P", access.annotation)
        thread.checks.append((old, access.previous))
        return
    thread.emit(f"{STORES[access.annotation]} {register},{place(thread, access, offset)}")


def place(thread: Thread, access: Access, offset: str | None) -> str:
    if offset is None or access.annotation != "P":
        return f"[{exact_address(thread, access.location, offset)}]"
    return f"[{thread.address(access.location)},{offset},SXTW]"


def exact_address(thread: Thread, location: str, offset: str | None) -> str:
    """All but LDR and STR want the address in one register."""
    address = thread.address(location)
    if offset is None:
        return address
    result = thread.wide(thread.fresh())
    thread.emit(f"ADD {result},{address},{offset},SXTW")
    return result


def exclusive_pair(thread: Thread, address: str, old: str, new: str, reads: str, writes: str) -> None:
    status = thread.fresh()
    thread.emit(
        f"{LOAD_EXCLUSIVE.get(reads, 'LDXR')} {old},[{address}]",
        f"{STORE_EXCLUSIVE.get(writes, 'STXR')} {status},{new},[{address}]",
    )
    thread.checks.append((status, 0))


def value(thread: Thread, number: int, data: str | None) -> str:
    register = data or thread.fresh()
    thread.emit(f"ADD {register},{register},#{number}" if data else f"MOV {register},#{number}")
    return register


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    order = (read.annotation + write.annotation).replace("P", "")
    operand = write.value - read.value if edge.detail == "Amo.LdAdd" else write.value
    new = value(thread, operand, None)
    address = exact_address(thread, read.location, offset)
    if edge.detail == "Amo.Cas":
        old = value(thread, read.value, None)
        thread.emit(f"CAS{order} {old},{new},[{address}]")
        return old
    old = thread.fresh()
    if edge.detail == "LxSx":
        exclusive_pair(thread, address, old, new, read.annotation, write.annotation)
    else:
        thread.emit(f"{'SWP' if edge.detail == 'Amo.Swp' else 'LDADD'}{order} {new},{old},[{address}]")
    return old


ASSEMBLER = Assembler(
    registers=[f"W{number}" for number in range(31)],
    fences=FENCES,
    zero=zero,
    branch=branch,
    control_fences={"CtrlIsb": "ISB"},
    load=load,
    store=store,
    exchange=exchange,
    wide=lambda register: f"X{register[1:]}",
)
