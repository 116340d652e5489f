"""Checks that only the compiler can make, because LLVM IR does not say which numbers are signed: left shifts of
negative numbers and out of the type, as the language has it (C++20 defines them), and floating values that do not fit
the integer type they are converted to. Sums, differences and products of signed numbers are marked in the IR; but those
of constants are not there if the compiler is not asked to check them. Their checks become the marked operations again.

Clang's sanitizer spells a check out as a branch to a trap. Here it becomes the call of a function that requires the
condition: no such branch is in the program, so nothing must depend on it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from dekker.frontends.c.driver import Compiled
from dekker.source import Source

_CHECKS = "shift-base,float-cast-overflow,signed-integer-overflow"
FLAGS = (f"-fsanitize={_CHECKS}", f"-fsanitize-trap={_CHECKS}")
REQUIREMENT = "dekker.require."
SHIFT, CONVERSION = f"{REQUIREMENT}20", f"{REQUIREMENT}5"
SUMS = tuple(f"{REQUIREMENT}{number}" for number in (0, 12, 13, 21))
"""Clang's numbers of the checks; those of sums and the like where they have another form than `_SUM`."""

_QUOTIENT = "3"
"""Of a division that does not fit: that is checked in any case."""

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_TRAP = re.compile(
    r"^([\w.$-]+):[^\n]*\n\s+call void @llvm\.ubsantrap\(i8 (\d+)\)[^\n]*\n\s+unreachable[^\n]*\n", re.MULTILINE
)
_BRANCH = re.compile(r"br i1 (\S+), label (%\S+), label %([\w.$-]+)((?:, !dbg !\d+)?)[^\n]*!nosanitize[^\n]*")
_SUM = re.compile(
    r"^ +(\S+) = call \{ (i\d+), i1 \} @llvm\.s(add|sub|mul)\.with\.overflow\.i\d+"
    r"\(i\d+ ([^\s,()]+), i\d+ ([^\s,()]+)\)[^\n]*!nosanitize[^\n]*\n"
    r" +(\S+) = extractvalue \{ i\d+, i1 \} \1, 0((?:, !dbg !\d+)?)[^\n]*\n +\S+ = extractvalue [^\n]* \1, 1\b[^\n]*\n"
    r" +(\S+) = xor i1 [^\n]*\n +br i1 \8, label (%\S+), [^\n]*\n",
    re.MULTILINE,
)
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
        if kinds[label] == _QUOTIENT:
            return f"br label {target}{place}"
        return f"call void @{REQUIREMENT}{kinds[label]}(i1 {condition}){place}\n  br label {target}{place}"

    return _TRAP.sub("", _BRANCH.sub(required, _with_all_checks(_SUM.sub(_unchecked, function))))


def _unchecked(match: re.Match[str]) -> str:
    _, width, op, left, right, result, place, _, target = match.groups()
    return f"  {result} = {op} nsw {width} {left}, {right}{place}\n  br label {target}{place}\n"


def _with_all_checks(function: str) -> str:
    """A shift is checked only where its count is in range. That is required anyway."""
    for check in {match[2] for match in _SKIPPED_CHECK.finditer(function)}:
        function = re.sub(rf"br i1 \S+, label %{re.escape(check)}, label %\S+,", f"br label %{check},", function)
    return _SKIPPED_CHECK.sub(r"phi i1 [ \1, %\2 ]", function)
