"""Small pthread programs: statements over global variables, local ones and pointers, and their text in C.

Variables hold an `int` or a pointer to one. Expressions are over local variables, addresses of objects, and what is
read (`Read`), except below `&&` and `||`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

# --- expressions


@dataclass(frozen=True)
class Local:
    name: str


@dataclass(frozen=True)
class AddressOf:
    """Of a global variable, or of a local one that `Declare` declares."""

    name: str


@dataclass(frozen=True)
class Op:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Read:
    """Without an order the access is plain."""

    place: Expression
    order: str = ""


Expression = int | Local | AddressOf | Op | Read

# --- statements


@dataclass(frozen=True)
class Let:
    target: str
    value: Expression


@dataclass(frozen=True)
class Store:
    place: Expression
    value: Expression
    order: str = ""


@dataclass(frozen=True)
class Update:
    """`add` or `exchange`; what was there goes to the target, if there is one."""

    target: str | None
    operator: str
    place: Expression
    operand: Expression
    order: str = "seq_cst"


@dataclass(frozen=True)
class CompareExchange:
    """`expected` is a local variable, which becomes what was found if it is something else."""

    success: str
    place: Expression
    expected: str
    desired: Expression
    weak: bool = False
    order: str = "seq_cst"


@dataclass(frozen=True)
class Retry:
    """Compare-exchanges until one succeeds."""

    place: Expression
    expected: str
    desired: Expression
    weak: bool = True


@dataclass(frozen=True)
class Fence:
    """Sequentially consistent."""


@dataclass(frozen=True)
class Spin:
    """Reads until the comparison with the number holds."""

    place: Expression
    operator: str
    value: int
    order: str = "acquire"


@dataclass(frozen=True)
class If:
    condition: Expression
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class While:
    condition: Expression
    body: Body


@dataclass(frozen=True)
class For:
    """So many rounds. A jump in the body to its end still counts."""

    counter: str
    rounds: int
    body: Body


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class Continue:
    pass


@dataclass(frozen=True)
class Return:
    """What `Join` gets. At the end of a function that has none it is 0."""

    value: Expression


@dataclass(frozen=True)
class Scope:
    """A block: what is declared in it ends with it."""

    body: Body


@dataclass(frozen=True)
class Declare:
    """A local variable with an address; None leaves it uninitialised."""

    name: str
    value: int | None


@dataclass(frozen=True)
class Leak:
    """A call of a function that returns the address of its own variable."""

    target: str
    value: int


@dataclass(frozen=True)
class Malloc:
    target: str


@dataclass(frozen=True)
class Free:
    address: Expression


@dataclass(frozen=True)
class Lock:
    mutex: str


@dataclass(frozen=True)
class TryLock:
    """The target becomes 0 if the mutex was free, else 1."""

    target: str
    mutex: str


@dataclass(frozen=True)
class Unlock:
    mutex: str


@dataclass(frozen=True)
class Wait:
    condition: str
    mutex: str


@dataclass(frozen=True)
class TimedWait:
    """The target becomes 1 if the time is up, which it may be at any moment, else 0."""

    target: str
    condition: str
    mutex: str


@dataclass(frozen=True)
class Signal:
    condition: str


@dataclass(frozen=True)
class Broadcast:
    condition: str


@dataclass(frozen=True)
class BarrierWait:
    barrier: str


@dataclass(frozen=True)
class Create:
    thread: int


@dataclass(frozen=True)
class Join:
    target: str | None
    thread: int


@dataclass(frozen=True)
class Assert:
    condition: Expression


@dataclass(frozen=True)
class Assume:
    condition: Expression


Statement = (
    Let | Store | Update | CompareExchange | Retry | Fence | Spin | If | While | For | Break | Continue | Return
    | Scope | Declare | Leak | Malloc | Free | Lock | TryLock | Unlock | Wait | TimedWait | Signal | Broadcast
    | BarrierWait | Create | Join | Assert | Assume
)  # fmt: skip
Body = tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """`threads[0]` is `main`. Global variables are 0 at first; `observed` are those whose final values matter.
    Local variables begin with `p` if they are pointers."""

    threads: tuple[Body, ...]
    atomics: tuple[str, ...] = ("x", "y")
    plain: tuple[str, ...] = ("v", "w", "out0", "out1", "out2")
    pointers: tuple[str, ...] = ("shared",)
    mutexes: tuple[str, ...] = ("m", "n")
    conditions: tuple[str, ...] = ("c",)
    barriers: tuple[tuple[str, int], ...] = ()
    observed: tuple[str, ...] = ("x", "y", "v", "w", "out0", "out1", "out2")

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.atomics, *self.plain, *self.pointers)


def bodies_of(statement: Statement) -> Iterator[tuple[str, Body]]:
    """The parts of a statement that are statements, by the names of its fields."""
    for field in fields(statement):
        value = getattr(statement, field.name)
        if isinstance(value, tuple):
            yield field.name, value


def statements_of(body: Body) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for _, inner in bodies_of(statement):
            yield from statements_of(inner)


def locals_of(body: Body) -> list[str]:
    """In the order in which they are first written."""
    found: dict[str, None] = {}
    for statement in statements_of(body):
        for name in (getattr(statement, field, None) for field in ("target", "success", "expected", "counter")):
            if name is not None:
                found[name] = None
    return list(found)


def declared_in(body: Body) -> list[str]:
    return [statement.name for statement in statements_of(body) if isinstance(statement, Declare)]


# --- smaller ones


def smaller_programs(program: Program) -> Iterator[Program]:
    """With one statement less, or with a part of one in its place."""
    for number, body in enumerate(program.threads):
        for smaller in _smaller_bodies(body):
            threads = (*program.threads[:number], smaller, *program.threads[number + 1 :])
            yield replace(program, threads=threads)


def _smaller_bodies(body: Body) -> Iterator[Body]:
    for index, statement in enumerate(body):
        before, after = body[:index], body[index + 1 :]
        yield (*before, *after)
        for name, inner in bodies_of(statement):
            if not isinstance(statement, While | For):
                yield (*before, *inner, *after)
            for smaller in _smaller_bodies(inner):
                yield (*before, replace(statement, **{name: smaller}), *after)  # type: ignore[arg-type]


# --- C

PRELUDE = """\
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
void __VERIFIER_assume(int);
static const struct timespec limit = {1, 0};
"""
UPDATES = {"add": "atomic_fetch_add_explicit", "exchange": "atomic_exchange_explicit"}


def program_text(program: Program, suffix: str = "") -> str:
    """All names of global things end with the suffix, so that several programs can be one file."""
    return _Printer(program, suffix).text()


class _Printer:
    def __init__(self, program: Program, suffix: str) -> None:
        self.program = program
        self.suffix = suffix
        self.leaks: list[str] = []
        self.own: set[str] = set()

    def text(self) -> str:
        threads = [self._thread(number, body) for number, body in enumerate(self.program.threads)]
        return "\n".join([*self._globals(), *self.leaks, *threads[1:], threads[0]]) + "\n"

    def _globals(self) -> list[str]:
        p = self.program
        lines = [f"atomic_int {self._name(name)};" for name in p.atomics]
        lines += [f"int {self._name(name)};" for name in p.plain]
        lines += [f"_Atomic(int *) {self._name(name)};" for name in p.pointers]
        lines += [f"pthread_mutex_t {self._name(name)} = PTHREAD_MUTEX_INITIALIZER;" for name in p.mutexes]
        lines += [f"pthread_cond_t {self._name(name)} = PTHREAD_COND_INITIALIZER;" for name in p.conditions]
        lines += [f"pthread_barrier_t {self._name(name)};" for name, _ in p.barriers]
        return [*lines, *(f"static pthread_t t{number}{self.suffix};" for number in range(1, len(p.threads)))]

    def _name(self, name: str) -> str:
        return name + self.suffix

    def _thread(self, number: int, body: Body) -> str:
        self.own = set(declared_in(body))
        lines = [f"{'int *' if name.startswith('p') else 'int '}{name} = 0;" for name in locals_of(body)]
        if number == 0:
            lines += [f"pthread_barrier_init(&{self._name(name)}, 0, {n});" for name, n in self.program.barriers]
        lines += [line for statement in body for line in self._statement(statement, number)]
        head = f"int main{self.suffix}(void)" if number == 0 else f"static void *thread{number}{self.suffix}(void *_)"
        return f"{head} {{\n" + "\n".join(f"  {line}" for line in [*lines, "return 0;"]) + "\n}"

    def _block(self, body: Body, number: int) -> list[str]:
        return [f"  {line}" for statement in body for line in self._statement(statement, number)]

    def _nested(self, head: str, body: Body, number: int) -> list[str]:
        return [f"{head}{{", *self._block(body, number), "}"]

    def _statement(self, statement: Statement, number: int) -> Sequence[str]:
        match statement:
            case If(condition, then, otherwise):
                lines = self._nested(f"if ({self._expression(condition)}) ", then, number)
                return lines if not otherwise else [*lines[:-1], *self._nested("} else ", otherwise, number)]
            case While(condition, body):
                return self._nested(f"while ({self._expression(condition)}) ", body, number)
            case For(counter, rounds, body):
                return self._nested(f"for ({counter} = 0; {counter} < {rounds}; {counter}++) ", body, number)
            case Scope(body):
                return self._nested("", body, number)
            case Leak(target, value):
                name = f"leak{len(self.leaks)}_{number}{self.suffix}"
                self.leaks.append(f"static int *{name}(void) {{ int own = {value}; int *p = &own; return p; }}")
                return [f"{target} = {name}();"]
            case _:
                return [self._simple(statement, number) + ";"]

    def _simple(self, statement: Statement, number: int) -> str:
        match statement:
            case Let(target, value):
                return f"{target} = {self._expression(value)}"
            case Store(place, value, ""):
                return f"{self._object(place)} = {self._expression(value)}"
            case Store(place, value, order):
                return f"atomic_store_explicit({self._place(place)}, {self._expression(value)}, memory_order_{order})"
            case Update(target, operator, place, operand, order):
                call = f"{UPDATES[operator]}({self._place(place)}, {self._expression(operand)}, memory_order_{order})"
                return call if target is None else f"{target} = {call}"
            case CompareExchange(success, place, expected, desired, weak, order):
                sort = "weak" if weak else "strong"
                return (
                    f"{success} = atomic_compare_exchange_{sort}_explicit({self._place(place)}, &{expected}, "
                    f"{self._expression(desired)}, memory_order_{order}, memory_order_relaxed)"
                )
            case Retry(place, expected, desired, weak):
                sort = "weak" if weak else "strong"
                call = f"atomic_compare_exchange_{sort}({self._place(place)}, &{expected}, {self._expression(desired)})"
                return f"while (!{call})"
            case Fence():
                return "atomic_thread_fence(memory_order_seq_cst)"
            case Spin(place, operator, value, order):
                return f"while (!({self._read(place, order)} {operator} {value}))"
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return(value):
                return "return 0" if number == 0 else f"return (void *)(long)({self._expression(value)})"
            case Declare(name, value):
                return f"int {name}" + ("" if value is None else f" = {value}")
            case Malloc(target):
                return f"{target} = malloc(sizeof(int))"
            case Free(address):
                return f"free({self._expression(address)})"
            case TryLock(target, mutex):
                return f"{target} = pthread_mutex_trylock(&{self._name(mutex)}) != 0"
            case Wait(condition, mutex):
                return f"pthread_cond_wait(&{self._name(condition)}, &{self._name(mutex)})"
            case TimedWait(target, condition, mutex):
                call = f"pthread_cond_timedwait(&{self._name(condition)}, &{self._name(mutex)}, &limit)"
                return f"{target} = {call} == ETIMEDOUT"
            case Create(thread):
                return f"pthread_create(&t{thread}{self.suffix}, 0, thread{thread}{self.suffix}, 0)"
            case Join(None, thread):
                return f"pthread_join(t{thread}{self.suffix}, 0)"
            case Join(target, thread):
                return f"{{ void *r; pthread_join(t{thread}{self.suffix}, &r); {target} = (int)(long)r; }}"
            case Assert(condition):
                return f"assert({self._expression(condition)})"
            case Assume(condition):
                return f"__VERIFIER_assume({self._expression(condition)})"
        return self._on_object(statement)

    def _on_object(self, statement: Statement) -> str:
        match statement:
            case Lock(name):
                return f"pthread_mutex_lock(&{self._name(name)})"
            case Unlock(name):
                return f"pthread_mutex_unlock(&{self._name(name)})"
            case Signal(name):
                return f"pthread_cond_signal(&{self._name(name)})"
            case Broadcast(name):
                return f"pthread_cond_broadcast(&{self._name(name)})"
            case BarrierWait(name):
                return f"pthread_barrier_wait(&{self._name(name)})"
        raise TypeError(statement)

    def _read(self, place: Expression, order: str) -> str:
        if not order:
            return self._object(place)
        return f"atomic_load_explicit({self._place(place)}, memory_order_{order})"

    def _object(self, place: Expression) -> str:
        return self._variable(place.name) if isinstance(place, AddressOf) else f"*{self._expression(place)}"

    def _place(self, place: Expression) -> str:
        """Memory behind a pointer is not declared as atomic."""
        text = self._expression(place)
        return text if isinstance(place, AddressOf) and place.name not in self.own else f"(atomic_int *){text}"

    def _variable(self, name: str) -> str:
        return name if name in self.own else self._name(name)

    def _expression(self, expression: Expression) -> str:
        match expression:
            case int():
                return str(expression)
            case Local(name):
                return name
            case AddressOf(name):
                return f"&{self._variable(name)}"
            case Read(place, order):
                return self._read(place, order)
            case Op(operator, left, right):
                return f"({self._expression(left)} {operator} {self._expression(right)})"
