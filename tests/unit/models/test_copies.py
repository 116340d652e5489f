"""A copy of a built-in model is that model, whatever it and its definitions are called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker.cat.model import Model
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.frontends import parse_program
from dekker.ir.program import Program
from dekker.models import FOLDER, load_model, model_names, shipped_as
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Task
from dekker.transform.rules import rules_for

MODELS = model_names()

UPDATES = """C updates
{ x=0; y=0; }
P0(atomic_int *x, atomic_int *y) {
  int r0 = atomic_exchange_explicit(x, 1, memory_order_acq_rel);
  int r1 = atomic_load_explicit(y, memory_order_relaxed);
}
P1(atomic_int *x, atomic_int *y) {
  atomic_store_explicit(y, 1, memory_order_seq_cst);
  int r2 = atomic_fetch_add_explicit(x, 2, memory_order_relaxed);
}
exists (0:r1=0 /\\ 1:r2=0)
"""
RELAXED = UPDATES.replace("atomic_exchange_explicit(x, 1, memory_order_acq_rel)", "atomic_load(x)").replace(
    "atomic_fetch_add_explicit(x, 2, memory_order_relaxed)", "atomic_load(x)"
)


def renamed(text: str) -> str:
    """With another title and other names of definitions and checks; the layout differs, too."""
    for name in re.findall(r"^let (?:rec )?([a-z][\w-]*) =|^ *and ([a-z][\w-]*) =", text, re.MULTILINE):
        word = name[0] or name[1]
        if word != "rs":  # an included file asks for it
            text = re.sub(rf"(?<![\w.\"-]){word}(?![\w-])", f"my-{word}", text)
    text = re.sub(r"^((?:acyclic|irreflexive|empty).*) as [\w-]+$", r"\1 as  some-check", text, flags=re.MULTILINE)
    return re.sub(r'^".*"', '"A copy"\n(* of another *)\n', text)


def rearranged(text: str) -> str:
    """With the checks in another order, one of them twice, operands of unions changed round, and something unused."""
    checks = re.findall(r"^(?:acyclic|irreflexive|empty|flag).*$", text, re.MULTILINE)
    for check in checks:
        text = text.replace(check, "", 1)
    swapped = [re.sub(r"^acyclic (\S+) \| (\S+) as", r"acyclic \2 | \1 as", check) for check in reversed(checks)]
    again = [check.replace(" as ", " as again-") for check in checks[:1] if not check.startswith("flag")]
    return "\n".join([text, "let unused = rf | co", *swapped, *again, ""])


def copy_of(name: str, folder: Path, *, rename: bool = False) -> Model:
    file = folder / "mine.cat"
    text = (FOLDER / f"{name}.cat").read_text(encoding="utf-8")
    file.write_text(renamed(text) if rename else text, encoding="utf-8")
    return load_model(str(file))


def program(text: str) -> Program:
    return parse_program(Source("test.litmus", text))


@pytest.mark.parametrize("rename", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_copy_is_known(tmp_path: Path, name: str, rename: bool) -> None:
    assert shipped_as(load_model(name)) == name
    assert shipped_as(copy_of(name, tmp_path, rename=rename)) == name


@pytest.mark.parametrize("name", MODELS)
def test_order_makes_no_model(tmp_path: Path, name: str) -> None:
    file = tmp_path / "mine.cat"
    file.write_text(rearranged((FOLDER / f"{name}.cat").read_text(encoding="utf-8")), encoding="utf-8")
    assert shipped_as(load_model(str(file))) == name


def test_one_check_less_is_another_model(tmp_path: Path) -> None:
    file = tmp_path / "mine.cat"
    text = (FOLDER / "power.cat").read_text(encoding="utf-8")
    file.write_text(re.sub(r"^acyclic .* as reservations$", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert shipped_as(load_model(str(file))) is None


def result(text: str, model: Model) -> object:
    try:
        found = rsmc.run(Task(prepare(program(text), model), model))
    except UnsupportedError as error:
        return str(error).replace(model.name, "MODEL")
    return found.states, found.flags, found.statistics["commits"]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("text", [UPDATES, RELAXED])
def test_a_copy_runs_as_the_model_does(tmp_path: Path, text: str, name: str) -> None:
    shipped, copy = load_model(name), copy_of(name, tmp_path, rename=True)
    assert result(text, copy) == result(text, shipped)
    assert prepare(program(text), copy) == prepare(program(text), shipped)


@pytest.mark.parametrize("name", states.MODELS)
def test_states_search_under_a_copy(tmp_path: Path, name: str) -> None:
    shipped, copy = load_model(name), copy_of(name, tmp_path)
    found = [states.run(Task(prepare(program(UPDATES), model), model)) for model in (shipped, copy)]
    assert found[0].states.keys() == found[1].states.keys()
    assert found[0].statistics["states"] == found[1].statistics["states"]


def test_what_fences_a_copy_has(tmp_path: Path) -> None:
    assert rules_for(copy_of("power", tmp_path)).name == "power"


def test_a_copy_on_the_command_line(tmp_path: Path) -> None:
    file, copy = tmp_path / "updates.litmus", tmp_path / "mine.cat"
    file.write_text(UPDATES, encoding="utf-8")
    for name in ("rc11", "cpp20", "aarch64"):
        copy.write_text((FOLDER / f"{name}.cat").read_text(encoding="utf-8"), encoding="utf-8")
        shipped, copied = (
            dekker("litmus", str(file), "--engine", "rsmc", "-m", model).out for model in (name, str(copy))
        )
        assert copied.splitlines()[:-2] == shipped.splitlines()[:-2]


def test_a_name_makes_no_model(tmp_path: Path) -> None:
    file = tmp_path / "tso.cat"
    file.write_text('"TSO"\nacyclic po-loc | com as sc-per-location\n', encoding="utf-8")
    model = load_model(str(file))
    assert (model.name, shipped_as(model)) == ("tso", None)
    with pytest.raises(UnsupportedError, match="that come with Dekker, not 'tso'"):
        states.run(Task(program(RELAXED), model))
    with pytest.raises(UnsupportedError, match="not known for the model"):
        rules_for(model)
