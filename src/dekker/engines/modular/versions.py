"""Version counters without a bound (Treiber's remedy for the ABA problem).

A versioned variable holds p + m·v: a value p below m, and a version v that starts with 1 and never gets smaller. If
programs only compare such values, take p out of them and count v up, then all that matters is whether a version lies
behind: every state is shifted so that the present version is `PRESENT`. A version that lies behind can never be the
present one again, so all those become 0, so far behind that no program counts from there to the present. What a program
could see beyond that is refused:

- A value with a version may be copied, be taken modulo m, and have values without versions added and subtracted. It may
  go to no other variable, and to its own by CMPXCHG only.
- What is compared, by CMPXCHG, `=` or `!=`, must be as it was read: copies of it, but nothing computed.
- A version never gets smaller, nor is one written that was counted up from a version that lies behind.
- Versions that lie behind become equal. Two registers of a thread that differ but would become equal, while both may
  still be looked at, end the search (`NotFinite`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dekker.engines.modular.capture import NOWHERE, Local, NotFinite, PassedWrite
from dekker.engines.modular.code import Code
from dekker.engines.modular.inlining import inline
from dekker.engines.modular.memory import Cell, Memory
from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Branch,
    Choose,
    CompareExchange,
    Instruction,
    Load,
    Rmw,
    Store,
)
from dekker.ir.thread_classes import (
    ForbiddenState,
    MemberRegister,
    Number,
    Operation,
    SharedValue,
    StateTerm,
    System,
)
from dekker.records import dataclass
from dekker.source import Span

PRESENT = 1 << 20
ELEMENT = 8


@dataclass
class Versions:
    """Of one variable at most."""

    symbol: str
    modulus: int
    carriers: list[frozenset[str]]
    """By class, the registers that may hold a value with a version."""
    compared: list[frozenset[str]]
    """Those of them that can be compared."""

    def initial(self, memory: Memory, values: tuple[int, ...]) -> tuple[int, ...]:
        """Versions start with 1."""
        cell = self.cell(memory)
        more = (PRESENT - 1) * self.modulus
        return tuple(value + more if number == cell else value for number, value in enumerate(values))

    def cell(self, memory: Memory) -> Cell | None:
        return memory.numbers.get((memory.layout.starts[self.symbol], ELEMENT))

    def advance(self, value: int) -> tuple[int, int]:
        """The value to write, and by how much all versions have to be shifted."""
        version, held = divmod(value, self.modulus)
        if version < PRESENT:
            message = f"a version of `{self.symbol}` may get smaller: it is counted up from one that lies behind"
            raise UnsupportedError(message, None, "count up from what the same CMPXCHG compares")
        return held + PRESENT * self.modulus, version - PRESENT

    def shifted(self, local: Local, code: Code, cell: Cell, by: int) -> Local:
        slots = [code.registers[name] for name in self.carriers[local.thread_class] if name in code.registers]
        registers = list(local.registers)
        for slot in slots:
            registers[slot] = self._shift(registers[slot], by)
        self._require_distinct(local, registers, code)
        passed = tuple(
            item._replace(value=self._shift(item.value, by))
            if isinstance(item, PassedWrite) and item.cell == cell
            else item
            for item in local.passed
        )
        return local._replace(registers=tuple(registers), passed=passed)

    def _shift(self, value: int, by: int) -> int:
        version, held = divmod(value, self.modulus)
        shifted = version - by
        return held + self.modulus * (shifted if shifted >= PRESENT else 0)

    def _require_distinct(self, local: Local, registers: list[int], code: Code) -> None:
        live = 0 if local.position == NOWHERE else code.live[local.position]
        slots = [code.registers[name] for name in sorted(self.compared[local.thread_class]) if name in code.registers]
        seen: dict[int, int] = {}
        for slot in slots:
            if not live >> slot & 1:
                continue
            other = seen.setdefault(registers[slot], slot)
            if local.registers[other] != local.registers[slot] and registers[slot] // self.modulus == 0:
                why = f"it keeps two versions of `{self.symbol}` that are no longer present"
                raise NotFinite(local.position, local.thread_class, why)


def versions_of(system: System) -> Versions | None:
    if not system.versions:
        return None
    if len(system.versions) > 1:
        raise UnsupportedError(f"there are {len(system.versions)} versioned variables", None, "only one can be handled")
    ((symbol, modulus),) = system.versions.items()
    carriers, compared = [], []
    for item in system.classes:
        body = inline(system.program, system.program.function_by_name[item.function])
        flow = _Flow(symbol, modulus, list(zip(body.steps, body.spans, strict=True)))
        carriers.append(flow.carriers())
        compared.append(carriers[-1] - flow.computed)
    found = Versions(symbol, modulus, carriers, compared)
    for state in system.forbidden:
        _require_modulo(found, system, state, state.term)
    return found


def _require_modulo(versions: Versions, system: System, state: ForbiddenState, term: StateTerm) -> None:
    """A forbidden state may not speak of versions either."""
    carriers = {item.name: names for item, names in zip(system.classes, versions.carriers, strict=True)}
    match term:
        case Operation("srem", (SharedValue() | MemberRegister(), Number(modulus))) if modulus == versions.modulus:
            return
        case SharedValue(symbol, index):
            seen = symbol == versions.symbol
            _require_modulo(versions, system, state, index)
        case MemberRegister(member, register):
            seen = register in carriers[member.thread_class]
        case Operation(_, operands):
            for operand in operands:
                _require_modulo(versions, system, state, operand)
            seen = False
        case _:
            seen = False
    if seen:
        message = f"this forbidden state speaks of a version of `{versions.symbol}`"
        raise UnsupportedError(message, state.span, f"take the version off with `% {versions.modulus}`")


@dataclass
class _Flow:
    symbol: str
    modulus: int
    steps: list[tuple[Instruction, Span | None]]
    computed: frozenset[str] = frozenset()
    """Registers that need not be what was read."""

    def _computed(self) -> set[str]:
        found: set[str] = set()
        size = -1
        while size != len(found):
            size = len(found)
            for step, _ in self.steps:
                match step:
                    case Assign(dst, Reg(name)) if name not in found:
                        pass
                    case Load(dst, address) if self._is_here(address):
                        pass
                    case CompareExchange(dst, success, address) if self._is_here(address):
                        found.update(() if success is None else (success,))
                    case Assign(dst) | Load(dst) | Choose(dst):
                        found.add(dst)
                    case CompareExchange(dst):
                        found.update(() if dst is None else (dst,))
        return found

    def carriers(self) -> frozenset[str]:
        self.computed = frozenset(self._computed())
        found: set[str] = set()
        size = -1
        while size != len(found):
            size = len(found)
            for step, span in self.steps:
                found.update(self._carried(step, span, found))
        return frozenset(found)

    def _carried(self, step: Instruction, span: Span | None, known: Collection[str]) -> Iterator[str]:
        """Registers that a step makes carriers; refuses what would let a version out."""
        match step:
            case Assign(dst, value):
                if self.carries(value, known, span):
                    yield dst
            case Load(dst, address):
                self._require_plain(address, known, span)
                if self._is_here(address):
                    yield dst
            case CompareExchange(dst, _, address, expected, desired):
                self._require_plain(address, known, span)
                carried = [self.carries(item, known, span) for item in (expected, desired)]
                if self._is_here(address):
                    self._require_as_read(expected, span)
                    if dst is not None:
                        yield dst
                elif any(carried):
                    raise self._refusal("goes to another variable", span)
            case Store(address, value):
                self._require_plain(address, known, span)
                if self._is_here(address):
                    raise self._refusal("is written without a comparison", span)
                if self.carries(value, known, span):
                    raise self._refusal("goes to another variable", span)
            case Rmw(_, _, address, operand):
                if self._is_here(address) or self.carries(operand, known, span):
                    raise self._refusal("is changed by a read-modify-write", span)
            case Branch(condition) | Assert(condition) | Assume(condition):
                self._require_plain(condition, known, span)

    def _require_plain(self, value: Expr, known: Collection[str], span: Span | None) -> None:
        if self.carries(value, known, span):
            raise self._refusal("is used as a number", span)

    def _require_as_read(self, value: Expr, span: Span | None) -> None:
        if not isinstance(value, Reg) or value.name in self.computed:
            raise self._refusal("is compared with something that was not read from it", span)

    def _is_here(self, address: Expr) -> bool:
        return isinstance(address, Address) and address.symbol == self.symbol

    def carries(self, value: Expr, known: Collection[str], span: Span | None) -> bool:
        match value:
            case Reg(name):
                return name in known
            case Binary("add" | "sub" as op, _, left, right):
                sides = self.carries(left, known, span), self.carries(right, known, span)
                if all(sides) or (op == "sub" and sides[1]):
                    raise self._refusal("is added to or subtracted from a number", span)
                return any(sides)
            case Binary("srem" | "urem", _, left, Const(modulus)) if modulus == self.modulus:
                self.carries(left, known, span)
                return False
            case Binary("eq" | "ne", _, left, right):
                sides = self.carries(left, known, span), self.carries(right, known, span)
                if any(sides):
                    self._require_as_read(left, span)
                    self._require_as_read(right, span)
                return False
        for part in _parts(value):
            self._require_plain(part, known, span)
        return False

    def _refusal(self, what: str, span: Span | None) -> UnsupportedError:
        message = f"a value of `{self.symbol}` {what}, and its version with it"
        hint = f"take the version off with `% {self.modulus}`; it may only be compared, copied and counted up"
        return UnsupportedError(message, span, hint)


def _parts(value: Expr) -> tuple[Expr, ...]:
    match value:
        case Unary(_, _, operand):
            return (operand,)
        case Binary(_, _, left, right):
            return (left, right)
        case Select(condition, then, other):
            return (condition, then, other)
    return ()
