"""The sets by name. A set is a family or two of generated programs, a corpus, or a list of other sets."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.sets import classics, fig11, updates
from benchmarks.sets.c_families import C_FAMILIES, c_family_cases
from benchmarks.sets.case import Case
from benchmarks.sets.corpus import ARCHITECTURES, corpus_cases
from benchmarks.sets.family import Family, family_cases
from benchmarks.sets.programs import PROGRAMS, program_cases
from benchmarks.sets.request import Request, parse_request
from dekker.errors import InputError


@dataclass(frozen=True)
class BenchmarkSet:
    about: str
    cases: Callable[[Request], Iterator[Case]]


FAMILIES: dict[str, tuple[Family, ...]] = {
    "fig11": (fig11.UNFENCED, fig11.FENCED),
    "writers": (classics.WRITERS,),
    "sb-ring": (classics.SB_RING,),
    "iriw": (classics.IRIW, classics.IRIW_FENCED),
    "message": (classics.MESSAGE,),
    "chain": (classics.CHAIN,),
    "late": (classics.LATE,),
    "fib": (updates.FIB,),
    "fetch-add": (updates.FETCH_ADD,),
    "cas": (updates.CAS,),
    "llsc": (updates.LLSC,),
    "llsc-loop": (updates.LLSC_LOOP,),
    "lock": (updates.LOCK,),
    "ticket": (updates.TICKET,),
}
MEMORY = {"memory": fig11.UNFENCED, "memory-updates": updates.FETCH_ADD, "memory-late": classics.LATE}
MEMORY_SIZES = {"memory": (8, 10, 12), "memory-updates": (7, 8, 9), "memory-late": (14, 17, 19)}
CORPORA = tuple(f"corpus-{name}" for name in ARCHITECTURES)

SHORT = (
    "fig11=4,8,10 writers=6 sb-ring=8,12 iriw=4,6 message=16,64 chain=10 fib=4 fetch-add=4,6 cas=2,3 llsc=3,4 "
    "llsc-loop=3 lock=3 ticket=3 memory=6,8,10 structures corpus-ppc corpus-x86 corpus-aarch64 corpus-c"
)
RESULTS = (
    "fig11=8,10,12 writers=7,8 sb-ring=12,14 iriw=6,8 message=64,128 chain=40,80 fib=5,6 fetch-add=7,8 cas=3,4 "
    "llsc=5,6 llsc-loop=3,4 lock=4,5 ticket=5,7 memory memory-updates memory-late"
)
LISTS = {
    "short": SHORT.split(),
    "results": [*RESULTS.split(), *CORPORA],
    "all": [*FAMILIES, *MEMORY, *PROGRAMS, *C_FAMILIES, *CORPORA],
}


def find_cases(request: Request) -> Iterator[Case]:
    found = SETS.get(request.name)
    if found is None:
        close = difflib.get_close_matches(request.name, SETS, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"there is no set '{request.name}'", hint=f"{hint}known sets: {', '.join(SETS)}")
    if request.sizes and request.name in (*LISTS, *CORPORA, *PROGRAMS, *C_FAMILIES):
        raise InputError(f"the set '{request.name}' has no size")
    return found.cases(request)


def _of_families(request: Request) -> Iterator[Case]:
    for family in FAMILIES[request.name]:
        yield from family_cases(request.name, family, request.sizes, request.models)


def _of_memory(request: Request) -> Iterator[Case]:
    family, sizes = MEMORY[request.name], request.sizes or MEMORY_SIZES[request.name]
    yield from family_cases(request.name, family, sizes, request.models or family.models[:1])


def _of_list(request: Request) -> Iterator[Case]:
    for text in LISTS[request.name]:
        part = parse_request(text)
        yield from find_cases(replace(part, models=request.models, corpus=request.corpus))


SETS: dict[str, BenchmarkSet] = {
    **{name: BenchmarkSet("; ".join(f.about for f in families), _of_families) for name, families in FAMILIES.items()},
    **{
        name: BenchmarkSet(f"whether memory grows with the number of traces of {family.name}", _of_memory)
        for name, family in MEMORY.items()
    },
    **{
        name: BenchmarkSet(f"the {architecture} tests of the corpus", corpus_cases)
        for name, architecture in zip(CORPORA, ARCHITECTURES.values(), strict=True)
    },
    "table1": BenchmarkSet("the programs of Table 1 of the RSMC paper, in C", program_cases),
    "structures": BenchmarkSet("lock-free structures and locks, in C", program_cases),
    "gallery": BenchmarkSet(
        "small programs with locks, queues and stacks, in C: where runs are in vain", program_cases
    ),
    "families": BenchmarkSet(
        "locks, structures and updates that grow, in C, beside what other tools needed", c_family_cases
    ),
    "state-spaces": BenchmarkSet("programs in C for the states engine", c_family_cases),
    "short": BenchmarkSet("a little of everything, under two minutes", _of_list),
    "results": BenchmarkSet("what benchmarks/README.md shows: the greater sizes, and the corpus", _of_list),
    "all": BenchmarkSet("everything", _of_list),
}
