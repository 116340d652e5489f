"""What instructions do in a replay: registers, memory, control."""

from __future__ import annotations

from dataclasses import replace

from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import Expr, is_unset
from dekker.ir.flow import reads_between
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Await,
    Branch,
    Choose,
    CompareExchange,
    Fence,
    Jump,
    Load,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.undefined import of_binary, partly
from dekker.replay.machine import BLOCKED, FAILED, POINTER, WAITING, Machine, Mismatch, Step
from dekker.replay.thin_air import computed, limited
from dekker.replay.words import Word, apply, number, taken, with_bits

CONDITION = "what decides here"


def _assign(machine: Machine, instruction: Assign) -> None:
    word = machine.value(instruction.value)
    if is_unset(instruction.value):
        word = replace(word, origin=instruction.dst.partition("%")[0] or "a variable")
    machine.set(instruction.dst, word)


# --- memory


def _load(machine: Machine, instruction: Load) -> None:
    tags = frozenset(("X",)) if instruction.exclusive else frozenset[str]()
    address = machine.value(instruction.address)
    index, word = machine.read(address, instruction.size, instruction.order, tags, loose=instruction.loose)
    if instruction.exclusive:
        machine.linked = index
    if instruction.signed:
        word = apply("sext", 8 * instruction.size, word)
    machine.set(instruction.dst, word)


def _store(machine: Machine, instruction: Store) -> None:
    address = machine.value(instruction.address)
    value = machine.cut(instruction.value, instruction.size)
    machine.write(address, instruction.size, value, instruction.order, frozenset(), copy=instruction.copy)


def _store_conditional(machine: Machine, instruction: StoreConditional) -> None:
    linked, machine.linked = machine.linked, None
    if not machine.next_is("W"):
        machine.set(instruction.status, number(1))
        return
    address = machine.value(instruction.address)
    if linked is None or machine.run.done[linked].event.address != address.value:
        raise Mismatch(
            f"{machine.name}: a store-conditional{machine.where()} succeeds, but the closest load-linked before it is "
            "paired already, or read another address, or does not exist"
        )
    value = machine.cut(instruction.value, instruction.size)
    tags = frozenset(("X", "RMW"))
    index = machine.write(address, instruction.size, value, instruction.order, tags)
    machine.retag(linked, "RMW")
    machine.run.updates.append((linked, index, "lxsx"))
    machine.set(instruction.status, number(0, index))


def _rmw(machine: Machine, instruction: Rmw) -> None:
    size, order = instruction.size, instruction.order
    address, operand = machine.value(instruction.address), machine.cut(instruction.operand, size)
    if (
        instruction.op == "xchg"
        and not _succeeds(machine)
        and (instruction.quiet or machine.taken + 1 >= len(machine.trace))
    ):
        _quiet_exchange(machine, instruction, address, operand)
        return
    tags = _update_tags(instruction) | {"RMW"}
    index, old = machine.read(address, size, order, tags)
    written = machine.write(address, size, _updated(instruction.op, 8 * size, old, operand), order, tags)
    machine.run.updates.append((index, written, "amo"))
    machine.set(instruction.dst, old)


def _update_tags(instruction: Rmw | CompareExchange) -> frozenset[str]:
    return frozenset(("AMO", "NORET") if instruction.dst is None else ("AMO",))


def _quiet_exchange(machine: Machine, instruction: Rmw, address: Word, operand: Word) -> None:
    """It found what it would write, and its thread waits."""
    machine.must_wait = not instruction.quiet
    tags = frozenset(("AMO", "QUIET"))
    _, old = machine.read(address, instruction.size, instruction.order, tags)
    if old.value != operand.value:
        found = f"it read {old.value} and writes {operand.value}"
        raise Mismatch(f"{machine.name}: an exchange{machine.where()} only reads, but {found}")
    machine.set(instruction.dst, old)


