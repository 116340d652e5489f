"""The examples in C: the programs of Table 1 of Abdulla, Atig, Jonsson and Leonardsson, "Stateless Model Checking for
POWER" (CAV 2016), and lock-free structures and locks.

A broken version is explored to the end, not up to the first violation, and only the executions without one count as
traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.sets.case import Case
from benchmarks.sets.request import Request

FOLDER = Path(__file__).parents[2] / "examples" / "c"
HARDWARE = ("sc", "tso", "pso", "power")
UNROLL = 4


@dataclass(frozen=True)
class Entry:
    """`traces` are those that are known from elsewhere, by model."""

    label: str
    file: str
    flags: tuple[str, ...] = ()
    models: tuple[str, ...] = ("sc", "power")
    unroll: int = UNROLL
    traces: Mapping[str, int] = field(default_factory=dict)


def _fenced(name: str, unroll: int = UNROLL) -> tuple[Entry, Entry]:
    file = f"table1/{name}.c"
    return (
        Entry(name, file, models=HARDWARE, unroll=unroll),
        Entry(f"{name} fenced", file, ("-DFENCED",), unroll=unroll),
    )


TABLE_1 = (
    *_fenced("dcl_singleton"),
    *_fenced("dekker"),
    Entry(
        "fib 4",
        "table1/fib.c",
        ("-DROUNDS=4",),
        ("sc", "tso", "power"),
        traces={"sc": 19605, "tso": 34205, "power": 44100},
    ),
    Entry(
        "fib 5 join",
        "table1/fib.c",
        ("-DROUNDS=5", "-DJOIN"),
        ("sc", "tso", "power"),
        traces={"sc": 8953, "tso": 19404, "power": 19404},
    ),
    Entry("indexer 12", "table1/indexer.c", models=("sc", "tso"), traces={"sc": 8, "tso": 8}),
    Entry("indexer 13", "table1/indexer.c", ("-DTHREADS=13",), ("sc",), traces={"sc": 64}),
    Entry("indexer small", "table1/indexer.c", ("-DTHREADS=3", "-DSTRIDE=2", "-DSLOTS=32"), traces={"power": 8}),
    *_fenced("lamport"),
    *_fenced("parker"),
    *_fenced("peterson"),
    *_fenced("pgsql", unroll=8),
    *_fenced("pgsql_bnd"),
    Entry("pgsql_bnd 4x4 fenced", "table1/pgsql_bnd.c", ("-DFENCED", "-DROUNDS=4", "-DPOLLS=4")),
    Entry("stack 5", "table1/stack.c", ("-DSIZE=5",), unroll=5, traces={"sc": 252, "power": 252}),
    *_fenced("szymanski"),
)
STRUCTURES = (
    Entry("treiber", "atomics/treiber_stack.c", models=("sc", "power", "rc11")),
    Entry("michael-scott", "atomics/michael_scott_queue.c", models=("sc", "power", "rc11")),
    Entry("chase-lev", "atomics/chase_lev_deque.c", models=("sc", "power", "rc11")),
    Entry(
        "ticket 5",
        "atomics/ticket_lock.c",
        ("-DTHREADS=5",),
        ("sc", "power", "rc11"),
        traces=dict.fromkeys(("sc", "power", "rc11"), 120),
    ),
    Entry("mcs 3", "atomics/mcs_lock.c", ("-DTHREADS=3",), ("sc", "power", "rc11")),
    Entry(
        "clh 5",
        "atomics/clh_lock.c",
        ("-DTHREADS=5",),
        ("sc", "power", "rc11"),
        traces=dict.fromkeys(("sc", "power", "rc11"), 120),
    ),
    Entry("seqlock 6", "atomics/seqlock.c", ("-DWRITES=6",), ("sc", "power", "rc11")),
    Entry("spsc 6", "atomics/spsc_ring.c", ("-DMESSAGES=6",), ("sc", "power", "rc11"), unroll=6),
    Entry("rcu", "atomics/rcu_publish.c", models=("sc", "power", "rc11")),
)
PROGRAMS = {"table1": TABLE_1, "structures": STRUCTURES}


def program_cases(request: Request) -> Iterator[Case]:
    for entry in PROGRAMS[request.name]:
        for model in request.models or entry.models:
            file = str(FOLDER / entry.file)
            known = {file: entry.traces[model]} if model in entry.traces else {}
            yield Case(
                request.name,
                entry.label,
                model,
                files=(file,),
                expected=known,
                flags=entry.flags,
                unroll=entry.unroll,
            )
