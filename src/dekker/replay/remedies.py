"""What would forbid an execution: fences, and dependencies in their place. The model is asked about each.

Only this execution is asked about; another one may have the same outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dekker.cat.model import Model
from dekker.execution import Execution
from dekker.ir.fences import FENCES
from dekker.records import dataclass
from dekker.replay.judge import judge
from dekker.replay.reordering import Pair, with_fences

CONTROL_FENCES = {"dmb": "isb", "sync": "isync", "lwsync": "isync"}
"""What turns a branch into an order of everything behind it, by a fence of the same processor."""
DEPENDENCIES = {"addr": "an address dependency", "data": "a data dependency", "ctrl": "a control dependency"}


@dataclass(frozen=True)
class Remedy:
    """A fence between two accesses, and the dependencies from the first to the second that would do as well, if the
    other remedies are there."""

    pair: Pair
    fence: str
    dependencies: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Change:
    pair: Pair
    fence: str = ""
    dependency: str = ""


def remedies(model: Model, execution: Execution, pairs: Sequence[Pair], kinds: Sequence[str]) -> tuple[Remedy, ...]:
    """The weakest fences of these kinds, one for each pair, which together forbid the execution; nothing if the
    strongest do not. None of them can be left out or be weaker."""
    weakest_first = sorted(kinds, key=lambda kind: len(FENCES[kind].orders))
    if not pairs or not weakest_first:
        return ()
    chosen = {pair: _Change(pair, weakest_first[-1]) for pair in pairs}
    if not _forbids(model, execution, chosen):
        return ()
    for pair in pairs:
        if _forbids(model, execution, {other: change for other, change in chosen.items() if other != pair}):
            del chosen[pair]
            continue
        for kind in weakest_first:
            weaker = chosen | {pair: _Change(pair, kind)}
            if _forbids(model, execution, weaker):
                chosen = weaker
                break
    return tuple(
        Remedy(pair, change.fence, tuple(_dependencies(model, execution, chosen, pair)))
        for pair, change in chosen.items()
    )


def _dependencies(model: Model, execution: Execution, chosen: Mapping[Pair, _Change], pair: Pair) -> list[str]:
    first, second = (execution.events[number] for number in pair)
    if first.kind != "R" or second.kind == "F":
        return []
    found = []
    for name, text in DEPENDENCIES.items():
        if (name == "data" and second.kind != "W") or execution.relations[name][pair[0]] >> pair[1] & 1:
            continue
        if _forbids(model, execution, {**chosen, pair: _Change(pair, dependency=name)}):
            found.append(text)
    fence = CONTROL_FENCES.get(chosen[pair].fence.partition(".")[0])
    if fence is not None and DEPENDENCIES["ctrl"] not in found:
        changed = {**chosen, pair: _Change(pair, fence, "ctrl")}
        if _forbids(model, execution, changed):
            found.append(f"{DEPENDENCIES['ctrl']} with {fence} behind the branch")
    return found


def _forbids(model: Model, execution: Execution, changes: Mapping[Pair, _Change]) -> bool:
    for change in changes.values():
        if change.fence:
            execution = with_fences(execution, [change.pair], (change.fence,))
        if change.dependency:
            execution = _with_dependency(execution, change)
    return not judge(model, execution).allowed


def _with_dependency(execution: Execution, change: _Change) -> Execution:
    """A control dependency reaches everything behind the branch."""
    first, second = change.pair
    rows = list(execution.relations[change.dependency])
    po = execution.relations["po"]
    behind = po[first] if change.fence else po[second] | 1 << second
    rows[first] |= behind if change.dependency == "ctrl" else 1 << second
    return Execution(execution.events, {**execution.relations, change.dependency: rows})


def keeper(execution: Execution, pair: Pair) -> str:
    """What keeps two accesses in order in their own thread, if anything is written there to do so."""
    first, second = pair
    names = {**DEPENDENCIES, "pick-addr": DEPENDENCIES["addr"], "pick-data": DEPENDENCIES["data"]}
    for name, text in names.items():
        if execution.relations[name][first] >> second & 1:
            return text
    a, b = execution.events[first], execution.events[second]
    for number, event in enumerate(execution.events):
        between = execution.relations["po"][first] >> number & 1 and execution.relations["po"][number] >> second & 1
        if between and event.kind == "F" and f"{a.kind}{b.kind}" in FENCES[event.fence].orders:
            return f"the fence {event.fence}"
    return ""
