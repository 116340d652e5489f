"""Examples that are small enough for the oracle: it finds the same executions as the rsmc engine."""

from __future__ import annotations

import json

import pytest
from tests.cli.calls import dekker
from tests.examples.table import ROOT

pytest.importorskip("ziglang", reason="the compiler is not installed")

HARDWARE = ("sc", "tso", "pso", "power")
ATOMIC = (*HARDWARE, "aarch64", "cpp20")
PROGRAMS = {
    **{f"table1/{name}.c": ("", "-DFENCED") for name in ("dcl_singleton", "dekker", "peterson")},
    "table1/pgsql_bnd.c": ("-DROUNDS=1", "-DROUNDS=1 -DFENCED"),
    "table1/fib.c": ("-DROUNDS=2", "-DROUNDS=2 -DJOIN -DTOO_LOW"),
    **{f"atomics/{name}.c": ("", "-DBROKEN") for name in ("clh_lock", "mcs_lock")},
    "atomics/ticket_lock.c": ("-DTHREADS=2", "-DTHREADS=2 -DBROKEN"),
    "atomics/seqlock.c": ("-DWRITES=1", "-DWRITES=1 -DBROKEN", "-DWRITES=1 -DBROKEN_READER"),
    "atomics/spsc_ring.c": ("-DMESSAGES=2", "-DMESSAGES=2 -DBROKEN"),
    "atomics/rcu_publish.c": ("", "-DBROKEN", "-DNO_FENCE", "-DNO_WAIT"),
}
CASES = [
    (file, flags, model)
    for file, options in PROGRAMS.items()
    for flags in options
    for model in (HARDWARE if file.startswith("table1") else ATOMIC)
]
FEW = [case for case in CASES if case[2] in ("power", "cpp20")]


def check(file: str, flags: str, model: str) -> None:
    program = str(ROOT / "examples" / "c" / file)
    outcome = dekker(
        "check", program, "-m", model, "--engine", "all", "--keep-going", "--json", "-", "--", *flags.split()
    )
    assert outcome.status in (0, 1), outcome.err
    assert json.loads(outcome.out)["bounds"]["stopped_by"] is None


@pytest.mark.parametrize(("file", "flags", "model"), FEW)
def test_engines_agree(file: str, flags: str, model: str) -> None:
    check(file, flags, model)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "flags", "model"), [case for case in CASES if case not in FEW])
def test_engines_agree_under_the_other_models(file: str, flags: str, model: str) -> None:
    check(file, flags, model)
