"""The fences that can be put into a program: of which kind, at what cost, and how they are written.

The kinds are those that a processor has; in C they are written as assembly, or as fences of C11 where those compile to
them. What a fence costs by default is a rough guess: a full fence waits for stores, the others do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.errors import UnsupportedError
from dekker.ir.fences import FENCES
from dekker.ir.passes.atomic_mappings import MAPPINGS
from dekker.models import OF_C
from dekker.records import dataclass
from dekker.transform.rules import Rules

FULL, LIGHT = 3.0, 1.0

_ASSEMBLY: dict[str, dict[str, str]] = {
    "tso": {"mfence": "mfence"},
    "pso": {"membar.storestore": "membar #StoreStore", "membar": "membar"},
    "rmo": {
        "membar.loadload": "membar #LoadLoad",
        "membar.loadstore": "membar #LoadStore",
        "membar.storestore": "membar #StoreStore",
        "membar": "membar",
    },
    "power": {"lwsync": "lwsync", "sync": "sync"},
    "armv7": {"dmb.ish": "dmb ish"},
    "aarch64": {"dmb.ishld": "dmb ishld", "dmb.ishst": "dmb ishst", "dmb.ish": "dmb ish"},
    "riscv": {"fence.r.rw": "fence r,rw", "fence.rw.w": "fence rw,w", "fence.rw.rw": "fence rw,rw"},
}
_LITMUS: dict[str, dict[str, str]] = {
    "X86": {"mfence": "mfence"},
    "X86_64": {"mfence": "mfence"},
    "PPC": {"lwsync": "lwsync", "sync": "sync"},
    "ARM": {"dmb.sy": "dmb"},
    "AArch64": {"dmb.ld": "DMB LD", "dmb.st": "DMB ST", "dmb.sy": "DMB SY"},
    "RISCV": {"fence.r.rw": "fence r,rw", "fence.rw.w": "fence rw,w", "fence.rw.rw": "fence rw,rw"},
}
RSMC = {"lwsync": "lwsync;", "sync": "sync;"}


@dataclass(frozen=True)
class FenceKinds:
    """How each kind is written, and what it costs. `marker` is a statement that stands for any of them."""

    texts: Mapping[str, str]
    costs: Mapping[str, float]
    marker: str

    def stronger(self, kind: str, other: str | None) -> bool:
        """Whether the first orders something that the second, or nothing, does not."""
        return not FENCES[kind].orders <= (FENCES[other].orders if other is not None else frozenset())

    @property
    def strongest_first(self) -> list[str]:
        return sorted(self.texts, key=lambda kind: -len(FENCES[kind].orders))


def fences_of_model(name: str) -> tuple[str, ...]:
    """The fences of the processor, or language, that a built-in model is about."""
    if name in OF_C:
        return tuple(kind for kind in FENCES if kind.startswith("c11."))
    return tuple(_ASSEMBLY.get(name.removeprefix("ghb-"), ("mfence",)))


def kinds_for_c(rules: Rules, costs: Mapping[str, float], *, c11: bool = False) -> FenceKinds:
    """`c11`: as fences of C11, as far as one of them is all that the processor gets."""
    assembly = _ASSEMBLY[rules.name]
    if c11:
        texts = _c11_texts(rules.name)
        return _kinds(rules, texts, costs, "atomic_thread_fence(memory_order_relaxed);")
    texts = {kind: f'__asm__ volatile("{text}" ::: "memory");' for kind, text in assembly.items()}
    return _kinds(rules, texts, costs, '__asm__ volatile("" ::: "memory");')


def kinds_for_litmus(rules: Rules, costs: Mapping[str, float], architecture: str) -> FenceKinds:
    if architecture == "C":
        return kinds_for_c(rules, costs, c11=True)
    if architecture not in _LITMUS:
        raise UnsupportedError(
            f"no fences are known for litmus tests of the architecture {architecture}",
            hint=f"known: C, {', '.join(_LITMUS)}",
        )
    texts = _LITMUS[architecture]
    return _kinds(rules, texts, costs, texts[max(texts, key=lambda kind: len(FENCES[kind].orders))])


def kinds_for_rsmc(rules: Rules, costs: Mapping[str, float]) -> FenceKinds:
    return _kinds(rules, RSMC, costs, "sync;")


def c11_fence(kind: str, processor: str) -> str | None:
    """The fence of C11 that is compiled to just this one."""
    fences = MAPPINGS[processor].fences
    return next((name for name in sorted(fences) if fences[name] == (kind,)), None)


def _c11_texts(processor: str) -> dict[str, str]:
    found = {}
    for name, kinds in sorted(MAPPINGS[processor].fences.items()):
        if len(kinds) == 1:
            found[kinds[0]] = f"atomic_thread_fence(memory_order_{name.removeprefix('c11.')});"
    return found


def _kinds(rules: Rules, texts: Mapping[str, str], costs: Mapping[str, float], marker: str) -> FenceKinds:
    """Without those that order nothing that the model does not keep anyway."""
    useful = {kind: text for kind, text in texts.items() if FENCES[kind].orders & rules.relaxed}
    unknown = [name for name in costs if name not in texts]
    if unknown:
        raise UnsupportedError(
            f"there is no fence '{unknown[0]}' here", hint=f"fences that can be put in: {', '.join(texts)}"
        )
    prices = {kind: costs.get(kind, FULL if len(FENCES[kind].orders) == 4 else LIGHT) for kind in useful}
    return FenceKinds(useful, prices, marker)
