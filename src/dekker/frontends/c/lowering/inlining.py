"""Puts the atomic operations of the C++ library in the place of their calls.

`x.compare_exchange_weak(expected, 1)` calls three functions, each of which hands on the address of `expected`, and a
`switch` over memory orders. In place, the variable can live in a register, as in C, and the order is known.

What the callee keeps of its parameters in variables that nothing else writes is replaced by the arguments. All that is
put in has the position of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import Any

from dekker.frontends.c.llvm.body import is_terminator
from dekker.frontends.c.llvm.syntax import (
    Alloca,
    Argument,
    Block,
    Branch,
    Call,
    DebugValue,
    Global,
    Header,
    Instruction,
    Jump,
    Load,
    Local,
    Number,
    Operand,
    Phi,
    Return,
    Store,
    Switch,
)
from dekker.records import dataclass

LIBRARY = ("_ZNSt3__1", "_ZNKSt3__1", "_ZNVSt3__1", "_ZNVKSt3__1")
MARKS = ("llvm.lifetime.", "llvm.dbg.")
MOST_CALLS = 200
MOST_INSTRUCTIONS = 300
OFFSET_OF_COPIES = 1 << 40

Find = Callable[[str], tuple[Header, list[Block]] | None]
"""The function with that name, if it is defined in the same module, with blocks that nobody else has."""


def inline_atomics(blocks: list[Block], find: Find) -> list[Block]:
    """The blocks of a function, with calls of atomic operations replaced."""
    inlining = _Inlining(find)
    done: list[Block] = []
    pending = list(reversed(blocks))
    while pending:
        block = pending.pop()
        pending += reversed(inlining.split(block))
        done.append(block)
    if inlining.count:
        done[0].instructions[:0] = inlining.variables
        _rename_predecessors(done, inlining.continued)
    return done


def is_atomic_operation(name: str) -> bool:
    """Those that wait are known as a whole."""
    is_one = "atomic" in name or "__to_failure_order" in name
    return name.startswith(LIBRARY) and is_one and "wait" not in name


@dataclass
class _Inlining:
    """`continued` says in which block a block goes on that was cut in two; `variables` are those of callees."""

    find: Find
    count: int = 0
    continued: dict[str, str] = field(default_factory=dict)
    variables: list[Instruction] = field(default_factory=list)

    def split(self, block: Block) -> list[Block]:
        """Cuts the block at its first such call. What is new: the blocks of the callee, and the rest of this one."""
        for index, call in enumerate(block.instructions):
            if not isinstance(call, Call) or self.count >= MOST_CALLS:
                continue
            body = self._callee(call)
            if body is None:
                continue
            self.count += 1
            rest = Block(f"%{self.count}.rest", block.instructions[index + 1 :])
            if call.normal is not None:
                rest.instructions = [Jump(offset=call.offset, debug=call.debug, target=call.normal)]
            inner = _copy(*body, call, self.count, rest)
            for item in inner:
                self.variables += [step for step in item.instructions if isinstance(step, Alloca)]
                item.instructions = [step for step in item.instructions if not isinstance(step, Alloca)]
            block.instructions[index:] = [Jump(offset=call.offset, debug=call.debug, target=inner[0].name)]
            self.continued[block.name] = rest.name
            return [*inner, rest]
        return []

    def _callee(self, call: Call) -> tuple[Header, list[Block]] | None:
        name = call.callee.value.name if isinstance(call.callee.value, Global) else ""
        found = self.find(name) if is_atomic_operation(name) else None
        if found is None:
            return None
        header, blocks = found
        simple = not header.variadic and len(header.parameters) == len(call.arguments)
        by_value = any(p.by_value for p in header.parameters) or any(a.by_value for a in call.arguments)
        small = sum(len(block.instructions) for block in blocks) <= MOST_INSTRUCTIONS
        return found if simple and not by_value and small else None


def _rename_predecessors(blocks: list[Block], continued: dict[str, str]) -> None:
    def last(name: str) -> str:
        while name in continued:
            name = continued[name]
        return name

    for block in blocks:
        for step in block.instructions:
            if isinstance(step, Phi):
                step.incoming = tuple((operand, last(name)) for operand, name in step.incoming)


# --- the copy of a callee


def _copy(header: Header, blocks: list[Block], call: Call, number: int, rest: Block) -> list[Block]:
    """The blocks of the callee with new names, that go on with `rest`, where the result is known."""
    prefix = f"%{number}."
    known: dict[str, Operand] = {
        parameter.name: argument.operand for parameter, argument in zip(header.parameters, call.arguments, strict=True)
    }
    _drop_slots(blocks, known)
    returned: list[tuple[Operand, str]] = []
    copies = []
    for block in blocks:
        copy = Block(prefix + block.name)
        for step in block.instructions:
            copied = _moved(step, known, prefix, call, number)
            if isinstance(copied, Return):
                if copied.value is not None:
                    returned.append((copied.value, copy.name))
                copied = Jump(offset=copied.offset, debug=call.debug, target=rest.name)
            copy.instructions.append(copied)
            if is_terminator(copied):
                break
        copies.append(copy)
    if call.result is not None and returned:
        phi = Phi(offset=call.offset, result=call.result, debug=call.debug, type=call.type, incoming=tuple(returned))
        rest.instructions.insert(0, phi)
    return copies


def _drop_slots(blocks: list[Block], known: dict[str, Operand]) -> None:
    """Takes variables out that only hold a parameter; what is loaded from them is then known."""
    slots = _slots(blocks, set(known))
    steps = [step for block in blocks for step in block.instructions]
    held = {
        _local(step.address): known[_local(step.value)]
        for step in steps
        if isinstance(step, Store) and _local(step.address) in slots
    }
    for block in blocks:
        kept = []
        for step in block.instructions:
            if isinstance(step, Load) and step.result is not None and _local(step.address) in held:
                known[step.result] = held[_local(step.address)]
            elif not (
                _is_mark(step) or step.result in held or (isinstance(step, Store) and _local(step.address) in held)
            ):
                kept.append(step)
        block.instructions = kept


def _slots(blocks: list[Block], parameters: set[str]) -> set[str]:
    """Variables that hold a parameter, and nothing else ever."""
    variables = {step.result for block in blocks for step in block.instructions if isinstance(step, Alloca)}
    holding: dict[str, int] = {}
    for step in (step for block in blocks for step in block.instructions):
        if _is_mark(step):
            continue
        if isinstance(step, Store) and _local(step.address) in variables:
            is_parameter = _local(step.value) in parameters and not step.order and not step.volatile
            holding[_local(step.address)] = holding.get(_local(step.address), 0) + (1 if is_parameter else 2)
            variables.discard(_local(step.value))
        elif not (isinstance(step, Load) and not step.order and not step.volatile):
            variables -= set(_locals(step))
    first = {_local(step.address) for step in blocks[0].instructions if isinstance(step, Store)}
    return {name for name in variables if name is not None and holding.get(name) == 1 and name in first}


def _moved(step: Instruction, known: dict[str, Operand], prefix: str, call: Call, number: int) -> Instruction:
    """With new names, and with the position of the call."""
    changes = {item.name: _renamed(getattr(step, item.name), known, prefix) for item in fields(step)}
    for name in ("target", "then", "other", "default", "normal", "unwind"):
        if isinstance(changes.get(name), str):
            changes[name] = prefix + changes[name]
    if isinstance(step, Switch):
        changes["cases"] = tuple((value, prefix + target) for value, target in step.cases)
    if isinstance(step, Phi):
        changes["incoming"] = tuple(
            (_renamed(operand, known, prefix), prefix + name) for operand, name in step.incoming
        )
    changes["result"] = None if step.result is None else prefix + step.result
    changes["offset"] = OFFSET_OF_COPIES * number + step.offset
    changes["debug"] = call.debug
    return _decided(type(step)(**changes))


def _decided(step: Instruction) -> Instruction:
    """A branch on a number is a jump."""
    target = None
    if isinstance(step, Switch) and isinstance(step.value.value, Number):
        target = dict(step.cases).get(step.value.value.value, step.default)
    elif isinstance(step, Branch) and isinstance(step.condition.value, Number):
        target = step.then if step.condition.value.value else step.other
    return step if target is None else Jump(offset=step.offset, debug=step.debug, target=target)


def _renamed(value: Any, known: dict[str, Operand], prefix: str) -> Any:
    match value:
        case Operand(kind, Local(name)):
            return known[name] if name in known else Operand(kind, Local(prefix + name))
        case Argument():
            return replace(value, operand=_renamed(value.operand, known, prefix))
        case tuple():
            return tuple(_renamed(item, known, prefix) for item in value)
    return value


def _is_mark(step: Instruction) -> bool:
    if isinstance(step, DebugValue):
        return True
    callee = step.callee.value if isinstance(step, Call) else None
    return isinstance(callee, Global) and callee.name.startswith(MARKS)


def _local(operand: Operand) -> str:
    return operand.value.name if isinstance(operand.value, Local) else ""


def _locals(step: Instruction) -> Iterator[str]:
    return (operand.value.name for operand in step.operands() if isinstance(operand.value, Local))
