"""What `main` does before and while it starts threads: it is run once, because until the first thread starts there is
nothing beside it.

From the first start on it may only start and join threads, and compute with memory of its own: what it would do to
shared memory would come between the steps of the others. When all threads that it has started are joined, it is alone
again, and goes on with each memory that they can leave behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.expressions import (
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
    evaluate_binary,
    evaluate_unary,
)
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Print,
    Refuse,
    Return,
    Rmw,
    Spawn,
    Store,
)
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Function, Program
from dekker.ir.thread_classes import AssumptionFails, Finale
from dekker.records import dataclass
from dekker.source import Span

MOST_STEPS = 1_000_000
OWN_START = 1 << 40
GAP = 64
WRAPPER = "%thread"
"""The function of the runtime library of C that gives a thread an identity and calls its own function."""


@dataclass(frozen=True, slots=True)
class Started:
    """A thread that main starts."""

    function: str
    arguments: tuple[int, ...]
    span: Span | None


@dataclass
class MainRun:
    """`bytes` are those of global objects that differ from what the program says. `finale` is what main does when all
    threads have ended, if it looks at shared memory then, or fails: it takes the bytes and gives what fails, and
    `finale_span` is where it begins."""

    started: list[Started] = field(default_factory=list)
    bytes: dict[int, int] = field(default_factory=dict)
    finale: Finale | None = None
    finale_span: Span | None = None


class _AloneAgain(Exception):
    pass


class _Fails(Exception):
    def __init__(self, message: str, span: Span | None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


def run_main(program: Program) -> MainRun:
    (thread,) = program.threads
    runner = _Runner(program, layout(program))
    function = program.function_by_name[thread.function]
    values = {
        name: value.value if isinstance(value, Const) else runner.layout.resolve(value)
        for name, value in thread.registers
    }
    runner.frames.append(_Frame(function, values))
    try:
        runner.run()
    except _AloneAgain:
        runner.result.finale = runner.go_on
        runner.result.finale_span = runner.frames[-1].span()
    return runner.result


@dataclass(slots=True)
class _Frame:
    function: Function
    registers: dict[str, int]
    at: int = 0
    result: str | None = None

    def span(self) -> Span | None:
        return self.function.span(self.at)


@dataclass
class _Runner:
    program: Program
    layout: Layout
    result: MainRun = field(default_factory=MainRun)
    frames: list[_Frame] = field(default_factory=list)
    own: dict[int, int] = field(default_factory=dict)
    free: int = OWN_START
    joined: set[int] = field(default_factory=set)
    is_finale: bool = False

    def __post_init__(self) -> None:
        self.initial = InitialMemory(self.program, self.layout)

    def go_on(self, memory: dict[int, int]) -> tuple[str, Span | None] | None:
        """The rest of main, alone with this memory; this run itself stays where it is."""
        frames = [_Frame(item.function, dict(item.registers), item.at, item.result) for item in self.frames]
        rest = _Runner(
            self.program, self.layout, MainRun(bytes=self.result.bytes | memory), frames, dict(self.own), self.free
        )
        rest.is_finale = True
        try:
            rest.run()
        except _Fails as failure:
            return failure.message, failure.span
        return None

    def run(self) -> None:
        for _ in range(MOST_STEPS):
            if not self.frames:
                return
            frame = self.frames[-1]
            if frame.at >= len(frame.function.body):
                self.leave(None)
                continue
            step = frame.function.body[frame.at]
            handler = _STEPS.get(type(step))
            if handler is None:
                raise self.refusal(
                    f"`main` does something here that cannot be followed ({type(step).__name__.lower()})"
                )
            handler(self, frame, step)
            frame.at += 1
        raise self.refusal(f"`main` takes more than {MOST_STEPS} steps")

    def refusal(self, message: str, hint: str | None = None) -> UnsupportedError:
        span = self.frames[-1].span() if self.frames else None
        return UnsupportedError(message, span, hint)

    def leave(self, value: int | None) -> None:
        frame = self.frames.pop()
        if self.frames and frame.result is not None:
            self.frames[-1].registers[frame.result] = value or 0

    def value(self, expression: Expr) -> int:
        match expression:
            case Const(value):
                return value
            case Reg(name):
                return self.frames[-1].registers.get(name, 0)
            case Address():
                return self.layout.resolve(expression)
            case Unary(op, width, operand):
                return evaluate_unary(op, width, self.value(operand))
            case Binary(op, width, left, right):
                return evaluate_binary(op, width, self.value(left), self.value(right))
            case Select(condition, then, other):
                return self.value(then if self.value(condition) else other)

    def read(self, address: int, size: int) -> int:
        self._require_access(address, size)
        return sum(self._byte(address + place) << 8 * place for place in range(size))

    def write(self, address: int, size: int, value: int) -> None:
        self._require_access(address, size)
        if address < OWN_START and OWN_START <= value < self.free and not self.is_finale:
            hint = "put what it points to into a global variable"
            raise self.refusal("`main` puts a pointer to its own memory into shared memory here", hint)
        memory = self.own if address >= OWN_START else self.result.bytes
        for place in range(size):
            memory[address + place] = value >> 8 * place & 0xFF

    def stop_if_alone_again(self) -> None:
        """What comes now is for when the threads have ended, if they do."""
        if self.result.started and len(self.joined) == len(self.result.started):
            raise _AloneAgain

    def _byte(self, address: int) -> int:
        if address >= OWN_START:
            return self.own.get(address, 0)
        return self.result.bytes.get(address, self.initial.read(address, 1))

    def _require_access(self, address: int, size: int) -> None:
        if address >= OWN_START:
            return
        if not self.layout.contains(address, size):
            raise self.refusal(f"`main` accesses {size} bytes at {address:#x}, which lie in no object")
        self.stop_if_alone_again()
        if self.result.started:
            hint = "it may do so before it starts the first thread, and when it has joined all of them"
            raise self.refusal("`main` accesses shared memory here, while threads that it has started run", hint)


def _assign(run: _Runner, frame: _Frame, step: Assign) -> None:
    frame.registers[step.dst] = run.value(step.value)


def _load(run: _Runner, frame: _Frame, step: Load) -> None:
    value = run.read(run.value(step.address), step.size)
    frame.registers[step.dst] = signed(8 * step.size, value) & mask(64) if step.signed else value


def _store(run: _Runner, frame: _Frame, step: Store) -> None:
    run.write(run.value(step.address), step.size, run.value(step.value))


def _rmw(run: _Runner, frame: _Frame, step: Rmw) -> None:
    address, width = run.value(step.address), 8 * step.size
    old = run.read(address, step.size)
    run.write(address, step.size, RMW_OPERATORS[step.op](width, old, run.value(step.operand) & mask(width)))
    if step.dst is not None:
        frame.registers[step.dst] = old


def _compare_exchange(run: _Runner, frame: _Frame, step: CompareExchange) -> None:
    address, bits = run.value(step.address), mask(8 * step.size)
    old = run.read(address, step.size)
    won = old == run.value(step.expected) & bits
    if won and step.weak:
        hint = "use the strong one"
        raise run.refusal("`main` uses a weak compare-exchange here, which may fail although it need not", hint)
    if won:
        run.write(address, step.size, run.value(step.desired) & bits)
    if step.dst is not None:
        frame.registers[step.dst] = old
    if step.success is not None:
        frame.registers[step.success] = int(won)


def _jump(run: _Runner, frame: _Frame, step: Jump) -> None:
    frame.at = frame.function.labels[step.target] - 1


def _branch(run: _Runner, frame: _Frame, step: Branch) -> None:
    if run.value(step.condition):
        frame.at = frame.function.labels[step.target] - 1


def _await(run: _Runner, frame: _Frame, step: Await) -> None:
    if not run.value(step.condition):
        raise run.refusal("`main` waits here for ever: no other thread has started")


def _call(run: _Runner, frame: _Frame, step: Call) -> None:
    if not isinstance(step.function, Address):
        raise run.refusal("`main` calls a function through a pointer here")
    callee = run.program.function_by_name[step.function.symbol]
    arguments = dict(zip(callee.parameters, map(run.value, step.arguments), strict=True))
    run.frames.append(_Frame(callee, arguments, 0, step.dst))


def _return(run: _Runner, frame: _Frame, step: Return) -> None:
    run.leave(None if step.value is None else run.value(step.value))


def _spawn(run: _Runner, frame: _Frame, step: Spawn) -> None:
    target = run.layout.locate(run.value(step.function))
    if target is None or target.symbol not in run.program.function_by_name:
        raise run.refusal("`main` starts something here that is no function")
    if run.is_finale:
        raise run.refusal("`main` starts a thread here when it has joined others", "start all threads first")
    if target.symbol.startswith("%") and target.symbol != WRAPPER:
        raise run.refusal("the thread that starts here asks which thread it is, and threads of a class are all alike")
    arguments = tuple(run.value(argument) for argument in step.arguments)
    if any(argument >= OWN_START and argument < 1 << 63 for argument in arguments):
        hint = "pass a number, or put what it points to into a global variable"
        raise run.refusal("a thread gets a pointer to a local variable of `main`", hint)
    run.result.started.append(Started(target.symbol, arguments, frame.span()))
    if step.dst is not None:
        frame.registers[step.dst] = len(run.result.started)


def _assume(run: _Runner, frame: _Frame, step: Assume) -> None:
    if run.value(step.condition):
        return
    if run.is_finale:
        raise AssumptionFails
    run.stop_if_alone_again()
    raise run.refusal("`main` stops here: an assumption fails before all threads have started")


def _assert(run: _Runner, frame: _Frame, step: Assert) -> None:
    if not run.value(step.condition):
        if run.is_finale:
            raise _Fails(step.message, frame.span())
        run.stop_if_alone_again()
        raise run.refusal(f"{step.message}, in `main`", "`dekker check` shows how")


def _join(run: _Runner, frame: _Frame, step: Join) -> None:
    if step.dst is not None:
        raise run.refusal("`main` takes what a thread returns", "let the thread write it to a global variable")
    run.joined.add(run.value(step.thread))


def _allocate(run: _Runner, frame: _Frame, step: Allocate) -> None:
    frame.registers[step.dst] = run.free
    run.free += -(-(run.value(step.size) + GAP) // GAP) * GAP


def _exit(run: _Runner, frame: _Frame, step: Exit) -> None:
    run.frames.clear()


def _refuse(run: _Runner, frame: _Frame, step: Refuse) -> None:
    raise run.refusal(step.message)


def _nothing(run: _Runner, frame: _Frame, step: Instruction) -> None:
    pass


_STEPS: dict[type, Callable[[_Runner, _Frame, Any], None]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Jump: _jump,
    Branch: _branch,
    Await: _await,
    Call: _call,
    Return: _return,
    Spawn: _spawn,
    Assume: _assume,
    Assert: _assert,
    Allocate: _allocate,
    Exit: _exit,
    Refuse: _refuse,
    Join: _join,
    Free: _nothing,
    EndScope: _nothing,
    Detach: _nothing,
    Fence: _nothing,
    Print: _nothing,
    AtomicBegin: _nothing,
    AtomicEnd: _nothing,
}