def _updated(op: str, width: int, old: Word, operand: Word) -> Word:
    """What a read-modify-write stores."""
    if op == "xchg":
        return operand
    result = RMW_OPERATORS[op](width, old.value, operand.value)
    found = Word(
        result,
        limited(computed(op, width, old.shape, operand.shape), result),
        old.sources | operand.sources,
        operand.picked,
    )
    return with_bits(found, _compared_bits(op, width, old, operand), old, operand)


def _compared_bits(op: str, width: int, old: Word, operand: Word) -> int:
    if not old.undefined and not operand.undefined:
        return 0
    return of_binary(op, width, partly(old.value, old.undefined), partly(operand.value, operand.undefined))


def _note_comparison(machine: Machine, width: int, old: Word, expected: Word) -> None:
    """Nobody knows how it ends, so the trace may end there."""
    if _compared_bits("eq", width, old, expected):
        machine.note_unset("what is compared", old if old.undefined else expected)
        if machine.peek() is None:
            raise machine.end(FAILED)


def _compare_exchange(machine: Machine, instruction: CompareExchange) -> None:
    size = instruction.size
    address = machine.value(instruction.address)
    expected, desired = machine.cut(instruction.expected, size), machine.cut(instruction.desired, size)
    succeeds = _succeeds(machine)
    tags = _update_tags(instruction) | ({"RMW"} if succeeds else set())
    order = instruction.order if succeeds else instruction.failure_order
    index, old = machine.read(address, size, order, tags)
    _note_comparison(machine, 8 * size, old, expected)
    if succeeds != (old.value == expected.value) and (succeeds or not instruction.weak):
        if machine.world.may_be_undefined and machine.peek() is None:  # what it read may turn out to be indeterminate
            raise machine.stop()
        outcome = "succeeds" if succeeds else "fails"
        raise Mismatch(
            f"{machine.name}: a compare-exchange{machine.where()} {outcome}, but it read {old.value} and expected "
            f"{expected.value}"
        )
    compared = old.sources | expected.sources
    if succeeds:
        stored = replace(desired, picked=desired.picked | expected.picked | compared)
        written = machine.write(address, size, stored, order, tags)
        machine.run.updates.append((index, written, "amo"))
    machine.set(instruction.dst, old)
    machine.set(instruction.success, Word(int(succeeds), int(succeeds), compared, expected.picked))


def _succeeds(machine: Machine) -> bool:
    """Whether the read that comes next is followed by a write of the same instruction."""
    following = machine.taken + 1
    return following < len(machine.trace) and machine.is_done_here(machine.trace[following], "W")


def _fence(machine: Machine, instruction: Fence) -> None:
    machine.fence(instruction.kind)


# --- control


def _demand_set(machine: Machine, condition: Word, *, loose: bool) -> None:
    """Of what is loose the thread need not know yet."""
    if not loose or machine.peek() is None:
        machine.demand(condition, CONDITION)
    elif condition.is_undecided:
        machine.note_unset(CONDITION, condition)


def _branch(machine: Machine, instruction: Branch) -> None:
    condition = machine.value(instruction.condition)
    _demand_set(machine, condition, loose=instruction.loose)
    if not instruction.loose:
        machine.depend_on(condition)
    if condition.value:
        machine.go(instruction.target)


def _assume(machine: Machine, instruction: Assume) -> None:
    condition = machine.value(instruction.condition)
    _demand_set(machine, condition, loose=instruction.loose)
    if not instruction.loose:
        machine.depend_on(condition)
    if not condition.value:
        raise machine.end(BLOCKED)


def _await(machine: Machine, instruction: Await) -> None:
    """A thread whose condition fails reads again; that its trace ends there means that it waits for ever."""
    condition = machine.value(instruction.condition)
    machine.demand(condition, CONDITION)
    machine.depend_on(condition)
    if condition.value:
        return
    if machine.peek() is None:
        call = machine.calls[-1]
        head = call.function.labels[instruction.target]
        machine.run.last_round = machine.rounds.get((len(machine.calls), head), len(machine.run.done))
        machine.run.is_idle = not reads_between(machine.world.program, call.function, head, call.pc)
        raise machine.end(WAITING)
    machine.go(instruction.target)


