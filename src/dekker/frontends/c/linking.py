"""Joins modules: which definition a name means in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dekker.errors import InputError
from dekker.frontends.c.llvm.metadata import DebugInformation
from dekker.frontends.c.llvm.module import Module
from dekker.frontends.c.llvm.syntax import Alias, Header, Variable
from dekker.records import dataclass
from dekker.source import Span

_PRIVATE = frozenset(("private", "internal"))
_WEAK = frozenset(
    ("available_externally", "linkonce", "weak", "common", "extern_weak", "linkonce_odr", "weak_odr", "appending")
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A module, its debug information, and whether it was compiled here or given as a .ll file."""

    module: Module
    debug: DebugInformation
    compiled: bool


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """A function, variable or alias under the name that it has in the program."""

    name: str
    unit: Unit
    entity: Header | Variable | Alias
    defined: bool

    @property
    def module(self) -> Module:
        return self.unit.module

    @property
    def debug(self) -> DebugInformation:
        return self.unit.debug

    @property
    def compiled(self) -> bool:
        return self.unit.compiled


@dataclass(slots=True)
class Linkage:
    """`find(unit, name)` is what a module means by a name."""

    units: list[Unit]
    shared: dict[str, Linked] = field(default_factory=dict)
    private: dict[tuple[int, str], Linked] = field(default_factory=dict)

    def find(self, unit: Unit, name: str) -> Linked | None:
        own = self.private.get((id(unit), name))
        return own if own is not None else self.shared.get(name)


def link(modules: Sequence[tuple[Module, bool]]) -> Linkage:
    """`modules` with whether they were compiled here. Two definitions of one name are an error."""
    linkage = Linkage([Unit(module, DebugInformation(module), compiled) for module, compiled in modules])
    taken: set[str] = set()
    for unit in linkage.units:
        for name in unit.module.names:
            entity = unit.module.entity(name)
            assert entity is not None
            defined = _is_defined(unit.module, entity)
            if defined and entity.linkage in _PRIVATE:
                continue
            linked = Linked(name, unit, entity, defined)
            linkage.shared[name] = _stronger(linkage.shared.get(name), linked)
            taken.add(name)
    for unit in linkage.units:
        for name in unit.module.names:
            entity = unit.module.entity(name)
            if entity is not None and entity.linkage in _PRIVATE and _is_defined(unit.module, entity):
                linkage.private[id(unit), name] = Linked(_unique(name, taken), unit, entity, True)
    return linkage


def _is_defined(module: Module, entity: Header | Variable | Alias) -> bool:
    match entity:
        case Variable():
            return entity.initial is not None
        case Header():
            return module.is_defined(entity.name)
    return True


def _stronger(known: Linked | None, new: Linked) -> Linked:
    if known is None or not new.defined:
        return known or new
    if not known.defined or (known.entity.linkage in _WEAK and new.entity.linkage not in _WEAK):
        return new
    if known.entity.linkage in _WEAK or new.entity.linkage in _WEAK:
        return known
    raise InputError(f"`{new.name}` is defined twice: {_where(known)} and {_where(new)}")


def _where(linked: Linked) -> str:
    span = linked.debug.span(getattr(linked.entity, "debug", None))
    source = linked.module.source
    return f"at {span}" if span is not None else f"at {Span(source, linked.entity.offset, linked.entity.offset + 1)}"


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}@{number}"
    taken.add(candidate)
    return candidate
