"""What each atomic of C11 becomes on each processor, and what survives around it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.ir_programs import programs

from dekker.errors import UnsupportedError
from dekker.ir.fences import FENCES
from dekker.ir.passes import apply_passes
from dekker.ir.passes.atomic_mappings import MAPPINGS, Row
from dekker.ir.passes.compile_atomics import compile_atomics
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.ir.validate import validate
from dekker.source import Source

ACCESSES = {"load": "r = load.4 [&x]", "store": "store.4 [&x] = 1", "update": "r = rmw.add.4 [&x], 1"}

# What is compiled, then per processor what stands for it; fences are written by their names alone, `@` is the access.
ROWS = """
load relaxed   | tso: @ | pso: @ | rmo: @ membar.loadload | power: @ | armv7: @ | aarch64: @ | riscv: @
load consume   | tso: @ | pso: @ | rmo: @ membar.loadload membar.loadstore | power: @ ctrl isync | armv7: @ dmb.ish \
| aarch64: @acquire | riscv: @ fence.r.rw
load acquire   | tso: @ | pso: @ | rmo: @ membar.loadload membar.loadstore | power: @ ctrl isync | armv7: @ dmb.ish \
| aarch64: @acquire | riscv: @ fence.r.rw
load seq_cst   | tso: @ | pso: @ | rmo: @ membar.loadload membar.loadstore | power: sync @ ctrl isync \
| armv7: @ dmb.ish | aarch64: @acquire | riscv: fence.rw.rw @ fence.r.rw
load plain     | tso: @ | pso: @ | rmo: @ | power: @ | armv7: @ | aarch64: @ | riscv: @
store relaxed  | tso: @ | pso: @ | rmo: @ | power: @ | armv7: @ | aarch64: @ | riscv: @
store release  | tso: @ | pso: membar.storestore @ | rmo: membar.loadstore membar.storestore @ | power: lwsync @ \
| armv7: dmb.ish @ | aarch64: @release | riscv: fence.rw.w @
store seq_cst  | tso: @ mfence | pso: membar.storestore @ membar.storeload \
| rmo: membar.loadstore membar.storestore @ membar.storeload | power: sync @ | armv7: dmb.ish @ dmb.ish \
| aarch64: @release | riscv: fence.rw.w @
store plain    | tso: @ | pso: @ | rmo: @ | power: @ | armv7: @ | aarch64: @ | riscv: @
update relaxed | tso: @ | pso: @ | rmo: @ | power: @ | armv7: @ | aarch64: @ | riscv: @
update acquire | tso: @ | pso: @ | rmo: @ | power: @ ctrl isync | armv7: @ dmb.ish | aarch64: @acquire | riscv: @acquire
update release | tso: @ | pso: @ | rmo: @ | power: lwsync @ | armv7: dmb.ish @ | aarch64: @release | riscv: @release
update acq_rel | tso: @ | pso: @ | rmo: @ | power: lwsync @ ctrl isync | armv7: dmb.ish @ dmb.ish | riscv: @acq_rel
update seq_cst | tso: @ | pso: @ | rmo: @ | power: sync @ ctrl isync | armv7: dmb.ish @ dmb.ish | riscv: @acq_rel
update plain   | tso: @ | pso: @ | rmo: @ | power: @ | armv7: @ | aarch64: @ | riscv: @
fence relaxed  | tso: | pso: | rmo: | power: | armv7: | aarch64: | riscv:
fence acquire  | tso: | pso: | rmo: membar.loadload membar.loadstore | power: lwsync | armv7: dmb.ish \
| aarch64: dmb.ishld | riscv: fence.r.rw
fence release  | tso: | pso: membar.storestore | rmo: membar.loadstore membar.storestore | power: lwsync \
| armv7: dmb.ish | aarch64: dmb.ish | riscv: fence.rw.w
fence acq_rel  | tso: | pso: membar.storestore | rmo: membar.loadload membar.loadstore membar.storestore \
| power: lwsync | armv7: dmb.ish | aarch64: dmb.ish | riscv: fence.tso
fence seq_cst  | tso: mfence | pso: membar | rmo: membar | power: sync | armv7: dmb.ish | aarch64: dmb.ish \
| riscv: fence.rw.rw
"""


def cases() -> list[tuple[str, str, str]]:
    found = []
    for line in ROWS.strip().splitlines():
        what, *cells = (part.strip() for part in line.split("|"))
        found += [(" ".join(what.split()), *cell.split(":", 1)) for cell in cells]
    return [(what, target, text.strip()) for what, target, text in found]


def parse(body: str, architecture: str = "C") -> Program:
    text = f"""
    program p architecture {architecture}
    object x[8]
    object y[8]
    function P0() {{
    {body}
    }}
    thread P0 runs P0
    observe [x].4
    """
    program = parse_program(Source("t.ir", text))
    validate(program)
    return program


def lines(program: Program) -> list[str]:
    """The body of the only function, as it is printed."""
    text = print_program(program)
    body = text[text.index("{\n") + 2 : text.index("\n}\n")] if "{\n}" not in text else ""
    return [line.strip() for line in body.splitlines()]


def compiled(body: str, target: str) -> list[str]:
    result = compile_atomics(parse(body), target)
    validate(result)
    return lines(result)


def expected_lines(access: str, text: str) -> list[str]:
    found = []
    for word in text.split():
        if word.startswith("@"):
            found.append(f"{access} {word[1:]}".strip())
        elif word == "ctrl":
            found += ["branch r and.64 0 -> behind0", "behind0:"]
        else:
            found.append(f"fence {word}")
    return found


@pytest.mark.parametrize(("what", "target", "text"), cases())
def test_rows(what: str, target: str, text: str) -> None:
    kind, order = what.split()
    access = ACCESSES.get(kind, "")
    source = f"{access} {order}" if access else f"fence c11.{order}"
    assert compiled(source, target) == expected_lines(access, text)


def test_every_row_is_tested() -> None:
    tested = {(what, target) for what, target, _ in cases()}
    for target, mapping in MAPPINGS.items():
        for kind, rows in (("load", mapping.loads), ("store", mapping.stores), ("update", mapping.updates)):
            for order, row in rows.items():
                assert (f"{kind} {order.value}", target) in tested or row.store_order is not None
        assert {(f"fence {name.removeprefix('c11.')}", target) for name in mapping.fences} <= tested


def test_rows_name_fences_that_exist() -> None:
    rows: list[Row] = []
    for mapping in MAPPINGS.values():
        rows += [row for table in (mapping.loads, mapping.stores, mapping.updates) for row in table.values()]
        rows += mapping.exchanges.values()
        assert all(fence in FENCES for fences in mapping.fences.values() for fence in fences)
    assert all(fence in FENCES for row in rows for fence in (*row.before, *row.after))


@pytest.mark.parametrize("order", ["acq_rel", "seq_cst"])
def test_updates_with_acquire_and_release_are_exclusive_pairs_on_aarch64(order: str) -> None:
    assert compiled(f"r = rmw.add.4 [&x], 1 {order}", "aarch64") == [
        "again0:",
        "linked0 = load.4 exclusive [&x] acquire",
        "status0 = store-conditional.4 [&x] = linked0 add.32 1 release",
        "branch status0 ne.64 0 -> again0",
        "r = linked0",
    ]


@pytest.mark.parametrize(
    ("op", "value"),
    [
        ("xchg", "r"),
        ("sub", "linked0 sub.32 r"),
        ("nand", "not.32 (linked0 and.32 r)"),
        ("max", "(linked0 sge.32 r) ? linked0 : r"),
        ("umin", "(linked0 ule.32 r) ? linked0 : r"),
    ],
)
def test_what_exclusive_pairs_store(op: str, value: str) -> None:
    found = compiled(f"r = rmw.{op}.4 [&x], r seq_cst", "aarch64")
    assert f"status0 = store-conditional.4 [&x] = {value} release" in found


def test_updates_keep_a_result() -> None:
    assert compiled("rmw.add.4 [&x], 1 acquire", "power") == [
        "old0 = rmw.add.4 [&x], 1",
        "branch old0 and.64 0 -> behind0",
        "behind0:",
        "fence isync",
    ]


# Orders of success and failure, the processor, and the words in front, on the load-linked, on the store-conditional,
# behind a success and behind a failure.
EXCHANGES = [
    ("relaxed", "relaxed", "power", "", "", "", "", ""),
    ("acquire", "relaxed", "power", "", "", "", "isync", ""),
    ("acquire", "acquire", "power", "", "", "", "isync", "isync"),
    ("release", "relaxed", "power", "lwsync", "", "", "", ""),
    ("release", "acquire", "power", "lwsync", "", "", "isync", "isync"),
    ("acq_rel", "relaxed", "power", "lwsync", "", "", "isync", ""),
    ("seq_cst", "acquire", "power", "sync", "", "", "isync", "isync"),
    ("relaxed", "seq_cst", "power", "sync", "", "", "isync", "isync"),
    ("seq_cst", "consume", "armv7", "dmb.ish", "", "", "dmb.ish", "dmb.ish"),
    ("acq_rel", "relaxed", "armv7", "dmb.ish", "", "", "dmb.ish", ""),
    ("release", "relaxed", "armv7", "dmb.ish", "", "", "", ""),
    ("relaxed", "relaxed", "aarch64", "", "", "", "", ""),
    ("acquire", "relaxed", "aarch64", "", "acquire", "", "", ""),
    ("release", "relaxed", "aarch64", "", "", "release", "", ""),
    ("seq_cst", "seq_cst", "aarch64", "", "acquire", "release", "", ""),
    ("release", "relaxed", "riscv", "", "", "release", "", ""),
    ("acq_rel", "acquire", "riscv", "", "acquire", "release", "", ""),
    ("seq_cst", "relaxed", "riscv", "", "acq_rel", "release", "", ""),
]


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize(("success", "failure", "target", "before", "linked", "store", "after", "failed"), EXCHANGES)
def test_exchanges(
    success: str, failure: str, target: str, before: str, linked: str, store: str, after: str, failed: str, weak: bool
) -> None:
    kind = "cmpxchg.4 weak" if weak else "cmpxchg.4"
    found = compiled(f"r, ok = {kind} [&x] 0 -> 1 {success}/{failure}", target)
    wanted = [
        before and f"fence {before}",
        "again0:",
        f"linked0 = load.4 exclusive [&x] {linked}",
        "branch linked0 ne.32 0 -> failed0",
        f"status0 = store-conditional.4 [&x] = 1 {store}",
        f"branch status0 ne.64 0 -> {'failed0' if weak else 'again0'}",
        after and f"fence {after}",
        "ok = 1",
        "jump done0",
        "failed0:",
        failed and f"fence {failed}",
        "ok = 0",
        "done0:",
        "r = linked0",
    ]
    assert found == [line.strip() for line in wanted if line]


@pytest.mark.parametrize("target", ["tso", "pso", "rmo"])
def test_exchanges_that_are_fences_by_themselves(target: str) -> None:
    assert compiled("r = cmpxchg.4 weak [&x] 0 -> 1 seq_cst/acquire", target) == ["r = cmpxchg.4 [&x] 0 -> 1"]


# --- what is around


LOOP = """
    jump L
