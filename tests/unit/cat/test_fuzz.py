"""Whatever the text, reading it gives a model or an error that says where; and a model means what its text says."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dekker.cat import compile_model
from dekker.cat.files import LIBRARY
from dekker.cat.lexer import KEYWORDS
from dekker.engines.axiomatic.evaluator import evaluate
from dekker.errors import DekkerError
from dekker.execution import Execution, base_value
from dekker.source import Source
from tests.unit.cat.naive import naive_checks
from tests.unit.models.executions import random_executions

MODELS = LIBRARY.parents[1] / "models"
TEXTS = [path.read_text(encoding="utf-8") for folder in (LIBRARY, MODELS) for path in sorted(folder.glob("*.cat"))]

WORDS = [
    *sorted(KEYWORDS),
    *"| || & ; \\ * + ++ ? ~ ^-1 ^+ ^* = , ( ) [ ] { } _ 0 -> && (* *) // #".split(),
    *"po rf co fr W R M F A X addr data ctrl rmw loc ext id r s f x S rfe po-loc fencerel domain range".split(),
    *["'tag", '"cos.cat"', '"mixed"', "\n"],
]


def compile_or_complain(text: str) -> None:
    try:
        compile_model(Source("m.cat", text))
    except DekkerError as error:
        assert error.diagnostic.span is not None
        assert str(error)


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


SETS = st.deferred(
    lambda: (
        st.sampled_from(("R", "W", "M", "F", "IW", "_", "{}", "S"))
        | _joined(SETS, SETS, ("|", "&", "\\"))
        | st.builds("~({})".format, SETS)
        | st.builds("{}({})".format, st.sampled_from(("domain", "range")), RELATIONS)
    )
)
RELATIONS = st.deferred(
    lambda: (
        st.sampled_from(("po", "rf", "co", "fr", "loc", "ext", "id", "addr", "rmw", "0", "r"))
        | _joined(RELATIONS, RELATIONS, ("|", "&", "\\", ";"))
        | _joined(SETS, SETS, ("*",))
        | st.builds("[{}]".format, SETS)
        | st.builds("({}){}".format, RELATIONS, st.sampled_from(("+", "*", "?", "^-1")))
        | st.builds("~({})".format, RELATIONS)
        | st.builds("(f({}))".format, RELATIONS)
    )
)


def _joined(
    left: st.SearchStrategy[str], right: st.SearchStrategy[str], operators: tuple[str, ...]
) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, left, st.sampled_from(operators), right)


@pytest.mark.parametrize("variable", ["r", "S"])
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), execution=random_executions())
def test_compiled_models_mean_what_they_say(variable: str, data: st.DataObject, execution: Execution) -> None:
    """The unknown of a recursion is `r` or `S`; where it is not monotone there is nothing to compare."""
    body = data.draw(RELATIONS if variable == "r" else SETS)
    text = f"""
    let S = R let r = po
    let f(x) = (x;rf) | S * S
    let rec {variable} = {body} | ({variable} & {body})
    acyclic {data.draw(RELATIONS)}
    irreflexive {data.draw(RELATIONS)}
    ~empty {data.draw(SETS)} as set
    flag empty {data.draw(RELATIONS)} as flag
    """
    source = Source("m.cat", text)
    try:
        program = compile_model(source).program
    except DekkerError as error:
        assert "stands under a complement" in str(error)
        return
    values = {item.name: base_value(item.name, execution) for item in program.inputs}
    assert evaluate(program, len(execution.events), values) == naive_checks(source, execution)
