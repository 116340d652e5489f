"""Sets of programs in C: those of Table 1 of Abdulla, Atig, Jonsson and Leonardsson, "Stateless Model Checking for
POWER" (CAV 2016), lock-free structures and locks of the examples, and small ones for `gallery`: where are dead ends?

A broken version is explored to the end, not up to the first violation, and only the executions without one count as
traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.sets.case import Case
from benchmarks.sets.request import Request
from dekker.task import DEFAULT_UNROLL

ROOT = Path(__file__).parents[2]
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
    file = f"examples/c/table1/{name}.c"
    return (
        Entry(name, file, models=HARDWARE, unroll=unroll),
        Entry(f"{name} fenced", file, ("-DFENCED",), unroll=unroll),
    )


TABLE_1 = (
    *_fenced("dcl_singleton"),
    *_fenced("dekker"),
    Entry(
        "fib 4",
        "examples/c/table1/fib.c",
        ("-DROUNDS=4",),
        ("sc", "tso", "power"),
        traces={"sc": 19605, "tso": 34205, "power": 44100},
    ),
    Entry(
        "fib 5 join",
        "examples/c/table1/fib.c",
        ("-DROUNDS=5", "-DJOIN"),
        ("sc", "tso", "power"),
        traces={"sc": 8953, "tso": 19404, "power": 19404},
    ),
    Entry("indexer 12", "examples/c/table1/indexer.c", models=("sc", "tso"), traces={"sc": 8, "tso": 8}),
    Entry("indexer 13", "examples/c/table1/indexer.c", ("-DTHREADS=13",), ("sc",), traces={"sc": 64}),
    Entry(
        "indexer small", "examples/c/table1/indexer.c", ("-DTHREADS=3", "-DSTRIDE=2", "-DSLOTS=32"), traces={"power": 8}
    ),
    *_fenced("lamport"),
    *_fenced("parker"),
    *_fenced("peterson"),
    *_fenced("pgsql", unroll=8),
    *_fenced("pgsql_bnd"),
    Entry("pgsql_bnd 4x4 fenced", "examples/c/table1/pgsql_bnd.c", ("-DFENCED", "-DROUNDS=4", "-DPOLLS=4")),
    Entry("stack 5", "examples/c/table1/stack.c", ("-DSIZE=5",), unroll=5, traces={"sc": 252, "power": 252}),
    *_fenced("szymanski"),
)
STRUCTURES = (
    Entry("treiber", "examples/c/atomics/treiber_stack.c", models=("sc", "power", "rc11")),
    Entry("michael-scott", "examples/c/atomics/michael_scott_queue.c", models=("sc", "power", "rc11")),
    Entry("chase-lev", "examples/c/atomics/chase_lev_deque.c", models=("sc", "power", "rc11")),
    Entry(
        "ticket 5",
        "examples/c/atomics/ticket_lock.c",
        ("-DTHREADS=5",),
        ("sc", "power", "rc11"),
        traces=dict.fromkeys(("sc", "power", "rc11"), 120),
    ),
    Entry("mcs 3", "examples/c/atomics/mcs_lock.c", ("-DTHREADS=3",), ("sc", "power", "rc11")),
    Entry(
        "clh 5",
        "examples/c/atomics/clh_lock.c",
        ("-DTHREADS=5",),
        ("sc", "power", "rc11"),
        traces=dict.fromkeys(("sc", "power", "rc11"), 120),
    ),
    Entry("seqlock 6", "examples/c/atomics/seqlock.c", ("-DWRITES=6",), ("sc", "power", "rc11")),
    Entry("spsc 6", "examples/c/atomics/spsc_ring.c", ("-DMESSAGES=6",), ("sc", "power", "rc11"), unroll=6),
    Entry("rcu", "examples/c/atomics/rcu_publish.c", models=("sc", "power", "rc11")),
)
GALLERY = tuple(
    Entry(
        f"{name} {threads}x{operations}",
        f"benchmarks/gallery/{name}.c",
        (f"-DN={threads}", f"-DOPERATIONS={operations}"),
        ("rc11", "aarch64", "power"),
        DEFAULT_UNROLL,
    )
    for name in (
        *("ticket", "mcs", "clh", "ttas", "backoff", "trylock", "add_undo", "mutex", "poll", "spsc", "treiber"),
        *("hazard", "mpmc", "try_dequeue", "seqlock"),
    )
    for threads, operations in ((2, 1), (2, 2), (3, 1), (2, 3), (3, 2))
)
PROGRAMS = {"table1": TABLE_1, "structures": STRUCTURES, "gallery": GALLERY}


def program_cases(request: Request) -> Iterator[Case]:
    for entry in PROGRAMS[request.name]:
        for model in request.models or entry.models:
            file = str(ROOT / entry.file)
            known = {file: entry.traces[model]} if model in entry.traces else {}
            yield Case(
                request.name,
                entry.label,
                model,
                files=(file,),
                expected=known,
                flags=entry.flags,
                unroll=entry.unroll,
                must_hold=request.name == "gallery",
            )
