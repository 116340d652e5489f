"""From the text of a thread to instructions. A pure function of its arguments, so that threads that several tests have
in common are translated once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from dekker.errors import ParseError
from dekker.frontends.litmus.c import syntax
from dekker.frontends.litmus.c.builder import NOWHERE, Builder, Entity, Fixed, Local, Shared, error, write_local
from dekker.frontends.litmus.c.calls import lower_call
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.expressions import EXPRESSIONS, jump_if
from dekker.frontends.litmus.c.parser import parse_thread
from dekker.frontends.litmus.c.types import CType, Pointer
from dekker.ir.expressions import Address
from dekker.ir.instructions import Instruction, Jump, Return


class LoweredThread(NamedTuple):
    """`spans` are offsets in the text. `globals` are the shared variables with the types through which the thread
    accesses them; `variables` the local ones that a condition can name; `initial` the registers that start with the
    address of a shared variable."""

    body: tuple[Instruction, ...]
    labels: dict[str, int]
    spans: tuple[tuple[int, int], ...]
    globals: tuple[tuple[str, CType], ...]
    variables: dict[str, Local]
    initial: tuple[tuple[str, Address], ...]


@lru_cache(maxsize=4096)
def lower_thread(
    text: str, shared: tuple[tuple[str, CType], ...] = (), registers: tuple[tuple[str, CType], ...] = ()
) -> LoweredThread:
    """`text` is `(parameters) { … }`; `shared` are the globals of the initial state with their types, `registers` the
    registers of this thread that it mentions."""
    try:
        return _lower(text, shared, registers)
    except RecursionError:
        raise CError("this thread is nested too deeply", 0, 1, error=ParseError) from None


def _lower(text: str, shared: tuple[tuple[str, CType], ...], registers: tuple[tuple[str, CType], ...]) -> LoweredThread:
    thread = parse_thread(text)
    outer: dict[str, Entity] = {name: Shared(name, kind) for name, kind in shared}
    builder = Builder(text, _HANDLERS, [outer, {}])
    for name, kind in registers:
        builder.declare(name, kind)
    initial = [_parameter(builder, parameter, thread.assigned) for parameter in thread.parameters]
    for statement in thread.body.body:
        _statement(builder, statement)
    _check_gotos(builder)
    return LoweredThread(
        tuple(builder.body),
        builder.labels,
        tuple(builder.spans),
        tuple(
            (item.name, item.type.target if isinstance(item.type, Pointer) else item.type) for item in thread.parameters
        ),
        builder.declared,
        tuple(item for item in initial if item is not None),
    )


def _parameter(builder: Builder, item: syntax.Parameter, assigned: set[str]) -> tuple[str, Address] | None:
    scope = builder.scopes[-1]
    if isinstance(scope.get(item.name), Fixed | Shared):
        raise error(f"there are two parameters `{item.name}`", item)
    if not isinstance(item.type, Pointer):
        # A register of this name in the initial state makes it a local variable; else it is the global itself.
        scope.setdefault(item.name, Shared(item.name, item.type))
        return None
    if item.name in assigned:
        return builder.declare(item.name, item.type).register, Address(item.name)
    scope[item.name] = Fixed(item.name, item.type)
    return None


def _check_gotos(builder: Builder) -> None:
    for goto in builder.gotos:
        if goto.label not in builder.labels:
            names = ", ".join(f"`{label}`" for label in builder.labels if "." not in label)
            raise error(
                f"there is no label `{goto.label}`",
                goto,
                f"the labels are {names}" if names else f"write `{goto.label}:` before a statement",
            )


# Statements


def _statement(builder: Builder, node: syntax.Statement) -> None:
    _STATEMENTS[type(node)](builder, node)


def _evaluate(builder: Builder, node: syntax.Evaluate) -> None:
    builder.lower(node.expression, NOWHERE)


def _declare(builder: Builder, node: syntax.Declare) -> None:
    local = builder.declare(node.name, node.type)
    if node.value is not None:
        write_local(builder, local, node.value, node)


def _block(builder: Builder, node: syntax.Block) -> None:
    builder.scopes.append({})
    for statement in node.body:
        _statement(builder, statement)
    builder.scopes.pop()


def _group(builder: Builder, node: syntax.Group) -> None:
    for statement in node.body:
        _statement(builder, statement)


def _scoped(builder: Builder, node: syntax.Statement) -> None:
    builder.scopes.append({})
    _statement(builder, node)
    builder.scopes.pop()


def _if(builder: Builder, node: syntax.If) -> None:
    number = builder.number()
    otherwise, end = f"else.{number}", f"end.{number}"
    jump_if(builder, node.condition, end if node.other is None else otherwise, holds=False)
    _scoped(builder, node.then)
    if node.other is not None:
        builder.emit(Jump(end), node.condition)
        builder.place_label(otherwise)
        _scoped(builder, node.other)
    builder.place_label(end)


def _while(builder: Builder, node: syntax.While) -> None:
    number = builder.number()
    again, end = f"while.{number}", f"end.{number}"
    builder.place_label(again)
    jump_if(builder, node.condition, end, holds=False)
    _loop_body(builder, node.body, end, again)
    builder.emit(Jump(again), node.condition)
    builder.place_label(end)


def _do_while(builder: Builder, node: syntax.DoWhile) -> None:
    number = builder.number()
    again, step, end = f"do.{number}", f"while.{number}", f"end.{number}"
    builder.place_label(again)
    _loop_body(builder, node.body, end, step)
    builder.place_label(step)
    jump_if(builder, node.condition, again, holds=True)
    builder.place_label(end)


def _for(builder: Builder, node: syntax.For) -> None:
    number = builder.number()
    again, step, end = f"for.{number}", f"step.{number}", f"end.{number}"
    builder.scopes.append({})
    _statement(builder, node.first)
    builder.place_label(again)
    if node.condition is not None:
        jump_if(builder, node.condition, end, holds=False)
    _loop_body(builder, node.body, end, step)
    builder.place_label(step)
    if node.step is not None:
        builder.lower(node.step, NOWHERE)
    builder.emit(Jump(again), node)
    builder.place_label(end)
    builder.scopes.pop()


def _loop_body(builder: Builder, body: syntax.Statement, end: str, again: str) -> None:
    builder.loops.append((end, again))
    _scoped(builder, body)
    builder.loops.pop()


def _leave(builder: Builder, node: syntax.Leave) -> None:
    if not builder.loops:
        raise error(f"`{node.word}` is not inside a loop", node)
    end, again = builder.loops[-1]
    builder.emit(Jump(end if node.word == "break" else again), node)


def _goto(builder: Builder, node: syntax.Goto) -> None:
    builder.gotos.append(node)
    builder.emit(Jump(node.label), node)


def _label(builder: Builder, node: syntax.Label) -> None:
    if node.name in builder.labels:
        raise CError(f"there are two labels `{node.name}`", node.start, node.end - node.start, error=ParseError)
    builder.place_label(node.name)
    _statement(builder, node.statement)


def _return(builder: Builder, node: syntax.Return) -> None:
    if node.value is not None:
        builder.lower(node.value, NOWHERE)
    builder.emit(Return(), node)


_HANDLERS = {**EXPRESSIONS, syntax.Call: lower_call}

_STATEMENTS: dict[type, Callable[[Builder, Any], None]] = {
    syntax.Evaluate: _evaluate,
    syntax.Declare: _declare,
    syntax.Block: _block,
    syntax.Group: _group,
    syntax.If: _if,
    syntax.While: _while,
    syntax.DoWhile: _do_while,
    syntax.For: _for,
    syntax.Leave: _leave,
    syntax.Goto: _goto,
    syntax.Label: _label,
    syntax.Return: _return,
}
