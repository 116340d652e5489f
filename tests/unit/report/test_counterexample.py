"""Runs by source lines: what is shown, folded and hidden."""

from __future__ import annotations

from dataclasses import replace

from dekker.engines.rsmc import engine as rsmc
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.report.counterexample import FIRST_ROWS, LAST_ROWS, counterexample_text, finding_text
from dekker.run.violations import out_of_order, violations_of
from dekker.run.witnesses import witnessed_model, witnessed_program
from dekker.source import Source, Span
from dekker.task import Limits, Task
from dekker.witness import Witness, from_json, to_json

LIMITS = Limits(unroll=4, counts_known_rounds=False, stop_at_first=True)


def program(text: str) -> Program:
    return parse_program(
        Source("t.c", f"program t\narchitecture C\nobject x[4]\nobject y[4]\n{text}\nthread main runs main\n")
    )


def witness_of(parsed: Program, model: str = "sc") -> Witness:
    task = Task(parsed, load_model(model), LIMITS, examples=True)
    found = next(iter(violations_of(task, rsmc.NAME, rsmc.run(task)))).witness
    assert found is not None
    return from_json(to_json(found))


def shown(parsed: Program, model: str = "sc", width: int = 100) -> str:
    witness = witness_of(parsed, model)
    order = out_of_order(witnessed_model(witness), witnessed_program(witness), witness)
    return counterexample_text(witness, order, width)


WORKER = "function w() {\n  store.4 [&x] = 1 relaxed\n  store.4 [&y] = 1 relaxed\n}\n"
READER = """function main() {
  t = spawn &w()
  a = load.4 [&y] relaxed
  b = load.4 [&x] relaxed
  assert (a eq.32 0) or.32 b, "seen"
}"""


def test_rows_have_lines_events_and_source() -> None:
    text = shown(program(WORKER + READER), "pso")
    assert "    10  #1 starts thread 1 " in text
    assert "     6  #4 writes x = 1  store.4 [&x] = 1 relaxed" in text
    assert "    11  #2 reads y = 1, from #5 of thread 1  a = load.4 [&y] relaxed" in text
    assert "    12  #3 reads x = 0, the initial value    b = load.4 [&x] relaxed" in text
    assert "thread 1: #4 writes x (line 6), and then #5 writes y (line 7)" in text
    assert "because of the cycle #2 -po-> #3 -fr-> #4 -po-> #5 -rf-> #2" in text


def test_narrow_terminals_cut_the_source() -> None:
    lines = shown(program(WORKER + READER), "pso", 60).split("\n")
    rows = [line for line in lines if "#" in line and "-po->" not in line and "and then" not in line]
    assert rows
    assert any(line.endswith("…") for line in rows)


def test_long_threads_are_folded() -> None:
    body = "".join(f"  store.4 [&x] = {number} relaxed\n" for number in range(100))
    long = f"function w() {{\n  r = load.4 [&x] relaxed\n}}\nfunction main() {{\n  t = spawn &w()\n{body}"
    text = shown(program(f'{long}  assert 0, "end"\n}}'))
    first = text[: text.index("thread 1 runs")]
    assert f"… {102 - FIRST_ROWS - LAST_ROWS} more" in first
    assert len(first.split("\n")) < FIRST_ROWS + LAST_ROWS + 8
    assert "writes x = 99" in first


def test_what_one_thread_uses_alone_is_hidden() -> None:
    text = shown(
        program(
            "function w() {\n  store.4 [&x] = 1 relaxed\n}\nfunction main() {\n  t = spawn &w()\n  store.4 [&y] = 1\n"
            '  r = load.4 [&y]\n  a = load.4 [&x] relaxed\n  assert 0, "end"\n}'
        )
    )
    assert "writes y" not in text
    assert "(not shown: 2 accesses to what only this thread uses)" in text


def test_what_was_written_before_threads_existed() -> None:
    text = shown(
        program(
            "function w() {\n  store.4 [&x] = 1 relaxed\n}\nfunction main() {\n  store.4 [&x] = 5\n  t = spawn &w()\n"
            '  r = load.4 [&x] relaxed\n  assert r ne.32 5, "five"\n}'
        )
    )
    assert "reads x = 5, written at line 9 before" in text


def test_updates_and_waiting() -> None:
    text = shown(
        program(
            "function w() {\n  o = rmw.add.4 [&x], 2 relaxed\n}\nfunction main() {\n  t = spawn &w()\nL:\n"
            "  r = load.4 [&x] relaxed\n  await r eq.32 7 -> L\n}"
        )
    )
    assert "updates x from 0 to 2, the initial value" in text
    assert "! waits" in text


def in_library(parsed: Program, name: str) -> Program:
    """With one function in a file of a library."""
    source = Source("/usr/include/lib.h", "lib_line;\n" * 10)
    functions = tuple(
        replace(f, spans=tuple(Span(source, 0, 8) for _ in f.body)) if f.name == name else f for f in parsed.functions
    )
    return replace(parsed, functions=functions)


def test_what_libraries_do_is_shown_where_they_are_called() -> None:
    parsed = program(
        "function helper(p) {\n  store.4 [p] = 1 relaxed\n  return 0\n}\nfunction w() {\n  r = call &helper(&x)\n}\n"
        'function main() {\n  t = spawn &w()\n  a = load.4 [&x] relaxed\n  assert a eq.32 0, "zero"\n}'
    )
    text = shown(in_library(parsed, "helper"))
    assert "lib_line" not in text
    assert "writes x = 1" in text
    assert "r = call &helper(&x)" in text
    plain = shown(parsed)
    assert "in helper (line 10):" in plain


def test_a_finding_names_thread_and_calls() -> None:
    parsed = program(
        'function deep(n) {\n  assert n eq.64 0, "not zero"\n  return 0\n}\nfunction w() {\n  r = call &deep(3)\n}\n'
        "function main() {\n  t = spawn &w()\n}"
    )
    witness = witness_of(parsed)
    assert witness.violation is not None
    lines = list(finding_text(witness.violation, witness))
    assert lines == ["  in thread 1 (w)", "    deep at t.c:6", "    w at t.c:10"]
