"""x86 in AT&T's notation: `movl $1,(x)`, `movl (x),%eax`, and `xchgl` for read-modify-writes."""

from __future__ import annotations

from dataclasses import replace

from dekker.generate import x86
from dekker.generate.assembly import Thread
from dekker.generate.edges import Edge
from dekker.generate.synthesis import Access

VOCABULARY = replace(x86.VOCABULARY, architecture="X86_64")

NAMES = {"eax": "rax", "ebx": "rbx", "ecx": "rcx", "edx": "rdx", "esi": "rsi", "edi": "rdi"}
NAMES |= {f"r{number}d": f"r{number}" for number in range(8, 16)}


def load(thread: Thread, access: Access, offset: str | None) -> str:
    register = thread.fresh()
    thread.emit(f"movl ({access.location}),%{register}")
    return register


def store(thread: Thread, access: Access, offset: str | None, data: str | None) -> None:
    thread.emit(f"movl ${access.value},({access.location})")


def exchange(thread: Thread, edge: Edge, read: Access, write: Access, offset: str | None) -> str:
    register = thread.fresh()
    thread.emit(f"movl ${write.value},%{register}", f"xchgl %{register},({read.location})")
    return register


ASSEMBLER = replace(
    x86.ASSEMBLER,
    registers=list(NAMES),
    fences={name: instruction.lower() for name, instruction in x86.FENCES.items()},
    load=load,
    store=store,
    exchange=exchange,
    wide=NAMES.__getitem__,
)
