"""An instrumented program as one file of C with POSIX threads and `__VERIFIER_*`, for any checker for sequential
consistency.

First the machine, then the objects of the program under their names, its functions (registers are variables, `#line`
says where a statement comes from), and a `main` that starts the threads. Where the property is a condition on final
states, an assertion in `main` fails if, and only if, the formula can hold (`exists`, `~exists`) or can fail (`forall`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Const, Expr
from dekker.ir.flow import defined, used
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
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
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import (
    AddressValue,
    And,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    Quantifier,
    RegisterValue,
    Truth,
    observables,
)
from dekker.records import dataclass
from dekker.source import Span
from dekker.transform.c_expressions import c_expression
from dekker.transform.instrument import Instrumented
from dekker.transform.machine import FEATURES, FOLDER

_KEYWORDS = frozenset(
    (
        *"auto break case char const continue default do double else enum extern float for goto if inline int".split(),
        *"long thread_local errno signal time index y0 y1 j0 j1 yn jn gamma".split(),
        *"register restrict return short signed sizeof static struct switch typedef union unsigned void".split(),
        *"volatile while main assert exit free malloc calloc abort linux unix asm".split(),
    )
)
_TEXTS = ("preamble.c", "machine.c", "operators.c")
_LOCAL = ("place", "old", "operand", "expected", "desired", "equal", "threads", "unused", "handle", "result")


@cache
def _reserved() -> frozenset[str]:
    """What the machine, the parts around it and C itself call something."""
    texts = "".join((FOLDER / name).read_text(encoding="utf-8") for name in _TEXTS)
    return _KEYWORDS | frozenset(re.findall(r"\b(?:dk|DK|uint|pthread)_\w+", texts)) | frozenset(_LOCAL)


def instrumented_c(source: Program, instrumented: Instrumented, model: str, strategy: str) -> str:
    """`source` is the program before the instrumentation."""
    assert instrumented.size is not None
    return "\n".join(_Output(source, instrumented, model, strategy).lines()) + "\n"


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", re.sub(r"^dk\.", "dkr_", name), flags=re.ASCII)
    if not plain or plain[0].isdigit() or plain in _KEYWORDS:
        plain = f"v_{plain}"
    return plain


@dataclass
class _Names:
    """Different names for different things, as close to theirs as C allows."""

    taken: set[str] = field(default_factory=set)
    found: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        if name not in self.found:
            base = _identifier(name)
            number, result = 1, base
            while result in self.taken:
                number += 1
                result = f"{base}_{number}"
            self.taken.add(result)
            self.found[name] = result
        return self.found[name]


class _Output:
    def __init__(self, source: Program, instrumented: Instrumented, model: str, strategy: str) -> None:
        self.source, self.instrumented, self.model, self.strategy = source, instrumented, model, strategy
        self.program = instrumented.program
        own = [item.name for item in source.objects] + [item.name for item in source.functions]
        self.symbols = _Names(set(_reserved()) | {f"thread_{number}" for number in range(len(source.threads))})
        for name in (*self.program.function_by_name, *self.program.object_by_name):
            if name.startswith("dk_"):
                self.symbols.found[name] = name
        for name in own:
            self.symbols(name)
        self.shown = self._shown()
        self.finals = _Names(set(self.symbols.taken))

    def _shown(self) -> tuple[Observable, ...]:
        prop = self.source.property
        formulas = [prop.condition.formula] if prop.condition is not None else []
        formulas += [prop.filter] if prop.filter is not None else []
        return tuple(dict.fromkeys(item for formula in formulas for item in observables(formula)))

    def lines(self) -> Iterator[str]:
        yield from self._head()
        yield from self._objects()
        functions = [self.program.function_by_name[item.name] for item in self.source.functions]
        for function in functions:
            yield f"{_Function(self, function).signature()};"
        for function in functions:
            yield ""
            yield from _Function(self, function).lines()
        yield from self._main()

    def _head(self) -> Iterator[str]:
        size = self.instrumented.size
        assert size is not None
        where = self.source.source.name if self.source.source is not None else self.source.name
        yield f"/* {where.replace('*/', '')} with the delays of {self.model} spelled out (selection: {self.strategy})."
        yield f"   Written by `dekker instrument`. A thread delays {size.reads} reads and {size.writes} writes at most"
        if self.instrumented.enough:
            yield "   at a time; that is enough for all its runs."
        else:
            yield "   at a time, and its runs may want more: what takes longer delays is not covered."
        yield from (f"   Not followed: {message.replace('*/', '')}." for message in self._limits())
        yield " */"
        yield ""
        yield (FOLDER / "preamble.c").read_text(encoding="utf-8")
        yield from (f"#define {feature} 1" for feature in FEATURES[self.model])
        yield from (f"#define {name} {value}ULL" for name, value in size.constants.items())
        yield f"#define DK_SLOT_COUNT {size.slots}"
        yield f"#define DK_THREAD_COUNT {size.threads}"
        yield ""
        yield (FOLDER / "machine.c").read_text(encoding="utf-8")
        yield (FOLDER / "operators.c").read_text(encoding="utf-8")
        yield from self._threads()
        yield "/* The program. */"
        yield ""

    def _limits(self) -> list[str]:
        """Why runs are left out."""
        functions = [self.program.function_by_name[item.name] for item in self.source.functions]
        steps = [step for item in functions for step in item.body]
        limits = {step.message for step in steps if isinstance(step, Assert) and step.is_limit}
        return sorted(limits | {step.message for step in steps if isinstance(step, Refuse)})

    def _threads(self) -> Iterator[str]:
        """Threads that are started while the program runs."""
        steps = (step for item in self.program.functions for step in item.body)
        arities = {len(step.arguments) for step in steps if isinstance(step, Spawn)}
        if not arities:
            return
        width = max(arities)
        hidden = self._hidden()
        shadows = self._shadows()
        yield "/* Threads by their number: what they run. */"
        yield f"dk_word dk_function[DK_THREAD_COUNT], dk_argument[DK_THREAD_COUNT][{max(width, 1)}];"
        yield ""
        for arity in sorted(arities):
            n_own = arity - 2
            types = ", ".join(["dk_word"] * (1 + hidden + n_own * (1 + shadows)))
            given = ["self", *["0"] * hidden]
            for number in range(n_own):
                given += [f"dk_argument[self][{number}]", *["0"] * shadows]
            yield f"void *dk_begin_thread_{n_own}(void *number) {{"
            yield "  dk_word self = (dk_pointer)number, result;"
            yield "  dk_enter_section();"
            yield f"  result = ((dk_word (*)({types}))(dk_pointer)dk_function[self])({', '.join(given)});"
            yield "  dk_drain(self);"
            yield "  dk_leave_section();"
            yield "  return (void *)(dk_pointer)result;"
            yield "}"
            yield ""

    def _hidden(self) -> int:
        features = FEATURES[self.model]
        return 2 * ("DK_READS" in features) + ("DK_NON_ATOMIC" in features)

    def _shadows(self) -> int:
        return ("DK_READS" in FEATURES[self.model]) + ("DK_NON_ATOMIC" in FEATURES[self.model])

    def _objects(self) -> Iterator[str]:
        machine = {"dk_returned"}
        for item in self.program.objects:
            if item.name in self.source.object_by_name or item.name in machine:
                words = max(1, -(-item.size // 8))
                array = f"[{words}]" if words > 1 else ""
                yield f"dk_word {self.symbols(item.name)}{array};"
        yield from (f"dk_word {self.final(shown)};" for shown in self.shown if isinstance(shown, RegisterValue))
        yield ""

    def final(self, item: RegisterValue) -> str:
        return self.finals(f"final_{item.thread}_{item.register}")

    # main

    def _main(self) -> Iterator[str]:
        threads = self.program.threads
        alone = len(threads) == 1
        for number, thread in enumerate(threads):
            yield ""
            yield from self._thread(number, thread)
        yield ""
        yield "int main(void) {"
        for item in self.source.objects:
            for cell in item.cells:
                place = self._value(Address(item.name, cell.offset))
                yield f"  dk_put({place}, {cell.size}, {self._value(cell.value)});"
        if alone:
            yield "  thread_0(0);"
        else:
            yield f"  pthread_t threads[{len(threads)}];"
            for number in range(len(threads)):
                yield f"  pthread_create(&threads[{number}], 0, thread_{number}, 0);"
            for number in range(len(threads)):
                yield f"  pthread_join(threads[{number}], 0);"
        yield from self._condition()
        yield "  return 0;"
        yield "}"

    def _thread(self, number: int, thread: Thread) -> Iterator[str]:
        function = self.program.function_by_name[thread.function]
        initial = dict(thread.registers)
        given = [self._value(initial.get(name, Const(0))) for name in _Function(self, function).parameters()]
        yield f"void *thread_{number}(void *unused) {{"
        yield "  (void)unused;"
        yield "  dk_enter_section();"
        yield f"  {self.symbols(function.name)}({', '.join(given)});"
        yield "  dk_leave_section();"
        yield "  return 0;"
        yield "}"

    def _value(self, value: Const | Address | int) -> str:
        expression: Expr = Const(value) if isinstance(value, int) else value
        return _outer(c_expression(expression, str, self.symbols))

    def _condition(self) -> Iterator[str]:
        prop = self.source.property
        if prop.filter is not None:
            yield f"  __VERIFIER_assume({self._formula(prop.filter)});"
        if prop.condition is not None:
            formula = self._formula(prop.condition.formula)
            forall = prop.condition.quantifier is Quantifier.FORALL
            yield f"  assert({formula});" if forall else f"  assert(!({formula}));"

    def _formula(self, formula: Formula) -> str:
        match formula:
            case Truth(value):
                return str(int(value))
            case Not(operand):
                return f"!({self._formula(operand)})"
            case And(operands):
                return " && ".join(f"({self._formula(item)})" for item in operands) or "1"
            case Or(operands):
                return " || ".join(f"({self._formula(item)})" for item in operands) or "0"
            case Equals(left, right):
                width = left.width if isinstance(left, RegisterValue) else 8 * left.size
                return f"{self._term(left, width)} == {self._term(right, width)}"

    def _term(self, term: Observable | AddressValue | int, width: int) -> str:
        match term:
            case RegisterValue():
                return f"dk_cut({self.final(term)}, {width})"
            case MemoryValue(symbol, offset, size):
                return f"dk_cut(dk_fetch({self._value(Address(symbol, offset))}, {size}), {width})"
            case AddressValue(symbol, offset):
                return f"dk_cut({self._value(Address(symbol, offset))}, {width})"
        return self._value(term & ((1 << width) - 1))


def _outer(text: str) -> str:
    """Without brackets around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]


