"""Witnesses as data: written, read back, and refused where they are damaged or tell what is not so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import odd_programs
from tests.unit.replay.test_replay import COPIED, COPY

from dekker.cat.compiler import compile_model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.errors import DekkerError, InputError
from dekker.frontends import parse_program
from dekker.ir.program import Program
from dekker.ir.text import parse_program as parse_representation
from dekker.ir.text import print_program
from dekker.models import load_model
from dekker.replay import Origin, check_witness, make_witness, replay
from dekker.run.witnesses import deciding_witness, witnessed_model, witnessed_program
from dekker.source import Source
from dekker.task import Limits, Task
from dekker.witness import ProgramText, Witness, from_json, to_json

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "litmus").glob("*.litmus"))


def example(name: str) -> Program:
    file = next(file for file in EXAMPLES if file.stem == name)
    return parse_program(Source(file.name, file.read_text(encoding="utf-8")))


def witness_of(program: Program, model: str) -> Witness:
    task = Task(program, load_model(model), examples=True)
    found = deciding_witness(task, "axiomatic", axiomatic.run(task))
    assert found is not None
    return found


SB = example("dekker-x86")
WITNESS = witness_of(SB, "tso")
PLAIN: dict[str, Any] = json.loads(to_json(WITNESS))


def test_a_witness_says_what_happened() -> None:
    assert (WITNESS.name, WITNESS.model.name, WITNESS.engine) == ("dekker-x86", "tso", "axiomatic")
    assert (WITNESS.claim, WITNESS.condition) == ("satisfies", r"exists (0:EAX=0 /\ 1:EAX=0)")
    assert WITNESS.program.text == SB.source.text if SB.source else False
    assert WITNESS.program.front_end == "litmus"
    named = {event.name: event for event in WITNESS.events}
    assert (named["b"].kind, named["b"].location, named["b"].shown) == ("R", "flag1", "0")
    assert (named["b"].thread, named["b"].index, named["b"].line, named["b"].column) == (0, 1, 6, 2)
    assert named["b"].text == "MOV EAX,[flag1]"
    assert WITNESS.final == (("0:EAX", "0"), ("1:EAX", "0"))
    assert WITNESS.relations.keys() == {"po", "rf", "co", "fr"}


def test_round_trip() -> None:
    again = from_json(to_json(WITNESS))
    assert again == WITNESS
    assert again.trace() == WITNESS.trace()
    assert check_witness(again, witnessed_program(again), witnessed_model(again)) == []


@settings(max_examples=80)
@given(program=odd_programs.programs())
def test_round_trip_of_random_programs(program: Program) -> None:
    """Violations, choices, calls and all: what the oracle finds is saved, read and found true again."""
    text = print_program(program)
    program = parse_representation(Source("odd.ir", text))
    task = Task(program, load_model("aarch64"), Limits(unroll=1, timeout_s=10), examples=True)
    examples = axiomatic.run(task).examples
    for trace in (*list(examples.states.values())[:5], *examples.violations.values(), *examples.flags.values()):
        origin = Origin(ProgramText("ir", "odd.ir", text), "axiomatic")
        made = make_witness(origin, program, task.model, trace, replay(program, trace))
        assert made.trace() == trace
        read = from_json(to_json(made))
        assert read == made
        assert check_witness(read, witnessed_program(read), witnessed_model(read)) == []


def test_a_model_of_the_user_comes_along(tmp_path: Path) -> None:
    (tmp_path / "inner.cat").write_text('"inner"\ninclude "fence-order.cat"\nlet mine = po & (W * W)\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.cat").write_text('"mine"\ninclude "../inner.cat"\nacyclic mine | rfe | co | fr as m\n')
    found = witness_of(SB, str(tmp_path / "sub" / "mine.cat"))
    assert [item.path for item in found.model.includes] == ["../inner.cat"]
    for file in (tmp_path / "inner.cat", tmp_path / "sub" / "mine.cat"):
        file.unlink()
    again = from_json(to_json(found))
    model = witnessed_model(again)
    assert model.checks == ("m",)
    assert check_witness(again, witnessed_program(again), model) == []


def test_a_model_in_a_witness_reads_no_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.cat"
    secret.write_text('"secret"\nlet x = po\n')
    for path in (str(secret), "../models/../../../etc/hostname", "nowhere.cat"):
        text = f'"m"\ninclude "{path}"\nacyclic po as m\n'
        with pytest.raises(DekkerError, match="there is no file"):
            compile_model(Source(str(tmp_path / "m.cat"), text), "m", (), {})


# --- witnesses that lie


def lies() -> Iterator[tuple[str, Witness, str]]:
    events, relations = WITNESS.events, WITNESS.relations
    wrong_value = tuple(replace(event, value=1) if event.name == "b" else event for event in events)
    yield "value", replace(WITNESS, events=wrong_value), "wrote another one"
    wrong_line = tuple(replace(event, line=7) if event.name == "b" else event for event in events)
    yield "line", replace(WITNESS, events=wrong_line), "event b, line: the witness says 7, it is 6"
    yield "text", replace(WITNESS, final=(("0:EAX", "1"), ("1:EAX", "0"))), "final: the witness says"
    yield "claim", replace(WITNESS, claim="violates"), "claim: the witness says 'violates'"
    yield "co", replace(WITNESS, relations={**relations, "co": ((0, 2),)}), "not in one order"
    yield "fr", replace(WITNESS, relations={**relations, "fr": ((3, 4),)}), r"relation fr: the execution has \(d, a\)"
    yield "extra", replace(WITNESS, relations={**relations, "addr": ((3, 4),)}), r"relation addr: the witness has"
    yield "rf twice", replace(WITNESS, relations={**relations, "rf": ((0, 5), (1, 3), (4, 3))}), "no write"
    yield (
        "dropped",
        replace(WITNESS, events=events[:-1], relations={"rf": ((1, 3),), "co": ((0, 2), (1, 4))}),
        "goes on",
    )
    yield "flag", replace(WITNESS, flags=("race",)), "flags"


@pytest.mark.parametrize(("witness", "message"), [pytest.param(w, m, id=name) for name, w, m in lies()])
def test_lies_are_found(witness: Witness, message: str) -> None:
    problems = check_witness(from_json(to_json(witness)), SB, load_model("tso"))
    assert problems
    assert any(re.search(message, problem) for problem in problems), problems


def test_a_model_that_forbids_it() -> None:
    problems = check_witness(WITNESS, SB, load_model("sc"))
    assert problems == ["the model 'sc' forbids it: the check 'sc' fails"]


def test_an_incomplete_execution_shows_no_final_state() -> None:
    trace = COPIED[:1]
    trace = (trace[0]._replace(value=0, link=-1),)
    origin = Origin(ProgramText("ir", "p.ir", ""), "axiomatic")
    made = make_witness(origin, COPY, load_model("sc"), trace, replay(COPY, trace))
    assert any("thread P1 goes on beyond its trace" in p for p in check_witness(made, COPY, load_model("sc")))


# --- files that are no witnesses


def _changed(key: str, value: object) -> str:
    return json.dumps({**PLAIN, key: value})


DAMAGED = {
    "empty": "",
    "no JSON": "{",
    "a number": "7",
    "a foreign object": '{"format": "other", "version": 1}',
    "another version": _changed("version", 1),
    "no version": _changed("version", True),
    "deep": "[" * 100_000,
    "long number": _changed("events", []).replace("[]", "[" + "9" * 5000 + "]", 1),
    "no events": json.dumps({key: value for key, value in PLAIN.items() if key != "events"}),
    "wrong type": _changed("events", {}),
    "wrong event": _changed("events", [{"kind": "R"}]),
    "unknown kind": _changed("events", [{**PLAIN["events"][0], "kind": "X"}]),
    "fence": _changed("events", [{**PLAIN["events"][0], "fence": "sync2"}]),
    "order of events": _changed("events", PLAIN["events"][::-1]),
    "relation": _changed("relations", {"frob": []}),
    "pair": _changed("relations", {"rf": [[1]]}),
    "event that does not exist": _changed("relations", {"rf": [[0, 99]]}),
    "choice": _changed("choices", [{"thread": 5, "position": 0, "instruction": 0, "value": 0}]),
    "surrogate": _changed("name", "\ud800"),
    "claim": _changed("claim", "proves"),
    "infinity": _changed("events", float("inf")),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_files_are_refused(kind: str) -> None:
    with pytest.raises(InputError, match=r"witness|version"):
        from_json(DAMAGED[kind], "w.json")


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 12), st.floats(), st.text(max_size=3), st.just(1 << 70)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)


def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from positions(item, (*path, key))


def changed_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = changed_at(value[path[0]], path[1:], new)
    return copy


PLACES = list(positions(PLAIN))


@settings(max_examples=400)
@given(place=st.sampled_from(PLACES), value=JSON_VALUES)
def test_fuzzed_values(place: tuple[Any, ...], value: Any) -> None:
    """A changed witness is refused as damaged, or found wrong; or what was changed did not matter."""
    text = json.dumps(changed_at(PLAIN, place, value))
    try:
        read = from_json(text)
        problems = check_witness(read, witnessed_program(read), witnessed_model(read))
    except DekkerError:
        return
    assert problems or json.loads(to_json(read)) == PLAIN or place[0] in ("model", "engine", "program")


@settings(max_examples=300)
@given(start=st.integers(0, 4000), length=st.integers(0, 30), new=st.text(max_size=4))
def test_fuzzed_texts(start: int, length: int, new: str) -> None:
    text = to_json(WITNESS)
    try:
        read = from_json(text[:start] + new + text[start + length :])
        check_witness(read, witnessed_program(read), witnessed_model(read))
    except DekkerError:
        pass
