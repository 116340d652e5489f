"""The machine for pthread programs against the engines.

`python -m tests.reference.pthread_comparison FIRST NUMBER [FLAVOUR...]` runs a campaign.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time

from tests.reference import pthread_machine as machine
from tests.reference.pthread_machine import Outcomes, TooLarge, explore
from tests.reference.pthread_syntax import PRELUDE, Join, Program, program_text, smaller_programs, statements_of
from tests.strategies.random_pthread_programs import FLAVOURS, WITH_REUSE, random_pthread_program

from dekker.errors import MixedSizes, UnsupportedError
from dekker.frontends.c.driver import compile_file
from dekker.frontends.c.linking import link
from dekker.frontends.c.llvm.module import Module
from dekker.frontends.c.lowering.unit import lower_program
from dekker.frontends.c.runtime import RUNTIME
from dekker.frontends.c.runtime.sections import with_section_lock
from dekker.ir.program import Program as Representation
from dekker.ir.property import Condition, MemoryValue, Quantifier, Truth
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.run import transform
from dekker.run.engines import SINGLE_ENGINES
from dekker.run.prepare import prepare, with_reuse
from dekker.source import Source
from dekker.task import Limits, Search, Task

MODELS = ("sc", "tso")
TIMEOUT_S = 1.0
UNROLL = 8
BATCH = 25
SHRINK_S, SHRINK_AT_MOST = 10.0, 4
QUICK = ("rsmc", "states")
SLOW = ("axiomatic", transform.NAME)

# --- compiling

_DEFINITION = re.compile(r"^define .*?^}\n", re.MULTILINE | re.DOTALL)
_OWNED = re.compile(r"@\"?[.\w]*?_(\d+)\b")


def compile_programs(programs: Sequence[Program]) -> list[Representation]:
    """All in one file: starting the compiler takes longer than its work."""
    texts = [program_text(program, f"_{number}") for number, program in enumerate(programs)]
    with tempfile.TemporaryDirectory(prefix="dekker-machine-") as folder:
        file = Path(folder) / "programs.c"
        file.write_text(PRELUDE + "".join(texts), encoding="utf-8")
        module = compile_file(str(file), ("-g0", "-w")).source.text
    return [_lowered(_part(module, number), program, number) for number, program in enumerate(programs)]


def _part(module: str, number: int) -> str:
    """The module without what belongs to other programs."""

    def kept(line: str) -> bool:
        owner = _OWNED.match(line)
        return owner is None or owner.group(1) == str(number)

    definitions = [text for text in _DEFINITION.findall(module) if f"_{number}(" in text[: text.index("{")]]
    others = "\n".join(line for line in _DEFINITION.sub("", module).splitlines() if kept(line))
    return others + "\n" + "".join(definitions).replace(f"@main_{number}(", "@main(")


def _lowered(module: str, program: Program, number: int) -> Representation:
    source = Source("programs.ll", module)
    found = with_section_lock(
        lower_program(f"program{number}", link([(Module(source), True)]), RUNTIME, (-1, 2), source)
    )
    validate(found)
    present = {item.name for item in found.objects}
    observed = tuple(
        MemoryValue(name, 0, 4) for name in (f"{name}_{number}" for name in program.observed) if name in present
    )
    return replace(found, property=replace(found.property, observed=observed))


# --- comparing

KINDS = {
    "use after free": machine.AFTER_FREE,
    "double free": machine.DOUBLE_FREE,
    "release": machine.INVALID_FREE,
    "memory": machine.NULL,
    "join": machine.INVALID_JOIN,
}
SAME = {machine.DANGLING: machine.AFTER_FREE}
"""Engines do not tell apart how an object has ended."""
MEMORY = frozenset((*SAME, machine.AFTER_FREE, machine.DOUBLE_FREE, machine.INVALID_FREE, machine.NULL))
"""After these, what a thread does is not the program's: engines may find more."""


@dataclass(frozen=True)
class Answer:
    """What an engine says. `partial`: there may be more."""

    final: frozenset[tuple[int, ...]]
    wrong: frozenset[str]
    partial: bool


def run_engine(name: str, program: Representation, model_name: str) -> Answer | None:
    """None: not to the end, or not at all."""
    model = load_model(model_name)
    limits = Limits(UNROLL, TIMEOUT_S, counts_known_rounds=False)
    task = Task(program, model, limits, search=Search(exact_sections=False))
    try:
        if name == transform.NAME:
            asked = replace(program.property, condition=Condition(Quantifier.EXISTS, Truth(True)))
            prepared = prepare(replace(program, property=asked), model, reduce_updates=False)
            result = transform.run(replace(task, program=prepared))
        else:
            result = SINGLE_ENGINES[name](replace(task, program=prepare(program, model)))
    except (MixedSizes, UnsupportedError):
        return None
    return None if result.stopped_by is not None else _answer(result)


def _answer(result: Result) -> Answer:
    wrong = {_kind(violation.kind, violation.message) for violation in result.violations}
    if result.deadlocks:
        wrong.add(machine.DEADLOCK)
    return Answer(frozenset(map(_signed, result.states)), frozenset(wrong), bool(result.cut or result.bound))