class _Function:
    def __init__(self, output: _Output, function: Function) -> None:
        self.output, self.function = output, function
        self.registers = _Names(set(output.symbols.taken))
        self.labels = _Names(set(_KEYWORDS))
        self.threads = [number for number, item in enumerate(output.program.threads) if item.function == function.name]
        self.line: tuple[str, int] | None = None
        self.is_outside = False
        """Of a section, where the text has come to."""

    def parameters(self) -> list[str]:
        """Threads from the start get their initial registers as arguments."""
        initial = [name for number in self.threads for name, _ in self.output.program.threads[number].registers]
        return list(dict.fromkeys((*self.function.parameters, *initial)))

    def signature(self) -> str:
        parameters = [f"dk_word {self.registers(name)}" for name in self.parameters()]
        return f"dk_word {self.output.symbols(self.function.name)}({', '.join(parameters) or 'void'})"

    def lines(self) -> Iterator[str]:
        yield f"{self.signature()} {{"
        yield from self._variables()
        targets = {step.target for step in self.function.body if isinstance(step, Branch | Jump)}
        positions: dict[int, list[str]] = {}
        for label, position in self.function.labels.items():
            if label in targets:
                positions.setdefault(position, []).append(label)
        for index, step in enumerate(self.function.body):
            if index in positions or not (isinstance(step, Assign | Join) or _is_left_out(step)):
                yield from self._inside()
            yield from (f"{self.labels(label)}:;" for label in positions.get(index, ()))
            yield from self._line(self.function.span(index))
            yield from (f"  {text}" for text in _STATEMENTS[type(step)](self, step))
        yield from self._inside()
        yield from (f"{self.labels(label)}:;" for label in positions.get(len(self.function.body), ()))
        yield "  return 0;"
        yield "}"

    def _variables(self) -> Iterator[str]:
        parameters = self.parameters()
        names = {name for step in self.function.body for name in used(step) | defined(step) if isinstance(name, str)}
        names |= {item.register for item in self._shown()}
        for name in sorted(names.difference(parameters)):
            yield f"  dk_word {self.registers(name)} = 0;"
        for name in sorted(names.union(parameters)):
            yield f"  (void){self.registers(name)};"

    def _line(self, span: Span | None) -> Iterator[str]:
        place = None if span is None else (span.source.name, span.line)
        if place is not None and place != self.line:
            self.line = place
            name = place[0].replace("\\", "\\\\").replace('"', '\\"')
            yield f'#line {place[1]} "{name}"'

    def _shown(self) -> list[RegisterValue]:
        return [item for item in self.output.shown if isinstance(item, RegisterValue) and item.thread in self.threads]

    def text(self, expression: Expr) -> str:
        return c_expression(expression, self.registers, self.output.symbols)

    def plain(self, expression: Expr) -> str:
        return _outer(self.text(expression))

    def set(self, register: str | None, value: str) -> str:
        return f"{value};" if register is None else f"{self.registers(register)} = {value};"

    def save(self) -> Iterator[str]:
        """Registers of which the condition speaks."""
        for item in self._shown():
            save = f"{self.output.final(item)} = {self.registers(item.register)};"
            yield save if len(self.threads) == 1 else f"if ({self.registers('dk.self')} == {item.thread}) {save}"

    # statements

    def assign(self, step: Assign) -> Iterator[str]:
        target, value = self.registers(step.dst), self.plain(step.value)
        yield ";" if target == value else f"{target} = {value};"

    def load(self, step: Load) -> Iterator[str]:
        yield f"{self.registers(step.dst)} = dk_fetch({self.plain(step.address)}, {step.size});"

    def store(self, step: Store) -> Iterator[str]:
        yield f"dk_put({self.plain(step.address)}, {step.size}, {self.plain(step.value)});"

    def update(self, step: Rmw) -> Iterator[str]:
        """Within a section."""
        width = 8 * step.size
        yield "{"
        yield f"  dk_word place = {self.plain(step.address)}, operand = dk_cut({self.plain(step.operand)}, {width});"
        yield f"  dk_word old = dk_fetch(place, {step.size});"
        yield f"  dk_put(place, {step.size}, {_updated(step.op, width)});"
        if step.dst is not None:
            yield f"  {self.registers(step.dst)} = old;"
        yield "}"

    def exchange(self, step: CompareExchange) -> Iterator[str]:
        yield "{"
        yield f"  dk_word place = {self.plain(step.address)}, old = dk_fetch(place, {step.size});"
        yield f"  dk_word expected = {self.plain(step.expected)}, desired = {self.plain(step.desired)};"
        equal = f"old == dk_cut(expected, {8 * step.size})"
        yield f"  int equal = {equal}{' && dk_choose_yes()' if step.weak else ''};"
        yield f"  if (equal) dk_put(place, {step.size}, desired);"
        if step.dst is not None:
            yield f"  {self.registers(step.dst)} = old;"
        if step.success is not None:
            yield f"  {self.registers(step.success)} = (dk_word)equal;"
        yield "}"

    def jump(self, step: Jump) -> Iterator[str]:
        yield f"goto {self.labels(step.target)};"

    def branch(self, step: Branch) -> Iterator[str]:
        yield f"if ({self.plain(step.condition)}) goto {self.labels(step.target)};"

    def call(self, step: Call) -> Iterator[str]:
        given = ", ".join(self.plain(argument) for argument in step.arguments)
        if isinstance(step.function, Address):
            if not _is_left_out(step):
                yield self.set(step.dst, f"{self.output.symbols(step.function.symbol)}({given})")
            return
        types = ", ".join(["dk_word"] * len(step.arguments)) or "void"
        yield self.set(step.dst, f"((dk_word (*)({types}))(dk_pointer){self.text(step.function)})({given})")

    def give_back(self, step: Return) -> Iterator[str]:
        yield from self.save()
        yield f"return {self.plain(step.value) if step.value is not None else '0'};"

    def spawn(self, step: Spawn) -> Iterator[str]:
        function, number, *arguments = (self.plain(item) for item in step.arguments)
        yield f"dk_function[{number}] = {function};"
        yield from (f"dk_argument[{number}][{at}] = {argument};" for at, argument in enumerate(arguments))
        yield from self._outside()
        yield "{"
        yield "  pthread_t handle;"
        yield f"  pthread_create(&handle, 0, dk_begin_thread_{len(arguments)}, (void *)(dk_pointer){number});"
        if step.dst is not None:
            yield f"  {self.registers(step.dst)} = (dk_pointer)handle;"
        yield "}"

    def join(self, step: Join) -> Iterator[str]:
        yield from self._outside()
        yield "{"
        yield "  void *result;"
        yield f"  pthread_join((pthread_t)(dk_pointer){self.text(step.thread)}, &result);"
        if step.dst is not None:
            yield f"  {self.registers(step.dst)} = (dk_pointer)result;"
        yield "}"

    def _outside(self) -> Iterator[str]:
        """What follows waits, or starts a thread; the next statement to which it matters enters a section again."""
        if not self.is_outside:
            yield "dk_leave_section();"
        self.is_outside = True

    def _inside(self) -> Iterator[str]:
        if self.is_outside:
            yield "  dk_enter_section();"
        self.is_outside = False

    def assume(self, step: Assume) -> Iterator[str]:
        yield f"__VERIFIER_assume({self.text(step.condition)} != 0);"

    def check(self, step: Assert) -> Iterator[str]:
        if step.is_limit:
            yield f"__VERIFIER_assume({self.text(step.condition)}); /* {step.message} */"
            return
        yield f"assert({self.text(step.condition)} && {_string(step.message)});"

    def refuse(self, step: Refuse) -> Iterator[str]:
        yield f"__VERIFIER_assume(0); /* {step.message} */"

    def show(self, step: Print) -> Iterator[str]:
        yield from ()

    def choose(self, step: Choose) -> Iterator[str]:
        low = f" + {step.low}ULL" if step.low > 0 else f" - {-step.low}ULL" if step.low else ""
        yield f"{self.registers(step.dst)} = dk_choose_up_to({step.high - step.low}){low};"

    def allocate(self, step: Allocate) -> Iterator[str]:
        yield f"{self.registers(step.dst)} = (dk_word)(dk_pointer)calloc(1, {self.plain(step.size)});"

    def free(self, step: Free) -> Iterator[str]:
        yield f"free((void *)(dk_pointer){self.text(step.address)});"

    def detach(self, step: Detach) -> Iterator[str]:
        yield from ()

    def end_scope(self, step: EndScope) -> Iterator[str]:
        yield f"{self.registers(step.dst)} = 0;"

    def exit(self, step: Exit) -> Iterator[str]:
        yield from self.save()
        yield "dk_leave_section();"
        if step.everything:
            yield f"exit((int){self.text(step.status) if step.status is not None else '0'});"
        else:
            yield "pthread_exit(0);"

    def unknown(self, step: Instruction) -> Iterator[str]:
        raise UnsupportedError(f"the instruction '{type(step).__name__}' cannot be printed as C")


