"""RISC-V: `lw`/`sw`, their `.aq` and `.rl` forms, `lr.w`/`sc.w`, and the atomic instructions.

Annotations: P plain, Aq acquire, Rl release, AR both (an atomic instruction in place of the access), X exclusive (a
read is lr and a sc of what was read, a write is lr and sc).
"""

from __future__ import annotations

from dekker.generate.assembly import Assembler, Thread
from dekker.generate.edges import Edge, Vocabulary
from dekker.generate.synthesis import Access

SETS = ("r", "w", "rw")
FENCES = {f"Fence.{before}.{after}": f"fence {before},{after}" for before in SETS for after in SETS} | {
    "Fence.tso": "fence.tso",
    "Fence.i": "fence.i",
}

VOCABULARY = Vocabulary(
    architecture="RISCV",
    fences=tuple(FENCES),
    dependencies=("Addr", "Data", "Ctrl", "CtrlFenceI"),
    atomics=("LxSx", "Amo.Swp", "Amo.Add"),
    annotations={"P": "RW", "Aq": "R", "Rl": "W", "AR": "RW", "X": "RW"},
    atomic_pairs=frozenset({("P", "P"), ("Aq", "P"), ("P", "Rl"), ("Aq", "Rl")}),
    synonyms={"Rmw": "LxSx"},
)

EXCLUSIVE = frozenset({"X"})
ACQUIRE = {"Aq": ".aq", "AR": ".aq"}
RELEASE = {"Rl": ".rl", "AR": ".rl"}
AMOS = {"Amo.Swp": "amoswap.w", "Amo.Add": "amoadd.w"}


def zero(thread: Thread, register: str) -> str:
    result = thread.fresh()
    thread.emit(f"xor {result},{register},{register}")
    return result


def branch(thread: Thread, register: str) -> None:
    label = thread.label()
    thread.emit(f"bne {register},x0,{label}", f"{label}:")


def load(thread: Thread, access: Access, offset: str | None) -> str:
    if access.annotation in EXCLUSIVE:
        address = place(thread, access.location, offset)
        register = thread.fresh()
        exclusive_pair(thread, address, register, register, access, access)
        return register
    register = thread.fresh()
    address = place(thread, access.location, offset)
    if access.annotation == "AR":
        thread.emit(f"amoor.w.aq.rl {register},x0,({address})")
    else:
        thread.emit(f"lw{ACQUIRE.get(access.annotation, '')} {register},0({address})")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    register = value(thread, access.value, data)
    address = place(thread, access.location, offset)
    if access.annotation in EXCLUSIVE:
        old = thread.fresh()
        exclusive_pair(thread, address, old, register, access, access)
        thread.checks.append((old, access.previous))
    elif access.annotation == "AR":
        thread.emit(f"amoswap.w.aq.rl x0,{register},({address})")
    else:
        thread.emit(f"sw{RELEASE.get(access.annotation, '')} {register},0({address})")


def place(thread: Thread, location: str, offset: str | None) -> str:
    address = thread.address(location)
    if offset is None:
        return address
    result = thread.fresh()
    thread.emit(f"add {result},{address},{offset}")
    return result


def exclusive_pair(thread: Thread, address: str, old: str, new: str, read: Access, write: Access) -> None:
    status = thread.fresh()
    thread.emit(
        f"lr.w{ACQUIRE.get(read.annotation, '')} {old},0({address})",
        f"sc.w{RELEASE.get(write.annotation, '')} {status},{new},0({address})",
    )
    thread.checks.append((status, 0))


def value(thread: Thread, number: int, data: str | None) -> str:
    register = data or thread.fresh()
    thread.emit(f"ori {register},{data or 'x0'},{number}")
    return register


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    operand = write.value - read.value if edge.detail == "Amo.Add" else write.value
    new = value(thread, operand, None)
    address = place(thread, read.location, offset)
    old = thread.fresh()
    if edge.detail == "LxSx":
        exclusive_pair(thread, address, old, new, read, write)
    else:
        order = ACQUIRE.get(read.annotation, "") + RELEASE.get(write.annotation, "")
        thread.emit(f"{AMOS[edge.detail]}{order} {old},{new},({address})")
    return old


ASSEMBLER = Assembler(
    registers=[f"x{number}" for number in range(5, 32)],
    fences=FENCES,
    zero=zero,
    branch=branch,
    control_fences={"CtrlFenceI": "fence.i"},
    load=load,
    store=store,
    exchange=exchange,
)
