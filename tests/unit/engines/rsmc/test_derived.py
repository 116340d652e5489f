"""Commit-before orders of models that come without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, Flavour, programs

from dekker.cat.model import Model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.derived import NOT_COHERENT, Refusal, derive_order
from dekker.engines.rsmc.orders import CommitOrder
from dekker.execution import Event
from dekker.ir.instructions import Order
from dekker.ir.text import print_program
from dekker.models import FOLDER, load_model
from dekker.run.batch import BatchOptions, run_file
from dekker.task import Limits, Task

READ, WRITE = Event("R", 0, 0), Event("W", 0, 0)
SYNC, LWSYNC = Event("F", 0, 0, fence="sync"), Event("F", 0, 0, fence="lwsync")
UPDATE = frozenset(Event(kind, 0, 0, tags=frozenset(("AMO", "RMW"))) for kind in "RW")
PLAIN = frozenset((READ, WRITE))
COHERENCE = "acyclic po-loc | rf | co | fr as coherence\n"


def model(folder: Path, text: str) -> Model:
    file = folder / "mine.cat"
    file.write_text(f'"mine"\n{text}', encoding="utf-8")
    return load_model(str(file))


def derived(folder: Path, text: str, events: frozenset[Event] = PLAIN) -> CommitOrder | Refusal:
    return derive_order(model(folder, text).program, events)


@pytest.mark.parametrize(
    "text",
    [
        "acyclic po | rf | co | fr as sc\n",
        COHERENCE + "acyclic (po \\ (W * R)) | rfe | co | fr as tso\n",
        COHERENCE + "acyclic po & (R * M) | rfe as reads\n",
        "let com = rf | co | fr\nacyclic po-loc | com\nlet rec hb = rfe | ([R]; po; [W]) | (hb; hb)\nacyclic hb\n",
    ],
)
def test_program_order_where_it_is_shown_to_have_no_cycle_with_reads_from(tmp_path: Path, text: str) -> None:
    found = derived(tmp_path, text)
    assert isinstance(found, CommitOrder)
    assert found.in_order


def test_program_order_if_all_reads_acquire(tmp_path: Path) -> None:
    text = COHERENCE + "acyclic ([A]; po) | rfe as acquire\n"
    acquiring = frozenset((Event("R", 0, 0, order=Order.ACQUIRE), WRITE))
    found = derived(tmp_path, text, acquiring)
    assert isinstance(found, CommitOrder)
    assert found.in_order
    assert isinstance(derived(tmp_path, text, acquiring | {READ}), Refusal)


def test_dependencies_where_they_are_ordered(tmp_path: Path) -> None:
    text = COHERENCE + (
        "let dp = addr | data | ctrl & (R * W) | addr; po & (M * W)\n"
        "let kept = dp | (addr | data); (rfi | (po-loc & (coe; rfe))) | fencerel(SYNC) | po & loc & (R * R)\n"
        "acyclic kept | rfe as order\n"
    )
    found = derived(tmp_path, text, PLAIN | {SYNC, LWSYNC})
    assert isinstance(found, CommitOrder)
    assert not found.in_order
    assert (found.same_location_reads, found.same_location_writes) == (True, False)
    assert sorted(found.fence_pairs(SYNC)) == ["RR", "RW", "WR", "WW"]
    assert not list(found.fence_pairs(LWSYNC))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (COHERENCE, "and program order from reads to writes"),
        ("acyclic po & (R * W) | rfe\n", "program order per location and all communication"),
        ("acyclic po | rf | co | fr\n~empty rf as some\n", "'some' is negated"),
        ("acyclic po | rf | co | fr\nempty co \\ (fr^-1; fr) as odd\n", "'odd' subtracts something that grows"),
    ],
)
def test_refusals_say_which_condition_fails(tmp_path: Path, text: str, reason: str) -> None:
    found = derived(tmp_path, text)
    assert isinstance(found, Refusal)
    assert reason in found.in_order


WITHOUT_ACYCLIC = "irreflexive fr; rf as mine\n"


@pytest.mark.parametrize("kinds", ["R", "W", "RW"])
def test_models_without_an_acyclic_check_are_refused(tmp_path: Path, kinds: str) -> None:
    found = derived(tmp_path, WITHOUT_ACYCLIC, frozenset(Event(kind, 0, 0) for kind in kinds))
    assert isinstance(found, Refusal)
    assert found.by_dependencies == NOT_COHERENT


def test_without_accesses_nothing_need_be_held(tmp_path: Path) -> None:
    assert isinstance(derived(tmp_path, WITHOUT_ACYCLIC, frozenset((SYNC,))), CommitOrder)
    assert isinstance(derived(tmp_path, WITHOUT_ACYCLIC, frozenset()), CommitOrder)


def test_a_program_that_only_reads_is_left_to_the_oracle(tmp_path: Path) -> None:
    file, test = tmp_path / "mine.cat", tmp_path / "reads.litmus"
    file.write_text(f'"mine"\n{WITHOUT_ACYCLIC}', encoding="utf-8")
    test.write_text("X86 reads\n{ }\n P0 ;\n MOV EAX,[x] ;\nexists (0:EAX=0)\n", encoding="utf-8")
    record = run_file(str(test), BatchOptions(str(file)))
    assert (record.error, record.engine, record.verdict) == (None, "axiomatic", "Ok")


def test_updates_must_be_atomic(tmp_path: Path) -> None:
    total = "acyclic po | rf | co | fr as total\n"
    found = derived(tmp_path, total, PLAIN | UPDATE)
    assert isinstance(found, Refusal)
    assert "between the halves of an update" in found.in_order
    atomic = derived(tmp_path, total + "empty rmw & (fre; coe) as atomic\n", PLAIN | UPDATE)
    assert isinstance(atomic, CommitOrder)
    assert atomic.in_order


def copy_of(name: str, folder: Path) -> Model:
    file = folder / "mine.cat"
    file.write_text((FOLDER / f"{name}.cat").read_text(encoding="utf-8"), encoding="utf-8")
    return load_model(str(file))


@pytest.mark.parametrize("n_definitions", [40, 2000])
def test_definitions_that_use_one_another_often(tmp_path: Path, n_definitions: int) -> None:
    """The time does not grow with the number of ways from one to another; a chain that is too long is refused."""
    chain = "".join(f"let a{i + 1} = (a{i}; a{i}) | (a{i} & rf)\n" for i in range(n_definitions))
    text = f"let a0 = po\n{chain}acyclic po | rf | co | fr as sc\nacyclic a{n_definitions} | com as mine\n"
    assert derived(tmp_path, text) is not None


@pytest.mark.parametrize("name", ["rc11", "rmo"])
def test_models_whose_coherence_is_not_one_acyclic_check_are_refused(tmp_path: Path, name: str) -> None:
    """RC11 says it with irreflexive checks; RMO lets two reads of one location be reordered."""
    found = derive_order(copy_of(name, tmp_path).program, PLAIN)
    assert isinstance(found, Refusal)
    assert "program order per location and all communication" in found.in_order + found.by_dependencies


@pytest.mark.parametrize(
    ("name", "flavour", "in_order"),
    [
        ("sc", HARDWARE, True),
        ("tso", HARDWARE, True),
        ("pso", HARDWARE, True),
        ("ghb-tso", PLAIN_ACCESSES, True),
        ("power", PLAIN_ACCESSES, False),
        ("armv7", PLAIN_ACCESSES, False),
    ],
)
@settings(max_examples=25)
@given(data=st.data())
def test_copies_of_built_in_models(
    tmp_path_factory: pytest.TempPathFactory, name: str, flavour: Flavour, in_order: bool, data: st.DataObject
) -> None:
    """They are not known by name, so their orders are derived; counts are still those of the oracle."""
    program = data.draw(programs(flavour))
    mine = copy_of(name, tmp_path_factory.mktemp("model"))
    task = Task(program, mine, Limits(timeout_s=30))
    assert rsmc.commit_order(task).in_order or not in_order
    found, expected = rsmc.run(task), axiomatic.run(task)
    if expected.stopped_by is None:
        assert found.states == expected.states, print_program(program)
        assert found.flags.keys() == expected.flags.keys()
