"""The replay on traces written by hand: what it derives, and what it refuses."""

from __future__ import annotations

import pytest

from dekker.errors import UnsupportedError
from dekker.execution import Trace, TraceEvent, pairs
from dekker.ir.layout import layout
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.replay import Mismatch, Replayed, replay
from dekker.source import Source

X, Y = 0x1000_0000, 0x1000_0080


def program(*bodies: str, tail: str = "") -> Program:
    functions = "".join(f"function P{i}() {{\n{body}\n}}\nthread P{i} runs P{i}\n" for i, body in enumerate(bodies))
    found = parse_program(Source("p.ir", f"program p\narchitecture PPC\nobject x[8]\nobject y[8]\n{functions}{tail}"))
    assert layout(found).starts == {"x": X, "y": Y} | {f"P{i}": 0x0100_0000 + 64 * i for i in range(len(bodies))}
    return found


def read(thread: int, instruction: int, address: int, value: int, link: int = -1) -> TraceEvent:
    return TraceEvent(thread, instruction, "R", address, 4, value, link)


def write(thread: int, instruction: int, address: int, value: int, rank: int = 1) -> TraceEvent:
    return TraceEvent(thread, instruction, "W", address, 4, value, rank)


def relation(replayed: Replayed, name: str) -> set[tuple[int, int]]:
    """Pairs of thread events, numbered from 0 over all threads."""
    first = sum(event.initial for event in replayed.execution.events)
    return {(a - first, b - first) for a, b in pairs(replayed.execution.relations[name])}


COPY = program("r1 = load.4 [&x]\nstore.4 [&y] = r1", "r1 = load.4 [&y]\nstore.4 [&x] = 1")
COPIED: Trace = (read(0, 0, X, 1, 3), write(0, 1, Y, 1), read(1, 0, Y, 1, 1), write(1, 1, X, 1))


def test_an_execution_is_rebuilt() -> None:
    replayed = replay(COPY, COPIED)
    assert [event.kind for event in replayed.execution.events] == ["W", "W", "R", "W", "R", "W"]
    assert relation(replayed, "rf") == {(3, 0), (1, 2)}
    assert relation(replayed, "data") == {(0, 1)}
    assert relation(replayed, "po") == {(0, 1), (2, 3)}
    assert [run.registers for run in replayed.runs] == [{"r1": 1}, {"r1": 1}]


