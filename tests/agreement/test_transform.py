"""The abstract machine, and programs in which its delays are spelled out, against the oracle under the framework's
models."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from tests.reference.delaying_machine import Outside, outcomes

from dekker.engines.axiomatic import engine as oracle
from dekker.errors import UnsupportedError
from dekker.frontends import parse_files
from dekker.fuzz.delays import program_with_starts, random_program
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import Branch, Fence, Instruction, Load, Store
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import Property, RegisterValue
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run import transform
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Search, Task
from dekker.transform.selection import Strategy

MODELS = ("tso", "pso", "rmo", "power")
STRATEGIES = tuple(item.value for item in Strategy)
OWN_TESTS = Path(__file__).parents[1] / "corpus" / "tests"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
LIMITS = Limits(timeout_s=10)
CAMPAIGN_LIMITS = Limits(timeout_s=120)
MOST_COMBINATIONS = 2000


def task_for(program: Program, model: str, strategy: str = "weighted", limits: Limits = Limits()) -> Task:
    return Task(program, load_model(f"ghb-{model}"), limits, search=Search(select=strategy))


def expected(program: Program, model: str) -> set[tuple[int, ...]]:
    return set(oracle.run(task_for(program, model)).states)


def litmus(path: Path, model: str) -> Program:
    program = parse_files((str(path),))
    validate(program)
    return prepare(program, load_model(f"ghb-{model}"))


def own_tests() -> list[Path]:
    found = [path for folder in ("PPC", "X86") for path in OWN_TESTS.rglob("*.litmus") if _is_for(path, folder)]
    return sorted(found)


def _is_for(path: Path, architecture: str) -> bool:
    return path.read_text(encoding="utf-8").split(None, 1)[0].upper() == architecture


def corpus_tests(every: int) -> list[Path]:
    if not CORPUS.is_dir():
        pytest.skip("the litmus corpus does not lie beside the repository")
    return [path for name in ("PPC", "X86") for path in sorted((CORPUS / name).rglob("*.litmus"))[::every]]


# --- the machine


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(12))
def test_the_machine_does_what_the_axioms_allow(model: str, seed: int) -> None:
    program = random_program(seed, model)
    assert outcomes(program, model, (0, 1, 2)) == expected(program, model)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_machine_does_what_the_axioms_allow_on_many_programs(model: str) -> None:
    for seed in range(100, 3100):
        program = random_program(seed, model)
        assert outcomes(program, model, (0, 1, 2)) == expected(program, model), program.name


@pytest.mark.parametrize("model", MODELS)
def test_the_machine_on_classic_tests(model: str) -> None:
    assert _compare_machine(own_tests()[::5], model) > 10


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_machine_on_the_corpus(model: str) -> None:
    assert _compare_machine(corpus_tests(1), model) > 500


def _compare_machine(paths: list[Path], model: str) -> int:
    """On those tests that the interpreter knows, and that are small enough for it. It guesses what is read among small
    numbers, so there must be no pointers in memory."""
    compared = 0
    for path in paths:
        program = litmus(path, model)
        if any(isinstance(cell.value, Address) for item in program.objects for cell in item.cells):
            continue
        values = {0} | {value for value in _constants(program) if value < 16}
        n_reads = sum(isinstance(step, Load) for item in program.functions for step in item.body)
        if len(values) ** n_reads > MOST_COMBINATIONS or program.property.filter is not None:
            continue
        try:
            found = outcomes(program, model, values)
        except Outside:
            continue
        assert found == expected(program, model), path
        compared += 1
    return compared


def _expressions(step: Instruction) -> list[Expr]:
    parts = (getattr(step, item.name) for item in fields(step))
    return [part for part in parts if isinstance(part, Const | Unary | Binary | Select)]


def _constants(program: Program) -> set[int]:
    steps = (step for item in program.functions for step in item.body)
    found = {value for step in steps for part in _expressions(step) for value in _numbers(part)}
    initial = {value.value for item in program.threads for _, value in item.registers if isinstance(value, Const)}
    cells = {cell.value for item in program.objects for cell in item.cells if isinstance(cell.value, int)}
    return found | initial | cells


def _numbers(expression: Expr) -> set[int]:
    match expression:
        case Const(value):
            return {value}
        case Unary(_, _, operand):
            return _numbers(operand)
        case Binary(_, _, left, right):
            return _numbers(left) | _numbers(right)
        case Select(condition, then, other):
            return _numbers(condition) | _numbers(then) | _numbers(other)
    return set()


# --- instrumented programs


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_missed_and_nothing_is_spurious(model: str, strategy: str) -> None:
    for seed in range(5 if strategy == "every-access" else 10):
        program = random_program(seed, model)
        found = set(transform.run(task_for(program, model, strategy)).states)
        assert found == expected(program, model), (program.name, strategy)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", MODELS)
def test_cycles_pass_through_the_start_and_the_end_of_threads(model: str, strategy: str) -> None:
    for seed in range(10 if strategy == "every-access" else 50):
        _compare_starts(seed, model, strategy)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_cycles_pass_through_starts_and_ends_in_many_programs(model: str) -> None:
    for seed in range(1000, 4000):
        for strategy in STRATEGIES:
            _compare_starts(seed, model, strategy)


def _compare_starts(seed: int, model: str, strategy: str) -> None:
    program = program_with_starts(seed, model)
    result = transform.run(task_for(program, model, strategy, LIMITS))
    if result.stopped_by is None:
        assert set(result.states) == expected(program, model), (program.name, strategy)


@pytest.mark.parametrize("model", MODELS)
def test_updates_are_atomic(model: str) -> None:
    compared = 0
    for seed in range(12):
        program = random_program(seed, model, updates=True)
        result = transform.run(task_for(program, model, limits=LIMITS))
        if result.stopped_by is None:
            assert set(result.states) == expected(program, model), program.name
            compared += 1
    assert compared > 6


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_missed_and_nothing_is_spurious_in_many_programs(model: str) -> None:
    for seed in range(1000, 21000):
        program = random_program(seed, model)
        wanted = expected(program, model)
        for strategy in STRATEGIES:
            found = set(transform.run(task_for(program, model, strategy)).states)
            assert found == wanted, (program.name, strategy)


@pytest.mark.parametrize("model", MODELS)
def test_classic_tests_have_the_outcomes_of_the_model(model: str) -> None:
    tests = own_tests()[::12]
    equal, _, endless = _compared(tests, model, "weighted", LIMITS)
    assert len(equal) > len(tests) // 2
    assert not endless


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", MODELS)
def test_the_corpus_has_the_outcomes_of_the_model(model: str, strategy: str) -> None:
    tests = corpus_tests(1)
    equal, outside, endless = _compared(tests, model, strategy, CAMPAIGN_LIMITS)
    print(f"\n{model} {strategy}: {len(equal)} equal, {len(outside)} outside, not ended: {endless}")
    assert len(equal) > len(tests) // 2
    assert not endless or strategy in ("all-pairs", "every-access")


def _compared(paths: list[Path], model: str, strategy: str, limits: Limits) -> tuple[list[Path], ...]:
    """Tests with the same outcomes; those outside of the framework; those that take too long."""
    equal, outside, endless = list[Path](), list[Path](), list[Path]()
    for path in paths:
        program = litmus(path, model)
        try:
            result = transform.run(task_for(program, model, strategy, limits))
        except UnsupportedError:
            outside.append(path)
            continue
        if result.stopped_by is not None:
            endless.append(path)
            continue
        assert set(result.states) == expected(program, model), (path, strategy)
        equal.append(path)
    return equal, outside, endless


KEPT_STEP_BY_STEP = """
program "r" architecture none
object x[4] object y[4]
function P0() {
  store.4 [&y] = 1
  fence membar.storeload
  r0 = load.4 [&x]
  branch r0 eq.32 0 -> L
L:
  store.4 [&x] = 3
}
function P1() {
  r0 = load.4 [&x]
  r1 = load.4 [&y]
}
thread P0 runs P0
thread P1 runs P1
observe 0:r0:32, 1:r0:32, 1:r1:32
"""
WRITTEN_BY_A_THIRD = """
program "w" architecture none
object x[4] object y[4]
function P0() {
  r0 = load.4 [&x]
  fence lwsync
  r1 = load.4 [&y]
}
function P1() {
  r0 = load.4 [&x]
  store.4 [&x] = 3
}
function P2() {
  store.4 [&y] = 1
  fence sync
  store.4 [&x] = 2
}
thread P0 runs P0
thread P1 runs P1
thread P2 runs P2
observe 0:r0:32, 0:r1:32, 1:r0:32, [x].4
"""


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("text", "model"), [(KEPT_STEP_BY_STEP, "rmo"), (WRITTEN_BY_A_THIRD, "power")])
def test_programs_of_which_selections_lost_something(text: str, model: str, strategy: str) -> None:
    """A store that is kept before another by way of a load cannot be delayed beyond it; and what is read may be the
    write of a thread that has seen the one that the cycle speaks of."""
    program = parse_program(Source("program.ir", text))
    found = set(transform.run(task_for(program, model, strategy)).states)
    assert found == expected(program, model)


def test_a_branch_on_a_delayed_read_comes_before_it_is_performed() -> None:
    """MP+sync+ctrl: where reads are performed at the branch that uses them, this outcome is lost."""
    program = _message_passing(Branch(Binary("eq", 32, Reg("r0"), Const(1)), "end"))
    found = set(transform.run(task_for(program, "power")).states)
    assert (1, 0) in found
    assert found == expected(program, "power")


def test_a_dependency_keeps_reads_in_order() -> None:
    program = _message_passing(None)
    found = set(transform.run(task_for(program, "power", "every-access")).states)
    assert (1, 0) not in found
    assert found == expected(program, "power")


def _message_passing(branch: Branch | None) -> Program:
    """With a strong fence in the writer; the reader branches on the flag, or takes its address from it."""
    nothing = Binary("xor", 64, Reg("r0"), Reg("r0"))
    place: Expr = Address("x") if branch is not None else Binary("add", 64, Address("x"), nothing)
    reader = (Load("r0", Address("y"), 4), *((branch,) if branch is not None else ()), Load("r1", place, 4))
    writer = (Store(Address("x"), Const(1), 4), Fence("sync"), Store(Address("y"), Const(1), 4))
    functions = (Function("P0", (), writer), Function("P1", (), reader, {"end": 2}))
    return Program(
        "MP",
        "none",
        (Object("x", 4), Object("y", 4)),
        functions,
        (Thread("P0", "P0"), Thread("P1", "P1")),
        Property(None, None, (RegisterValue(1, "r0", 32), RegisterValue(1, "r1", 32))),
    )


# --- addresses that are computed


FROM_X_TO_Y = """\
program computed
architecture none
object x[8]
object y[8]
function P0() {
  r0 = load.4 [&y]
  store.4 [&x] = 1
}
function P1() {
  store.4 [&y] = 1
  store.4 [&x] = 4
  r0 = load.4 [&y]
  store.4 [&x add.64 (INDEX mul.64 128)] = 6
}
thread P0 runs P0
thread P1 runs P1
observe 0:r0, 1:r0, [x].4, [y].4
"""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("index", ["(r0 and.64 1)", "r0"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_address_that_leads_from_one_location_to_another(model: str, index: str, strategy: str) -> None:
    program = parse_program(Source("computed.ir", FROM_X_TO_Y.replace("INDEX", index)))
    found = transform.run(task_for(program, model, strategy))
    assert set(found.states) == expected(program, model)
