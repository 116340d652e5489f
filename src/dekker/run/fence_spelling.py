"""How a fence is written in a program: as the program already does it, if it has one of that kind.

The source may have it in a function or macro of its own (`full_fence();`), or as a fence of C11; a program that uses
the atomics of C11 gets those. Everything else is assembly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dekker.frontends import CPP_EXTENSIONS, is_c
from dekker.ir.instructions import Fence, Return
from dekker.ir.passes.atomic_mappings import MAPPINGS
from dekker.ir.program import Function, Program
from dekker.run.fence_markers import Marked
from dekker.source import Span, whole_call
from dekker.transform.fence_kinds import c11_fence

_NAME = re.compile(r"[A-Za-z_]\w*")
_ATOMICS = re.compile(r"<(stdatomic\.h|atomic)>")


def spellings(marked: Marked, processor: str) -> dict[str, str]:
    if not is_c(marked.paths[0]):
        return dict(marked.kinds.texts)
    known = dict(_in_use(marked.original, processor))
    text = "\n".join(sheet.text for sheet in marked.sheets)
    c11 = _ATOMICS.search(text) is not None
    cpp = marked.paths[0].endswith(CPP_EXTENSIONS)
    return {
        kind: known.get(kind) or _usual(kind, processor, written, c11, cpp)
        for kind, written in marked.kinds.texts.items()
    }


def _usual(kind: str, processor: str, assembly: str, c11: bool, cpp: bool) -> str:
    fence = c11_fence(kind, processor) if c11 else None
    if fence is None:
        return assembly
    order, prefix = fence.removeprefix("c11."), "std::" if cpp else ""
    return f"{prefix}atomic_thread_fence({prefix}memory_order_{order});"


def _in_use(program: Program, processor: str) -> Iterator[tuple[str, str]]:
    for function in program.functions:
        for index, step in enumerate(function.body):
            span = function.span(index)
            if not isinstance(step, Fence) or span is None:
                continue
            written = _wrapper(function) or _statement(span)
            if written is not None:
                yield step.kind, written
                for kind in _compiled_from(step.kind, processor):
                    yield kind, written


def _compiled_from(name: str, processor: str) -> Iterator[str]:
    fences = MAPPINGS[processor].fences.get(name, ())
    if len(fences) == 1:
        yield fences[0]


def _wrapper(function: Function) -> str | None:
    """A function that is nothing but a fence."""
    kinds = [type(step) for step in function.body]
    if function.parameters or kinds not in ([Fence, Return], [Fence]) or not _NAME.fullmatch(function.name):
        return None
    return f"{function.name}();"


def _statement(span: Span) -> str | None:
    """A call that is a statement of its own."""
    call = whole_call(span)
    text = span.source.text
    before = text[: call.start].rstrip(" \t")
    behind = text[call.end : call.end + 1]
    alone = behind == ";" and (not before or before[-1] in ";{}\n)")
    name = call.text.split("(", 1)[0].strip()
    if not alone or "(" not in call.text or name.startswith(("asm", "__asm")) or "\n" in call.text:
        return None
    return f"{call.text};"
