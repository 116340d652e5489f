"""How calls of functions that the program does not define are translated.

A `Runtime` maps names to `External`s. The handler of an external gets an `ExternalCall`, emits what the function does
through `call.emitter`, and returns the value of the call (None for `void`). Values have their upper bits 0; see
`lowering.expressions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dekker.frontends.c.linking import Linkage
from dekker.frontends.c.llvm.syntax import Instruction
from dekker.frontends.c.llvm.types import Integer, Type
from dekker.frontends.c.lowering.arithmetic import Parts
from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.function import SELF, FunctionLowering
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.expressions import Address, Const, Expr, Reg
from dekker.ir.instructions import Spawn
from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class ExternalCall:
    """One call. `lowering` is the function around it. `register` is free for the value of the call. `guarded`: what
    leaves the function by way of an exception has something to do there first."""

    name: str
    lowering: FunctionLowering
    arguments: tuple[Parts, ...]
    types: tuple[Type, ...]
    result: Type
    register: str
    guarded: bool = False

    @property
    def emitter(self) -> Emitter:
        return self.lowering.emitter

    def argument(self, index: int) -> Expr:
        """A scalar argument; the same expression may be used several times."""
        if index >= len(self.arguments):
            raise Problem(f"`{self.name}` needs {index + 1} arguments, this passes {len(self.arguments)}")
        return self.arguments[index][0]

    def text(self, index: int) -> str | None:
        """The string constant that an argument points at, if it is one."""
        argument = self.argument(index)
        return self.lowering.unit.text_at(argument) if isinstance(argument, Address) else None

    def constant(self, index: int) -> int | None:
        argument = self.argument(index)
        return argument.value if isinstance(argument, Const) else None

    @property
    def width(self) -> int:
        """Bits of the result."""
        return self.result.bits if isinstance(self.result, Integer) else 64

    def shared(self, name: str, size: int, align: int = 8) -> Address:
        """A global object of the runtime, zero at the start."""
        return self.lowering.unit.shared_object(name, size, align)

    def thread_local(self, name: str, size: int) -> Expr:
        """The address of an object of the running thread, zero at its start. The external must ask for it with
        `needs_context`."""
        return self.lowering.unit.thread_object(name, size)

    def spawn(self, function: Expr, arguments: Iterable[Expr]) -> Expr:
        """Starts a thread; returns its identifier."""
        unit = self.lowering.unit
        register = self.emitter.temporary()
        arguments = tuple(arguments)
        if unit.has_context:
            function, arguments = unit.thread_function(len(arguments)), (function, *arguments)
        elif isinstance(function, Address):
            arguments = arguments[: unit.most_arguments(function.symbol)]
        self.emitter.emit(Spawn(register, function, arguments))
        return Reg(register)

    def call(self, function: Expr, arguments: Iterable[Expr]) -> tuple[Expr, tuple[Expr, ...]]:
        """Function and arguments of a call of a function of the program, as the `Call` instruction takes them."""
        prefix = (Reg(SELF),) if self.lowering.unit.has_context else ()
        return function, (*prefix, *arguments)


Handler = Callable[[ExternalCall], Expr | Parts | None]


@dataclass(frozen=True, slots=True)
class External:
    """`overrides`: it also replaces a definition that the program has. `returns`: control goes on behind the call.
    `needs_context`: it uses objects of the running thread. `applies`: whether it stands for the function in this
    program."""

    handler: Handler
    overrides: bool = False
    returns: bool = True
    needs_context: bool = False
    applies: Callable[[Linkage], bool] | None = None


class Runtime:
    """Externals by name. `find` may be given names that are spelled with a pattern by overriding it."""

    def __init__(self, *tables: Mapping[str, External]) -> None:
        self.table: dict[str, External] = {}
        for table in tables:
            self.table.update(table)

    def find(self, name: str) -> External | None:
        return self.table.get(name)

    def before(self, lowering: FunctionLowering, instruction: Instruction) -> None:
        """Called before each instruction of a function is lowered."""

    def source_of(self, name: str) -> str | None:
        """A file that defines the function and can be compiled with the program."""
        return None
