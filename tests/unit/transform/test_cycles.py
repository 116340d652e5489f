"""Threads, places and cycles of small programs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker.frontends import parse_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.run.cycles import find_cycles
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.transform.classes import classes_of
from dekker.transform.cycles import critical_cycles
from dekker.transform.graph import event_graph
from dekker.transform.points_to import analyse
from dekker.transform.rules import rules_of

POWER_IDIOMS = [
    ("SyncdWW Rfe DpAddrdR Fre", []),
    ("LwSyncdWW Rfe DpAddrdR Fre", []),
    ("LwSyncdWW Rfe DpCtrldR Fre", ["MP"]),
    ("LwSyncdWW Rfe DpCtrlIsyncdR Fre", []),
    ("PodWW Rfe PodRR Fre", ["MP"]),
    ("SyncdWR Fre SyncdWR Fre", []),
    ("LwSyncdWR Fre LwSyncdWR Fre", ["SB"]),
    ("DpAddrdW Rfe DpAddrdW Rfe", []),
    ("PodRW Rfe PodRW Rfe", ["LB"]),
    ("LwSyncdWW Wse LwSyncdWW Wse", []),
    ("PodWW Wse PodWW Wse", ["2+2W"]),
    ("LwSyncdWW Wse SyncdWR Fre", ["R"]),
    ("SyncdWW Wse SyncdWR Fre", []),
    ("Rfe SyncdRR Fre Rfe SyncdRR Fre", []),
    ("Rfe LwSyncdRR Fre Rfe LwSyncdRR Fre", ["IRIW"]),
    ("Rfe DpAddrdR Fre Rfe DpAddrdR Fre", ["IRIW"]),
    ("Rfe LwSyncdRW Rfe DpAddrdR Fre", []),
    ("Rfe DpDatadW Rfe DpAddrdR Fre", ["WRC"]),
]


@pytest.mark.parametrize(("cycle", "expected"), POWER_IDIOMS)
def test_idioms_on_power(cycle: str, expected: list[str], tmp_path: Path) -> None:
    """What is found is what the model allows."""
    file = tmp_path / "test.litmus"
    file.write_text(dekker("generate", "PPC", cycle).out)
    program = parse_program(Source(str(file), file.read_text()))
    assert [view.idiom for view in find_cycles(program, "power").cycles] == expected
    allowed = "Ok\n" in dekker("litmus", str(file), "--model", "power").out
    assert allowed == bool(expected)


def of_c(text: str, tmp_path: Path) -> Program:
    from dekker.frontends import parse_files  # noqa: PLC0415

    file = tmp_path / "program.c"
    file.write_text("#include <pthread.h>\n" + textwrap.dedent(text))
    return parse_files([str(file)])


def test_threads_are_places_that_start_them(tmp_path: Path) -> None:
    text = """
    int x, y[4];
    static void *work(void *argument) { y[(long)argument] = x; return 0; }
    int main(void) {
      pthread_t a, b, more[3];
      x = 1;
      pthread_create(&a, 0, work, (void *)0L);
      pthread_create(&b, 0, work, (void *)1L);
      for (int i = 0; i < 3; i++) pthread_create(&more[i], 0, work, (void *)2L);
      pthread_join(a, 0);
      return 0;
    }
    """
    threads = analyse(of_c(text, tmp_path)).threads
    assert [(thread.entry, thread.many) for thread in threads] == [
        ("main", False),
        ("work", False),
        ("work", False),
        ("work", True),
    ]


def test_threads_with_different_arguments_access_different_elements(tmp_path: Path) -> None:
    text = """
    volatile int flag[2];
    static void *work(void *argument) {
      long me = (long)argument;
      flag[me] = 1;
      return (void *)(long)flag[1 - me];
    }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, work, (void *)0L);
      pthread_create(&b, 0, work, (void *)1L);
      return 0;
    }
    """
    views = find_cycles(of_c(text, tmp_path), "tso").cycles
    assert [view.idiom for view in views] == ["SB"]
    places = {access.location for thread in views[0].threads for access in thread.accesses}
    assert places == {"flag[0]", "flag[1]"}


def test_what_a_thread_does_before_it_starts_others_meets_nobody(tmp_path: Path) -> None:
    text = """
    volatile int x, y;
    static void *work(void *unused) { x = 1; int seen = y; (void)seen; return unused; }
    int main(void) {
      pthread_t a;
      y = 1; int before = x;
      pthread_create(&a, 0, work, 0);
      pthread_join(a, 0);
      y = 2; int after = x;
      return before + after;
    }
    """
    assert not find_cycles(of_c(text, tmp_path), "power").cycles


def test_pointers_are_followed_through_memory_and_calls(tmp_path: Path) -> None:
    text = """
    #include <stdlib.h>
    struct pair { volatile int first, second; } *shared;
    static void set(volatile int *where) { *where = 1; }
    static void *left(void *unused) { set(&shared->first); int seen = shared->second; (void)seen; return unused; }
    static void *right(void *unused) { set(&shared->second); int seen = shared->first; (void)seen; return unused; }
    int main(void) {
      pthread_t a, b;
      shared = calloc(1, sizeof *shared);
      pthread_create(&a, 0, left, 0);
      pthread_create(&b, 0, right, 0);
      return 0;
    }
    """
    assert "SB" in {view.idiom for view in find_cycles(of_c(text, tmp_path), "tso").cycles}


def test_loops_order_accesses_either_way(tmp_path: Path) -> None:
    """In the text the read comes first; the next round makes it SB."""
    text = """
    volatile int x, y;
    static void *left(void *unused) { for (int i = 0; i < 2; i++) { int seen = y; x = seen + 1; } return unused; }
    static void *right(void *unused) { for (int i = 0; i < 2; i++) { int seen = x; y = seen + 1; } return unused; }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, left, 0);
      pthread_create(&b, 0, right, 0);
      return 0;
    }
    """
    assert {view.idiom for view in find_cycles(of_c(text, tmp_path), "tso").cycles} == {"SB"}


def test_too_many_cycles_are_said_to_be_too_many(tmp_path: Path) -> None:
    from benchmarks.cycles import generated_program  # noqa: PLC0415

    file = tmp_path / "generated.c"
    file.write_text(generated_program(600))
    outcome = dekker("show", "--cycles", "--model", "tso", "--most", "1", str(file))
    assert "too many to list" in outcome.out


def test_the_analysis_of_recursion_ends(tmp_path: Path) -> None:
    text = """
    volatile int x, y;
    static int down(int n) { x = n; return n > 0 ? down(n - 1) + y : y; }
    static void *work(void *unused) { down(3); return unused; }
    static void *other(void *unused) { y = 1; int seen = x; (void)seen; return unused; }
    int main(void) {
      pthread_t a, b;
      pthread_create(&a, 0, work, 0);
      pthread_create(&b, 0, other, 0);
      return 0;
    }
    """
    assert "SB" in {view.idiom for view in find_cycles(of_c(text, tmp_path), "tso").cycles}


def test_components_are_independent() -> None:
    text = """
    x = 0  y = 0  a = 0  b = 0
    thread P: x := 1; r0 := y;
    thread Q: y := 1; r1 := x;
    thread R: a := 1; r2 := b;
    thread S: b := 1; r3 := a;
    """
    program = prepare(parse_program(Source("four.rsmc", text)), load_model("tso"))
    cycles = critical_cycles(classes_of(event_graph(program, rules_of("tso"))))
    assert len(cycles.components) == len(cycles.found) == 2
