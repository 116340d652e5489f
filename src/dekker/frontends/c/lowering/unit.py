"""The whole program: what `main` reaches, function by function.

Calling convention. A value of several scalars takes several parameters. A function whose value has several leaves all
but the first where its last parameter points. A variadic function finds its variable arguments where another parameter
points. If something belongs to each thread alone (thread-local variables, identifiers), every function has a first
parameter `%self`, the address of an object of the running thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, fields, replace
from functools import partial

from dekker.errors import InputError, UnsupportedError
from dekker.frontends.c.linking import Linkage, Linked
from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.shapes import variable_shape
from dekker.frontends.c.llvm.syntax import Alias, Block, Bytes, Header, Variable
from dekker.frontends.c.llvm.types import POINTER, SizeUnknown, Type
from dekker.frontends.c.lowering.asynchronous import split_threads
from dekker.frontends.c.lowering.calls import lower_call, lower_variadic_argument
from dekker.frontends.c.lowering.constants import constant_parts, initial_cells
from dekker.frontends.c.lowering.control import (
    lower_branch,
    lower_jump,
    lower_return,
    lower_switch,
    lower_unreachable,
    lower_unsupported,
)
from dekker.frontends.c.lowering.emitter import Emitter, Mark
from dekker.frontends.c.lowering.expressions import offset
from dekker.frontends.c.lowering.function import DESTRUCTORS, SELF, FunctionLowering, Handler
from dekker.frontends.c.lowering.inlining import inline_atomics
from dekker.frontends.c.lowering.memory import (
    lower_alloca,
    lower_atomic_update,
    lower_compare_exchange,
    lower_element_pointer,
    lower_fence,
    lower_load,
    lower_store,
)
from dekker.frontends.c.lowering.privatise import privatise_handles
from dekker.frontends.c.lowering.problem import Problem, left_out_message, unknown_message
from dekker.frontends.c.lowering.scopes import confine
from dekker.frontends.c.lowering.values import (
    lower_comparison,
    lower_conversion,
    lower_extract,
    lower_extract_element,
    lower_insert,
    lower_insert_element,
    lower_operation,
    lower_select,
    lower_unary,
)
from dekker.frontends.c.runtime.interface import External, Runtime
from dekker.frontends.dialect import DEFAULT_DIALECT, Dialect
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.flow import used
from dekker.ir.instructions import Allocate, Call, Exit, Refuse, Return, Store
from dekker.ir.instructions import Instruction as Step
from dekker.ir.program import Cell, Function, Object, Program, Thread
from dekker.ir.property import Property
from dekker.records import dataclass
from dekker.source import Source, Span

ARCHITECTURE = "C"
START = "%start"
ARGUMENTS = "the arguments of main"
THREAD = "%thread"
ATOMIC_PREFIX = "__VERIFIER_atomic_"

_CONSTRUCTORS, _DESTRUCTORS = "llvm.global_ctors", "llvm.global_dtors"
_STREAMS = frozenset(("stdin", "stdout", "stderr", "environ", "__environ", "_ZSt7nothrow"))
_CPP_STREAMS = {f"_ZNSt3__1{len(name)}{name}E": name for name in ("cout", "cerr", "clog", "cin", "wcout", "wcerr")}
_TYPE_INFORMATION = ("_ZTV", "_ZTI", "_ZTS", "__dso_handle")
_LIBRARY_NAMES = ("_ZNSt", "_ZNKSt", "_ZSt", "_ZTHSt", "__cxa_", "_Unwind_", "__dynamic_cast")


def _ignore(f: FunctionLowering, instruction: syntax.Instruction) -> None:
    pass


HANDLERS: dict[type[syntax.Instruction], Handler] = {
    syntax.Binary: lower_operation,
    syntax.Unary: lower_unary,
    syntax.Compare: lower_comparison,
    syntax.Cast: lower_conversion,
    syntax.Select: lower_select,
    syntax.Extract: lower_extract,
    syntax.Insert: lower_insert,
    syntax.ExtractElement: lower_extract_element,
    syntax.InsertElement: lower_insert_element,
    syntax.Alloca: lower_alloca,
    syntax.Load: lower_load,
    syntax.Store: lower_store,
    syntax.ElementPointer: lower_element_pointer,
    syntax.CompareExchange: lower_compare_exchange,
    syntax.AtomicUpdate: lower_atomic_update,
    syntax.Fence: lower_fence,
    syntax.Call: lower_call,
    syntax.VariadicArgument: lower_variadic_argument,
    syntax.Jump: lower_jump,
    syntax.Branch: lower_branch,
    syntax.Switch: lower_switch,
    syntax.Return: lower_return,
    syntax.Unreachable: lower_unreachable,
    syntax.Unsupported: lower_unsupported,
    syntax.DebugValue: _ignore,
}


class SourceNeeded(Exception):
    """A file has to be compiled with the program."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(slots=True)
