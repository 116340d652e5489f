"""The replay of programs whose threads come and go: traces of the explorer, and what is wrong with changed ones."""

from __future__ import annotations

import pytest

from dekker.engines.rsmc import engine as rsmc
from dekker.execution import Trace, TraceEvent
from dekker.ir.layout import end_address, header_address, heap_address, start_address
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.replay import Mismatch, Replayed, make_witness, replay
from dekker.replay.findings import findings
from dekker.replay.names import Names
from dekker.replay.output import printed_text
from dekker.replay.record import Origin
from dekker.source import Source
from dekker.task import Limits, Task
from dekker.witness import Finding, ProgramText

LIMITS = Limits(counts_known_rounds=False)


def program(text: str) -> Program:
    found = parse_program(Source("t.ir", f"program t\narchitecture C\n{text}\nthread main runs main\n"))
    validate(found)
    return found


def violation(text: str, model: str = "sc") -> tuple[Replayed, Finding]:
    """The first violation, deadlock or flag of a program, replayed."""
    parsed = program(text)
    task = Task(parsed, load_model(model), LIMITS, examples=True)
    examples = rsmc.run(task).examples
    traces = [
        *examples.violations.values(),
        *([examples.deadlock] if examples.deadlock else ()),
        *examples.flags.values(),
    ]
    replayed = replay(parsed, traces[0])
    return replayed, findings(task.model, replayed, Names(replayed.world))[0][1]


SPAWNED = program("""object x[4]
function w(a) {
  store.4 [&x] = a relaxed
  return a
}
function main() {
  store.4 [&x] = 7
  t = spawn &w(3)
  e = join t
  r = load.4 [&x]
}""")


def spawned_trace() -> Trace:
    (trace,) = rsmc.run(Task(SPAWNED, load_model("sc"), LIMITS, examples=True)).examples.states.values()
    return trace


def test_threads_begin_and_end_with_accesses() -> None:
    trace = spawned_trace()
    assert trace[0] == TraceEvent(0, 0, "P", value=1)
    replayed = replay(SPAWNED, trace)
    assert [run.end for run in replayed.runs] == ["complete", "complete"]
    assert replayed.runs[0].registers == {"t": 2, "e": 3, "r": 3}
    places = [done.event.address for done in replayed.runs[1].done if done.event.kind != "F"]
    assert places == [start_address(1), SPAWNED_X, end_address(1)]
    initial = {event.address: event.value for event in replayed.execution.events if event.initial}
    assert initial[SPAWNED_X] == 7
    assert replayed.world.starts[1].parent == 0


SPAWNED_X = 0x1000_0000


def changed(trace: Trace, position: int, **fields: int | str) -> Trace:
    return (*trace[:position], trace[position]._replace(**fields), *trace[position + 1 :])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda t: t[1:], "which is no event|does a write|its trace has"),
        (lambda t: changed(t, 0, value=2), "no event"),
        (lambda t: changed(t, find(t, 0, "R", end_address(1)), link=-1), "began or ended|wrote another"),
        (lambda t: changed(t, find(t, 0, "W", start_address(1)), address=start_address(0)), "exists already"),
        (lambda t: changed(t, find(t, 0, "W", start_address(1)), address=SPAWNED_X), "something else"),
        (lambda t: changed(t, find(t, 1, "R", start_address(1)), link=-1), "wrote another|began or ended"),
        (lambda t: changed(t, find(t, 1, "W", end_address(1)), value=4), "does a write"),
    ],
)
def test_what_is_wrong_is_refused(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(Mismatch, match=message):
        replay(SPAWNED, wrong(spawned_trace()))


def find(trace: Trace, thread: int, kind: str, address: int) -> int:
    return next(i for i, e in enumerate(trace) if (e.thread, e.kind, e.address) == (thread, kind, address))


def test_a_free_writes_to_all_that_is_accessed() -> None:
    parsed = program("""object p[8]
function w() {
  q = load.8 [&p]
  store.4 [q add.64 4] = 2
  free q
}
function main() {
  a = allocate 8
  store.8 [&p] = a
  t = spawn &w()
  e = join t
}""")
    (trace,) = rsmc.run(Task(parsed, load_model("sc"), LIMITS, examples=True)).examples.states.values()
    start = heap_address(0, 0)
    released = [done.event.address for done in replay(parsed, trace).runs[1].done if done.release]
    assert released == [header_address(start), start + 4]
    position = max(i for i, e in enumerate(trace) if e.address == start + 4)
    without = tuple(
        e._replace(link=e.link - 1) if e.kind == "R" and e.link > position else e
        for i, e in enumerate(trace)
        if i != position
    )
    with pytest.raises(Mismatch, match="leaves out 4 bytes"):
        replay(parsed, without)


# --- what goes wrong, in words


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ('assert 0, "never"', "assertion", "never"),
        ('assert 0, "`pthread_mutex_unlock`: it is not locked"', "lock misuse", "it is not locked"),
        ('assert 0, "`sem_post`: no semaphore"', "library misuse", "no semaphore"),
        ("r = load.4 [8]", "null pointer", "null pointer plus 8"),
        ("store.4 [&x add.64 2] = 1", "out of bounds", "`x`+2, 2 bytes beyond the end (it has 4 bytes)"),
        ("store.4 [&x sub.64 4] = 1", "out of bounds", "4 bytes before the start"),
        ("a = allocate 3\nstore.1 [a add.64 3] = 1", "out of bounds", "1 byte beyond the end (it has 3 bytes)"),
        ("store.4 [0x7000000000] = 1", "wild pointer", "0x7000000000"),
        ("free &x", "invalid free", "`&x`"),
        ("a = allocate 8\nfree a add.64 4", "invalid free", "not the start of an allocated object"),
        ("a = allocate 8\nfree a\nfree a", "double free", "free already"),
        ("a = allocate 8\nfree a\nr = load.4 [a]", "use after free", "4 bytes of"),
        ("a = allocate 8\nfree a\nstore.4 [a] = 1", "use after free", "4 bytes of"),
        (
            "c = choose 0 .. 0\na = allocate 8\nq = load.8 [a]\nstore.4 [q] = 1",
            "uninitialised pointer",
            "never set",
        ),
        ("r = call 0()", "invalid call", "a null pointer"),
        ("f = &x\nr = call f()", "invalid call", "`&x`"),
        ("r = call &main()", "recursion", "nested too deeply"),
        ("r = join 5", "invalid join", "5"),
        ("a = allocate 0x7fffffffffff", "allocation", "more than there is"),
        ("L:\nr = load.4 [&x]\nawait r -> L", "deadlock", "a thread waits for ever"),
    ],
)
def test_what_goes_wrong_is_described(body: str, kind: str, message: str) -> None:
    replayed, finding = violation(f"object x[4]\nfunction main() {{\n{body}\n}}")
    assert (finding.kind, finding.thread) == (kind, 0)
    assert message in finding.message
    assert finding.place is not None
    assert finding.place.function == "main"
    assert finding.place.line > 3
    assert replayed.failures


