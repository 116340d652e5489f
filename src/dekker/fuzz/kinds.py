"""The kinds of random programs, and the models that each is run under.

A kind is one line of `KINDS`: how its programs are drawn, and how often beside the others. A kind of C programs needs
no more than a function from a number to a text (`_of_c`), one in the representation a function to a program (`_of_ir`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeVar

from dekker.engines.rsmc.orders import COMMIT_ORDERS, NOT_FOR_UPDATES
from dekker.frontends import default_model, parse_program
from dekker.frontends.lang.instances import program_of
from dekker.fuzz import alike_c, counters_c, idioms, loops_c, threaded_c
from dekker.fuzz.bytes_c import bytes_program, bytes_twin
from dekker.fuzz.cycles import cycle_test
from dekker.fuzz.delays import FENCES, program_with_starts
from dekker.fuzz.delays import random_program as delaying_program
from dekker.fuzz.hardware import (
    ANNOTATED,
    ANNOTATED_CONDITIONALS,
    ANNOTATED_RETRIES,
    C11,
    CONDITIONALS,
    HARDWARE,
    PLAIN_ACCESSES,
    RETRIES,
    Flavour,
    random_program,
)
from dekker.fuzz.heap import heap_program
from dekker.fuzz.lang import lang_program
from dekker.fuzz.lifetimes import lifetimes_program, on_the_heap
from dekker.fuzz.locks import MODELS as LOCKS_MODELS
from dekker.fuzz.locks import locks_program
from dekker.fuzz.order_pairs import program_of as ordered_program
from dekker.fuzz.order_pairs import random_shape
from dekker.fuzz.own_values import Diet, own_values_program
from dekker.fuzz.paper import paper_program
from dekker.fuzz.resting import MODELS as RESTING_MODELS
from dekker.fuzz.resting import resting_program
from dekker.fuzz.rounds import rounds_program
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue
from dekker.ir.text import print_program
from dekker.models import OF_C as OF_LANGUAGE
from dekker.records import dataclass
from dekker.source import Source

T = TypeVar("T")

SIZES = (3, 3, 4, 4, 4, 4, 5, 5, 5, 6)
"""Accesses in a program. What engines get wrong they mostly get wrong in small ones, of which there are more in an
hour."""

ALL_MODELS = ("sc", "tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv", "ghb-rmo", "ghb-power")
WITH_UPDATES = tuple(model for model in COMMIT_ORDERS if model not in {*OF_LANGUAGE, *NOT_FOR_UPDATES})
OF_C = ("sc", "tso", "pso", "power", "aarch64", "riscv", "cpp20", "rc11")
COMPILED = 0.5
"""The weight of a kind of C programs: one takes as long as ten others."""


@dataclass(frozen=True)
class Drawn:
    """A program, its text in its own language with the extension of its files, and the model to run it under. Its
    `twin` goes wrong in the same ways."""

    program: Program
    text: str
    extension: str
    model: str
    twin: Program | None = None


@dataclass(frozen=True)
class Kind:
    """`weight` is how often its programs have their turn; those of a kind that is `compiled` take long to draw."""

    draw: Callable[[int], Drawn]
    weight: float
    compiled: bool = False


class _Decisions:
    def __init__(self, random: Random) -> None:
        self._random = random

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def sample(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def flag(self) -> bool:
        return self._random.random() < 0.5


def _drawn(seed: int, flavour: Flavour, models: Sequence[str]) -> Drawn:
    random = Random(seed)
    small = replace(flavour, max_total=random.choice(SIZES), max_threads=3)
    program = random_program(_Decisions(random), small)
    return Drawn(program, print_program(program), ".ir", random.choice(models))


def _cycle(seed: int) -> Drawn:
    text = cycle_test(seed)
    program = parse_program(Source("random.litmus", text))
    model = default_model(program)
    if model == "power" and Random(seed).random() < 0.5:
        model = "ghb-power"
    return Drawn(program, text, ".litmus", model)


def _conditionals(seed: int) -> Drawn:
    if Random(seed).random() < 0.5:
        return _drawn(seed, ANNOTATED_CONDITIONALS, ("aarch64", "riscv"))
    return _drawn(seed, CONDITIONALS, ("power", "aarch64", "riscv"))


def _retries(seed: int) -> Drawn:
    if Random(seed).random() < 0.3:
        return _drawn(seed, ANNOTATED_RETRIES, ("aarch64", "riscv"))
    return _drawn(seed, RETRIES, WITH_UPDATES)


def _orders(seed: int) -> Drawn:
    random = Random(seed)
    model = random.choice(("power", "armv7", "aarch64", "riscv", "rmo"))
    program = ordered_program(random_shape(random, model), model)
    return Drawn(program, print_program(program), ".ir", model)


def _own_values(seed: int) -> Drawn:
    random = Random(seed)
    model = random.choice(("aarch64", "aarch64", "aarch64", "power", "riscv", "armv7", "rmo"))
    has_updates = model in WITH_UPDATES
    diet = Diet(
        acquires=model in ("aarch64", "riscv") and random.random() < 0.4,
        pairs=has_updates and random.random() < 0.4,
        updates=has_updates and random.random() < 0.7,
    )
    program = own_values_program(seed, diet)
    return Drawn(program, print_program(program), ".ir", model)


def _delays(seed: int) -> Drawn:
    random = Random(seed)
    model = random.choice(tuple(FENCES))
    if random.random() < 0.3:
        program = program_with_starts(seed, model)
    else:
        program = delaying_program(seed, model, updates=random.random() < 0.3)
    return Drawn(program, print_program(program), ".ir", f"ghb-{model}" if model in ("rmo", "power") else model)


def _paper(seed: int) -> Drawn:
    text = paper_program(seed)
    models = ("power", "power", "sc", "tso", "pso")
    return Drawn(parse_program(Source("random.rsmc", text)), text, ".rsmc", Random(seed).choice(models))


def _threaded_c(seed: int) -> str:
    flavour = Random(seed).choice(tuple(threaded_c.FLAVOURS))
    return threaded_c.threaded_program(seed, threaded_c.FLAVOURS[flavour])


def _of_ir(draw: Callable[[int], Program], models: Sequence[str], weight: float) -> Kind:
    """Programs in the representation, each under one of the models."""

    def drawn(seed: int) -> Drawn:
        program = draw(seed)
        return Drawn(program, print_program(program), ".ir", Random(f"model {seed}").choice(models))

    return Kind(drawn, weight)


def _of_c(
    write: Callable[[int], str],
    models: Sequence[str] = OF_C,
    weight: float = COMPILED,
    observed: Sequence[str] = threaded_c.OBSERVED,
    twin_of: Callable[[str], str | None] = lambda text: None,
) -> Kind:
    """C programs. Those variables of `observed` that a program has are its final state, the first 4 bytes of each."""

    def drawn(seed: int) -> Drawn:
        text = write(seed)
        other = twin_of(text)
        twin = None if other is None else _compiled(other, observed)
        return Drawn(_compiled(text, observed), text, ".c", Random(f"model {seed}").choice(models), twin)

    return Kind(drawn, weight, compiled=True)


def _compiled(text: str, observed: Sequence[str]) -> Program:
    from dekker.frontends.c import parse_c  # noqa: PLC0415 — slow to load

    with tempfile.TemporaryDirectory(prefix="dekker-fuzz-") as folder:
        file = Path(folder) / "program.c"
        file.write_text(text, encoding="utf-8")
        program = parse_c([str(file)])
    present = {item.name for item in program.objects}
    values = tuple(MemoryValue(name, 0, 4) for name in observed if name in present)
    return replace(program, property=replace(program.property, observed=values))


KINDS: dict[str, Kind] = {
    "plain": Kind(lambda seed: _drawn(seed, PLAIN_ACCESSES, ALL_MODELS), 30),
    "updates": Kind(lambda seed: _drawn(seed, HARDWARE, WITH_UPDATES), 20),
    "conditionals": Kind(_conditionals, 10),
    "retries": Kind(_retries, 10),
    "annotated": Kind(lambda seed: _drawn(seed, ANNOTATED, ("aarch64", "riscv")), 10),
    "c11": Kind(lambda seed: _drawn(seed, C11, OF_LANGUAGE), 10),
    "orders": Kind(_orders, 8),
    "own-values": Kind(_own_values, 8),
    "resting": _of_ir(resting_program, RESTING_MODELS, 8),
    "locks": _of_ir(locks_program, LOCKS_MODELS, 8),
    "rounds": _of_ir(rounds_program, OF_C, 10),
    "delays": Kind(_delays, 7),
    "litmus": Kind(_cycle, 6),
    "rsmc": Kind(_paper, 8),
    "lang": _of_ir(lambda seed: program_of(lang_program(seed)), ("sc", "tso", "pso"), 5),
    "reuse": _of_ir(heap_program, OF_C, 5),
    "c": _of_c(_threaded_c, weight=3 * COMPILED),
    "crews": _of_c(threaded_c.alike_program, ("sc", "tso", "pso")),
    "alike": _of_c(alike_c.alike_program, observed=alike_c.OBSERVED),
    "counters": _of_c(counters_c.counters_program, observed=counters_c.OBSERVED),
    "conditions": _of_c(idioms.conditions_program),
    "exchanges": _of_c(idioms.exchanges_program),
    "assumptions": _of_c(idioms.assumptions_program),
    "heap": _of_c(idioms.heap_program),
    "loops": _of_c(loops_c.loops_program),
    "phases": _of_c(loops_c.phases_program),
    "lifetimes": _of_c(lifetimes_program, twin_of=on_the_heap),
    "bytes": _of_c(bytes_program, observed=(), twin_of=bytes_twin),
}


def kind_of(seed: int, kinds: Sequence[str]) -> str:
    return Random(f"kind {seed}").choices(kinds, [KINDS[kind].weight for kind in kinds])[0]
