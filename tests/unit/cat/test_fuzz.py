"""Whatever the text, reading it gives a model or an error that says where; and a model means what its text says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.cat.naive import naive_checks
from tests.unit.models.executions import random_executions

from dekker.cat.compiler import compile_model
from dekker.cat.files import LIBRARY
from dekker.cat.interpreter import evaluate
from dekker.cat.lexer import KEYWORDS
from dekker.cat.model import Model
from dekker.errors import DekkerError
from dekker.execution import Execution, base_value
from dekker.source import Diagnostic, Source

MODELS = LIBRARY.parents[1] / "models"
TEXTS = [path.read_text(encoding="utf-8") for folder in (LIBRARY, MODELS) for path in sorted(folder.glob("*.cat"))]

WORDS = [
    *sorted(KEYWORDS),
    *"| || & ; \\ * + ++ ? ~ ^-1 ^+ ^* = , ( ) [ ] { } _ 0 -> && (* *) // #".split(),
    *"po rf co fr W R M F A X addr data ctrl rmw loc ext id r s f x S rfe po-loc fencerel domain range".split(),
    *["'tag", '"cos.cat"', '"mixed"', "\n"],
]


def compile_or_complain(text: str) -> None:
    complaint = attempt(text)
    if isinstance(complaint, Diagnostic):
        assert complaint.span is not None
        assert complaint.render()


def attempt(text: str) -> Model | Diagnostic:
    try:
        return compile_model(Source("m.cat", text))
    except DekkerError as error:
        return error.diagnostic


@given(st.text())
def test_any_text(text: str) -> None:
    compile_or_complain(text)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words(words: list[str]) -> None:
    compile_or_complain(" ".join(words))


@given(st.data())
def test_any_damage_to_a_real_file(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    compile_or_complain(text[:start] + data.draw(st.sampled_from(["", *WORDS])) + text[end:])


@st.composite
def sets(draw: st.DrawFn, depth: int = 3) -> str:
    shape = draw(st.integers(0, 3)) if depth else 0
    if shape == 1:
        return _joined(draw, sets(depth - 1), "|&\\")
    if shape == 2:
        return f"~({draw(sets(depth - 1))})"
    if shape == 3:
        return f"{draw(st.sampled_from(('domain', 'range')))}({draw(relations(depth - 1))})"
    return draw(st.sampled_from(("R", "W", "M", "F", "IW", "_", "S")))


@st.composite
def relations(draw: st.DrawFn, depth: int = 3) -> str:
    shape = draw(st.integers(0, 6)) if depth else 0
    if shape == 1:
        return _joined(draw, relations(depth - 1), "|&\\;")
    if shape == 2:
        return _joined(draw, sets(depth - 1), "*")
    if shape == 3:
        return f"[{draw(sets(depth - 1))}]"
    if shape == 4:
        return f"({draw(relations(depth - 1))}){draw(st.sampled_from(('+', '*', '?', '^-1')))}"
    if shape == 5:
        return f"~({draw(relations(depth - 1))})"
    if shape == 6:
        return f"f({draw(relations(depth - 1))})"
    return draw(st.sampled_from(("po", "rf", "co", "fr", "loc", "ext", "id", "addr", "rmw", "0", "r")))


def _joined(draw: st.DrawFn, operand: st.SearchStrategy[str], operators: str) -> str:
    return f"({draw(operand)} {draw(st.sampled_from(operators))} {draw(operand)})"


@pytest.mark.parametrize("variable", ["r", "S"])
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), execution=random_executions())
def test_compiled_models_mean_what_they_say(variable: str, data: st.DataObject, execution: Execution) -> None:
    """The unknown of a recursion is `r` or `S`; where it is not monotone there is nothing to compare."""
    body = data.draw(relations() if variable == "r" else sets())
    text = f"""
    let S = R let r = po
    let f(x) = (x;rf) | S * S
    let rec {variable} = {body} | ({variable} & {"R" if variable == "S" else "po"})
    acyclic {data.draw(relations())}
    irreflexive {data.draw(relations())}
    ~empty {data.draw(sets())} as set
    flag empty {data.draw(relations())} as flag
    """
    model = attempt(text)
    if isinstance(model, Diagnostic):
        assert "stands under a complement" in model.message
        return
    values = {item.name: base_value(item.name, execution) for item in model.program.inputs}
    outcomes = evaluate(model.program, len(execution.events), values)
    assert outcomes == naive_checks(model.source, execution)
