"""Random programs in which a thread reads what it has just written, and another thread sees what depends on that.

Which of the three comes first for others is where models and commit-before orders differ most: a store, or an update of
any kind, then a load or update of the same location, then an access whose address or value depends on it. In front of
that may stand something that the store has to wait for and the load has not.
"""

from __future__ import annotations

from hypothesis import strategies as st

from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.source import Source

WAITED_FOR = (
    "",
    "store.4 [&z] = 1\nfence dmb.st",
    "p = load.4 [&{own}]",
    "p = load.4 [&{other}]\nfence dmb.st",
    "p = load.4 [&z]",
)
WRITES = (
    "store.4 [&{own}] = {first}",
    "a = rmw.xchg.4 [&{own}], {first}",
    "a = rmw.add.4 [&{own}], {first}",
    "a, b = cmpxchg.4 [&{own}] 0 -> {first}",
    "a, b = cmpxchg.4 weak [&{own}] 22 -> {first}",
    "a = load.4 exclusive [&{own}]\nb = store-conditional.4 [&{own}] = {first}",
    "a = load.4 [&z]\nstore.4 [&{own}] = (a and.64 1) ? {first} : {second}",
)
READS = (
    "r = load.4 [&{own}]",
    "r = load.4 [&{own}]\nq = load.4 [&{own}]",
    "q = rmw.xchg.4 [&{own}], {second}\nr = load.4 [&{own}]",
    "r = rmw.xchg.4 [&{own}], {second}",
    "r = rmw.add.4 [&{own}], 5",
    "r, s = cmpxchg.4 [&{own}] {first} -> {second}",
    "r, s = cmpxchg.4 [&{own}] 0 -> {second}",
    "r = load.4 exclusive [&{own}]\ns = store-conditional.4 [&{own}] = {second}",
)
DEPENDENTS = (
    "t = r xor.64 r\nstore.4 [&{other} add.64 t] = {third}",
    "t = r xor.32 r\nstore.4 [&{other}] = t add.32 {third}",
    "store.4 [&{other}] = r",
    "t = r xor.64 r\nd = rmw.xchg.4 [&{other} add.64 t], {third}",
)
NEIGHBOURS = (
    "r = load.4 [&y]\nt = r xor.64 r\nstore.4 [&x add.64 t] = 22",
    "r = load.4 [&y]\nt = r xor.64 r\nd = rmw.xchg.4 [&x add.64 t], 22",
    "r = load.4 [&y]\nt = r xor.64 r\nd = load.4 [&z add.64 t]",
    "r = load.4 [&y]\nstore.4 [&z] = r",
)
REGISTERS = ("a", "b", "d", "p", "q", "r", "s")


@st.composite
def forwarding_chains(draw: st.DrawFn, *, may_fail: bool = True) -> Program:
    """With `may_fail`, among the updates are some that may fail."""
    chains = st.tuples(
        *(st.sampled_from(_without_failures(parts, may_fail)) for parts in (WAITED_FOR, WRITES, READS, DEPENDENTS))
    )
    first = draw(chains)
    neighbour = draw(st.sampled_from(NEIGHBOURS) | st.just(first) | chains)
    bodies = [_chain(first, 0), neighbour if isinstance(neighbour, str) else _chain(neighbour, 1)]
    functions = "".join(f"function P{i}() {{\n{body}\n}}\n" for i, body in enumerate(bodies))
    observed = [f"{i}:{register}" for i, body in enumerate(bodies) for register in REGISTERS if _sets(body, register)]
    observed += [f"[{location}].4" for location in "xyz"]
    objects = "object x[8]\nobject y[8]\nobject z[8]\n"
    threads = "thread P0 runs P0\nthread P1 runs P1\n"
    text = f"program chain\narchitecture none\n{objects}{functions}{threads}observe {', '.join(observed)}\n"
    return parse_program(Source("chain", text))


def _without_failures(parts: tuple[str, ...], may_fail: bool) -> tuple[str, ...]:
    return tuple(part for part in parts if may_fail or not ("cmpxchg" in part or "exclusive" in part))


def _chain(parts: tuple[str, ...], thread: int) -> str:
    own, other = ("x", "y") if thread == 0 else ("y", "x")
    values = {"first": 11 + 10 * thread, "second": 13 + 10 * thread, "third": 12 + 10 * thread}
    return "\n".join(part.format(own=own, other=other, **values) for part in parts if part)


def _sets(body: str, register: str) -> bool:
    return any(register in line.partition("=")[0].replace(",", " ").split() for line in body.splitlines())
