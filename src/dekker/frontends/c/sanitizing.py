"""Checks that only the compiler can make, because LLVM IR does not say which numbers are signed: left shifts of
negative numbers and out of the type, as the language has it (C++20 defines them), and floating values that do not fit
the integer type they are converted to.

Clang's sanitizer spells a check out as a branch to a trap. Here it becomes the call of a function that requires the
condition: no such branch is in the program, so nothing must depend on it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from dekker.frontends.c.driver import Compiled
from dekker.source import Source

_CHECKS = "shift-base,float-cast-overflow"
FLAGS = (f"-fsanitize={_CHECKS}", f"-fsanitize-trap={_CHECKS}")
REQUIREMENT = "dekker.require."
SHIFT, CONVERSION = f"{REQUIREMENT}20", f"{REQUIREMENT}5"
"""Clang's numbers of the checks."""

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_TRAP = re.compile(
    r"^([\w.$-]+):[^\n]*\n\s+call void @llvm\.ubsantrap\(i8 (\d+)\)[^\n]*\n\s+unreachable[^\n]*\n", re.MULTILINE
)
_BRANCH = re.compile(r"br i1 (\S+), label (%\S+), label %([\w.$-]+)((?:, !dbg !\d+)?)[^\n]*!nosanitize[^\n]*")
_SKIPPED_CHECK = re.compile(r"phi i1 \[ true, %\S+ \], \[ (\S+), %([\w.$-]+) \](?=[^\n]*!nosanitize)")


def as_requirements(compiled: Compiled) -> Compiled:
    """The same with calls in the place of checks."""
    text = _FUNCTION.sub(lambda match: _without_traps(match[0]), compiled.source.text)
    numbers = sorted(set(re.findall(rf"@{re.escape(REQUIREMENT)}(\d+)\(", text)))
    declared = "".join(f"declare void @{REQUIREMENT}{number}(i1)\n" for number in numbers)
    return replace(compiled, source=Source(compiled.source.name, f"{text}\n{declared}"))


def _without_traps(function: str) -> str:
    kinds = dict(_TRAP.findall(function))
    if not kinds:
        return function

    def required(match: re.Match[str]) -> str:
        condition, target, label, place = match.groups()
        if label not in kinds:
            return match[0]
        return f"call void @{REQUIREMENT}{kinds[label]}(i1 {condition}){place}\n  br label {target}{place}"

    return _TRAP.sub("", _BRANCH.sub(required, _with_all_checks(function)))


def _with_all_checks(function: str) -> str:
    """A shift is checked only where its count is in range. That is required anyway."""
    for check in {match[2] for match in _SKIPPED_CHECK.finditer(function)}:
        function = re.sub(rf"br i1 \S+, label %{re.escape(check)}, label %\S+,", f"br label %{check},", function)
    return _SKIPPED_CHECK.sub(r"phi i1 [ \1, %\2 ]", function)
