"""Sources that `dekker fences` has to find its way in: line ends, comments, headers, several statements in a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker

SB = """#include <assert.h>
#include <pthread.h>
volatile int x, y; int r0, r1;
void *t0(void *a) { (void)a;
  x = 1;
  r0 = y;
  return 0; }
void *t1(void *a) { (void)a;
  y = 1;
  r1 = x;
  return 0; }
int main(void) {
  pthread_t p, c;
  pthread_create(&p, 0, t0, 0); pthread_create(&c, 0, t1, 0);
  pthread_join(p, 0); pthread_join(c, 0);
  assert(r0 || r1);
}
"""
MFENCE = '__asm__ volatile("mfence" ::: "memory");'


def written(folder: Path, text: str, name: str = "sb.c") -> str:
    path = folder / name
    path.write_text(text, newline="")
    return str(path)


def lines_of(*arguments: str) -> list[int]:
    outcome = dekker("fences", "--json", "-", *arguments)
    assert outcome.status == 0, outcome.out + outcome.err
    return [fence["line"] for fence in json.loads(outcome.out)["fences"]]


@pytest.mark.parametrize("model", ["tso", "power"])
def test_line_ends_are_kept(model: str, tmp_path: Path) -> None:
    source, patched = written(tmp_path, SB.replace("\n", "\r\n")), tmp_path / "patched.c"
    assert lines_of(source, "--model", model, "-o", str(patched)) == [6, 10]
    plain, twin = written(tmp_path, SB, "plain.c"), tmp_path / "twin.c"
    assert lines_of(plain, "--model", model, "-o", str(twin)) == [6, 10]
    assert patched.read_bytes() == twin.read_bytes().replace(b"\n", b"\r\n")


def test_line_ends_of_litmus_tests_are_kept(tmp_path: Path) -> None:
    text = Path("examples/litmus/dekker-x86.litmus").read_text().replace("\n", "\r\n")
    source, patched = written(tmp_path, text, "sb.litmus"), tmp_path / "patched.litmus"
    assert len(lines_of(source, "--model", "tso", "-o", str(patched))) == 2
    after = patched.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n") == text.count("\n") + 2


def test_lines_of_a_source_with_carriage_returns(tmp_path: Path) -> None:
    source = written(tmp_path, SB.replace("\n", "\r\n"))
    outcome = dekker("check", source, "--model", "tso")
    assert "sb.c:16:" in outcome.out
    assert "\r" not in outcome.out


HEADER = """#ifndef SB_H
#define SB_H
static inline int raise_flag(volatile int *mine, volatile int *other) {
  *mine = 1;
  return *other;
}
#endif
"""


def with_header(folder: Path, include: str) -> str:
    calls = SB.replace("  x = 1;\n  r0 = y;\n", "  r0 = raise_flag(&x, &y);\n")
    calls = calls.replace("  y = 1;\n  r1 = x;\n", "  r1 = raise_flag(&y, &x);\n")
    return written(folder, f'#include "{include}"\n{calls}')


def test_fences_in_headers_of_the_project(tmp_path: Path) -> None:
    """Also by way of another header, which is not changed."""
    (tmp_path / "inc").mkdir()
    written(tmp_path / "inc", '#include "raise.h"\n', "all.h")
    written(tmp_path / "inc", HEADER, "raise.h")
    source, folder = with_header(tmp_path, "inc/all.h"), tmp_path / "out"
    folder.mkdir()
    outcome = dekker("fences", source, "--model", "tso", "-o", str(folder))
    assert outcome.status == 0, outcome.err
    assert "inc/raise.h:5:3: before this line, in raise_flag: mfence" in outcome.out
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == ["inc/raise.h", "sb.c"]
    assert f"  {MFENCE}\n  return *other;\n" in (folder / "inc/raise.h").read_text()
    written(folder / "inc", '#include "raise.h"\n', "all.h")
    assert dekker("check", str(folder / "sb.c"), "--model", "tso", "--engine", "states").status == 0


def test_one_file_cannot_hold_the_fences_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    written(tmp_path / "inc", HEADER, "raise.h")
    source, patched = with_header(tmp_path, "raise.h"), tmp_path / "patched.c"
    flags = ("--", "-I", str(tmp_path / "inc"))
    outcome = dekker("fences", source, "--model", "tso", "-o", str(patched), *flags)
    assert outcome.status == 0, outcome.err
    assert "is without the fences of" in outcome.out
    assert "inc/raise.h (line 5): put them there by hand" in outcome.out
    assert patched.read_bytes() == Path(source).read_bytes()


def test_comments_that_go_on_in_the_next_line(tmp_path: Path) -> None:
    source = written(tmp_path, SB.replace("x = 1;\n", "x = 1; // caf\u00e9 \\\n  and tea\n"))
    assert lines_of(source, "--model", "tso") == [7, 11]


def test_places_that_the_compiler_refuses_are_left_out(tmp_path: Path) -> None:
    text = SB.replace("int r0, r1;", "int r0, r1;\n#define TABLE(name) int name[] =\nTABLE(t) { 1, 2 };")
    source = written(tmp_path, text)
    assert lines_of(source, "--model", "tso") == [8, 12]
    outcome = dekker("fences", source, "--model", "tso")
    assert f"where the compiler takes no statement, no fence was tried: {source}:5" in outcome.out


def test_fences_of_the_source_that_are_not_known_yet_are_not_used(tmp_path: Path) -> None:
    source, patched = written(tmp_path, SB + f"void late(void) {{ {MFENCE} }}\n"), tmp_path / "patched.c"
    flags = ("--", "-Werror=implicit-function-declaration")
    assert lines_of(source, "--model", "tso", "-o", str(patched), *flags) == [6, 10]
    assert patched.read_text().count(MFENCE) == 3


def test_errors_are_about_the_original(tmp_path: Path) -> None:
    source = written(tmp_path, SB.replace("r1 = x;", "r1 = z;"))
    outcome = dekker("fences", source, "--model", "tso")
    assert outcome.status == 2
    assert f"{source}:10:8: error:" in outcome.err


def test_places_in_lines_with_several_statements(tmp_path: Path) -> None:
    text = SB.replace("x = 1;\n  r0 = y;\n", 'x = 1; r0 = y; (void)";{";').replace("y = 1;\n", "if (!r0)\n    y = 1;\n")
    source = written(tmp_path, text.replace("  r1 = x;\n", "  for (int i = 0; i < 1; i++) { r1 = x; }\n"))
    outcome = dekker("fences", source, "--model", "tso", "--json", "-")
    fences = json.loads(outcome.out)["fences"]
    assert [(fence["line"], fence["column"], fence["where"]) for fence in fences] == [
        (5, 10, "between `x = 1;` and `r0 = y;`"),
        (9, 3, "before this line"),
    ]


def test_places_in_lines_of_rsmc_programs(tmp_path: Path) -> None:
    text = (
        "x = 0 f = 0\nthread A: x := 1; f := 1;\nthread B:\n  r := f;\n  sync;\n  s := x;\nforall (B:r=0 \\/ B:s=1)\n"
    )
    outcome = dekker("fences", written(tmp_path, text, "mp.rsmc"), "--model", "power")
    assert "mp.rsmc:2:19: before `f := 1;`, in A: lwsync" in outcome.out


def test_fences_stand_outside_of_loops_where_that_is_enough(tmp_path: Path) -> None:
    text = SB.replace("  x = 1;\n  r0 = y;\n", "  for (;;) { int r = y; if (r) break; }\n  r0 = x;\n")
    text = text.replace("  y = 1;\n  r1 = x;\n", "  x = 1;\n  y = 1;\n").replace("r0 || r1", "r0 == 1")
    source, patched = written(tmp_path, text), tmp_path / "patched.c"
    assert lines_of(source, "--model", "power", "-o", str(patched)) == [6, 10]
    assert dekker("check", str(patched), "--model", "power", "--engine", "axiomatic").status == 0
    rsmc = "x = 0 f = 0\nthread A: x := 1; f := 1;\nthread B: W: r := f; if r = 0 goto W; s := x;\nforall (B:s=1)\n"
    outcome = dekker("fences", written(tmp_path, rsmc, "mp.rsmc"), "--model", "power")
    assert "3:39: before `s := x;`, in B: lwsync" in outcome.out


@pytest.mark.parametrize("how", [(), ("--robust",)])
def test_accesses_in_one_statement_are_named(how: tuple[str, ...], tmp_path: Path) -> None:
    text = SB.replace("int r0, r1;", "int r0, r1;\n#define PUT_GET(a, b, r) a = 1; r = b")
    text = text.replace("  x = 1;\n  r0 = y;\n", "  PUT_GET(x, y, r0);\n")
    source = written(tmp_path, text)
    outcome = dekker("fences", source, "--model", "tso", *how)
    assert outcome.status == 1
    assert (
        f"between writing x ({source}:6) and reading y ({source}:6): they are in one statement or macro" in outcome.out
    )


def test_headers_that_are_not_changed_are_named(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    header = written(tmp_path / "inc", HEADER, "raise.h")
    source = with_header(tmp_path, "raise.h")
    written(tmp_path, Path(source).read_text().replace('"raise.h"', "<raise.h>"))
    outcome = dekker("fences", source, "--model", "tso", "--", "-I", str(tmp_path / "inc"))
    assert outcome.status == 1
    assert f"because no source includes it in quotes ({header}); --in {header} changes it" in outcome.out


@pytest.mark.parametrize("flag", ["-I", "-isystem", "-idirafter"])
@pytest.mark.parametrize("whole_folder", [True, False])
def test_headers_in_angle_brackets_get_fences_if_asked_for(flag: str, whole_folder: bool, tmp_path: Path) -> None:
    inside = tmp_path / "inc"
    inside.mkdir()
    header = written(inside, HEADER, "raise.h")
    source = with_header(tmp_path, "raise.h")
    written(tmp_path, Path(source).read_text().replace('"raise.h"', "<raise.h>"))
    place = str(inside) if whole_folder else header
    patched = tmp_path / "patched"
    patched.mkdir()
    outcome = dekker("fences", source, "-m", "tso", "--in", place, "-o", str(patched), "--", flag, str(inside))
    assert outcome.status == 0, outcome.err
    assert f"{header}:" in outcome.out
    again = dekker("check", str(patched / "sb.c"), "-m", "tso", "--", flag, str(patched / "inc"))
    assert again.status == 0


def test_headers_that_nobody_includes_have_no_places(tmp_path: Path) -> None:
    header = written(tmp_path, HEADER, "other.h")
    outcome = dekker("fences", written(tmp_path, SB), "--model", "tso", "--in", header)
    assert outcome.status == 2
    assert f"no source includes '{header}'" in outcome.err


THREADS_AT_LABELS = """int x, y, r1, r2, d1, d2;
int main(void) {
  LEFT
  RIGHT
  __CPROVER_assume(d1 && d2);
  __CPROVER_assert(r1 || r2, "one is seen");
}
void left(void) { x = 1; r1 = y; d1 = 1; }
void right(void) { y = 1; r2 = x; d2 = 1; }
"""


@pytest.mark.parametrize("model", ["tso", "pso", "power"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("__CPROVER_ASYNC_1: { x = 1; r1 = y; d1 = 1; }", "__CPROVER_ASYNC_2: { y = 1; r2 = x; d2 = 1; }"),
        ("__CPROVER_ASYNC_1: left();", "__CPROVER_ASYNC_2: right();"),
        ("__CPROVER_ASYNC_1:\n    left();", "if (!r1 || r1)\n    __CPROVER_ASYNC_2: right();"),
        ("for (int i = 0; i < 1; i++) __CPROVER_ASYNC_1: left();", "L: __CPROVER_ASYNC_2: { right(); }"),
    ],
)
def test_fences_for_threads_at_labels(model: str, left: str, right: str, tmp_path: Path) -> None:
    text = "void left(void), right(void);\n" + THREADS_AT_LABELS.replace("LEFT", left).replace("RIGHT", right)
    source, patched = written(tmp_path, text), tmp_path / "patched.c"
    outcome = dekker("fences", source, "--model", model, "-o", str(patched))
    assert outcome.status == 0, outcome.out
    assert "%async" not in outcome.out
    assert dekker("check", str(patched), "--model", model).status == 0


def test_labels_that_macros_make_are_no_reason_for_a_wrong_answer(tmp_path: Path) -> None:
    text = THREADS_AT_LABELS.replace("LEFT", "START(1) { x = 1; r1 = y; d1 = 1; }")
    text = "#define START(n) __CPROVER_ASYNC_##n:\n" + text.replace("RIGHT", "START(2) { y = 1; r2 = x; d2 = 1; }")
    outcome = dekker("fences", written(tmp_path, text), "--model", "tso")
    assert outcome.status in (0, 3)
    assert "no fence helps" not in outcome.out


def test_programs_without_assertions(tmp_path: Path) -> None:
    said = "nothing is asserted in the program"
    silent = dekker("fences", written(tmp_path, SB.replace("assert(r0 || r1);", "")), "--model", "tso")
    assert silent.status == 0
    assert said in silent.out
    locked = SB.replace("int r0, r1;", "int r0, r1; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;")
    locked = locked.replace("  x = 1;\n", "  pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m);\n")
    assert said in dekker("fences", written(tmp_path, locked.replace("assert(r0 || r1);", "")), "--model", "tso").out
    assert said not in dekker("fences", written(tmp_path, SB), "--model", "tso").out
    assert said not in dekker("fences", "examples/litmus/dekker-x86.litmus", "--model", "tso").out


@pytest.mark.parametrize("weight", ["mfence=1e308", "mfence=inf", "mfence=nan", "mfence=0", "mfence=-1", "mfence=1e-9"])
def test_weights_have_a_range(weight: str, tmp_path: Path) -> None:
    outcome = dekker("fences", written(tmp_path, SB), "--model", "tso", "--weight", weight, "--json", "-")
    assert outcome.status == 2
    assert "from 0.001 to 1 000 000" in outcome.err
