"""`dataclass` of the standard library, except that functions are compiled when they are first called.

The standard one compiles up to six functions for each class as soon as that is defined. With some hundred classes that
took longer than the check of a small program, which calls few of them. Here a class begins with placeholders; the
first call of one puts the compiled function in its place, which is then as fast as any. Fields, slots, `match`,
`fields`, `replace` and pickles are those of the standard library. What a placeholder lacks is the signature that `help`
shows, so that the classes of the Python API have the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_Class = type[Any]
_Function = Callable[..., Any]


def _dataclass(
    cls: _Class | None = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    order: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    def process(cls: _Class) -> _Class:
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # or else the standard library asks for the signature of each class
        plain = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        made: _Class = plain(cls)
        _add(made, "__init__", _placeholder(made, "__init__", partial(_init, made, frozen, slots)))
        _add(made, "__repr__", _repr)
        if eq:
            _add_comparisons(made, ("==", "<", "<=", ">", ">=") if order else ("==",))
            _add_hash(made, frozen)
        if frozen:
            _add(made, "__setattr__", _no_assignment)
            _add(made, "__delattr__", _no_deletion)
            if slots:
                _add(made, "__getstate__", _getstate)
                _add(made, "__setstate__", _setstate)
        return made

    return process if cls is None else process(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _add(cls: _Class, name: str, function: _Function) -> None:
    """Unless the class has its own."""
    if name not in cls.__dict__:
        setattr(cls, name, function)


def _placeholder(cls: _Class, name: str, make: Callable[[], _Function]) -> _Function:
    def function(self: object, *arguments: object, **named: object) -> object:
        made = make()
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
        return made(self, *arguments, **named)

    return function


def _init(cls: _Class, frozen: bool, slots: bool) -> _Function:
    parameters, body = ["self"], []
    names: dict[str, object] = {"set_": object.__setattr__, "MISSING": MISSING}
    fields = dataclasses.fields(cls)
    for field in sorted(fields, key=lambda field: bool(field.kw_only)):
        if field.init:
            if field.kw_only and "*" not in parameters:
                parameters.append("*")
            parameters.append(_parameter(field, names))
    for field in fields:
        value = _initial(field, names, slots)
        if value is not None:
            body.append(f"set_(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return _compiled(f"def __init__({', '.join(parameters)}):", body or ["pass"], names)


def _parameter(field: Field[Any], names: dict[str, object]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=MISSING"
    if field.default is MISSING:
        return field.name
    names[f"default_{field.name}"] = field.default
    return f"{field.name}=default_{field.name}"


def _initial(field: Field[Any], names: dict[str, object], slots: bool) -> str | None:
    """What an attribute gets; None if nothing. Without slots, the class itself holds the default of what is no
    parameter."""
    if field.default_factory is not MISSING:
        names[f"new_{field.name}"] = field.default_factory
        made = f"new_{field.name}()"
        return f"{made} if {field.name} is MISSING else {field.name}" if field.init else made
    if field.init:
        return field.name
    if field.default is MISSING or not slots:
        return None
    names[f"default_{field.name}"] = field.default
    return f"default_{field.name}"


_COMPARISONS = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def _add_comparisons(cls: _Class, operators: tuple[str, ...]) -> None:
    for operator in operators:
        name = _COMPARISONS[operator]
        _add(cls, name, _placeholder(cls, name, partial(_comparison, cls, operator)))


def _comparison(cls: _Class, operator: str) -> _Function:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    body = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple('self', compared)} {operator} {_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compiled(f"def {_COMPARISONS[operator]}(self, other):", body, {})


def _add_hash(cls: _Class, frozen: bool) -> None:
    """As in the standard library: what can change and is compared by what it holds has no hash. A class that defines
    `__eq__` alone has None already."""
    if cls.__dict__.get("__hash__") is None:
        function = _placeholder(cls, "__hash__", partial(_hash, cls)) if frozen else None
        cls.__hash__ = function  # type: ignore[assignment]


def _hash(cls: _Class) -> _Function:
    hashed = [field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _compiled("def __hash__(self):", [f"return hash({_tuple('self', hashed)})"], {})


def _tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in names)})"


def _compiled(head: str, body: list[str], names: dict[str, object]) -> _Function:
    exec("\n    ".join((head, *body)), names)
    function: _Function = names[head.removeprefix("def ").partition("(")[0]]  # type: ignore[assignment]
    return function


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _no_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