def _assert(machine: Machine, instruction: Assert) -> None:
    condition = machine.value(instruction.condition)
    if not instruction.loose:
        machine.depend_on(condition)
    _demand_set(machine, condition, loose=instruction.loose)
    if condition.is_undecided:
        return
    if condition.value:
        return
    if not instruction.loose:
        raise machine.fail("assertion", instruction.message)
    machine.note_failure("assertion", instruction.message)
    machine.may_stop = machine.peek() is None


def _choose(machine: Machine, instruction: Choose) -> None:
    chosen = machine.take("C", f"a choice from {instruction.low} to {instruction.high}").value
    if not 0 <= chosen <= mask(64) or (chosen - instruction.low) & mask(64) > instruction.high - instruction.low:
        raise Mismatch(f"{machine.name} chooses {chosen}{machine.where()}, which is out of range")
    machine.set(instruction.dst, number(chosen))


STEPS: dict[type, Step] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _fence,
    Jump: lambda machine, instruction: machine.go(instruction.target),
    Branch: _branch,
    Assume: _assume,
    Await: _await,
    Assert: _assert,
    Choose: _choose,
}


# --- before other threads exist


def _load_alone(machine: Machine, instruction: Load) -> None:
    word = _read_alone(machine, _place_alone(machine, instruction.address), instruction.size)
    machine.set(instruction.dst, apply("sext", 8 * instruction.size, word) if instruction.signed else word)


def _read_alone(machine: Machine, address: int, size: int) -> Word:
    _demand_object(machine, address, size)
    return taken(machine.world.read(address, size), *machine.world.unset(address, size))


def _store_alone(machine: Machine, instruction: Store) -> None:
    value = machine.cut(instruction.value, instruction.size)
    _write_alone(machine, _place_alone(machine, instruction.address), instruction.size, value, copy=instruction.copy)


def _place_alone(machine: Machine, address: Expr) -> int:
    word = machine.value(address)
    machine.demand_all(word, POINTER)
    return word.value


def _write_alone(machine: Machine, address: int, size: int, value: Word, *, copy: bool = False) -> None:
    _demand_object(machine, address, size)
    if value.undefined:
        machine.note_shown(address, size, value, copy=copy)
        if machine.run.failure is not None:
            raise machine.end(FAILED)
    machine.world.write(address, size, value, machine.span)


def _demand_object(machine: Machine, address: int, size: int) -> None:
    if machine.world.is_released(address):
        raise machine.fail(
            "use after free", f"access to memory at {address:#x} that may have been freed", address, size
        )
    if not machine.world.contains(address, size):
        raise machine.fail("memory", f"access to {size} bytes at {address:#x}, which lie in no object", address, size)


def _rmw_alone(machine: Machine, instruction: Rmw) -> None:
    address, size = _place_alone(machine, instruction.address), instruction.size
    old, operand = _read_alone(machine, address, size), machine.cut(instruction.operand, size)
    _write_alone(machine, address, size, _updated(instruction.op, 8 * size, old, operand))
    machine.set(instruction.dst, old)


def _compare_exchange_alone(machine: Machine, instruction: CompareExchange) -> None:
    address, size = _place_alone(machine, instruction.address), instruction.size
    old, expected = _read_alone(machine, address, size), machine.cut(instruction.expected, size)
    _note_comparison(machine, 8 * size, old, expected)
    if machine.run.failure is not None:
        raise machine.end(FAILED)
    succeeds = old.value == expected.value
    if succeeds:
        _write_alone(machine, address, size, machine.cut(instruction.desired, size))
    machine.set(instruction.dst, old)
    machine.set(instruction.success, number(int(succeeds)))


def _fence_alone(machine: Machine, instruction: Fence) -> None:
    """Nobody is there to notice."""


STEPS_ALONE: dict[type, Step] = {
    Load: _load_alone,
    Store: _store_alone,
    Rmw: _rmw_alone,
    CompareExchange: _compare_exchange_alone,
    Fence: _fence_alone,
}