def test_call_stacks() -> None:
    text = """object x[4]
function inner(n) {
  branch n eq.64 0 -> fail
  r = call &inner(n sub.64 1)
  return r
fail:
  assert 0, "deep"
}
function w() {
  r = call &inner(1)
  return r
}
function main() {
  t = spawn &w()
  e = join t
}"""
    replayed, finding = violation(text)
    assert finding.thread == 1
    assert [(frame.function, frame.line) for frame in finding.stack] == [("w", 12), ("inner", 6), ("inner", 9)]
    assert [run.end for run in replayed.runs] == ["waiting", "failed"]


def test_who_waits_in_a_deadlock() -> None:
    text = """object l[4]
object m[4]
function both(a, b) {
one:
  o, w = cmpxchg.4 [a] 0 -> 1 acquire/relaxed
  await w -> one
two:
  p, v = cmpxchg.4 [b] 0 -> 1 acquire/relaxed
  await v -> two
  store.4 [b] = 0 release
  store.4 [a] = 0 release
  return 0
}
function main() {
  t = spawn &both(&l, &m)
  u = spawn &both(&m, &l)
  e = join t
}"""
    _, finding = violation(text)
    assert (finding.kind, finding.message) == ("deadlock", "3 threads wait for ever")
    assert finding.thread == 1
    assert [note.thread for note in finding.notes] == [0, 1, 2]
    assert "for the end of thread 1" in finding.notes[0].message
    assert [note.stack[-1].line for note in finding.notes] == [19, 11, 11]


def test_both_sides_of_a_race() -> None:
    text = """object x[4]
function w() {
  store.4 [&x] = 1
}
function main() {
  t = spawn &w()
  r = load.4 [&x] relaxed
}"""
    _, finding = violation(text, "rc11")
    assert finding.kind == "data race"
    assert "`x`" in finding.message
    assert {(note.thread, note.stack[-1].line) for note in finding.notes} == {(0, 9), (1, 5)}


# --- names and output


def test_names_of_parts_and_of_allocated_memory() -> None:
    text = """object q[24] as {0 .8 head, 8 .16 items [2, 8, {0 .4 key, 4 .4 value}]}
function main() {
  big = allocate 16 stack confined
  a = allocate 16
  c = choose 0 .. 0
  store.8 [&q] = a
  store.8 [a] = &q add.64 20
  store.8 [big add.64 8] = big
}"""
    parsed = program(text)
    (trace,) = rsmc.run(Task(parsed, load_model("sc"), LIMITS, examples=True)).examples.states.values()
    witness = make_witness(
        Origin(ProgramText("ir", "t.ir", text), "rsmc"), parsed, load_model("sc"), trace, replay(parsed, trace)
    )
    shown = [(event.location, event.shown) for event in witness.events if event.thread == 0]
    assert shown == [
        ("q.head", "&memory:6"),
        ("memory:6", "&q.items[1].value"),
        ("big+8", "&big"),
    ]


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        ("%d %u %i", (0xFFFF_FFFF, 0xFFFF_FFFF, 3), "-1 4294967295 3"),
        ("%ld %llx %zu %hhd", ((1 << 64) - 2, 255, 7, 0x1FF), "-2 ff 7 -1"),
        ("%5d|%-4d|%04x", (1, 2, 0xAB), "    1|2   |00ab"),
        ("%.2f %g", (0x4004_0000_0000_0000, 0x3FE0_0000_0000_0000), "2.50 0.5"),
        ("%c%%", (65,), "A%"),
        ("%*d", (4, 7), "   7"),
        ("%s", (0,), "…"),
        ("%d %d", (1,), "1 …"),
        ("100%", (), "100%"),
    ],
)
def test_what_is_printed(text: str, values: tuple[int, ...], shown: str) -> None:
    replayed = replay(SPAWNED, spawned_trace())
    assert printed_text(text, values, Names(replayed.world)) == shown
