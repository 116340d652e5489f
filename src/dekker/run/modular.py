"""A Lang or C program for the modular engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from dekker.engines.modular.engine import ModularOptions
from dekker.engines.modular.engine import run as run_modular
from dekker.errors import InputError
from dekker.frontends import is_c, read_text
from dekker.frontends.lang import parse_system
from dekker.ir.thread_classes import System, atoms
from dekker.modular_result import ModularResult
from dekker.records import dataclass
from dekker.result import Verdict
from dekker.run.check import OPEN_POINTERS, leaves_pointers_open, partial_ranges
from dekker.source import Source

MANY = "many"


@dataclass(frozen=True)
class ModularCall:
    """`counts` replaces how many threads classes have; None stands for any number. The rest is for the compiler."""

    options: ModularOptions = field(default_factory=ModularOptions)
    counts: Mapping[str, int | None] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    cc: str | None = None


def modular(paths: Sequence[str], call: ModularCall) -> ModularResult:
    """The engine says what can be reached; that nothing bad can holds if something came to its end."""
    system = read_system(paths, call)
    result = run_modular(system, call.options)
    if result.verdict is Verdict.SAFE and not result.came_to_end:
        return replace(result, verdict=Verdict.UNKNOWN)
    ranges = partial_ranges(system.program)
    notes = [OPEN_POINTERS] if leaves_pointers_open(system.program) else []
    if ranges:
        shown = ", ".join(f"{low}..{high}" for low, high in ranges)
        notes.append(f"numbers that the program leaves open were taken from {shown}")
    if not notes or result.verdict is not Verdict.SAFE:
        return result
    return replace(result, verdict=Verdict.SAFE_WITHIN_BOUND, notes=(*result.notes, *notes))


def read_system(paths: Sequence[str], call: ModularCall) -> System:
    if any(is_c(path) for path in paths):
        from dekker.run.modular_c import system_of_c  # noqa: PLC0415 — the compiler is not needed for Lang

        return system_of_c(paths, call.counts, call.options.model, call.flags, call.cc)
    if len(paths) != 1:
        raise InputError("a .lang program is read alone; only C and C++ files are linked together")
    if not paths[0].endswith(".lang"):
        raise InputError(f"'{paths[0]}' is neither a Lang program (.lang) nor a C program")
    if call.flags or call.cc is not None:
        raise InputError(f"there is nothing to compile in '{paths[0]}', so no compiler and no flags for it are needed")
    return with_counts(parse_system(Source(paths[0], read_text(paths[0]))), call.counts)


def with_counts(system: System, counts: Mapping[str, int | None]) -> System:
    known = [item.name for item in system.classes]
    for name in counts:
        if name not in known:
            raise InputError(f"there is no class `{name}`", hint=f"the classes are {', '.join(known)}")
    classes = tuple(replace(item, count=counts.get(item.name, item.count)) for item in system.classes)
    changed = replace(system, classes=tuple(item for item in classes if item.count != 0))
    _require_members(changed, {item.name: item.count for item in classes})
    return changed


def _require_members(system: System, counts: Mapping[str, int | None]) -> None:
    if not system.classes:
        raise InputError("there is no thread left")
    for item in system.forbidden:
        for atom in atoms(item.term):
            member = getattr(atom, "member", None)
            count = None if member is None else counts[member.thread_class]
            if member is not None and count is not None and member.number > count:
                raise InputError(f"this speaks of thread {member.number} of `{member.thread_class}`", item.span)
