"""CBMC with `--mm`. It does not count executions: it decides whether the condition of the test can be met."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.languages.c import THREADS
from benchmarks.languages.posix import write_program
from benchmarks.sets.case import Case
from benchmarks.tools.tool import Counts, Tool, rephrased, sketch_of, write_text

_BEGIN, _END = "__CPROVER_atomic_begin();", "__CPROVER_atomic_end();"
_FULL = '__CPROVER_fence("WWfence", "RRfence", "RWfence", "WRfence", "WWcumul", "RRcumul", "RWcumul", "WRcumul");'

PHRASES = rephrased(
    THREADS,
    Load="{register} = {location};",
    Store="{location} = {value};",
    Publish=f"{_FULL}\n{{location}} = {{value}};",
    full_fence=_FULL,
    light_fence=_FULL,
    AtomicIncrement=f"{_BEGIN} {{register}}{{location}}++; {_END}",
    CompareAndIncrement=f"seen{{n}} = {{location}};\n"
    f"{_BEGIN} won{{n}} = {{location}} == seen{{n}}; if (won{{n}}) {{location}} = seen{{n}} + 1; {_END}\n"
    "if (won{n} == 0) {{",
    TryLock=f"{_BEGIN} taken{{n}} = {{location}}; {{location}} = 1; {_END}\nif (taken{{n}} == 0) {{{{",
    Unlock=f"{_FULL}\n{{location}} = 0;",
    Await="now{n} = {location};\n__CPROVER_assume(now{n} == {register});",
)


def _write(case: Case, files: Sequence[str], folder: Path) -> list[str]:
    check = '__CPROVER_assert({condition}, "condition");'
    return [write_text(folder, case, write_program(sketch_of(case), PHRASES, "int", ("pthread.h",), check))]


CBMC = Tool(
    name="cbmc",
    program="cbmc",
    models={model: ("--mm", model) for model in ("sc", "tso", "pso")},
    write=_write,
    read=lambda _: Counts(),
    statuses=frozenset((0, 10)),
)