def _kind(kind: str, message: str) -> str:
    if kind == "assertion" and message.startswith("`pthread_"):
        return machine.MISUSE
    return KINDS.get(kind, kind)


def _signed(state: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value - (1 << 32) if value >> 31 else value for value in state)


def difference(name: str, program: Program, expected: Outcomes, answer: Answer, present: Sequence[int]) -> str | None:
    """What the engine has too little of, or too much; `present` are the positions of the variables that it shows."""
    final = {tuple(values[at] for at in present) for values in expected.final}
    unjoined = (
        sum(isinstance(s, Join) for body in program.threads for s in statements_of(body)) < len(program.threads) - 1
    )
    compared = {SAME.get(kind, kind) for kind in expected.wrong}, set(answer.wrong)
    if expected.endless or name == transform.NAME:
        compared = compared[0] - {machine.DEADLOCK}, compared[1] - {machine.DEADLOCK}
    goes_beyond = not MEMORY.isdisjoint(expected.wrong | answer.wrong)
    missing = compared[0] - compared[1]
    extra = compared[1] - compared[0]
    if goes_beyond:
        missing = missing if not compared[1] else set()
        extra = extra if not compared[0] else set()
    if (missing and not answer.partial) or extra:
        return f"missing {sorted(missing)}, too much {sorted(extra)}"
    if goes_beyond or unjoined:
        return None
    lost, invented = final - answer.final, answer.final - final
    if (lost and not answer.partial) or invented:
        return f"lost {sorted(lost)}, invented {sorted(invented)}"
    return None


@dataclass
class Coverage:
    programs: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    not_compared: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def compare(
    program: Program,
    representation: Representation,
    engines: Sequence[str],
    coverage: Coverage,
    *,
    reuse: bool = False,
) -> None:
    coverage.programs += 1
    representation = with_reuse(representation) if reuse else representation
    names = [getattr(item, "symbol", "").rpartition("_")[0] for item in representation.property.observed]
    present = [program.observed.index(name) for name in names]
    for model in MODELS:
        try:
            expected = explore(program, model, reuse=reuse)
        except TooLarge:
            coverage.not_compared["too large"] += 1
            return
        coverage.wrong.update(expected.wrong or {"nothing"})
        if machine.INVALID_JOIN in expected.wrong:
            return
        for engine in engines:
            answer = run_engine(engine, representation, model)
            if answer is None:
                coverage.not_compared[engine] += 1
                continue
            coverage.answers[engine] += 1
            about = difference(engine, program, expected, answer, present)
            if about is not None:
                coverage.problems.append(f"{engine} under {model}: {about}")


def chosen_engines(seed: int) -> tuple[str, ...]:
    """The slow ones have their turn now and then."""
    return (*QUICK, *(SLOW[:1] if seed % 8 == 0 else ()), *(SLOW[1:] if seed % 16 == 1 else ()))


def campaign(seeds: range, flavours: Sequence[str]) -> Iterator[tuple[int, str, Program, Coverage]]:
    """Of each number, the flavour that has its turn."""
    for start in range(seeds.start, seeds.stop, BATCH):
        part = range(start, min(seeds.stop, start + BATCH))
        drawn = [(seed, flavours[seed % len(flavours)]) for seed in part]
        programs = [random_pthread_program(seed, flavour) for seed, flavour in drawn]
        for (seed, flavour), program, representation in zip(drawn, programs, compile_programs(programs), strict=True):
            coverage = Coverage()
            engines = chosen_engines(seed // len(flavours))
            compare(program, representation, engines, coverage, reuse=flavour in WITH_REUSE)
            yield seed, flavour, program, coverage


def is_wrong(program: Program, engines: Sequence[str], *, reuse: bool) -> bool:
    coverage = Coverage()
    try:
        compare(program, compile_programs([program])[0], engines, coverage, reuse=reuse)
    except Exception:
        return False
    return bool(coverage.problems)


def shrunk(program: Program, engines: Sequence[str], *, reuse: bool) -> Program:
    """Without what can be left out while the engines are still wrong."""
    deadline = process_time() + SHRINK_S
    while process_time() < deadline:
        smaller = next((item for item in smaller_programs(program) if is_wrong(item, engines, reuse=reuse)), None)
        if smaller is None:
            break
        program = smaller
    return program


def main(first: int, number: int, flavours: Sequence[str]) -> None:
    total, n_problems, started = Coverage(), Counter[str](), process_time()
    for seed, flavour, program, coverage in campaign(range(first, first + number), flavours):
        total.programs += 1
        total.answers += coverage.answers
        total.not_compared += coverage.not_compared
        total.wrong += coverage.wrong
        if coverage.problems:
            total.problems += coverage.problems
            engines = sorted({problem.split()[0] for problem in coverage.problems})
            n_problems[flavour] += 1
            if n_problems[flavour] <= SHRINK_AT_MOST:
                program = shrunk(program, engines, reuse=flavour in WITH_REUSE)
            print(f"--- {flavour} {seed}: {'; '.join(coverage.problems)}\n{program_text(program)}", flush=True)
    print(f"{total.programs} programs, {process_time() - started:.1f} s; answers {dict(total.answers)}, not compared "
          f"{dict(total.not_compared)}; wrong {dict(total.wrong)}; problems {len(total.problems)}")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or tuple(FLAVOURS))
