"""x86: `MOV [x],$1`, `MOV EAX,[x]`, and `XCHG` for read-modify-writes. Dependencies order nothing: there are none."""

from __future__ import annotations

from dekker.errors import InputError
from dekker.generate.assembly import Assembler, Thread
from dekker.generate.edges import Edge, Vocabulary
from dekker.generate.synthesis import Access

FENCES = {"MFence": "MFENCE", "LFence": "LFENCE", "SFence": "SFENCE"}

VOCABULARY = Vocabulary(
    architecture="X86",
    fences=tuple(FENCES),
    dependencies=(),
    atomics=("Rmw",),
    annotations={"P": "RW"},
    synonyms={"Amo.Swp": "Rmw"},
)


def load(thread: Thread, access: Access, offset: str | None) -> str:
    register = thread.fresh()
    thread.emit(f"MOV {register},[{access.location}]")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    thread.emit(f"MOV [{access.location}],${access.value}")


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    register = thread.fresh()
    thread.emit(f"MOV {register},${write.value}", f"XCHG [{read.location}],{register}")
    return register


def no_dependency(thread: Thread, register: str) -> str:
    raise InputError("x86 tests have no dependencies")


ASSEMBLER = Assembler(
    registers=["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"],
    fences=FENCES,
    zero=no_dependency,
    branch=lambda thread, register: None,
    control_fences={},
    load=load,
    store=store,
    exchange=exchange,
)