class Unit:
    """What is known while the program grows. `at_return` are functions that run when `main` returns. `thread_size` and
    `thread_cells` describe the object of each thread, whose first 8 bytes nobody uses. `given` is what the
    environment decides."""

    linkage: Linkage
    runtime: Runtime
    has_context: bool = False
    quiet_abort: bool = False
    nondet: tuple[int, int] = (-1, 2)
    dialect: Dialect = DEFAULT_DIALECT
    functions: dict[str, Function] = field(default_factory=dict)
    objects: dict[str, Object] = field(default_factory=dict)
    symbols: dict[str, Linked] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    constants: dict[str, dict[int, int | None]] = field(default_factory=dict)
    at_return: list[str] = field(default_factory=list)
    thread_size: int = 8
    thread_align: int = 8
    thread_places: dict[str, int] = field(default_factory=dict)
    thread_cells: list[Cell] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    marks: dict[int, Mark] = field(default_factory=dict)

    # --- names

    def resolve(self, symbol: Linked, name: str) -> Linked | None:
        """What a name means in the module of a function, behind all aliases."""
        linked = self.linkage.find(symbol.unit, name)
        for _ in range(100):
            if linked is None or not isinstance(linked.entity, Alias):
                return linked
            target = linked.entity.target.value
            if not isinstance(target, syntax.Global):
                return linked
            linked = self.linkage.find(linked.unit, target.name)
        raise Problem(f"the alias `{name}` leads to itself")

    def global_address(self, symbol: Linked, name: str) -> Expr:
        linked = self.resolve(symbol, name)
        if linked is None:
            raise Problem(f"`@{name}` is not declared")
        entity = linked.entity
        if isinstance(entity, Alias):
            return constant_parts(entity.target, linked.module.layout, lambda n: self.global_address(linked, n))[0]
        if not linked.defined and entity.linkage == "extern_weak":
            return ZERO
        if isinstance(entity, Header):
            self._check_known(linked)
        elif not linked.defined and name not in _STREAMS and not name.startswith(_TYPE_INFORMATION):
            raise _undefined_variable(name)
        elif entity.thread_local:
            return self._thread_variable(linked, entity)
        self.symbols[linked.name] = linked
        return Address(linked.name)

    def _check_known(self, linked: Linked) -> None:
        if not linked.defined and self.runtime.find(linked.name) is None and not self.is_left_out(linked.name):
            raise Problem(unknown_message(linked.name))

    def is_left_out(self, name: str) -> bool:
        """Is it a function of the C++ library that is an error only if an execution comes to it? Headers call much that
        most programs never reach. A function whose source is at hand is compiled instead."""
        if not name.startswith(_LIBRARY_NAMES):
            return False
        source = self.runtime.source_of(name)
        if source is not None and source not in (unit.module.source.name for unit in self.linkage.units):
            raise SourceNeeded(source)
        return True

    def _known(self, name: str) -> External | None:
        found = self.runtime.find(name)
        return found if found is None or found.applies is None or found.applies(self.linkage) else None

    def external(self, symbol: Linked, name: str) -> External | None:
        """The function of the runtime library that a name stands for."""
        found = self._known(name)
        if found is None or found.overrides:
            return found
        linked = self.resolve(symbol, name)
        return found if linked is None or not linked.defined else None

    def never_returns(self, symbol: Linked, name: str) -> bool:
        external = self.external(symbol, name)
        return external is not None and not external.returns

    def variable_type(self, symbol: Linked, name: str) -> Type | None:
        linked = self.resolve(symbol, name)
        return linked.entity.type if linked is not None and isinstance(linked.entity, Variable) else None

    def text_at(self, address: Address) -> str | None:
        """The string constant at an address."""
        linked = self.symbols.get(address.symbol)
        variable = linked.entity if linked is not None and isinstance(linked.entity, Variable) else None
        initial = None if variable is None else variable.initial
        if (
            variable is not None
            and variable.constant
            and initial is not None
            and isinstance(initial.value, syntax.Zero)
        ):
            return ""
        if initial is None or not isinstance(initial.value, Bytes):
            return None
        return initial.value.data[address.offset :].split(b"\0")[0].decode("utf-8", "replace")

    def constant_at(self, address: Address, width: int) -> Const | None:
        """The number at an address that nobody can write, as of `const` variables and the initial values of local
        ones."""
        linked = self.symbols.get(address.symbol)
        if linked is None or not isinstance(linked.entity, Variable) or not linked.entity.constant:
            return None
        variable = linked.entity
        if variable.initial is None or not 0 <= address.offset <= linked.module.layout.size(variable.type) - width:
            return None
        if address.symbol not in self.constants:
            cells = initial_cells(variable.initial, linked.module.layout, lambda n: self.global_address(linked, n))
            self.constants[address.symbol] = _image(cells)
        image = self.constants[address.symbol]
        data = [image.get(address.offset + index, 0) for index in range(width)]
        return None if None in data else Const(int.from_bytes(bytes(byte or 0 for byte in data), "little"))

    # --- objects

    def shared_object(self, name: str, size: int, align: int) -> Address:
        """An object that belongs to the runtime library."""
        self.objects.setdefault(name, Object(name, size, (), align))
        return Address(name)

    def thread_object(self, name: str, size: int, align: int = 8) -> Expr:
        if name not in self.thread_places:
            start = -(-self.thread_size // align) * align
            self.thread_places[name] = start
            self.thread_size = start + size
            self.thread_align = max(self.thread_align, align)
        return offset(Reg(SELF), self.thread_places[name])

    def _thread_variable(self, linked: Linked, variable: Variable) -> Expr:
        known = linked.name in self.thread_places
        layout = linked.module.layout
        size, align = layout.size(variable.type), max(variable.align, layout.align(variable.type))
        address = self.thread_object(linked.name, size, align)
        if not known and variable.initial is not None:
            start = self.thread_places[linked.name]
            for cell in initial_cells(variable.initial, layout, lambda n: self.global_address(linked, n)):
                self.thread_cells.append(Cell(start + cell.offset, cell.size, cell.value))
        return address

    def most_arguments(self, function: str) -> int | None:
        """How many arguments a function takes: `void *f()`, of old, ignores those that it is given."""
        entity = self.symbols[function].entity if function in self.symbols else None
        return len(entity.parameters) if isinstance(entity, Header) and not entity.variadic else None

    def thread_function(self, arguments: int) -> Address:
        """A function that gives a new thread its own object and then runs another function."""
        name = THREAD if arguments == 1 else f"{THREAD}{arguments}"
        self.thread_places.setdefault(name, 0)
        self.functions.setdefault(name, Function(name, (), ()))
        return Address(name)

    # --- everything that is reached

    def reach(self) -> None:
        """Translates what was named and not yet translated, and what that names."""
        while self.pending:
            name = self.pending.pop()
            if name in self.functions or name in self.objects or name not in self.symbols:
                continue
            linked = self.symbols[name]
            if isinstance(linked.entity, Variable):
                self._add_object(linked, linked.entity)
            else:
                self._add_function(linked)

    def request(self, address: Expr) -> None:
        if isinstance(address, Address):
            self.pending.append(address.symbol)

    def _add_object(self, linked: Linked, variable: Variable) -> None:
        layout = linked.module.layout
        try:
            size = layout.size(variable.type)
            cells: tuple[Cell, ...] = ()
            if variable.initial is not None:
                found = initial_cells(variable.initial, layout, lambda n: self.global_address(linked, n))
                cells = tuple(found)
            align = max(variable.align, layout.align(variable.type))
        except (Problem, SizeUnknown) as problem:
            raise self._object_error(linked, variable, problem) from None
        shape = variable_shape(linked.debug, variable.debug)
        self.objects[linked.name] = Object(linked.name, size, cells, align, shape)
        for cell in cells:
            if isinstance(cell.value, Address):
                self.request(cell.value)

    def _object_error(self, linked: Linked, variable: Variable, problem: Exception) -> InputError:
        source = linked.module.source
        end = source.text.find("\n", variable.offset)
        span = Span(source, variable.offset, end if end > 0 else len(source.text))
        return UnsupportedError(f"variable `{variable.name}`: {problem}", span, getattr(problem, "hint", None))

    def _add_function(self, linked: Linked) -> None:
        assert isinstance(linked.entity, Header)
        header = linked.entity
        external = self._known(header.name)
        if external is None and not linked.defined:
            self.functions[linked.name] = Function(linked.name, (), (Refuse(left_out_message(linked.name)),))
            return
        replaced = external is not None and (external.overrides or not linked.defined)
        blocks = _forwarder(header) if replaced else linked.module.blocks(header.name)
        if linked.compiled and not replaced:
            blocks = inline_atomics(blocks, partial(self._atomic_operation, linked))
        lowering = FunctionLowering(self, linked, header, blocks, HANDLERS)
        lowering.emitter.marks = self.marks
        lowering.atomic = header.name.startswith(ATOMIC_PREFIX) and not replaced
        self.functions[linked.name] = function = lowering.run()
        self.request_all(function)

    def _atomic_operation(self, caller: Linked, name: str) -> tuple[Header, list[Block]] | None:
        found = self.resolve(caller, name)
        if found is None or not found.defined or found.unit is not caller.unit or self._known(name) is not None:
            return None
        header = found.entity
        return (header, found.module.blocks(header.name)) if isinstance(header, Header) else None

    def request_all(self, function: Function) -> None:
        for step in function.body:
            for address in _addresses(step):
                self.request(address)


def _image(cells: Iterable[Cell]) -> dict[int, int | None]:
    """Bytes by offset; those of addresses are not known."""
    image: dict[int, int | None] = {}
    for cell in cells:
        for index in range(cell.size):
            value = cell.value
            image[cell.offset + index] = value >> 8 * index & 0xFF if isinstance(value, int) else None
    return image


def _forwarder(header: Header) -> list[Block]:
    """The body of a function of the runtime library whose address is taken."""
    operands = [syntax.Operand(parameter.type, syntax.Local(parameter.name)) for parameter in header.parameters]
    callee = syntax.Operand(POINTER, syntax.Global(header.name))
    arguments = tuple(map(syntax.Argument, operands))
    call = syntax.Call(offset=header.offset, type=header.result, callee=callee, arguments=arguments, result="value")
    value = None
    if str(getattr(header.result, "name", "")) != "void":
        value = syntax.Operand(header.result, syntax.Local("value"))
    return [Block("entry", [call, syntax.Return(offset=header.offset, value=value)])]


def _addresses(step: Step) -> list[Address]:
    found: list[Address] = []
    stack = [getattr(step, item.name) for item in fields(step)]
    while stack:
        value = stack.pop()
        match value:
            case Address():
                found.append(value)
            case Unary(_, _, operand):
                stack.append(operand)
            case Binary(_, _, left, right):
                stack += (left, right)
            case Select(condition, then, other):
                stack += (condition, then, other)
            case tuple():
                stack += value
    return found


# --- the program


def lower_program(
    name: str,
    linkage: Linkage,
    runtime: Runtime,
    nondet: tuple[int, int],
    source: Source,
    dialect: Dialect = DEFAULT_DIALECT,
) -> Program:
    unit = Unit(linkage, runtime, nondet=nondet, dialect=dialect)
    unit.has_context = _needs_context(linkage, runtime)
    unit.quiet_abort = _is_verification_task(linkage)
    main = linkage.shared.get("main")
    if main is None or not main.defined or not isinstance(main.entity, Header):
        raise InputError("there is no function `main`", Span(source, 0, 1), "the first thread runs `main`")
    unit.symbols["main"] = main
    unit.pending.append("main")
    _add_destructors(unit)
    unit.reach()
    constructors = _in_order_of_priority(unit, _CONSTRUCTORS)
    unit.reach()
    thread = _first_thread(unit, main, constructors)
    _finish_threads(unit)
    unit.reach()
    own_object = Emitter()
    _make_own_object(unit, own_object)
    private = {name: privatise_handles(function) for name, function in unit.functions.items()}
    functions = (*_main_first(confine(split_threads(private, own_object.body, SELF), ("main", START))),)
    prop = Property(given=tuple(sorted(unit.given)))
    program = Program(name, ARCHITECTURE, tuple(unit.objects.values()), functions, (thread,), prop, source)
    if not any(mark.padding for mark in unit.marks.values()):
        return program
    from dekker.frontends.c.lowering.padding import without_needless_padding  # noqa: PLC0415 — few programs have any

    return without_needless_padding(program, unit.marks)


def _main_first(functions: dict[str, Function]) -> list[Function]:
    return [functions["main"], *(function for name, function in functions.items() if name != "main")]


def _needs_context(linkage: Linkage, runtime: Runtime) -> bool:
    for linked in linkage.shared.values():
        external = runtime.find(linked.name)
        if external is not None and external.needs_context:
            return True
    entities = [linked.entity for linked in (*linkage.shared.values(), *linkage.private.values())]
    return any(isinstance(entity, Variable) and entity.thread_local for entity in entities)


def _is_verification_task(linkage: Linkage) -> bool:
    """Verification tasks end uninteresting runs with `abort`; elsewhere it means that something is wrong."""
    return any(name.startswith("__VERIFIER_") or name == "reach_error" for name in linkage.shared)


def _add_destructors(unit: Unit) -> None:
    """What runs when the program ends is called in the reverse order."""
    found = _in_order_of_priority(unit, _DESTRUCTORS)
    if found:
        own = (SELF,) if unit.has_context else ()
        emitter = Emitter()
        for destructor in reversed(found):
            emitter.emit(Call(None, destructor, tuple(map(Reg, own))))
        emitter.emit(Return())
        unit.functions[DESTRUCTORS] = emitter.finish(DESTRUCTORS, own)
        unit.at_return.append(DESTRUCTORS)


def _in_order_of_priority(unit: Unit, listed: str) -> list[Address]:
    found: list[tuple[int, Address]] = []
    for module_unit in unit.linkage.units:
        variable = module_unit.module.entity(listed)
        if not isinstance(variable, Variable) or variable.initial is None:
            continue
        linked = Linked(listed, module_unit, variable, True)
        elements = variable.initial.value
        for element in elements.elements if isinstance(elements, syntax.Aggregate) else ():
            layout = module_unit.module.layout
            parts = constant_parts(element, layout, lambda n, linked=linked: unit.global_address(linked, n))  # type: ignore[misc]
            if isinstance(parts[0], Const) and isinstance(parts[1], Address):
                found.append((parts[0].value, parts[1]))
                unit.request(parts[1])
    return [address for _, address in sorted(found, key=lambda item: item[0])]


def _first_thread(unit: Unit, main: Linked, constructors: list[Address]) -> Thread:
    assert isinstance(main.entity, Header)
    arguments = _main_arguments(unit, len(main.entity.parameters))
    function = unit.functions["main"]
    parameters = function.parameters[1:] if unit.has_context else function.parameters
    if any(not used(step).isdisjoint(parameters) for step in function.body):
        unit.given.add(ARGUMENTS)
    if not (unit.has_context or constructors or unit.at_return or _is_called("main", unit)):
        unit.functions["main"] = _ending_everything(function)
        return Thread("main", "main", tuple(zip(parameters, arguments, strict=True)))
    emitter = Emitter()
    emitter.span = function.span(0)
    own: tuple[Expr, ...] = ()
    if unit.has_context:
        _make_own_object(unit, emitter)
        own = (Reg(SELF),)
    for constructor in constructors:
        emitter.emit(Call(None, constructor, own))
    emitter.emit(Call("status", Address("main"), (*own, *arguments)))
    for name in unit.at_return:
        emitter.emit(Call(None, Address(name), own))
    emitter.emit(Exit(True, Reg("status")))
    unit.functions[START] = emitter.finish(START, ())
    unit.request_all(unit.functions[START])
    return Thread("main", START)


def _is_called(name: str, unit: Unit) -> bool:
    steps = (step for function in unit.functions.values() for step in function.body)
    return any(address.symbol == name for step in steps for address in _addresses(step))


def _ending_everything(main: Function) -> Function:
    """The return from `main` ends all threads."""
    body = tuple(Exit(True, step.value) if isinstance(step, Return) else step for step in main.body)
    return replace(main, body=body)


def _main_arguments(unit: Unit, count: int) -> tuple[Const | Address, ...]:
    """`argc` is 1, `argv` has the name of the program, the environment is empty."""
    if count == 0:
        return ()
    text = b"program"
    cells = tuple(Cell(index, 1, byte) for index, byte in enumerate(text))
    unit.objects["argv[0]"] = Object("argv[0]", len(text) + 1, cells, 1)
    unit.objects["argv"] = Object("argv", 24, (Cell(0, 8, Address("argv[0]")),))
    return (ONE, Address("argv"), Address("argv", 8))[:count]


def _make_own_object(unit: Unit, emitter: Emitter) -> None:
    """Emitted last, when all thread-local variables are known."""
    emitter.emit(Allocate(SELF, Const(max(8, unit.thread_size)), max(16, unit.thread_align), zeroed=True, stack=True))
    for cell in unit.thread_cells:
        value = cell.value if isinstance(cell.value, Address) else Const(cell.value)
        emitter.emit(Store(offset(Reg(SELF), cell.offset), value, cell.size))


def _finish_threads(unit: Unit) -> None:
    for name in [name for name in unit.functions if name.startswith(THREAD)]:
        count = int(name.removeprefix(THREAD) or "1")
        emitter = Emitter()
        _make_own_object(unit, emitter)
        names = tuple(f"argument{index}" for index in range(count))
        emitter.emit(Call("result", Reg("start"), (Reg(SELF), *map(Reg, names))))
        emitter.emit(Return(Reg("result")))
        unit.functions[name] = emitter.finish(name, ("start", *names))
        unit.request_all(unit.functions[name])


def _undefined_variable(name: str) -> Problem:
    if name in _CPP_STREAMS:
        return Problem(f"`std::{_CPP_STREAMS[name]}` is not supported: streams are not modelled", "use `printf`")
    return Problem(f"the variable `{name}` is declared, but no file defines it", "name the file that defines it")
