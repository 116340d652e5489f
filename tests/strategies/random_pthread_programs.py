"""Random pthread programs in the style of real code: one for each number and flavour.

Shapes are small and few in each program, so that both the machine and the engines end quickly: condition variables in
all forms of waiting and signalling, barriers, memory that is published and freed, pointers to variables whose scope has
ended, compare-exchanges that are tried once or again, assumptions, loops with several exits, and phases in which no
other thread runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from tests.reference.pthread_syntax import (
    AddressOf,
    Assert,
    Assume,
    BarrierWait,
    Body,
    Break,
    Broadcast,
    CompareExchange,
    Continue,
    Create,
    Declare,
    Expression,
    Fence,
    For,
    Free,
    If,
    Join,
    Leak,
    Let,
    Local,
    Lock,
    Malloc,
    Op,
    Program,
    Read,
    Retry,
    Return,
    Scope,
    Signal,
    Spin,
    Statement,
    Store,
    TimedWait,
    TryLock,
    Unlock,
    Update,
    Wait,
    While,
    statements_of,
)

A, B = Local("a"), Local("b")
SHARED = AddressOf("shared")
X, Y, V, W = (AddressOf(name) for name in "xyvw")
LOADS = ("relaxed", "acquire", "seq_cst")
STORES = ("relaxed", "release", "seq_cst")


@dataclass(frozen=True)
class Flavour:
    """How often which shape; at most so many in a thread."""

    weights: Mapping[str, int]
    shapes: int = 3


BASIC = {"store": 2, "load": 2, "plain_store": 2, "plain_load": 2, "branch": 1, "check": 1}
FEW = {"store": 1, "load": 1, "plain_store": 1, "plain_load": 1, "check": 1}
FLAVOURS = {
    "accesses": Flavour({**BASIC, "update": 1, "fence": 1}),
    "locks": Flavour({**FEW, "section": 4, "try_section": 3, "misuse": 1}),
    "conditions": Flavour({**FEW, "waiter": 6, "signaller": 6, "section": 1}, 2),
    "barriers": Flavour({**FEW, "barrier": 4, "section": 1}),
    "heap": Flavour({"publish": 4, "use": 5, "take": 3, "release": 2, "load": 1, "check": 1}),
    "uninitialised": Flavour({"publish_early": 3, "use": 4, "take": 1, "garbage": 3, "check": 1}),
    "reuse": Flavour({"publish": 2, "swap": 5, "recycle": 5, "use": 1, "check": 1}, 2),
    "dangling": Flavour({"escape": 4, "leak": 1, "use": 5, "store": 1, "load": 1}),
    "exchanges": Flavour({**FEW, "exchange": 4, "retry": 3, "update": 1}),
    "assumptions": Flavour({**BASIC, "assumption": 5, "update": 1}),
    "loops": Flavour({**FEW, "rounds": 5, "leaving": 4, "back_off": 3, "two_ways": 3}, 2),
    "spins": Flavour({**FEW, "spin": 4, "back_off": 2, "spin_lock": 2}, 2),
    "mixed": Flavour(
        {
            **BASIC,
            "section": 2,
            "try_section": 1,
            "waiter": 2,
            "signaller": 2,
            "publish": 1,
            "use": 2,
            "take": 1,
            "exchange": 1,
            "retry": 1,
            "assumption": 1,
            "rounds": 1,
            "leaving": 1,
            "spin": 1,
            "escape": 1,
        },
        2,
    ),
}


WITH_REUSE = frozenset(("reuse",))
"""Flavours in whose programs freed addresses come back."""


def random_pthread_program(seed: int, flavour: str) -> Program:
    return _Generator(Random(f"{flavour} {seed}"), FLAVOURS[flavour]).program()


class _Generator:
    def __init__(self, random: Random, flavour: Flavour) -> None:
        self.random = random
        self.flavour = flavour
        self.n_names = 0
        self.depth = 0
        self.shapes: dict[str, Callable[[], Body]] = {name: getattr(self, f"_{name}") for name in flavour.weights}

    # --- the whole

    def program(self) -> Program:
        n_spawned = self.random.choice((1, 2, 2, 2))
        threads = (self._main(n_spawned), *(self._thread() for _ in range(n_spawned)))
        n_waiting = sum(any(isinstance(item, BarrierWait) for item in statements_of(body)) for body in threads)
        barriers = (("bar", self.random.choice((n_waiting, n_waiting, 2))),) if n_waiting else ()
        return Program(threads, barriers=barriers)

    def _thread(self) -> Body:
        body = self._block(self.random.randint(2 if self.flavour.shapes > 2 else 1, self.flavour.shapes))
        return (Let("a", 0), Let("b", 0), *body, Return(Op("+", A, Op("*", B, 4))))

    def _main(self, n_spawned: int) -> Body:
        chance = self.random.random
        body: Body = (Let("a", 0), Let("b", 0))
        if "use" in self.flavour.weights and chance() < 0.7:
            body += self._shape("publish_early" if "publish_early" in self.flavour.weights else "publish")
        if chance() < 0.4:
            body += self._alone()
        in_turns = n_spawned == 2 and chance() < 0.15
        for number in range(1, n_spawned + 1):
            body += (Create(number),)
            if in_turns:
                body += (*self._joined(number), *(self._alone() if chance() < 0.5 else ()))
        if n_spawned == 1 or chance() < 0.15:
            body += self._block(self.random.randint(1, 2))
        if not in_turns and chance() < 0.95:
            body += tuple(statement for number in range(1, n_spawned + 1) for statement in self._joined(number))
        if chance() < 0.4:
            body += self._alone()
        body += (Store(AddressOf("out2"), Op("+", A, Op("*", B, 4))),)
        return body

    def _joined(self, number: int) -> Body:
        name = f"r{number}"
        return Join(name, number), Store(AddressOf(f"out{number - 1}"), Local(name))

    def _alone(self) -> Body:
        """What `main` does while no other thread runs, perhaps in a loop with several exits."""
        place = self._one(X, Y)
        return self._pick(
            lambda: (Store(place, self._number(), "relaxed"),),
            lambda: (Store(self._one(V, W), self._number()),),
            lambda: (Let("a", Read(place, "relaxed")), Assert(Op("!=", A, self.random.randint(1, 3)))),
            lambda: (For("i", 6, (Store(V, Op("+", Read(V), 1)),)),),
            lambda: (For("i", 5, (If(Op("==", Read(V), self._number()), (Break(),)), Store(V, Local("i")))),),
            lambda: (For("i", 5, (Assert(Op("<", Read(place, "relaxed"), 3)), Store(W, Local("i")))),),
            lambda: (Let("e", 0), Retry(place, "e", Op("+", Local("e"), 1), weak=True)),
            lambda: self._block(1),
        )

    def _block(self, n_shapes: int) -> Body:
        return tuple(statement for _ in range(n_shapes) for statement in self._any_shape())

    def _any_shape(self) -> Body:
        names = list(self.flavour.weights)
        if self.depth:
            names = [name for name in names if name in BASIC and name != "branch"] or ["check"]
        return self._shape(self.random.choices(names, [self.flavour.weights[name] for name in names])[0])

    def _shape(self, name: str) -> Body:
        self.depth += 1
        body: Body = self.shapes[name]() if name in self.shapes else getattr(self, f"_{name}")()
        self.depth -= 1
        return body

    # --- parts

    def _one(self, *items: Expression) -> Expression:
        return self.random.choice(items)

    def _pick(self, *makers: Callable[[], Body]) -> Body:
        return self.random.choice(makers)()

    def _maybe(self, body: Body, chance: float = 0.5) -> Body:
        return body if self.random.random() < chance else ()

    def _number(self) -> int:
        return self.random.randint(0, 2)

    def _local(self) -> str:
        return self.random.choice("ab")

    def _fresh(self, prefix: str) -> str:
        self.n_names += 1
        return f"{prefix}{self.n_names}"

    def _value(self) -> Expression:
        return self._one(1, 2, Op("+", Local(self._local()), 1))

    def _condition(self) -> Expression:
        return Op(self.random.choice(("==", "!=", "<")), Local(self._local()), self._number())

    def _read(self) -> Expression:
        return self._one(Read(X, self.random.choice(LOADS)), Read(Y, self.random.choice(LOADS)), Read(V), Read(W))

    # --- accesses

    def _store(self) -> Body:
        return (Store(self._one(X, Y), self._value(), self.random.choice(STORES)),)

    def _load(self) -> Body:
        return (Let(self._local(), Read(self._one(X, Y), self.random.choice(LOADS))),)

    def _plain_store(self) -> Body:
        return (Store(self._one(V, W), self._value()),)

    def _plain_load(self) -> Body:
        return (Let(self._local(), Read(self._one(V, W))),)

    def _branch(self) -> Body:
        otherwise = self._maybe(self._any_shape(), 0.3)
        return (If(self._pick_condition(), self._any_shape(), otherwise),)

    def _pick_condition(self) -> Expression:
        if self.random.random() < 0.5:
            return self._condition()
        return Op(self.random.choice(("==", "!=")), self._read(), self._number())

    def _check(self) -> Body:
        if self.random.random() < 0.5:
            return (Assert(Op("!=", Local(self._local()), self.random.randint(1, 3))),)
        return (Assert(Op("!=", self._read(), self.random.randint(1, 3))),)

    def _update(self) -> Body:
        operator = self.random.choice(("add", "exchange"))
        target = self._local() if self.random.random() < 0.7 else None
        return (Update(target, operator, self._one(X, Y), self.random.randint(1, 2)),)

    def _fence(self) -> Body:
        return (Fence(),)

    def _assumption(self) -> Body:
        condition = Op(self.random.choice(("==", "!=", "<")), self._read(), self._number())
        return (Assume(self.random.choice((condition, self._condition()))),)

    # --- locks

    def _section(self) -> Body:
        mutex = self.random.choice("mmn")
        inside = self._any_shape()
        if self.depth == 1 and self.random.random() < 0.2:
            inside += (Lock("n"), Unlock("n")) if mutex == "m" else (Lock("m"), Unlock("m"))
        return (Lock(mutex), *inside, Unlock(mutex))

    def _try_section(self) -> Body:
        mutex, got = self.random.choice("mmn"), self._fresh("got")
        otherwise = self._maybe(self._any_shape(), 0.3)
        return TryLock(got, mutex), If(Op("==", Local(got), 0), (*self._any_shape(), Unlock(mutex)), otherwise)

    def _misuse(self) -> Body:
        return self._pick(
            lambda: (Unlock("m"),),
            lambda: (Lock("m"), *self._any_shape()),
            lambda: (Lock("m"), If(self._pick_condition(), (Unlock("m"),)), Unlock("m")),
            lambda: (Lock("m"), If(self._pick_condition(), (Return(A),)), Unlock("m")),
        )

    # --- condition variables

    def _waiter(self) -> Body:
        waits, timed = Wait("c", "m"), TimedWait("a", "c", "m")
        seen, value = self.random.choice(((Read(V), 0), (Read(V), 0), (Read(V), 1), (Read(X, "relaxed"), 0)))
        ready, not_ready = (Op(sign, seen, value) for sign in (("!=", "==") if value == 0 else ("==", "!=")))
        waiting = self._pick(
            lambda: (While(not_ready, (waits,)),),
            lambda: (While(not_ready, (waits,)),),
            lambda: (While(not_ready, (waits, *self._any_shape())),),
            lambda: (If(not_ready, (waits,)),),
            lambda: (waits,),
            lambda: (Let("a", 0), While(not_ready, (timed, If(Op("==", A, 1), (Break(),))))),
            lambda: (If(not_ready, (timed, self.random.choice((Assert(Op("==", A, 0)), Store(W, A))))),),
        )
        before = self._maybe((Store(W, Op("+", Read(W), 1)),), 0.4)
        after = self._maybe(
            self._pick(
                lambda: (Store(W, Op("-", Read(W), 1)),),
                lambda: (Store(V, 0),),
                lambda: (Assert(ready),),
                self._any_shape,
            )
        )
        return (Lock("m"), *before, *waiting, *after, Unlock("m"))

    def _signaller(self) -> Body:
        tell: Statement = self.random.choice((Signal("c"), Signal("c"), Broadcast("c")))
        change = self._pick(
            lambda: (Store(V, 1),),
            lambda: (Store(V, 1), Let(self._local(), Read(W))),
            lambda: (Store(X, 1, "relaxed"),),
            lambda: (Store(V, Op("+", Read(V), 1)),),
        )
        return self._pick(
            lambda: (Lock("m"), *change, tell, Unlock("m")),
            lambda: (Lock("m"), *change, Unlock("m"), tell),
            lambda: (Lock("m"), *change, Unlock("m"), *self._any_shape(), tell),
            lambda: (*change, tell),
            lambda: (tell,),
        )

    def _barrier(self) -> Body:
        return (BarrierWait("bar"),)

    # --- memory

    def _publish(self) -> Body:
        name = self._fresh("p")
        order = self.random.choice(STORES)
        return Malloc(name), Store(Local(name), self._number()), Store(SHARED, Local(name), order)

    def _publish_early(self) -> Body:
        """Perhaps before it is initialised, perhaps it never is."""
        name = self._fresh("p")
        publish, fill = Store(SHARED, Local(name), "release"), Store(Local(name), self._number())
        return self._pick(
            lambda: (Malloc(name), publish, fill),
            lambda: (Malloc(name), publish),
            lambda: (Malloc(name), fill, publish),
            lambda: (Malloc(name), If(self._pick_condition(), (fill,)), publish),
        )

    def _garbage(self) -> Body:
        name = self._fresh("d")
        own = AddressOf(name)
        use = self._pick(
            lambda: (Let("a", Read(own)),),
            lambda: (If(Op("==", Read(own), 1), (Let("b", 1),)),),
            lambda: (Let("b", Read(own)), Assert(Op("!=", B, 5))),
            lambda: (Let("b", Op("*", Read(own), 0)), Let("b", 0)),
            lambda: (Store(V, Read(own)),),
        )
        fill = self._maybe((If(self._pick_condition(), (Store(own, 1),)),))
        return (Scope((Declare(name, None), *fill, *use)),)

    def _use(self) -> Body:
        name = self._fresh("p")
        use = self._pick(
            lambda: (Let(self._local(), Read(Local(name))),),
            lambda: (Let(self._local(), Read(Local(name))),),
            lambda: (Store(Local(name), self._number()),),
            lambda: (Assert(Op("!=", Read(Local(name)), 2)),),
        )
        take = Let(name, Read(SHARED, self.random.choice(LOADS)))
        return (take, *use) if self.random.random() < 0.1 else (take, If(Op("!=", Local(name), 0), use))

    def _take(self) -> Body:
        """Out of the shared variable, and freed by whoever has taken it."""
        name = self._fresh("p")
        use = self._maybe((Let(self._local(), Read(Local(name))),))
        return Update(name, "exchange", SHARED, 0), If(Op("!=", Local(name), 0), (*use, Free(Local(name))))

    def _swap(self) -> Body:
        """What was read is taken, if it is still there, or seems to be."""
        name, success = self._fresh("p"), self._fresh("ok")
        meanwhile = self._maybe(self._load(), 0.3)
        take = CompareExchange(success, SHARED, name, 0)
        use = self._pick(
            lambda: (Free(Local(name)),),
            lambda: (Let("a", Read(Local(name))), Free(Local(name))),
            lambda: (Let("b", 1),),
        )
        inside = (*meanwhile, take, If(Local(success), use))
        return Let(name, Read(SHARED, "acquire")), If(Op("!=", Local(name), 0), inside)

    def _recycle(self) -> Body:
        """Frees what is there, and puts something new in its place."""
        old, new = self._fresh("p"), self._fresh("p")
        compare = self._maybe((Let(self._local(), Op("==", Local(old), Local(new))),), 0.3)
        release = If(Op("!=", Local(old), 0), (Free(Local(old)),))
        fill = Store(Local(new), self.random.randint(1, 2))
        publish = self._maybe((Store(SHARED, Local(new), "release"),), 0.8)
        return (Update(old, "exchange", SHARED, 0), release, Malloc(new), fill, *compare, *publish)

    def _release(self) -> Body:
        name = self._fresh("p")
        return self._pick(
            lambda: (Free(Read(SHARED, "acquire")),),
            lambda: (Let(name, Read(SHARED, "acquire")), Store(SHARED, 0, "release"), Free(Local(name))),
            lambda: (Malloc(name), Free(Local(name)), *self._maybe((Free(Local(name)),), 0.2)),
        )

    def _escape(self) -> Body:
        """The address of a variable of a block, or of the thread."""
        name = self._fresh("d")
        publish = Store(SHARED, AddressOf(name), self.random.choice(STORES))
        take_back = self._maybe((Store(SHARED, 0, "seq_cst"),), 0.4)
        body = (Declare(name, self._number()), publish, *self._maybe(self._any_shape()), *take_back)
        return body if self.depth == 1 and self.random.random() < 0.5 else (Scope(body),)

    def _leak(self) -> Body:
        name = self._fresh("p")
        use = self._maybe((Let("a", Read(Local(name))),))
        return (Leak(name, 1), *self._maybe((Store(SHARED, Local(name), "relaxed"),)), *use)

    # --- compare-exchange

    def _exchange(self) -> Body:
        expected, success = self._fresh("e"), self._fresh("ok")
        weak = self.random.random() < 0.7
        place = self._one(X, Y)
        attempt = CompareExchange(success, place, expected, self._value(), weak, "acq_rel")
        use = self._pick(
            lambda: (),
            lambda: (Let(self._local(), Local(success)),),
            lambda: (If(Local(success), self._any_shape(), self._any_shape()),),
            lambda: (Let(self._local(), Op("+", Local(expected), 1)),),
        )
        return (Let(expected, self._number()), attempt, *use)

    def _retry(self) -> Body:
        expected, success = self._fresh("e"), self._fresh("ok")
        place, weak = self._one(X, Y), self.random.random() < 0.8
        first = Let(expected, Read(place, "relaxed"))
        desired = self._one(Op("+", Local(expected), 1), 2)
        attempt = CompareExchange(success, place, expected, desired, weak)
        return self._pick(
            lambda: (first, Retry(place, expected, desired, weak)),
            lambda: (For("i", 2, (first, attempt, If(Local(success), (Break(),)))),),
            lambda: (For("i", 2, (Let(expected, 0), attempt, If(Local(success), (Let("b", 1), Break())))),),
            lambda: (first, Retry(place, expected, desired, weak), Let(self._local(), Local(expected))),
        )

    # --- loops

    def _rounds(self) -> Body:
        """A constant number, with other exits."""
        counter, leave = self._fresh("i"), self.random.choice((Break(), Continue(), Return(A)))
        condition = Op(self.random.choice(("==", "!=")), self._read(), self._number())
        inside = self._pick(
            lambda: (If(condition, (leave,)),),
            lambda: (If(condition, (*self._any_shape(), leave)),),
            lambda: (Assert(Op("!=", self._read(), 3)),),
            lambda: (If(Op("==", Local(counter), 1), (leave,)), *self._any_shape()),
            self._any_shape,
        )
        rest = self._maybe((Let("b", Op("+", B, 1)),))
        return (For(counter, self.random.randint(2, 3), (*inside, *rest)),)

    def _leaving(self) -> Body:
        counter = self._fresh("i")
        one_more = Let(counter, Op("+", Local(counter), 1))
        condition = Op(self.random.choice(("==", "!=")), self._read(), self._number())
        enough = If(Op(">=", Local(counter), 2), (self.random.choice((Break(), Return(B))),))
        return self._pick(
            lambda: (Let(counter, 0), While(1, (If(condition, (Break(),)), one_more, enough))),
            lambda: (
                Let(counter, 0),
                While(Op("<", Local(counter), 3), (one_more, If(condition, (Continue(),)), enough)),
            ),
            lambda: (Let(counter, 0), While(condition, (one_more, enough))),
        )

    def _two_ways(self) -> Body:
        """A loop with several jumps back."""
        counter = self._fresh("i")
        condition = Op("==", self._read(), self._number())
        faster, slower = (Let(counter, Op("+", Local(counter), step)) for step in (2, 1))
        return self._pick(
            lambda: (Let(counter, 0), While(Op("<", Local(counter), 3), (If(condition, (faster,), (slower,)),))),
            lambda: (Let(counter, 0), While(Op("<", Local(counter), 3), (If(condition, (faster, Continue())), slower))),
        )

    def _back_off(self) -> Body:
        place, counter = self._one(X, Y), self._fresh("i")
        one_more = Let(counter, Op("+", Local(counter), 1))
        closed = Op("==", Read(place, "acquire"), 0)
        return self._pick(
            lambda: (Let(counter, 0), While(closed, (one_more, If(Op(">=", Local(counter), 2), (Break(),))))),
            lambda: (For(counter, 2, (If(Op("!=", Read(place, "acquire"), 0), (Break(),)),)),),
        )

    def _spin(self) -> Body:
        operator, value = self.random.choice((("!=", 0), ("==", 1), (">=", 1), ("==", 0)))
        return (Spin(self._one(X, Y), operator, value, self.random.choice(LOADS)),)

    def _spin_lock(self) -> Body:
        expected = self._fresh("e")
        inside = self._plain_store() if self.random.random() < 0.5 else self._plain_load()
        return (Let(expected, 0), While(1, (
            Let(expected, 0), CompareExchange("ok", Y, expected, 1, weak=False), If(Local("ok"), (Break(),)),
        )), *inside, Store(Y, 0, "release"))  # fmt: skip
