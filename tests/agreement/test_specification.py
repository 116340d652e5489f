"""Loose branches, assumptions, assertions and loads: the explorer, which guesses them, against the oracle."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.source import Source
from dekker.task import Limits, Task

MODELS = ("power", "aarch64", "riscv", "rmo", "sc", "rc11")
LOCATIONS = ("x", "y")


def random_text(seed: int) -> str:
    draw = random.Random(seed)
    threads = [_thread(draw, number) for number in range(draw.choice((2, 2, 2, 3)))]
    objects = "".join(f"object {name}[8]\n" for name in LOCATIONS) + "object pair[16]\n"
    starts = "".join(f"thread t{number} runs t{number}\n" for number in range(len(threads)))
    seen = ", ".join(f"{number}:r0, {number}:r1" for number in range(len(threads)))
    return f"program test\narchitecture C\n{objects}{''.join(threads)}{starts}observe {seen}, [x].8, [y].8\n"


def _thread(draw: random.Random, number: int) -> str:
    lines: list[str] = []
    known: list[str] = []
    for index in range(draw.choice((2, 3, 3, 4))):
        if not known or (len(known) < 2 and draw.random() < 0.4):
            register = f"r{len(known)}"
            lines.append(f"{register} = load.8 [&{draw.choice(LOCATIONS)}] relaxed")
            known.append(register)
            continue
        lines += _step(draw, draw.choice(known), index)
    return (
        f"function t{number}() {{\n"
        + "".join(f"  {line}\n" if line[-1] != ":" else f"{line}\n" for line in lines)
        + "}\n"
    )


def _step(draw: random.Random, register: str, index: int) -> list[str]:
    place, number = draw.choice(LOCATIONS), draw.choice((1, 2))
    condition = f"{register} {draw.choice(('eq', 'ne'))}.64 {draw.choice((0, 1))}"
    store = f"store.8 [&{place}] = {draw.choice((str(number), register, f'{register} add.64 1'))} relaxed"
    loose = draw.choice((" loose", " loose", ""))
    match draw.choice(("store", "store", "branch", "branch", "assume", "assert", "look", "look", "rmw", "fence")):
        case "branch":
            return [f"branch{loose} {condition} -> l{index}", store, f"l{index}:"]
        case "assume":
            return [f"assume{loose} {condition}", store]
        case "assert":
            return [f'assert{loose} {condition}, "asked"', store]
        case "look":
            own = f"&{draw.choice(LOCATIONS)} add.64 ({register} and.64 0)"
            address = draw.choice((own, own, f"&pair add.64 (({register} eq.64 1) mul.64 8)"))
            return [f"s{index} = load.8{loose} [{address}] relaxed", store]
        case "rmw":
            return [
                f"s{index} = rmw.xchg.8 [&{place}], {number} relaxed",
                f"branch{loose} s{index} -> l{index}",
                store,
                f"l{index}:",
            ]
        case "fence":
            return ["fence c11.seq_cst", store]
    return [store]


def answer(result: Result) -> object:
    told = sorted({(violation.kind, str(violation.span)) for violation in result.violations})
    return sorted(result.states.items()), told, result.deadlocks


def disagreement(seed: int, model_name: str) -> str | None:
    program = parse_program(Source("test.ir", random_text(seed)))
    validate(program)
    task = Task(program, load_model(model_name), Limits(counts_known_rounds=False))
    try:
        found = [answer(engine.run(task)) for engine in (rsmc, axiomatic)]
    except UnsupportedError:
        return None
    return None if found[0] == found[1] else f"{random_text(seed)}{model_name}: {found}"


@pytest.mark.parametrize("model", MODELS)
def test_guesses_agree_with_the_oracle(model: str) -> None:
    found = (disagreement(seed, model) for seed in range(60))
    assert next((text for text in found if text is not None), None) is None


def test_what_everything_waits_for_is_not_guessed() -> None:
    """Each wrong guess would be a run in vain: their number would double with every round."""
    rounds = "".join(
        f"r{i} = load.8 [&x]\nbranch r{i} and.64 0 -> a{i}\na{i}:\nbranch loose r{i} eq.64 0 -> b{i}\nb{i}:\n"
        for i in range(8)
    )
    text = f"program test\narchitecture C\nobject x[8]\nfunction reads() {{\n{rounds}}}\n"
    text += "function writes() {\nstore.8 [&x] = 1\n}\nthread t0 runs reads\nthread t1 runs writes\nobserve [x].8\n"
    result = rsmc.run(Task(parse_program(Source("test.ir", text)), load_model("power")))
    assert (sum(result.states.values()), result.statistics["abandoned"]) == (9, 0)


@pytest.mark.parametrize("engine", [axiomatic, rsmc])
@pytest.mark.parametrize("offset", [1, 8, 4096])
def test_in_front_of_the_null_pointer_is_no_object(engine: ModuleType, offset: int) -> None:
    text = f"program p\narchitecture C\nobject x[8]\nfunction main() {{\n  store.8 [q sub.64 {offset}] = 1\n}}\n"
    program = parse_program(Source("p.ir", f"{text}thread main runs main\nobserve [x].8\n"))
    result = engine.run(Task(program, load_model("power"), Limits(counts_known_rounds=False)))
    assert {violation.kind for violation in result.violations} == {"memory"}