def _is_left_out(step: Instruction) -> bool:
    """Threads leave their sections where they start and await others, and at their end."""
    return step == Call(None, Address("dk_close"), ())


def _updated(op: str, width: int) -> str:
    simple = {"add": "old + operand", "sub": "old - operand", "and": "old & operand", "or": "old | operand"}
    others = {"xor": "old ^ operand", "xchg": "operand", "nand": "~(old & operand)"}
    others |= {"umax": "old >= operand ? old : operand", "umin": "old <= operand ? old : operand"}
    signed = f"dk_signed(old, {width}) {{}} dk_signed(operand, {width}) ? old : operand"
    others |= {"max": signed.format(">="), "min": signed.format("<=")}
    return (simple | others)[op]


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


_Statement = Callable[[_Function, Any], Iterator[str]]

_STATEMENTS: dict[type[Any], _Statement] = {
    Assign: _Function.assign,
    Load: _Function.load,
    Store: _Function.store,
    Rmw: _Function.update,
    CompareExchange: _Function.exchange,
    Jump: _Function.jump,
    Branch: _Function.branch,
    Call: _Function.call,
    Return: _Function.give_back,
    Spawn: _Function.spawn,
    Join: _Function.join,
    Assume: _Function.assume,
    Assert: _Function.check,
    Refuse: _Function.refuse,
    Print: _Function.show,
    Choose: _Function.choose,
    Allocate: _Function.allocate,
    Free: _Function.free,
    Detach: _Function.detach,
    EndScope: _Function.end_scope,
    Exit: _Function.exit,
}
