"""Families of programs in C that grow: locks, structures without locks, read-modify-writes, and spaces of states.

`traces` are formulas that hold under every model of the family, and `counts` what the oracle or other tools found; a
count that differs makes the row fail. Where there is neither, it depends on how rounds of a loop are counted that tries
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import comb, factorial
from pathlib import Path

from benchmarks.sets.case import Case
from benchmarks.sets.request import Request

ROOT = Path(__file__).parents[2]
ATOMICS = ("rc11", "aarch64", "power", "sc", "tso")
HARDWARE = ("sc", "tso", "power")
Traces = Callable[[int], int]


@dataclass(frozen=True)
class Size:
    """A row: what follows the name in its label, what -D says, the number for the formula, and other models than those
    of its family."""

    label: str
    defines: str
    number: int = 0
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class CFamily:
    """The smallest size comes first, and the tests run it. `counts` goes by size and model. `engine`
    is that of the command line unless it is named; `buffer` is for the states engine."""

    name: str
    file: str
    sizes: tuple[Size, ...]
    traces: Traces | None = None
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    models: tuple[str, ...] = ATOMICS
    unroll: int = 4
    engine: str | None = None
    buffer: int | None = None


def _threads(*numbers: int, more: int = 0) -> tuple[Size, ...]:
    """`more` are those that the size does not count."""
    small, *large = numbers
    return (
        Size(str(small), f"N={small + more}", small),
        *(Size(str(number), f"N={number + more}", number, ("rc11", "aarch64", "power", "sc")) for number in large),
    )


def _casw(n: int) -> int:
    """In each order of the writes one thread finds zero, and the one at place p any of p other values."""
    return factorial(n) * sum(factorial(n) // p for p in range(1, n + 1))


def _casrot(n: int) -> int:
    """The first k succeed, thread k finds something else than k, and those behind it any value up to k."""
    return 1 + sum(k * int((k + 1) ** (n - k - 1)) for k in range(1, n))


def _mcs(n: int) -> int:
    """Orders of the threads times little Schröder numbers, as other tools count up to five threads, too."""
    before, schroeder = 1, 1
    for k in range(2, n + 1):
        before, schroeder = schroeder, (3 * (2 * k - 1) * schroeder - (k - 2) * before) // (k + 1)
    return factorial(n) * schroeder


FIB = CFamily(
    "fib_bench",
    "families/fib.c",
    (
        Size("2", "OPERATIONS=2"),
        Size("4", "OPERATIONS=4", models=("rc11", "sc")),
        Size("5", "OPERATIONS=5", models=("rc11", "sc")),
    ),
    counts={("2", "rc11"): 153, ("2", "power"): 153, ("2", "sc"): 140, ("5", "rc11"): 525_630, ("5", "sc"): 218_243},
)
FAMILIES = (
    CFamily("fetch-add", "families/fetch_add.c", _threads(4, 8), factorial),
    CFamily("cinc", "families/cinc.c", _threads(2, 3, 4), lambda n: factorial(n) ** 3),
    CFamily("casw", "families/casw.c", _threads(3, 5), _casw),
    CFamily("casrot", "families/casrot.c", _threads(5, 10), _casrot),
    CFamily("mutex", "gallery/mutex.c", _threads(4, 8), factorial),
    CFamily("ticket", "gallery/ticket.c", _threads(4, 6, 7), factorial),
    CFamily("ttas", "gallery/ttas.c", _threads(2, 3, 4), lambda n: factorial(n) ** 2),
    CFamily("mcs", "gallery/mcs.c", _threads(2, 4, 5), _mcs),
    CFamily("clh", "gallery/clh.c", _threads(4, 6), factorial),
    CFamily(
        "treiber",
        "families/treiber.c",
        (Size("1w 1r", "N=2"), Size("2w 1r", "N=3"), Size("3w 2r", "N=5 READERS=2", models=("rc11",))),
    ),
    CFamily(
        "ms-queue",
        "families/michael_scott.c",
        (
            Size("1w 1r", "N=2"),
            Size("2w 1r", "N=3"),
            Size("1w 2b", "N=3 WRITERS=3 READERS=2", models=("rc11", "aarch64", "power")),
            Size("3w 2r", "N=5 WRITERS=3 READERS=2", models=("rc11",)),
        ),
    ),
    CFamily(
        "mpmc",
        "families/mpmc.c",
        (Size("1w 1r", "N=2"), Size("2w 1r", "N=3"), Size("2w 2r", "N=4 READERS=2", models=("rc11",))),
    ),
    CFamily(
        "chase-lev",
        "families/chase_lev.c",
        (
            Size("1 thief", "N=2"),
            Size("2 thieves", "N=3", models=("rc11", "aarch64", "power", "sc")),
            Size("3 thieves", "N=4 ELEMENTS=5", models=("rc11", "sc")),
        ),
        counts=dict.fromkeys([("1 thief", model) for model in ATOMICS], 26),
    ),
    CFamily(
        "seqlock",
        "gallery/seqlock.c",
        (Size("1w 1r", "N=2"), Size("2w 1r", "N=3"), Size("3w 3r", "N=6 READERS=3", models=("rc11",))),
    ),
    CFamily("rwlock", "families/rwlock.c", _threads(2, 3, 4)),
    CFamily("indexer", "families/indexer.c", _threads(12, 15), lambda n: 8 ** (n - 11)),
    CFamily("readers", "families/readers.c", _threads(5, 15, more=1), lambda n: 2**n),
    CFamily(
        "lastzero", "families/lastzero.c", _threads(5, 13, 15, more=1), lambda n: (n + 3) * 2 ** (n - 2), unroll=16
    ),
    FIB,
    CFamily(
        "fib-joined",
        "../examples/c/table1/fib.c",
        (
            Size("3", "ROUNDS=3 JOIN", models=HARDWARE),
            Size("5", "ROUNDS=5 JOIN", models=HARDWARE),
            Size("6", "ROUNDS=6 JOIN", models=("sc",)),
        ),
        counts={("3", "power"): 175, ("5", "sc"): 8_953, ("5", "tso"): 19_404, ("5", "power"): 19_404},
    ),
    CFamily(
        "fig11",
        "families/fig11.c",
        tuple(Size(str(n), f"N={n}", n, ("rc11", "aarch64", "power", "tso")) for n in (4, 10)),
        lambda n: 3 + comb(2 * n, n),
    ),
    CFamily("big", "families/big.c", _threads(3, 8), lambda n: 6**n),
    CFamily(
        "indexer-mutex",
        "../examples/c/table1/indexer.c",
        tuple(Size(str(n), f"THREADS={n}", n, ("sc",)) for n in (12, 13, 14)),
        lambda n: 8 ** (n - 11),
    ),
    CFamily(
        "stack",
        "../examples/c/table1/stack.c",
        (Size("4", "SIZE=4", 4, HARDWARE), Size("8", "SIZE=8", 8, ("sc",))),
        lambda n: comb(2 * n, n),
        unroll=8,
    ),
)


def _space(name: str, file: str, label: str, defines: str, model: str = "sc", buffer: int | None = None) -> CFamily:
    size = Size(label, defines, models=(model,))
    return CFamily(name, f"state_spaces/{file}.c", (size,), engine="states", buffer=buffer)


STATE_SPACES = (
    _space("peterson-states", "filter_lock", "4", "N=4"),
    _space("peterson-states", "filter_lock", "4", "N=4 FENCED", "tso", buffer=2),
    _space("bakery", "bakery", "3x3", "N=3 ROUNDS=3"),
    _space("anderson", "array_lock", "6x2", "N=6 ROUNDS=2"),
    _space("philosophers", "philosophers", "10", "N=10"),
)
C_FAMILIES = {"families": FAMILIES, "state-spaces": STATE_SPACES}


def c_family_cases(request: Request) -> Iterator[Case]:
    for family in C_FAMILIES[request.name]:
        for size in family.sizes:
            for model in request.models or size.models or family.models:
                yield _case(request.name, family, size, model)


def family_case(family: CFamily, label: str, model: str) -> Case:
    size = next(size for size in family.sizes if f"{family.name} {size.label}" == label)
    return _case("families", family, size, model)


def _case(set_name: str, family: CFamily, size: Size, model: str) -> Case:
    label, file = f"{family.name} {size.label}", (ROOT / "benchmarks" / family.file).resolve()
    if not file.is_file():
        return Case(set_name, label, model, skipped=f"there is no file benchmarks/{family.file}")
    known = family.counts.get((size.label, model)) if family.traces is None else family.traces(size.number)
    return Case(
        set_name,
        label,
        model,
        files=(str(file),),
        expected={} if known is None else {str(file): known},
        flags=tuple(f"-D{define}" for define in size.defines.split()),
        unroll=family.unroll,
        engine=family.engine,
        buffer=family.buffer,
        must_hold=True,
    )
