"""Random litmus tests: of cycles of relaxations, in the instructions of an architecture."""

from __future__ import annotations

from functools import lru_cache
from random import Random

from dekker.errors import DekkerError
from dekker.generate import ARCHITECTURES, edge_names, generate

ATTEMPTS = 400
USUAL = ("Rfe", "Fre", "Coe")


def cycle_test(seed: int) -> str:
    """Most sequences of edges are no cycle; one that is one comes soon."""
    random = Random(seed)
    architecture = random.choice(ARCHITECTURES)
    edges = _edges(architecture)
    for _ in range(ATTEMPTS):
        cycle: list[str] = []
        for _ in range(random.choice((2, 2, 2, 3))):
            cycle += [random.choice(edges), random.choice(USUAL)]
        try:
            return generate(architecture, cycle, f"random{seed}")
        except DekkerError:
            continue
    return generate(architecture, ("PodWR", "Fre", "PodWR", "Fre"), f"random{seed}")


@lru_cache(maxsize=16)
def _edges(architecture: str) -> tuple[str, ...]:
    return tuple(edge_names(architecture))
