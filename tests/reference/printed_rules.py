"""Candidate selection as the paper prints it (sections 5.3 to 5.5), rule by rule, on the syntax of Lang.

A search state is (U, σ, cnt, F); the code that is left when a candidate is removed is built along the way. Ifs follow
the pattern of loops. `Terminates` is decided by running the loop. The engine does not use these rules: what they
leave in the code can be changed by what overtakes it, and U blocks more than it must.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    CompareExchange,
    Expression,
    Global,
    If,
    LangFile,
    Num,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)

Cell = tuple[str, int]
Value = int | None
"""None is ⊥."""
MOST_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class SearchState:
    used: frozenset[str | Cell] = frozenset()
    registers: tuple[tuple[str, Value], ...] = ()
    variables: tuple[tuple[Cell, Value], ...] = ()
    count: int = 0
    flags: frozenset[str] = frozenset()

    def value(self, name: str) -> Value:
        return dict(self.registers).get(name, 0)

    def set(self, name: str, value: Value) -> SearchState:
        return replace(self, registers=tuple(sorted((dict(self.registers) | {name: value}).items())))

    def known(self, cell: Cell | None) -> Value:
        return None if cell is None else dict(self.variables).get(cell)

    def set_variable(self, cell: Cell | None, value: Value) -> SearchState:
        if cell is None:
            return replace(self, variables=())
        return replace(self, variables=tuple(sorted((dict(self.variables) | {cell: value}).items())))


Candidate = tuple[Statement, Statement]
"""What can take effect, and the code that is left."""


def candidates(code: Statement, registers: dict[str, int]) -> list[Candidate]:
    """Rule 1."""
    start = SearchState(registers=tuple(sorted(registers.items())))
    found, _ = _select(code, start)
    return found


def search(code: Statement, registers: dict[str, int]) -> SearchState:
    """The search state behind the code."""
    return _select(code, SearchState(registers=tuple(sorted(registers.items()))))[1]


def evaluate(expression: Expression, state: SearchState) -> Value:
    match expression:
        case Num(value):
            return value
        case Register(name):
            return state.value(name)
        case Apply(mark, operands):
            values = [evaluate(operand, state) for operand in operands]
            if any(value is None for value in values):
                return None
            return _apply(mark, [value for value in values if value is not None])
    raise AssertionError(expression)


def _apply(mark: str, values: list[int]) -> int:
    if mark == "not":
        return int(values[0] == 0)
    if len(values) == 1:
        return -values[0]
    left, right = values
    operators = {
        "=": int(left == right),
        "!=": int(left != right),
        "<": int(left < right),
        ">": int(left > right),
        "+": left + right,
        "-": left - right,
        "&&": int(bool(left and right)),
        "||": int(bool(left or right)),
    }
    return operators[mark]


def cell_of(variable: Variable, state: SearchState) -> Cell | None:
    if variable.index is None:
        return variable.name, 0
    index = evaluate(variable.index, state)
    return None if index is None else (variable.name, index)


def names_in(expression: Expression | None) -> frozenset[str]:
    match expression:
        case Register(name):
            return frozenset((name,))
        case Apply(_, operands):
            return frozenset(name for operand in operands for name in names_in(operand))
    return frozenset()


def _registers(statement: Statement) -> frozenset[str]:
    match statement:
        case Assign(register, value):
            return names_in(value) | {register}
        case Read(register, variable):
            return names_in(variable.index) | {register}
        case Write(variable, value):
            return names_in(variable.index) | names_in(value)
        case CompareExchange(variable, expected, desired):
            return names_in(variable.index) | {expected, desired}
    return frozenset()


def _variable(statement: Statement) -> Variable | None:
    return getattr(statement, "variable", None)


_FORBIDDING: dict[type, frozenset[str]] = {
    Assign: frozenset(("barrier",)),
    Read: frozenset(("barrier", "read")),
    Write: frozenset(("barrier", "read", "write")),
    CompareExchange: frozenset(("barrier", "read", "write")),
}


def addable(statement: Statement, state: SearchState) -> bool:
    if isinstance(statement, Barrier):
        return state.count == 0 and "barrier" not in state.flags
    if _registers(statement) & state.used or _FORBIDDING[type(statement)] & state.flags:
        return False
    variable = _variable(statement)
    if variable is None:
        return True
    cell = cell_of(variable, state)
    return cell is not None and cell not in state.used


def addable_early(statement: Statement, state: SearchState) -> bool:
    """Read own write early."""
    if not isinstance(statement, Read) or state.flags != {"write"} or _registers(statement) & state.used:
        return False
    return state.known(cell_of(statement.variable, state)) is not None


def passed(statement: Statement, state: SearchState) -> SearchState:
    """U[s], σ[s] and F[s]."""
    variable = _variable(statement)
    cell = None if variable is None else cell_of(variable, state)
    used = state.used | _registers(statement) | (frozenset() if cell is None else {cell})
    after = replace(state, used=used)
    match statement:
        case Assign(register, value):
            return after.set(register, evaluate(value, state))
        case Read(register):
            return replace(after.set(register, None), flags=state.flags | {"read"})
        case Write(_, value):
            return replace(after.set_variable(cell, evaluate(value, state)), flags=state.flags | {"write"})
        case CompareExchange(_, expected):
            return replace(after.set(expected, None).set_variable(cell, None), flags=state.flags | {"read", "write"})
        case Barrier():
            return replace(after, flags=state.flags | {"barrier"})
    raise AssertionError(statement)


def _select(code: Statement, state: SearchState) -> tuple[list[Candidate], SearchState]:
    match code:
        case Block(statements):
            return _select_block(statements, state)
        case While(condition, body):
            return _select_while(code, condition, body, state)
        case If(condition, then, other):
            return _select_if(code, condition, then, other, state)
    after = passed(code, state)
    if addable(code, state):  # rule 2
        return [(code, Block())], replace(after, count=state.count + 1)
    if addable_early(code, state):  # rule 3
        assert isinstance(code, Read)
        value = state.known(cell_of(code.variable, state))
        assert value is not None
        return [(Assign(code.register, Num(value)), Block())], replace(after, count=state.count + 1)
    return [], after  # rule 4


def _select_block(statements: tuple[Statement, ...], state: SearchState) -> tuple[list[Candidate], SearchState]:
    """Rules 5 and 6."""
    found: list[Candidate] = []
    for place, statement in enumerate(statements):
        inner, state = _select(statement, state)
        before, behind = statements[:place], statements[place + 1 :]
        found += [(candidate, _joined(*before, rest, *behind)) for candidate, rest in inner]
    return found, state


def _joined(*parts: Statement) -> Block:
    flat: list[Statement] = []
    for part in parts:
        flat += part.statements if isinstance(part, Block) else [part]
    return Block(tuple(flat))


def _blocked(state: SearchState) -> SearchState:
    return replace(state, flags=state.flags | {"barrier"})


def _select_while(
    loop: While, condition: Expression, body: Statement, state: SearchState
) -> tuple[list[Candidate], SearchState]:
    if {"read", "barrier"} & state.flags:  # rule 12
        return [], _blocked(state)
    value = evaluate(condition, state)
    if value == 0:  # rule 7
        return [], state
    if value is None:  # rule 8
        return [], _blocked(state)
    first, after = _select(body, state)
    if not first and not terminates(loop, state):  # rule 9
        return [], _blocked(state)
    later, last = _select(loop, after)  # rules 10 and 11
    found = [(candidate, _joined(rest, loop)) for candidate, rest in first]
    return [*found, *((candidate, _joined(body, rest)) for candidate, rest in later)], last


def terminates(loop: While, state: SearchState) -> bool:
    """Whether the loop by itself ends, or comes to a read, a CMPXCHG or a barrier."""
    for _ in range(MOST_ROUNDS):
        value = evaluate(loop.condition, state)
        if not value:
            return True
        _, state = _select(loop.body, state)
        if {"read", "barrier"} & state.flags:
            return True
    return False


def _select_if(
    code: If, condition: Expression, then: Statement, other: Statement | None, state: SearchState
) -> tuple[list[Candidate], SearchState]:
    if {"read", "barrier"} & state.flags:
        return [], _blocked(state)
    value = evaluate(condition, state)
    if value is None:
        return [], _blocked(state)
    branch = then if value else other
    return ([], state) if branch is None else _select(branch, state)


# --- reachability with these candidates

Memory = tuple[tuple[Cell, int], ...]
Thread = tuple[Statement, tuple[tuple[str, int], ...]]


@dataclass
class Explored:
    """Final states: memory, and the registers of each thread."""

    final: set[tuple[Memory, tuple[tuple[tuple[str, int], ...], ...]]] = field(default_factory=set)
    n_states: int = 0


def explore(file: LangFile) -> Explored:
    memory = tuple(sorted((cell, value) for item in file.globals for cell, value in _cells(item)))
    threads: tuple[Thread, ...] = tuple((process.body, tuple(sorted(process.initial))) for process in file.processes)
    waiting = [(memory, threads)]
    seen = set(waiting)
    result = Explored()
    while waiting:
        memory, threads = waiting.pop()
        if all(_is_empty(code, registers) for code, registers in threads):
            result.final.add((memory, tuple(registers for _, registers in threads)))
        for number, (code, registers) in enumerate(threads):
            for after_memory, thread in _steps(memory, code, dict(registers)):
                state = after_memory, (*threads[:number], thread, *threads[number + 1 :])
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
    result.n_states = len(seen)
    return result


def _cells(item: Global) -> Iterator[tuple[Cell, int]]:
    for place, value in enumerate(item.values):
        yield (item.name, (item.low or 0) + place), value


def _is_empty(code: Statement, registers: tuple[tuple[str, int], ...]) -> bool:
    """Nothing but loops and ifs that are not entered."""
    state = SearchState(registers=registers)
    match code:
        case Block(statements):
            return all(_is_empty(statement, registers) for statement in statements)
        case While(condition):
            return evaluate(condition, state) == 0
        case If(condition, then, other):
            branch = then if evaluate(condition, state) else other
            return branch is None or _is_empty(branch, registers)
    return False


def _steps(memory: Memory, code: Statement, registers: dict[str, int]) -> Iterator[tuple[Memory, Thread]]:
    state = SearchState(registers=tuple(registers.items()))
    for candidate, rest in candidates(code, registers):
        values, now = dict(memory), dict(registers)
        match candidate:
            case Assign(register, value):
                now[register] = _known(evaluate(value, state))
            case Read(register, variable):
                now[register] = values[_place(variable, state)]
            case Write(variable, value):
                values[_place(variable, state)] = _known(evaluate(value, state))
            case CompareExchange(variable, expected, desired):
                place = _place(variable, state)
                if values[place] == now.get(expected, 0):
                    values[place] = now.get(desired, 0)
                else:
                    now[expected] = values[place]
        yield tuple(sorted(values.items())), (rest, tuple(sorted(now.items())))


def _known(value: Value) -> int:
    assert value is not None
    return value


def _place(variable: Variable, state: SearchState) -> Cell:
    cell = cell_of(variable, state)
    assert cell is not None
    return cell
