"""C11 atomics. An access without annotation is a relaxed atomic one, since a race of plain accesses has no meaning.

Annotations: P plain (`*x = 1`), Rlx, Acq, Rel, Sc. A read-modify-write has one memory order, made of those of its read
and its write. A control dependency is an `if` around the rest of the thread, with a condition that always holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dekker.generate.assembly import Rendering
from dekker.generate.edges import Edge, Kind, Vocabulary
from dekker.generate.synthesis import Access, Step, Test

ORDERS = {"Rlx": "relaxed", "Acq": "acquire", "Rel": "release", "AcqRel": "acq_rel", "Sc": "seq_cst"}
FENCES = {f"Fence{name}": order for name, order in ORDERS.items() if name != "Rlx"}

COMBINED = {
    ("Rlx", "Rlx"): "relaxed",
    ("Acq", "Rlx"): "acquire",
    ("Rlx", "Rel"): "release",
    ("Acq", "Rel"): "acq_rel",
    ("Sc", "Sc"): "seq_cst",
}

VOCABULARY = Vocabulary(
    architecture="C",
    fences=tuple(FENCES),
    dependencies=("Addr", "Data", "Ctrl"),
    atomics=("Amo.Swp", "Amo.Add"),
    annotations={"P": "RW", "Rlx": "RW", "Acq": "R", "Rel": "W", "Sc": "RW"},
    plain="Rlx",
    atomic_pairs=frozenset(COMBINED),
    synonyms={"Rmw": "Amo.Swp"},
)

CALLS = {"Amo.Swp": "atomic_exchange_explicit", "Amo.Add": "atomic_fetch_add_explicit"}


def render(test: Test) -> Rendering:
    accesses = [step.access for thread in test.threads for step in thread]
    atomic = {access.location for access in accesses if access.annotation != "P"}
    checks: list[tuple[int, str, int]] = []
    blocks = ["{}"]
    for number, steps in enumerate(test.threads):
        used = dict.fromkeys(step.access.location for step in steps)
        parameters = ", ".join(f"{'atomic_int' if name in atomic else 'int'}* {name}" for name in used)
        names = _registers(steps)
        checks += [(number, names[s.access.index], s.access.value) for s in steps if s.access.checked]
        blocks.append("\n".join([f"P{number} ({parameters}) {{", *_body(steps, names), "}"]))
    return Rendering("\n\n".join(blocks) + "\n", tuple(checks))


def _registers(steps: Sequence[Step]) -> dict[int, str]:
    reads = [step.access.index for step in steps if step.access.direction == "R"]
    return {index: f"r{number}" for number, index in enumerate(reads)}


def _body(steps: Sequence[Step], names: dict[int, str]) -> Iterator[str]:
    blocks = 0
    for i, step in enumerate(steps):
        edge = step.edge
        before = names.get(steps[i - 1].access.index, "") if i else ""
        if edge is not None and edge.kind is Kind.ATOMIC:
            continue
        if edge is not None and edge.kind is Kind.FENCE:
            yield f"{_indent(blocks)}atomic_thread_fence(memory_order_{FENCES[edge.detail]});"
        if edge is not None and edge.detail == "Ctrl":
            yield f"{_indent(blocks)}if ({before} == {before}) {{"
            blocks += 1
        following = steps[i + 1] if i + 1 < len(steps) else None
        yield _indent(blocks) + _statement(step, following, before, names)
    yield from (f"{_indent(depth)}}}" for depth in reversed(range(blocks)))


def _indent(blocks: int) -> str:
    return "  " * (blocks + 1)


def _statement(step: Step, following: Step | None, before: str, names: dict[int, str]) -> str:
    access, edge = step.access, step.edge
    dependency = edge.detail if edge is not None and edge.kind is Kind.DEPENDENCY else ""
    place = f"{access.location} + ({before} ^ {before})" if dependency == "Addr" else access.location
    if following is not None and following.edge is not None and following.edge.kind is Kind.ATOMIC:
        return _exchange(following.edge, access, following.access, place, names[access.index])
    plain = access.annotation == "P"
    pointed = f"*({place})" if dependency == "Addr" else f"*{place}"
    order = "" if plain else f"memory_order_{ORDERS[access.annotation]}"
    if access.direction == "R":
        return f"int {names[access.index]} = " + (
            f"{pointed};" if plain else f"atomic_load_explicit({place}, {order});"
        )
    value = f"{access.value} + ({before} ^ {before})" if dependency == "Data" else str(access.value)
    return f"{pointed} = {value};" if plain else f"atomic_store_explicit({place}, {value}, {order});"


def _exchange(edge: Edge, read: Access, write: Access, place: str, register: str) -> str:
    order = COMBINED[read.annotation, write.annotation]
    operand = write.value - read.value if edge.detail == "Amo.Add" else write.value
    return f"int {register} = {CALLS[edge.detail]}({place}, {operand}, memory_order_{order});"
