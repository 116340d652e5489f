"""`dekker.records.dataclass` is the one of the standard library, but for when functions are compiled."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from pathlib import Path

import pytest

import dekker
from dekker.records import dataclass

Decorate = Callable[..., Callable[[type], type]]

OPTIONS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"slots": True},
    {"eq": False},
    {"kw_only": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "order": True, "slots": True},
]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    note: str = field(default="", compare=False, repr=False)
    marks: list[int] = field(default_factory=list, hash=False)


@dataclass(slots=True)
class Counter:
    name: str
    count: int = field(default=0, init=False)
    seen: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.seen = {self.name: self.count}


@dataclass(frozen=True, slots=True)
class Wider(Point):
    z: int = 7


@dataclass(frozen=True)
class OwnHash:
    x: int

    def __hash__(self) -> int:
        return 5


def _made_by(decorate: Decorate, options: dict[str, bool]) -> type:
    class Made:
        a: int
        b: str = "b"
        c: list[int] = field(default_factory=list, repr=False)
        d: int = field(default=3, compare=False)
        e: int = field(default=4, init=False)

    Made.__annotations__ = {"a": "int", "b": "str", "c": "list[int]", "d": "int", "e": "int"}
    return decorate(**options)(Made)


def _result(call: Callable[[], object]) -> object:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_behave_as_those_of_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = _made_by(dataclass, options), _made_by(dataclasses.dataclass, options)
    questions: list[Callable[[type], object]] = [
        lambda cls: repr(cls(a=1)),
        lambda cls: repr(cls(1, "x", [2], 9)),
        lambda cls: cls(),
        lambda cls: cls(a=1, unknown=2),
        lambda cls: cls(a=1) == cls(a=1, d=8),
        lambda cls: cls(a=1) == cls(a=2),
        lambda cls: cls(a=1) == 1,
        lambda cls: cls(a=1) < cls(a=2),
        lambda cls: cls(a=1) >= 1,
        lambda cls: hash(cls(a=1, c=())) == hash(cls(a=1, c=())),
        lambda cls: hash(cls(a=1, c=())) == hash((1, "b", (), 4)),
        lambda cls: repr(replace(cls(a=1), b="other")),
        lambda cls: cls(a=1).c is cls(a=1).c,
        lambda cls: setattr(cls(a=1), "a", 2),
        lambda cls: delattr(cls(a=1), "a"),
        lambda cls: [item.name for item in fields(cls)],
        lambda cls: cls.__match_args__,  # type: ignore[attr-defined]
        lambda cls: getattr(cls, "__slots__", None),
        lambda cls: cls.__hash__ is None,
    ]
    for question in questions:
        assert _result(lambda: question(ours)) == _result(lambda: question(theirs))  # noqa: B023


def test_functions_are_compiled_at_their_first_call_and_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        x: int

    before = Fresh.__init__
    Fresh(1)
    compiled = Fresh.__init__
    assert compiled is not before
    Fresh(2)
    assert Fresh.__init__ is compiled
    assert compiled.__qualname__.endswith("Fresh.__init__")


def test_a_subclass_has_the_fields_of_its_base_and_is_another_class() -> None:
    assert repr(Wider(1, z=2)) == "Wider(x=1, y=0, marks=[], z=2)"
    assert Point(1) != Wider(1)
    assert isinstance(Wider(1), Point)


def test_frozen_objects_stay_as_they_are() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x


@pytest.mark.parametrize("value", [Point(1, 2, "n", [3]), Wider(1, z=2), Counter("c"), OwnHash(1)])
def test_objects_go_through_pickles_and_copies(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value


def test_what_a_class_defines_itself_is_kept() -> None:
    assert hash(OwnHash(1)) == 5


def test_what_is_no_parameter_is_set_before_the_rest_is_prepared() -> None:
    assert Counter("c").seen == {"c": 0}


def test_classes_of_the_api_show_their_signatures() -> None:
    assert list(inspect.signature(dekker.Violation).parameters) == [item.name for item in fields(dekker.Violation)]


def test_all_classes_but_those_of_the_api_are_of_this_kind() -> None:
    package = Path(dekker.__file__).parent
    others = {package / "records.py", package / "api.py"}
    texts = {file: file.read_text(encoding="utf-8") for file in package.rglob("*.py") if file not in others}
    assert any("from dekker.records import dataclass" in text for text in texts.values())
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b|\bdataclasses\.dataclass\b", re.MULTILINE)
    assert not [file for file, text in texts.items() if standard.search(text)]
