"""Random Lang programs, small enough for the oracle. Registers are used again and again, ifs and loops are passed or
not, indices are computed: that is where candidate selection can go wrong."""

from __future__ import annotations

from random import Random

from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    Check,
    Choose,
    CompareExchange,
    Expression,
    Global,
    If,
    LangFile,
    Num,
    Process,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)
from dekker.records import dataclass
from dekker.source import Source

REGISTERS = ("r0", "r1", "r2")
INITIAL = (("r0", 1), ("r1", 2))
GLOBALS = (Global("x", (0,)), Global("y", (0,)), Global("a", (0, 1), 0))


@dataclass(frozen=True, slots=True)
class Size:
    """Most memory accesses of a thread and of all threads, those in loops counted for every round."""

    threads: tuple[int, int] = (2, 2)
    accesses: int = 4
    total: int = 7
    exchanges: bool = True
    assertions: bool = False


class _Generator:
    def __init__(self, random: Random, size: Size) -> None:
        self.random = random
        self.size = size
        self.left = 0
        self.n_loops = 0
        self.places: list[Variable] = []

    def file(self) -> LangFile:
        count = self.random.randint(*self.size.threads)
        budget = self.size.total
        processes = []
        for number in range(count):
            self.left = min(self.size.accesses, max(1, budget - (count - number - 1)))
            granted = self.left
            cycle = self.cycle(number, count) if self.random.random() < 0.8 else []
            body = self.mixed(cycle, self.random.randint(1, 3))
            budget -= granted - self.left
            processes.append(Process(f"P{number}", body, initial=INITIAL))
        return LangFile(Source("random.lang", ""), GLOBALS, tuple(processes))

    def cycle(self, number: int, count: int) -> list[Statement]:
        """Accesses of two variables of which the next thread accesses the second first, as in a critical cycle; a
        write may be read back in between."""
        places = self._places(count)
        first, second = places[number], places[(number + 1) % count]
        accesses: list[Statement] = [self._access(first, 0.75)]
        if isinstance(accesses[0], Write) and self.random.random() < 0.3:
            accesses.append(Read(self.register(), first))
        accesses.append(self._access(second, 0.35))
        self.left -= len(accesses)
        return accesses

    def _places(self, count: int) -> list[Variable]:
        """The same for all threads of a program."""
        if not self.places:
            everything = [Variable("x"), Variable("y"), Variable("a", Num(0)), Variable("a", Num(1))]
            self.places = self.random.sample(everything, count)
        return self.places

    def _access(self, place: Variable, writes: float) -> Statement:
        if isinstance(place.index, Num) and place.index.value == 0 and self.random.random() < 0.3:
            place = Variable(place.name, Apply("=", (Register("r2"), Num(1))))
        if self.random.random() < writes:
            return Write(place, Register(self.register()) if self.random.random() < 0.6 else self.expression())
        return Read(self.register(), place)

    def mixed(self, accesses: list[Statement], others: int) -> Block:
        """In the order of the accesses, some of them in a branch or a loop, with other statements between them."""
        statements = [self._wrapped(access) for access in accesses]
        for _ in range(others if accesses else 3 + others):
            statements.insert(self.random.randint(0, len(statements)), self.statement(1, 1))
        return Block(tuple(statements))

    def _wrapped(self, access: Statement) -> Statement:
        draw = self.random.random()
        if draw < 0.15:
            other = Assign(self.register(), self.expression()) if draw < 0.05 else None
            return If(self.expression(), access, other)
        if draw < 0.25:
            self.n_loops += 1
            counter = f"i{self.n_loops}"
            step = Assign(counter, Apply("-", (Register(counter), Num(1))))
            return Block((Assign(counter, Num(1)), While(Register(counter), Block((access, step)))))
        return access

    def block(self, length: int, depth: int, rounds: int) -> Block:
        return Block(tuple(self.statement(depth, rounds) for _ in range(length)))

    def statement(self, depth: int, rounds: int) -> Statement:
        weights = {"assign": 4, "read": 11, "write": 12, "barrier": 1}
        weights |= {"exchange": int(self.size.exchanges), "check": int(self.size.assertions)}
        if depth:
            weights |= {"if": 3, "loop": 1, "reading loop": 1}
        (kind,) = self.random.choices(list(weights), list(weights.values()))
        costs = {"read": 1, "write": 1, "exchange": 2, "reading loop": 2}
        if self.left < costs.get(kind, 0) * rounds:
            kind = "assign"
        self.left -= costs.get(kind, 0) * rounds
        return getattr(self, f"_{kind.replace(' ', '_')}")(depth, rounds)  # type: ignore[no-any-return]

    def _assign(self, depth: int, rounds: int) -> Statement:
        if self.random.random() < 0.1:
            return Choose(self.register(), 0, 1)
        return Assign(self.register(), self.expression())

    def _read(self, depth: int, rounds: int) -> Statement:
        return Read(self.register(), self.variable())

    def _write(self, depth: int, rounds: int) -> Statement:
        return Write(self.variable(), Register(self.register()) if self.random.random() < 0.6 else self.expression())

    def _exchange(self, depth: int, rounds: int) -> Statement:
        return CompareExchange(self.variable(), self.register(), self.register())

    def _barrier(self, depth: int, rounds: int) -> Statement:
        return Barrier()

    def _check(self, depth: int, rounds: int) -> Statement:
        return Check(self.expression(), is_assumption=self.random.random() < 0.3)

    def _if(self, depth: int, rounds: int) -> Statement:
        then = self.block(self.random.randint(1, 2), depth - 1, rounds)
        other = self.block(self.random.randint(1, 2), depth - 1, rounds) if self.random.random() < 0.5 else None
        return If(self.expression(), then, other)

    def _loop(self, depth: int, rounds: int) -> Statement:
        """A loop with a counter of its own, so that it ends."""
        self.n_loops += 1
        counter = f"i{self.n_loops}"
        most = self.random.randint(1, 2)
        body = self.block(self.random.randint(1, 2), depth - 1, rounds * most)
        step = Assign(counter, Apply("-", (Register(counter), Num(1))))
        return Block((Assign(counter, Num(most)), While(Register(counter), Block((*body.statements, step)))))

    def _reading_loop(self, depth: int, rounds: int) -> Statement:
        """Goes round while it reads 0, at most twice."""
        self.n_loops += 1
        counter, seen = f"i{self.n_loops}", self.register()
        again = Apply("&&", (Register(counter), Apply("=", (Register(seen), Num(0)))))
        step = Assign(counter, Apply("-", (Register(counter), Num(1))))
        loop = While(again, Block((Read(seen, self.variable()), step)))
        return Block((Assign(counter, Num(2)), Assign(seen, Num(0)), loop))

    def register(self) -> str:
        return self.random.choice(REGISTERS)

    def variable(self) -> Variable:
        name = self.random.choice("xxyya")
        if name != "a":
            return Variable(name)
        if self.random.random() < 0.4:
            return Variable(name, Num(self.random.randint(0, 1)))
        return Variable(name, Apply("=", (Register(self.register()), Num(self.random.randint(0, 1)))))

    def expression(self) -> Expression:
        choice = self.random.random()
        if choice < 0.5:
            return Num(self.random.randint(0, 3))
        if choice < 0.7:
            return Register(self.register())
        mark = self.random.choice(("=", "+", "-", "<", ">", "&&", "||", "!="))
        return Apply(mark, (Register(self.register()), Num(self.random.randint(0, 2))))


def lang_program(seed: int, size: Size | None = None) -> LangFile:
    return _Generator(Random(seed), Size() if size is None else size).file()
