"""Which functions of a C++ program may run while another waits for them in an `invoke`: a call from where local objects
have destructors, or where there is a handler of exceptions. To leave such functions with the whole stack, as
`pthread_exit` does, would run code that is not followed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field

from dekker.frontends.c.linking import Linkage
from dekker.frontends.c.runtime.interface import ExternalCall
from dekker.records import dataclass

_SYMBOL = r'@("[^"]+"|[\w.$]+)'
_NAME = re.compile(_SYMBOL)
_CALL = re.compile(rf'\b(call|invoke) [^\n]*?(?:{_SYMBOL}|%[\w.$]+|%"[^"]+")\(')
_DEFINITION = re.compile(rf"define [^\n]*?{_SYMBOL}\(")
_ALIAS = re.compile(rf"{_SYMBOL} = [^\n]*\balias [^\n]*{_SYMBOL}")
_INDIRECT = ""
_STARTING = frozenset(("pthread_create", "thrd_create"))
"""They call what they are given on another stack."""


def may_be_guarded(call: ExternalCall) -> bool:
    """Whether some `invoke` may wait for the function around the call."""
    linkage = call.lowering.unit.linkage
    texts = [unit.module.source.text for unit in linkage.units]
    if not any("invoke " in text for text in texts):
        return False
    return _calls(linkage, texts).may_be_guarded(call.lowering.header.name)


@dataclass(slots=True)
class _Calls:
    """`callers` of each function, with whether they guard the call. `taken`: functions whose address is used otherwise
    than to start a thread."""

    linkage: Linkage
    defined: set[str] = field(default_factory=set)
    callers: dict[str, set[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(set))
    taken: set[str] = field(default_factory=set)

    def read(self, text: str) -> None:
        caller = ""
        for line in text.split("\n"):
            if line.startswith(("define ", "declare ")):
                match = _DEFINITION.match(line)
                caller = match[1].strip('"') if match is not None else caller
                self.defined.add(caller)
            elif line.startswith("@"):
                self._read_variable(line)
            elif "@" in line or "call " in line or "invoke " in line:
                self._read_step(line, caller)

    def _read_variable(self, line: str) -> None:
        alias = _ALIAS.match(line)
        if alias is not None:
            self.callers[alias[2].strip('"')].add((alias[1].strip('"'), False))
        else:
            self.taken.update(_names(line)[1:])

    def _read_step(self, line: str, caller: str) -> None:
        match = _CALL.search(line)
        names = _names(line)
        if match is not None:
            callee = (match[2] or _INDIRECT).strip('"')
            self.callers[callee].add((caller, match[1] == "invoke"))
            names = [] if callee in _STARTING else names[1:] if callee else names
        self.taken.update(names)

    def may_be_guarded(self, function: str) -> bool:
        pending, seen = [function], {function}
        while pending:
            for caller, guarded in self._callers_of(pending.pop()):
                if guarded:
                    return True
                if caller not in seen:
                    seen.add(caller)
                    pending.append(caller)
        return False

    def _callers_of(self, function: str) -> Iterable[tuple[str, bool]]:
        """Functions that are not defined may call what they are given."""
        yield from self.callers.get(function, ())
        if function in self.taken:
            for callee, callers in self.callers.items():
                if callee not in self.defined and callee not in _STARTING and not callee.startswith("llvm."):
                    yield from callers


def _names(line: str) -> list[str]:
    return [name.strip('"') for name in _NAME.findall(line)]


_latest: list[_Calls] = []


def _calls(linkage: Linkage, texts: list[str]) -> _Calls:
    """Kept for the program at hand."""
    if not _latest or _latest[0].linkage is not linkage:
        _latest[:] = [_Calls(linkage)]
        for text in texts:
            _latest[0].read(text)
    return _latest[0]