L:
    r = load.4 [&x] seq_cst
    await r ne.32 0 -> L
    branch r eq.32 2 -> M
    fence c11.acquire
M:
    store.4 [&y] = r release
    branch r eq.32 3 -> L
"""


def test_labels_stand_in_front_of_leading_fences_and_behind_trailing_ones() -> None:
    assert compiled(LOOP, "power") == [
        "jump L",
        "L:",
        "fence sync",
        "r = load.4 [&x]",
        "branch r and.64 0 -> behind0",
        "behind0:",
        "fence isync",
        "await r ne.32 0 -> L",
        "branch r eq.32 2 -> M",
        "fence lwsync",
        "M:",
        "fence lwsync",
        "store.4 [&y] = r",
        "branch r eq.32 3 -> L",
    ]


def test_labels_of_fences_that_vanish() -> None:
    body = """branch 1 -> L
    L:
    fence c11.release
    store.4 [&x] = 1 relaxed
    branch 0 -> E
    fence c11.acquire
    E:"""
    assert compiled(body, "tso") == ["branch 1 -> L", "L:", "store.4 [&x] = 1", "branch 0 -> E", "E:"]


def test_names_that_are_taken() -> None:
    body = """behind0:
    old0 = 1
    rmw.add.4 [&x], behind1 acquire"""
    assert compiled(body, "power")[2:] == [
        "old1 = rmw.add.4 [&x], behind1",
        "branch old1 and.64 0 -> behind2",
        "behind2:",
        "fence isync",
    ]


def test_spans_are_those_of_the_access() -> None:
    program = parse("r = load.4 [&x] seq_cst\nstore.4 [&y] = 1 release")
    result = compile_atomics(program, "power")
    before, after = program.functions[0], result.functions[0]
    assert len(after.spans) == len(after.body)
    assert [before.spans.index(span) for span in after.spans] == [0, 0, 0, 0, 1, 1]


def test_a_waiting_loop_with_an_exchange_stays_one() -> None:
    body = """L:
    r, ok = cmpxchg.4 weak [&x] 0 -> 1 acquire/relaxed
    branch ok eq.32 0 -> L
    store.4 [&y] = 1 relaxed"""
    result = lines(apply_passes(compile_atomics(apply_passes(parse(body)), "power")))
    assert "await ok ne.32 0 -> L" in result
    assert "assume status0 eq.64 0" in result


@pytest.mark.parametrize("target", MAPPINGS)
def test_machine_code_is_left_alone(target: str) -> None:
    program = parse("r = load.4 [&x] acquire\nstore.4 [&y] = 1 release\nfence c11.seq_cst", "AArch64")
    assert compile_atomics(program, target) is program
    fences = parse("store.4 [&y] = 1\nfence sync\nfence compiler\nr = load.4 [&x]")
    assert compile_atomics(fences, target) is fences


def test_orders_that_c11_does_not_have() -> None:
    with pytest.raises(UnsupportedError, match="no way to compile a load of the order 'acquire_pc'") as error:
        compiled("r = load.4 [&x] acquire_pc", "power")
    assert "t.ir:6:5: error" in str(error.value)
    assert "hint: the orders of C11 for it are relaxed, acquire, seq_cst" in str(error.value)
    with pytest.raises(UnsupportedError, match="a compare-exchange of the order 'acquire_pc'"):
        compiled("r = cmpxchg.4 [&x] 0 -> 1 relaxed/acquire_pc", "riscv")


@pytest.mark.parametrize("target", MAPPINGS)
@given(data=st.data())
def test_any_program_is_compiled_to_a_valid_one_once(target: str, data: st.DataObject) -> None:
    program = replace(data.draw(programs()), architecture="C")
    try:
        result = compile_atomics(program, target)
    except UnsupportedError:
        return
    validate(result)
    assert compile_atomics(result, target) is result


def test_a_quiet_exchange_does_not_write_what_is_there() -> None:
    quiet = compiled("r = rmw.xchg.4 quiet [&x], 1 seq_cst", "aarch64")
    loud = compiled("r = rmw.xchg.4 [&x], 1 seq_cst", "aarch64")
    assert quiet[1:3] == ["linked0 = load.4 exclusive [&x] acquire", "branch (freeze.32 linked0) eq.32 1 -> done0"]
    assert [line for line in quiet if line != "done0:"][3:] == loud[3:]
    assert len(quiet) == len(loud) + 1
