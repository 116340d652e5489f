"""The compiled form of a model: a straight-line program over sets and relations of events.

Slots hold sets or relations. Inputs are filled by the caller with base sets and relations of an execution; steps run
in order; checks say whether the execution is allowed.

Operations on relations: union inter diff seq inverse plus star opt compl; on sets: set-union set-inter set-diff
set-compl; between them: identity ([S]), cross (S×T), domain, range; constants: empty-rel empty-set full-rel full-set
id.
"""

from __future__ import annotations

from dataclasses import field

from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Input:
    slot: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Op:
    dst: int
    code: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """Least fixpoint: `variables` start empty; run `body`; if `results` equal `variables` stop, else copy, repeat."""

    variables: tuple[int, ...]
    body: tuple[Step, ...]
    results: tuple[int, ...]


Step = Op | Fixpoint


@dataclass(frozen=True, slots=True)
class Check:
    """`kind` is `acyclic`, `irreflexive` or `empty`. A `flag` marks executions in which it holds and forbids none."""

    kind: str
    slot: int
    name: str
    negated: bool
    flag: bool


@dataclass(frozen=True, slots=True)
class RelationalProgram:
    """`kinds[slot]` is `set` or `rel`. The hash is computed once: programs are keys of caches that every test asks."""

    kinds: tuple[str, ...]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.kinds, self.inputs, self.steps, self.checks)))

    def __hash__(self) -> int:
        return self._hash


def with_derived_from_read(program: RelationalProgram) -> RelationalProgram:
    """The same program with `fr` computed as rf⁻¹ ; co without the identity."""
    fr = next((item for item in program.inputs if item.name == "fr"), None)
    if fr is None:
        return program
    kinds = list(program.kinds)
    inputs = [item for item in program.inputs if item.name != "fr"]

    def new_slot() -> int:
        kinds.append("rel")
        return len(kinds) - 1

    def base(name: str) -> int:
        for item in inputs:
            if item.name == name:
                return item.slot
        inputs.append(Input(new_slot(), name, "rel"))
        return inputs[-1].slot

    inverse, composed = new_slot(), new_slot()
    steps = (
        Op(inverse, "inverse", (base("rf"),)),
        Op(composed, "seq", (inverse, base("co"))),
        Op(fr.slot, "diff", (composed, base("id"))),
    )
    return RelationalProgram(tuple(kinds), tuple(inputs), (*steps, *program.steps), program.checks)
