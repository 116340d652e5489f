from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.unit.cat.naive import naive_checks
from tests.unit.models.executions import random_executions

from dekker.cat.interpreter import evaluate
from dekker.errors import DekkerError, ModelError
from dekker.execution import Execution, base_value
from dekker.ir.fences import FENCES
from dekker.models import FOLDER, describe, load_model, model_names

BUILT_IN = ["sc", "ibm370", "tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv", "cpp20", "rc11"]
SYNTHETIC = ["ghb-power", "ghb-pso", "ghb-rmo", "ghb-tso"]


def allows(model: str, execution: Execution) -> bool:
    program = load_model(model).program
    outcomes = evaluate(program, len(execution.events), inputs(model, execution))
    return all(holds or check.flag for holds, check in zip(outcomes, program.checks, strict=True))


def inputs(model: str, execution: Execution) -> dict[str, int | list[int]]:
    return {item.name: base_value(item.name, execution) for item in load_model(model).program.inputs}


def test_names_and_titles() -> None:
    assert list(model_names()) == [*BUILT_IN, *SYNTHETIC]
    assert [name for name, _ in describe()] == list(model_names())
    for name, title in describe():
        assert title == load_model(name).title
        assert 0 < len(title) < 80
        assert "\n" not in title


@pytest.mark.parametrize("name", [*BUILT_IN, *SYNTHETIC])
def test_files_say_what_they_are(name: str) -> None:
    text = (FOLDER / f"{name}.cat").read_text(encoding="utf-8")
    for word in ("Source: ", "Axioms: ", "(*"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120
    for check in load_model(name).checks:
        assert check in text.partition("*)")[0]


def test_models_are_compiled_once() -> None:
    assert load_model("tso") is load_model("TSO")


def test_fences_with_a_meaning() -> None:
    """A fence matters in a hardware model if it orders something there."""
    assert "FenceWR" in load_model("tso").uses
    assert "FenceWW" not in load_model("tso").uses
    for name in ("pso", "rmo", "power", "armv7", "aarch64", "riscv"):
        assert {"FenceRR", "FenceRW", "FenceWR", "FenceWW"} <= load_model(name).uses
    assert {"ISYNC", "ISB"} <= load_model("power").uses
    assert not {kind.tag for kind in FENCES.values()} & load_model("sc").uses


def test_a_users_own_file(tmp_path: Path) -> None:
    (tmp_path / "common.cat").write_text("let ghb = (po & (R * M)) | rfe | fr | co\n", encoding="utf-8")
    path = tmp_path / "mine.cat"
    path.write_text('"My model"\ninclude "common.cat"\nacyclic ghb as mine\n', encoding="utf-8")
    model = load_model(str(path))
    assert (model.name, model.title, model.checks) == ("mine", "My model", ("mine",))
    assert load_model(str(path)) is model


def test_the_example_in_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    section = text.partition("## Your own model")[2].partition("##")[0]
    path = tmp_path / "my-pso.cat"
    path.write_text("\n".join(line for line in section.splitlines() if line.startswith("    ")), encoding="utf-8")
    model = load_model(str(path))
    assert model.title == "PSO without fences"
    assert model.checks == ("sc-per-location", "my-pso", "updates")


def test_the_documentation_names_all_models_and_checks() -> None:
    text = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    for name in model_names():
        assert f"`{name}`" in text
    for name in BUILT_IN:
        for check in load_model(name).checks:
            assert f"`{check}`" in text


def test_an_edited_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.cat"
    path.write_text("acyclic po as one", encoding="utf-8")
    assert load_model(str(path)).checks == ("one",)
    path.write_text("acyclic po as changed", encoding="utf-8")
    assert load_model(str(path)).checks == ("changed",)


def test_a_users_file_can_build_on_ours(tmp_path: Path) -> None:
    path = tmp_path / "strict.cat"
    path.write_text('include "tso.cat"\nacyclic po | rf as no-thin-air', encoding="utf-8")
    assert load_model(str(path)).checks == (*load_model("tso").checks, "no-thin-air")


@pytest.mark.parametrize("name", ["sparc", "", "nowhere/mine.cat", "mine.cat", "a\x00b", "x" * 5000])
def test_unknown_models_list_the_known_ones(name: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_model(name)
    assert "sc, ibm370, tso, pso" in (caught.value.diagnostic.hint or "")


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        load_model(str(tmp_path))


def test_errors_of_a_file_show_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.cat"
    path.write_text("let a = po\nacyclic a | rff\n", encoding="utf-8")
    with pytest.raises(DekkerError) as caught:
        load_model(str(path))
    shown = str(caught.value)
    assert f"{path}:2:13: error: unknown name rff" in shown
    assert "  acyclic a | rff\n              ^^^" in shown


@pytest.mark.parametrize("name", [*BUILT_IN, *SYNTHETIC])
@settings(max_examples=40)
@given(execution=random_executions())
def test_compiled_models_mean_what_their_files_say(name: str, execution: Execution) -> None:
    model = load_model(name)
    outcomes = evaluate(model.program, len(execution.events), inputs(name, execution))
    assert outcomes == naive_checks(model.source, execution, (FOLDER,))


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ("sc", "tso"),
        ("sc", "ibm370"),
        ("ibm370", "tso"),
        ("tso", "pso"),
        ("pso", "rmo"),
        ("sc", "power"),
        ("sc", "armv7"),
        ("sc", "aarch64"),
        ("sc", "riscv"),
        ("sc", "rc11"),
        ("rc11", "cpp20"),
        ("power", "armv7"),
        ("tso", "ghb-tso"),
        ("ghb-tso", "tso"),
        ("pso", "ghb-pso"),
        ("ghb-pso", "pso"),
        ("ghb-pso", "ghb-rmo"),
        ("ghb-rmo", "rmo"),
    ],
)
@settings(max_examples=150)
@given(execution=random_executions(with_fences=False))
def test_what_a_stronger_model_allows_a_weaker_one_allows(stronger: str, weaker: str, execution: Execution) -> None:
    assert allows(weaker, execution) or not allows(stronger, execution)
