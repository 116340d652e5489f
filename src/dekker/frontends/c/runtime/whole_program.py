"""What the text of all modules tells about the program as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from dekker.frontends.c.linking import Linkage
from dekker.frontends.c.runtime.interface import ExternalCall
from dekker.records import dataclass

RELEASING = frozenset(
    (
        *("pthread_mutex_unlock", "mtx_unlock", "pthread_spin_unlock"),
        *(
            f"_ZNSt3__1{kind}6unlockEv"
            for kind in ("5mutex", "11timed_mutex", "15recursive_mutex", "21recursive_timed_mutex")
        ),
    )
)
CALLING_BACK = frozenset("pthread_once call_once _ZNSt3__111__call_onceERVmPvPFvS2_E".split())

_FUNCTION = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$]+)\([^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_CALLED = re.compile(r"\b(?:call|invoke) [^\n]*?(?:@(\"[^\"]+\"|[\w.$]+)|(%[\w.$]+|%\"[^\"]+\"))\(")
_STATIC_KIND = re.compile(r"%struct\.__pthread_mutex_s \{ (?:i32 [^,]+, ){4}i32 [1-9]")


def is_used(call: ExternalCall, *names: str) -> bool:
    """Does any module declare one of these functions?"""
    shared = call.lowering.unit.linkage.shared
    return any(name in shared for name in names)


def has_match(call: ExternalCall, pattern: re.Pattern[str]) -> bool:
    """Does the text of any module contain this?"""
    return matches(call.lowering.unit.linkage, pattern)


def matches(linkage: Linkage, pattern: re.Pattern[str]) -> bool:
    return _facts(linkage).contains(pattern)


def has_static_kinds(call: ExternalCall) -> bool:
    """Is a mutex of another kind than the normal one made by an initial value?"""
    return has_match(call, _STATIC_KIND)


def unlocks_only_here(call: ExternalCall) -> bool:
    """While the function around runs, does no other function that its thread runs unlock a mutex?"""
    name = call.lowering.header.name
    return name not in _facts(call.lowering.unit.linkage).disturbed


def readers_may_block(call: ExternalCall) -> bool:
    """Can it be told whether a thread that locks for reading waits behind a writer that waits?"""
    if not is_used(call, "pthread_rwlock_wrlock"):
        return False
    return is_used(call, "pthread_rwlock_tryrdlock") or _facts(call.lowering.unit.linkage).waiting_readers


def waits_with_several(call: ExternalCall) -> bool:
    """May threads wait for one condition variable with different mutexes?"""
    return _facts(call.lowering.unit.linkage).several_mutexes


def _several_mutexes(texts: Iterable[str]) -> bool:
    """Not if all waits name a variable and a mutex that are global, and always the same mutex for a variable."""
    mutexes: dict[str, set[str]] = {}
    for text in texts:
        if _CPLUSPLUS_WAIT.search(text):
            return True
        for condition, mutex in _WAIT.findall(text):
            mutexes.setdefault(condition, set()).add(mutex)
    return any(name.startswith("%") for pair in mutexes.items() for name in (pair[0], *pair[1])) or any(
        len(found) > 1 for found in mutexes.values()
    )


_ARGUMENT = r"ptr (?:noundef )?([^(),]+|getelementptr[^()]*\([^()]*\))"
_WAIT = re.compile(rf"\bcall [^\n]*@(?:pthread_cond|cnd)_\w*wait\({_ARGUMENT}, {_ARGUMENT}[,)]")
_CPLUSPLUS_WAIT = re.compile(r"\b(?:call|invoke) [^\n]*@_ZNSt3__118condition_variable\w*wait")


def _waits_while_reading(texts: Iterable[str]) -> bool:
    """Does a function call anything, or look at what other threads do, between locking for reading and unlocking?"""
    for text in texts:
        for match in _FUNCTION.finditer(text):
            _, reading, rest = match[2].partition("@pthread_rwlock_rdlock(")
            inside, unlocks, _ = rest.rpartition("@pthread_rwlock_unlock(")
            if reading and (not unlocks or _LOOKS_ELSEWHERE.search(inside.rpartition("\n")[0])):
                return True
    return False


_LOOKS_ELSEWHERE = re.compile(
    r"\b(?:call|invoke) (?![^\n]*@(?:llvm\.|pthread_rwlock_unlock|__assert_fail|printf))"
    r"|\batomic|\bvolatile\b|\bcmpxchg\b"
)


@dataclass(slots=True)
class _Facts:
    """`disturbed` functions call others that unlock mutexes, or may do so. `waiting_readers`: threads may wait while
    they hold a lock for reading. `several_mutexes`: they may wait for one condition variable with different ones."""

    linkage: Linkage
    disturbed: set[str]
    waiting_readers: bool
    several_mutexes: bool
    matches: dict[re.Pattern[str], bool] = field(default_factory=dict)

    def contains(self, pattern: re.Pattern[str]) -> bool:
        if pattern not in self.matches:
            self.matches[pattern] = any(map(pattern.search, _texts(self.linkage)))
        return self.matches[pattern]


_latest: list[_Facts] = []


def _facts(linkage: Linkage) -> _Facts:
    """Kept for the program at hand."""
    if not _latest or _latest[0].linkage is not linkage:
        texts = _texts(linkage)
        _latest[:] = [_Facts(linkage, _disturbed(texts), _waits_while_reading(texts), _several_mutexes(texts))]
    return _latest[0]


def _texts(linkage: Linkage) -> list[str]:
    return [unit.module.source.text for unit in linkage.units]


def _disturbed(texts: Iterable[str]) -> set[str]:
    callees: dict[str, set[str]] = {}
    disturbed: set[str] = set()
    for text in texts:
        for match in _FUNCTION.finditer(text):
            name = match[1].strip('"')
            called = [(found[1] or "").strip('"') for found in _CALLED.finditer(match[2])]
            callees.setdefault(name, set()).update(called)
            if "" in called or not CALLING_BACK.isdisjoint(called):
                disturbed.add(name)
    releasing = disturbed | {name for name, called in callees.items() if not RELEASING.isdisjoint(called)}
    changed = True
    while changed:
        disturbed |= {name for name, called in callees.items() if not releasing.isdisjoint(called)}
        changed = not disturbed <= releasing
        releasing |= disturbed
    return disturbed
