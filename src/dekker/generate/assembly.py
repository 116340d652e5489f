"""What the assembly architectures share: threads as columns, registers, labels, and the walk over the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count, zip_longest

from dekker.errors import InputError
from dekker.generate.edges import Edge, Kind
from dekker.generate.synthesis import Access, Step, Test
from dekker.records import dataclass


@dataclass
class Thread:
    """The code of one thread as it grows. `checks` are registers and the values they must end with."""

    number: int
    registers: Iterator[str]
    labels: Iterator[int]
    name_address: Callable[[str, int], str] | None
    wide: Callable[[str], str]
    lines: list[str] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    checks: list[tuple[str, int]] = field(default_factory=list)

    def emit(self, *lines: str) -> None:
        self.lines.extend(lines)

    def fresh(self) -> str:
        register = next(self.registers, None)
        if register is None:
            raise InputError(
                f"thread P{self.number} needs more registers than the architecture has",
                hint="shorten the part of the cycle between two communications",
            )
        return register

    def address(self, location: str) -> str:
        """The register that holds the address of a location from the start."""
        if location not in self.addresses:
            named = self.name_address
            self.addresses[location] = named(location, self.number) if named else self.wide(self.fresh())
        return self.addresses[location]

    def label(self) -> str:
        return f"LC{next(self.labels):02}"


@dataclass(frozen=True)
class Assembler:
    """How an architecture writes things down. `load` and `store` take the register of an address dependency, already
    zero, or None; `store` also the register of a data dependency. `exchange` writes a read-modify-write and gives the
    register of what it read. `wide` names a register in full, as addresses and conditions do."""

    registers: Sequence[str]
    fences: Mapping[str, str]
    zero: Callable[[Thread, str], str]
    branch: Callable[[Thread, str], None]
    control_fences: Mapping[str, str]
    load: Callable[[Thread, Access, str | None], str]
    store: Callable[[Thread, Access, str | None, str | None], None]
    exchange: Callable[[Thread, Edge, Access, Access, str | None], str]
    name_address: Callable[[str, int], str] | None = None
    wide: Callable[[str], str] = str


@dataclass(frozen=True)
class Rendering:
    """The text of a test between its header and its condition, and the checks on registers: thread, register, value."""

    text: str
    checks: tuple[tuple[int, str, int], ...]


def render(assembler: Assembler, test: Test) -> Rendering:
    labels = count()
    threads = [
        Thread(number, iter(assembler.registers), labels, assembler.name_address, assembler.wide)
        for number in range(len(test.threads))
    ]
    for thread, steps in zip(threads, test.threads, strict=True):
        _write(thread, steps, assembler)
    checks = tuple((t.number, assembler.wide(register), value) for t in threads for register, value in t.checks)
    return Rendering("\n".join([*_initial_state(threads, assembler), *_columns(threads)]), checks)


def _write(thread: Thread, steps: Sequence[Step], assembler: Assembler) -> None:
    read = ""
    for i, step in enumerate(steps):
        edge, access = step.edge, step.access
        if edge is not None and edge.kind is Kind.ATOMIC:
            continue
        offset, data = _lead_in(thread, edge, read, assembler)
        following = steps[i + 1] if i + 1 < len(steps) else None
        if following is not None and following.edge is not None and following.edge.kind is Kind.ATOMIC:
            read = assembler.exchange(thread, following.edge, access, following.access, offset)
        elif access.direction == "R":
            read = assembler.load(thread, access, offset)
        else:
            assembler.store(thread, access, offset, data)
        if access.checked:
            thread.checks.append((read, access.value))


def _lead_in(thread: Thread, edge: Edge | None, read: str, assembler: Assembler) -> tuple[str | None, str | None]:
    """What stands between the previous access and the next; the registers of an address and of a data dependency."""
    if edge is not None and edge.kind is Kind.FENCE:
        thread.emit(assembler.fences[edge.detail])
    if edge is None or edge.kind is not Kind.DEPENDENCY:
        return None, None
    if edge.detail == "Addr":
        return assembler.zero(thread, read), None
    if edge.detail == "Data":
        return None, assembler.zero(thread, read)
    assembler.branch(thread, read)
    if edge.detail in assembler.control_fences:
        thread.emit(assembler.control_fences[edge.detail])
    return None, None


def _initial_state(threads: Sequence[Thread], assembler: Assembler) -> Iterator[str]:
    yield "{"
    for thread in threads:
        prefix = "" if assembler.name_address else f"{thread.number}:"
        if thread.addresses:
            yield " ".join(f"{prefix}{register}={location};" for location, register in thread.addresses.items())
    yield "}"


def _columns(threads: Sequence[Thread]) -> Iterator[str]:
    columns = [[f"P{thread.number}", *thread.lines] for thread in threads]
    widths = [max(map(len, column)) for column in columns]
    for row in zip_longest(*columns, fillvalue=""):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f" {' | '.join(cells)} ;"
