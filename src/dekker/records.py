"""`dataclass` of the standard library, except that what a class gets is made when it is first asked for.

The standard one looks through the fields of each class as soon as that is defined, and compiles up to six functions for
it. With some hundred classes that took longer than the check of a small program, which calls few of them. Here a class
begins with placeholders; the first call of one puts the compiled function in its place, which is then as fast as any.
Classes of the same shape share the compiled code but for the names in it. Fields, slots, `match`, `fields`, `replace`
and pickles are those of the standard library. What a placeholder lacks is the signature that `help` shows, so that the
classes of the Python API have the standard one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache, partial
from reprlib import recursive_repr
from types import CodeType, FunctionType, MappingProxyType
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
        describe = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)
        made = _with_slots(cls) if slots else cls
        if not slots and any(type(cls.__dict__.get(name)) is Field for name in cls.__annotations__):
            describe(cls)  # which takes these away
        else:
            _describe_later(made, lambda: describe(cls if slots else _copy(cls)))
        _add(made, "__init__", _placeholder(made, "__init__", partial(_init, made, frozen, slots)))
        _add(made, "__repr__", _repr)
        if eq:
            _add_comparisons(made, ("==", "<", "<=", ">", ">=") if order else ("==",))
            _add_hash(made, frozen)
        if frozen:
            _add(made, "__setattr__", _no_assignment)
            _add(made, "__delattr__", _no_deletion)
            if slots:
                for name, make in (("__getstate__", _getstate), ("__setstate__", _setstate)):
                    _add(made, name, _placeholder(made, name, partial(make, made)))
        return made

    return process if cls is None else process(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _with_slots(cls: _Class) -> _Class:
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    own = tuple(name for name in cls.__annotations__ if name not in inherited)
    return _copy(cls, {*own, *inherited}, {"__slots__": own})


def _copy(cls: _Class, left_out: Collection[str] = (), more: Mapping[str, object] = MappingProxyType({})) -> _Class:
    outside = {*left_out, "__dict__", "__weakref__"}
    members = {name: value for name, value in cls.__dict__.items() if name not in outside}
    meta: Callable[..., _Class] = type(cls)
    made = meta(cls.__name__, cls.__bases__, {**members, **more})
    made.__qualname__ = cls.__qualname__
    return made


class _Later:
    """An attribute of a class by which the standard library knows its fields."""

    def __init__(self, name: str, describe: Callable[[], None]) -> None:
        self.name = name
        self.describe = describe

    def __get__(self, instance: object, owner: _Class) -> object:
        self.describe()
        return getattr(owner, self.name)


def _describe_later(cls: _Class, describe: Callable[[], _Class]) -> None:
    """`describe` makes a class with these attributes."""
    names = [
        name for name in ("__dataclass_fields__", "__dataclass_params__", "__match_args__") if name not in cls.__dict__
    ]

    def description() -> None:
        described = describe()
        for name in names:
            setattr(cls, name, described.__dict__[name])

    for name in names:
        setattr(cls, name, _Later(name, description))


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
    fields = dataclasses.fields(cls)
    parameters = [field for field in fields if field.init]
    plain = [field for field in parameters if not field.kw_only]
    named = [field for field in parameters if field.kw_only]
    place = {field.name: f"f{number}" for number, field in enumerate(fields)}
    values: dict[str, object] = {"set_": object.__setattr__, "MISSING": MISSING}
    body = []
    for field in fields:
        own = place[field.name]
        value = _initial(field, own, values, slots)
        if value is not None:
            body.append(f"set_(self, {own!r}, {value})" if frozen else f"self.{own} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    head = ", ".join(("self", *(place[field.name] for field in plain), *("*" for _ in named[:1])))
    head = ", ".join((head, *(place[field.name] for field in named)))
    function = _compiled(f"def __init__({head}):", body or ["pass"], values, [field.name for field in fields])
    function.__defaults__ = tuple(filter(_is_given, map(_default, plain)))
    function.__kwdefaults__ = {field.name: _default(field) for field in named if _is_given(_default(field))}
    return function


_REQUIRED = object()


def _is_given(default: object) -> bool:
    return default is not _REQUIRED


def _default(field: Field[Any]) -> object:
    """Of its parameter: `MISSING` asks for a new one."""
    if field.default_factory is not MISSING:
        return MISSING
    return _REQUIRED if field.default is MISSING else field.default


def _initial(field: Field[Any], own: str, values: dict[str, object], slots: bool) -> str | None:
    """What an attribute gets; None if nothing. Without slots, the class itself holds the default of what is no
    parameter."""
    if field.default_factory is not MISSING:
        values[f"new_{own}"] = field.default_factory
        made = f"new_{own}()"
        return f"{made} if {own} is MISSING else {own}" if field.init else made
    if field.init:
        return own
    if field.default is MISSING or not slots:
        return None
    values[f"default_{own}"] = field.default
    return f"default_{own}"


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
    return _compiled(f"def {_COMPARISONS[operator]}(self, other):", body, {}, compared)


def _add_hash(cls: _Class, frozen: bool) -> None:
    """As in the standard library: what can change and is compared by what it holds has no hash. A class that defines
    `__eq__` alone has None already."""
    if cls.__dict__.get("__hash__") is None:
        function = _placeholder(cls, "__hash__", partial(_hash, cls)) if frozen else None
        cls.__hash__ = function  # type: ignore[assignment]


def _hash(cls: _Class) -> _Function:
    hashed = [field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _compiled("def __hash__(self):", [f"return hash({_tuple('self', hashed)})"], {}, hashed)


def _getstate(cls: _Class) -> _Function:
    names = [field.name for field in dataclasses.fields(cls)]
    return _compiled("def __getstate__(self):", [f"return {_tuple('self', names)}"], {}, names)


def _setstate(cls: _Class) -> _Function:
    names = [field.name for field in dataclasses.fields(cls)]
    body = [f"set_(self, 'f{number}', state[{number}])" for number in range(len(names))]
    return _compiled("def __setstate__(self, state):", body or ["pass"], {"set_": object.__setattr__}, names)


def _tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.f{number}, ' for number in range(len(names)))})"


def _compiled(head: str, body: list[str], values: dict[str, object], names: list[str]) -> _Function:
    """What the text calls f0 is the first of the names, and so on."""
    code = _code("\n    ".join((head, *body)))
    named = {f"f{number}": name for number, name in enumerate(names)}
    renamed = code.replace(
        co_varnames=tuple(named.get(name, name) for name in code.co_varnames),
        co_names=tuple(named.get(name, name) for name in code.co_names),
        co_consts=tuple(named.get(item, item) for item in code.co_consts),
    )
    return FunctionType(renamed, values)


@cache
def _code(text: str) -> CodeType:
    names: dict[str, Any] = {}
    exec(text, names)
    del names["__builtins__"]
    (function,) = names.values()
    code: CodeType = function.__code__
    return code


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _no_assignment(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
