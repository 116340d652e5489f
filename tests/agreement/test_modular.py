"""The modular engine against the oracle, rsmc, states and the paper's own criterion, on random Lang programs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.reference.lang_outcomes import ENGINES, UNROLL, by_candidates, by_engine, by_printed_rules

from dekker.engines.modular.engine import ModularOptions
from dekker.engines.modular.engine import run as run_modular
from dekker.engines.modular.rules import RULE_SETS
from dekker.frontends.lang.instances import program_of, system_of
from dekker.frontends.lang.syntax import Assign, Block, Labelled, LangFile, Register
from dekker.fuzz.lang import Size, lang_program
from dekker.ir.thread_classes import (
    AtLabel,
    ForbiddenState,
    Member,
    MemberRegister,
    Number,
    Operation,
    StateTerm,
)
from dekker.models import load_model
from dekker.result import Verdict, verdict
from dekker.task import Limits, Task

SLICE = 150
CAMPAIGN = 3000
COMMON = ("sc", "tso", "pso")
SMALL = Size(accesses=3, total=5)
THREE_THREADS = Size(threads=(3, 3), accesses=3, total=7)


def require_same_as_the_oracle(seed: int, model: str, size: Size | None = None) -> None:
    file = lang_program(seed, size)
    assert by_candidates(file, model) == by_engine(file, model), f"lang_program({seed}, {size}) under {model}"


def test_the_random_programs_tell_the_models_apart() -> None:
    """Otherwise all that follows would say little."""
    differ = dict.fromkeys(("ibm370", "tso", "pso"), 0)
    for seed in range(SLICE):
        outcomes = [by_candidates(lang_program(seed), model) for model in ("sc", *differ)]
        for model, stronger, weaker in zip(differ, outcomes, outcomes[1:], strict=False):
            assert stronger <= weaker
            differ[model] += stronger != weaker
    assert all(differ.values()), differ
    assert differ["ibm370"] > SLICE // 15


@pytest.mark.parametrize("model", RULE_SETS)
def test_final_states_are_those_of_the_oracle(model: str) -> None:
    for seed in range(SLICE):
        require_same_as_the_oracle(seed, model)


@pytest.mark.slow
@pytest.mark.parametrize("model", RULE_SETS)
def test_final_states_are_those_of_the_oracle_campaign(model: str) -> None:
    for seed in range(SLICE, SLICE + CAMPAIGN):
        require_same_as_the_oracle(seed, model)
    for seed in range(CAMPAIGN // 10):
        require_same_as_the_oracle(seed, model, THREE_THREADS)


@pytest.mark.parametrize("model", COMMON)
@pytest.mark.parametrize("engine", ["rsmc", "states"])
def test_final_states_are_those_of_the_other_engines(engine: str, model: str) -> None:
    for seed in range(1000, 1000 + SLICE):
        file = lang_program(seed)
        assert by_candidates(file, model) == by_engine(file, model, engine), f"lang_program({seed}) under {model}"


@pytest.mark.slow
@pytest.mark.parametrize("model", COMMON)
@pytest.mark.parametrize("engine", ["rsmc", "states"])
def test_final_states_are_those_of_the_other_engines_campaign(engine: str, model: str) -> None:
    for seed in range(10_000, 10_000 + CAMPAIGN):
        file = lang_program(seed)
        assert by_candidates(file, model) == by_engine(file, model, engine), f"lang_program({seed}) under {model}"


def test_rsmc_knows_ibm370() -> None:
    for seed in range(SLICE):
        file = lang_program(seed)
        assert by_candidates(file, "ibm370") == by_engine(file, "ibm370", "rsmc"), f"lang_program({seed})"


@pytest.mark.parametrize("seed", [12, 13, 20, 41])
def test_programs_on_which_the_printed_rules_fail(seed: int) -> None:
    """They lose outcomes, because registers that are used block what could overtake, and find others that no machine
    shows, because what is left in the code changes its meaning."""
    file = lang_program(seed)
    outcomes, printed = by_engine(file, "tso"), by_printed_rules(file)
    assert outcomes - printed
    assert by_candidates(file, "tso") == outcomes


def test_the_printed_rules_are_mostly_right() -> None:
    """The reference is the paper's method, not a caricature of it."""
    right = 0
    seeds = [seed for seed in range(30) if "Choose" not in repr(lang_program(seed))]
    for seed in seeds:
        file = lang_program(seed)
        right += by_printed_rules(file) == by_candidates(file, "tso")
    assert len(seeds) * 0.8 < right < len(seeds)


# --- forbidden states: what the modular engine sees on the way, others see because threads may stop


def with_forbidden(seed: int) -> LangFile:
    """A random program with a label in each process, and a state of both labels, perhaps of a register, too."""
    file = lang_program(seed, SMALL)
    random = Random(seed)
    processes = tuple(replace(process, body=_labelled(process.body, random)) for process in file.processes)
    term: StateTerm = Operation("and", (AtLabel(Member("P0"), "here"), AtLabel(Member("P1"), "here")))
    draw = random.random()
    if draw < 0.4:
        register = MemberRegister(Member(random.choice(("P0", "P1"))), "r0")
        term = Operation("and", (term, Operation("eq", (register, Number(random.randint(0, 1))))))
    elif draw < 0.6:
        values = (MemberRegister(Member("P0"), "r0"), MemberRegister(Member("P1"), "r1"))
        term = Operation("and", (AtLabel(Member("P0"), "here"), Operation("eq", values)))
    return replace(file, processes=processes, forbidden=(ForbiddenState(term),))


def _labelled(body: Block, random: Random) -> Block:
    place = random.randint(0, len(body.statements))
    zeros = tuple(Assign(name, Register(name)) for name in ("r0", "r1"))
    return Block((*zeros, *body.statements[:place], Labelled("here", Block()), *body.statements[place:]))


def require_same_verdict(seed: int, model: str, engine: str) -> Verdict:
    file = with_forbidden(seed)
    found = run_modular(system_of(file), ModularOptions(model)).verdict
    program = program_of(file)
    result = ENGINES[engine](Task(program, load_model(model), Limits(unroll=UNROLL)))
    assert found is verdict(result, program.property.condition), f"with_forbidden({seed}) under {model}"
    return found


@pytest.mark.parametrize("model", RULE_SETS)
def test_forbidden_states_are_those_of_the_oracle(model: str) -> None:
    verdicts = [require_same_verdict(seed, model, "axiomatic") for seed in range(60)]
    assert {Verdict.SAFE, Verdict.UNSAFE} == set(verdicts)


@pytest.mark.parametrize("engine", ["rsmc", "states"])
def test_forbidden_states_are_those_of_other_engines(engine: str) -> None:
    for seed in range(100, 160):
        require_same_verdict(seed, "tso", engine)


@pytest.mark.slow
@pytest.mark.parametrize("model", RULE_SETS)
def test_forbidden_states_are_those_of_the_oracle_campaign(model: str) -> None:
    for seed in range(1000, 2000):
        require_same_verdict(seed, model, "axiomatic")
