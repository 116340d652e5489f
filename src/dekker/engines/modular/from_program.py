"""Programs that start their threads in `main` as classes of threads.

A class is a function that threads run. Without further words there are exactly the threads that main starts; a class
that is given a count has that many. All threads of a class start alike, so they must get the same argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dekker.engines.modular.identity import OBJECT, SELF, with_identity
from dekker.engines.modular.inlining import used_registers
from dekker.engines.modular.main_thread import WRAPPER, MainRun, Started, run_main
from dekker.errors import InputError, UnsupportedError
from dekker.ir.expressions import Address, Const
from dekker.ir.layout import layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Cell, Function, Program
from dekker.ir.thread_classes import System, ThreadClass

Counts = Mapping[str, int | None]


def system_of_program(program: Program, counts: Counts) -> System:
    if len(program.threads) != 1:
        raise UnsupportedError("the program has no `main` that starts the others")
    run = run_main(program)
    if run.finale is not None and counts:
        message = "`main` looks at shared memory here, or fails, when it has joined all threads that it started"
        hint = "with other threads than those there is no such moment; checks belong into the threads"
        raise UnsupportedError(message, run.finale_span, hint)
    program = with_identity(program)
    started = [_without_wrapper(program, item) for item in run.started]
    classes = [*_counted(program, started, counts), *_as_started(program, started, counts)]
    if not classes:
        raise InputError("`main` starts no thread", hint="`--class FUNCTION=many` names a function that threads run")
    return System(_with_memory(program, run), tuple(classes), notes=_notes(counts), finale=run.finale)


def _notes(counts: Counts) -> tuple[str, ...]:
    if not counts:
        return ()
    return (f"the threads that main starts with {', '.join(counts)} are replaced by the counts that were given",)


def _without_wrapper(program: Program, item: Started) -> Started:
    """Threads that need an identity run a function of the runtime library that makes one and calls theirs."""
    if item.function != WRAPPER:
        return item
    called = layout(program).locate(item.arguments[0])
    if called is None or called.symbol not in program.function_by_name:
        raise UnsupportedError("a thread runs something here that is no function", item.span)
    return Started(called.symbol, item.arguments[1:], item.span)


def _counted(program: Program, started: list[Started], counts: Counts) -> list[ThreadClass]:
    classes = []
    for name, count in counts.items():
        function = program.function_by_name.get(name)
        if function is None or name.startswith("%"):
            known = dict.fromkeys(item.function for item in started)
            raise InputError(f"there is no function `{name}`", hint=f"main starts {', '.join(known) or 'none'}")
        same = [item for item in started if item.function == name]
        if count != 0:
            classes.append(ThreadClass(name, name, count, _registers(function, _arguments(function, same))))
    return classes


def _arguments(function: Function, started: list[Started]) -> tuple[int, ...]:
    if not started:
        return (0,) * len(_parameters(function))
    used = _used_parameters(function)
    for other in started[1:]:
        for name, first, second in zip(_parameters(function), started[0].arguments, other.arguments, strict=True):
            if first != second and name in used:
                message = f"threads that run `{function.name}` get different arguments, so they are no class"
                hint = (
                    "let a thread draw its number from a global counter, or leave --class out for exactly these threads"
                )
                raise UnsupportedError(message, other.span, hint)
    return started[0].arguments


def _used_parameters(function: Function) -> set[str]:
    return {name for step in function.body for name in used_registers(step)}


def _as_started(program: Program, started: list[Started], counts: Counts) -> list[ThreadClass]:
    """Equal threads are one class; those of one function with different arguments are numbered."""
    groups: dict[tuple[str, tuple[int, ...]], int] = {}
    for item in started:
        if item.function not in counts:
            groups[item.function, item.arguments] = groups.get((item.function, item.arguments), 0) + 1
    classes = []
    for (name, arguments), count in groups.items():
        alike = [key for key in groups if key[0] == name]
        shown = name if len(alike) == 1 else f"{name}.{alike.index((name, arguments)) + 1}"
        function = program.function_by_name[name]
        classes.append(ThreadClass(shown, name, count, _registers(function, arguments)))
    return classes


def _parameters(function: Function) -> tuple[str, ...]:
    return tuple(name for name in function.parameters if name != SELF)


def _registers(function: Function, arguments: tuple[int, ...]) -> tuple[tuple[str, Const | Address], ...]:
    values: list[tuple[str, Const | Address]] = [
        (name, Const(value)) for name, value in zip(_parameters(function), arguments, strict=True)
    ]
    return (*values, (SELF, Address(OBJECT))) if SELF in function.parameters else tuple(values)


def _with_memory(program: Program, run: MainRun) -> Program:
    """The memory as it is when the first thread starts."""
    where = layout(program)
    changed: dict[str, dict[int, int]] = {}
    for address, value in run.bytes.items():
        place = where.locate(address)
        assert place is not None
        changed.setdefault(place.symbol, {})[place.offset] = value
    if not changed:
        return program
    initial = InitialMemory(program, where)
    objects = []
    for item in program.objects:
        if item.name in changed:
            start = where.starts[item.name]
            values = {place: initial.read(start + place, 1) for place in range(item.size)} | changed[item.name]
            item = replace(item, cells=tuple(Cell(place, 1, value) for place, value in values.items() if value))
        objects.append(item)
    return replace(program, objects=tuple(objects))