WRONG: dict[str, tuple[int, TraceEvent, str]] = {
    "value of a write": (1, write(0, 1, Y, 2), "does a write of 4 bytes at y .value 1."),
    "address": (0, read(0, 0, Y, 1, 3), "does a read of 4 bytes at x"),
    "kind": (0, write(0, 0, X, 1), "does a read"),
    "instruction": (3, write(1, 0, X, 1), "does a write"),
    "source elsewhere": (0, read(0, 0, X, 1, 1), "which is elsewhere"),
    "source is a read": (0, read(0, 0, X, 1, 2), "no write"),
    "source does not exist": (0, read(0, 0, X, 1, 9), "no write"),
    "other value than its source": (2, read(1, 0, Y, 7, 1), "wrote another one"),
    "initial value": (2, read(1, 0, Y, 1, -1), "initial state, which wrote another one"),
    "rank": (3, write(1, 1, X, 1, 2), "not in one order"),
    "size": (3, write(1, 1, X, 1)._replace(size=8), "does a write of 4 bytes"),
    "thread": (3, write(2, 1, X, 1), "never started"),
    "too large a value": (0, read(0, 0, X, 1 << 32, 3), "does not fit"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named(kind: str) -> None:
    position, changed, message = WRONG[kind]
    with pytest.raises(Mismatch, match=message):
        replay(COPY, (*COPIED[:position], changed, *COPIED[position + 1 :]))


def test_a_trace_that_goes_on() -> None:
    with pytest.raises(Mismatch, match="thread P1 ends, but its trace goes on"):
        replay(COPY, (*COPIED, write(1, 1, X, 1, 2)))


def test_a_trace_that_stops_early_is_told_apart() -> None:
    replayed = replay(COPY, (read(0, 0, X, 0), read(1, 0, Y, 0), write(1, 1, X, 1)))
    assert [run.end for run in replayed.runs] == ["stopped", "complete"]


def test_values_out_of_thin_air() -> None:
    both = program("r1 = load.4 [&x]\nstore.4 [&y] = r1", "r1 = load.4 [&y]\nstore.4 [&x] = r1")
    trace = (read(0, 0, X, 7, 3), write(0, 1, Y, 7), read(1, 0, Y, 7, 1), write(1, 1, X, 7))
    with pytest.raises(Mismatch, match="nothing but itself"):
        replay(both, trace)
    false = program("r1 = load.4 [&x]\nstore.4 [&y] = (r1 xor.32 r1) add.32 7", "r1 = load.4 [&y]\nstore.4 [&x] = r1")
    assert relation(replay(false, trace), "data") == {(0, 1), (2, 3)}


DEPENDENCIES: dict[str, tuple[str, Trace, dict[str, set[tuple[int, int]]]]] = {
    "address": (
        "r1 = load.4 [&x]\nr2 = load.4 [&y add.64 (r1 xor.64 r1)]",
        (read(0, 0, X, 0), read(0, 1, Y, 0)),
        {"addr": {(0, 1)}},
    ),
    "control reaches everything behind the branch, fences too": (
        "r1 = load.4 [&x]\nbranch r1 -> L\nL:\nfence sync\nstore.4 [&y] = 1",
        (read(0, 0, X, 0), TraceEvent(0, 2, "F"), write(0, 3, Y, 1)),
        {"ctrl": {(0, 1), (0, 2)}},
    ),
    "an assumption is like a branch": (
        "r1 = load.4 [&x]\nassume r1 eq.32 0\nstore.4 [&y] = 1",
        (read(0, 0, X, 0), write(0, 2, Y, 1)),
        {"ctrl": {(0, 1)}},
    ),
    "an await reads again until it likes what it sees": (
        "L:\nr1 = load.4 [&x]\nawait r1 eq.32 1 -> L\nr2 = load.4 [&y]\nstore.4 [&x] = 1",
        (read(0, 0, X, 0), read(0, 0, X, 1, 3), read(0, 2, Y, 0), write(0, 3, X, 1)),
        {"ctrl": {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}},
    ),
    "an assertion is a branch": (
        'r1 = load.4 [&x]\nassert r1 eq.32 0, "m"\nstore.4 [&y] = 1',
        (read(0, 0, X, 0), write(0, 2, Y, 1)),
        {"ctrl": {(0, 1)}},
    ),
    "a selection depends on the chosen side and picks by its condition": (
        "r1 = load.4 [&x]\nr2 = load.4 [&x]\nr3 = load.4 [&x]\nr4 = (r1 ? r2 : r3) add.32 1\nstore.4 [&y] = r4",
        (read(0, 0, X, 0), read(0, 1, X, 0), read(0, 2, X, 0), write(0, 4, Y, 1)),
        {"data": {(2, 3)}, "pick-data": {(0, 3)}},
    ),
    "the status of a store-conditional": (
        "r1 = load.4 exclusive [&x]\nr2 = store-conditional.4 [&x] = 1\nstore.4 [&y] = r2",
        (read(0, 0, X, 0), write(0, 1, X, 1), write(0, 2, Y, 0)),
        {"lxsx": {(0, 1)}, "status-data": {(1, 2)}},
    ),
    "one that failed": (
        "r1 = load.4 exclusive [&x]\nr2 = store-conditional.4 [&x] = 1\nstore.4 [&y] = r2",
        (read(0, 0, X, 0), write(0, 2, Y, 1)),
        {},
    ),
    "an update depends on what it read": (
        "r1 = rmw.add.4 [&x], 2",
        (read(0, 0, X, 0), write(0, 0, X, 2)),
        {"amo": {(0, 1)}, "data": {(0, 1)}},
    ),
    "an exchange does not": (
        "r1 = rmw.xchg.4 [&x], 2",
        (read(0, 0, X, 0), write(0, 0, X, 2)),
        {"amo": {(0, 1)}},
    ),
    "a compare-exchange picks": (
        "r1, ok = cmpxchg.4 [&x] 0 -> 2\nstore.4 [&y] = ok",
        (read(0, 0, X, 0), write(0, 0, X, 2), write(0, 1, Y, 1)),
        {"amo": {(0, 1)}, "pick-data": {(0, 1)}, "data": {(0, 2)}},
    ),
}


@pytest.mark.parametrize("kind", DEPENDENCIES)
def test_dependencies(kind: str) -> None:
    body, trace, expected = DEPENDENCIES[kind]
    replayed = replay(program(body), trace)
    found = {name: relation(replayed, name) for name in replayed.execution.relations if name not in ("po", "rf", "co")}
    assert {name: content for name, content in found.items() if content} == expected


def test_updates_that_cannot_be() -> None:
    strong = program("r1, ok = cmpxchg.4 [&x] 1 -> 2")
    with pytest.raises(Mismatch, match=r"compare-exchange .*succeeds, but it read 0 and expected 1"):
        replay(strong, (read(0, 0, X, 0), write(0, 0, X, 2)))
    with pytest.raises(Mismatch, match="fails, but"):
        replay(program("r1, ok = cmpxchg.4 [&x] 0 -> 2"), (read(0, 0, X, 0),))
    replay(program("r1, ok = cmpxchg.4 weak [&x] 0 -> 2"), (read(0, 0, X, 0),))
    alone = program("r2 = store-conditional.4 [&x] = 1")
    with pytest.raises(Mismatch, match="closest load-linked"):
        replay(alone, (write(0, 0, X, 1),))


def test_choices_come_from_their_range() -> None:
    chosen = program("r1 = choose -1 .. 1\nstore.4 [&x] = r1")
    for value, ok in ((0, True), (1, True), ((1 << 64) - 1, True), (2, False), ((1 << 64) - 2, False)):
        trace = (TraceEvent(0, 0, "C", value=value), write(0, 1, X, value & 0xFFFF_FFFF))
        if ok:
            assert replay(chosen, trace).runs[0].registers == {"r1": value}
        else:
            with pytest.raises(Mismatch, match="out of range"):
                replay(chosen, trace)


def test_violations_are_found() -> None:
    wrong = program('r1 = load.4 [&x]\nassert r1 eq.32 1, "one"\nr2 = load.4 [&y]', "r1 = load.4 [&y add.64 60]")
    replayed = replay(wrong, (read(0, 0, X, 0), read(1, 0, Y + 60, 0)))
    assert [violation.kind for violation in replayed.violations] == ["assertion", "memory"]
    assert replayed.violations[0].message == "one"


def test_waiting_for_ever_is_no_end() -> None:
    waiting = program("L:\nr1 = load.4 [&x]\nawait r1 eq.32 1 -> L")
    for trace in ((read(0, 0, X, 0),), (read(0, 0, X, 0), read(0, 0, X, 0))):
        replayed = replay(waiting, trace)
        assert replayed.runs[0].end == "waiting"
        assert [failure.kind for failure in replayed.failures] == ["deadlock"]


def test_a_thread_without_end() -> None:
    endless = program("L:\njump L\nstore.4 [&x] = 1")
    assert replay(endless, ()).runs[0].end == "stopped"
    with pytest.raises(Mismatch, match="does not come to an end, but its trace goes on"):
        replay(endless, (write(0, 1, X, 1),))


def test_long_computations() -> None:
    loop = "r1 = load.4 [&x]\nr3 = r1\nL:\nr1 = r1 add.64 r3\nr2 = r2 add.64 1\nbranch r2 ult.64 2000 -> L\n"
    rounds = program(loop + "store.4 [&x] = r1")
    assert replay(rounds, (read(0, 0, X, 0), write(0, 5, X, 0))).runs[0].registers["r2"] == 2000
    with pytest.raises(Mismatch, match="nothing but itself"):
        replay(rounds, (read(0, 0, X, 0, 1), write(0, 5, X, 0)))


def test_what_the_replay_does_not_know() -> None:
    with pytest.raises(UnsupportedError, match="AtomicBegin"):
        replay(program("atomic-begin\natomic-end"), ())


def test_overlapping_accesses() -> None:
    trace = (write(0, 0, X, 1), TraceEvent(0, 1, "W", X + 2, 2, 1, 1))
    with pytest.raises(Mismatch, match="overlap"):
        replay(program("store.4 [&x] = 1\nstore.2 [&x add.64 2] = 1"), trace)
