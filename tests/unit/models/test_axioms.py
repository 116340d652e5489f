"""Each axiom of each model on executions small enough to check by hand: which checks fail, by name."""

from __future__ import annotations

import pytest
from tests.unit.models.executions import execution

from dekker.cat.interpreter import evaluate
from dekker.execution import Execution, base_value
from dekker.models import OF_C, load_model

Violations = dict[str, str]

SB = ("Wx1 {0} Ry0", "Wy1 {0} Rx0")
MP = ("Wx1 {0} Wy1", "Ry1 {1} Rx0")
LB = ("Rx1 {0} Wy1", "Ry1 {0} Wx1")
IRIW = ("Wx1", "Wy1", "Rx1 {0} Ry0", "Ry1 {0} Rx0")
WRC = ("Wx1", "Rx1 {0} Wy1", "Ry1 {1} Rx0")
R = ("Wx1 {0} Wy1", "Wy2 {1} Rx0")
TWO_TWO_W = ("Wx2 {0} Wy1", "Wy2 {0} Wx1")


def failing(model: str, candidate: Execution, flags: bool = False) -> set[str]:
    """Names of the checks that fail; with `flags`, of the flags that are raised."""
    program = load_model(model).program
    values = {item.name: base_value(item.name, candidate) for item in program.inputs}
    outcomes = evaluate(program, len(candidate.events), values)
    return {
        check.name
        for check, holds in zip(program.checks, outcomes, strict=True)
        if check.flag == flags and holds == flags
    }


def shaped(shape: tuple[str, ...], *fences: str, **relations: str) -> Execution:
    return execution(*(thread.format(*fences) for thread in shape), **relations)


COHERENCE = {
    "CoRW1": execution("Rx1 Wx1"),
    "CoWW": execution("Wx2 Wx1"),
    "CoWR": execution("Wx1 Rx0"),
    "CoRW2": execution("Rx2 Wx1", "Wx2"),
    "CoWR2": execution("Wx2 Rx1", "Wx1"),
}
COHERENCE_CHECKS = {
    "sc": "sc",
    "ibm370": "sc-per-location",
    "tso": "sc-per-location",
    "pso": "sc-per-location",
    "rmo": "sc-per-location",
    "power": "sc-per-location",
    "armv7": "sc-per-location",
    "aarch64": "internal",
    "riscv": "sc-per-location",
    "cpp20": "coherence",
    "rc11": "coherence",
    "ghb-tso": "uniproc",
    "ghb-pso": "uniproc",
    "ghb-rmo": "uniproc",
    "ghb-power": "uniproc",
}


@pytest.mark.parametrize("name", COHERENCE)
@pytest.mark.parametrize("model", COHERENCE_CHECKS)
def test_every_model_is_coherent(model: str, name: str) -> None:
    assert COHERENCE_CHECKS[model] in failing(model, COHERENCE[name])


@pytest.mark.parametrize("model", COHERENCE_CHECKS)
def test_reads_of_one_location_stay_in_order_except_in_rmo(model: str) -> None:
    corr = execution("Wx1.relaxed", "Rx1.relaxed Rx0.relaxed")
    found = failing(model, corr)
    assert not found if model == "rmo" else COHERENCE_CHECKS[model] in found


@pytest.mark.parametrize("sort", ["amo", "lxsx"])
@pytest.mark.parametrize("model", COHERENCE_CHECKS)
def test_nothing_comes_between_the_halves_of_an_update(model: str, sort: str) -> None:
    broken = execution("Rx0.relaxed Wx2.relaxed", "Wx1.relaxed", **{sort: "0:0>1"})
    assert "atomic" in failing(model, broken)
    assert not failing(model, execution("Rx1.relaxed Wx2.relaxed", "Wx1.relaxed", **{sort: "0:0>1"}))


def test_exchange_does_not_read_what_is_coherence_after_it() -> None:
    assert "sc-per-location" in failing("tso", execution("Rx2 Wx1", "Wx2", amo="0:0>1"))


# Shape, fences, relations between events; then for each model the check that fails, or nothing.
CLASSICS: dict[str, tuple[Execution, dict[str, str | None]]] = {
    "SB": (shaped(SB, ""), {"sc": "sc", "tso": None, "pso": None, "rmo": None, "power": None, "aarch64": None}),
    "SB+mfences": (shaped(SB, "mfence"), {"tso": "tso", "pso": "pso", "rmo": "rmo", "riscv": "model"}),
    "SB+syncs": (shaped(SB, "sync"), {"tso": "tso", "power": "propagation", "ghb-power": "ghb"}),
    "SB+lwsyncs": (shaped(SB, "lwsync"), {"tso": None, "power": None, "ghb-power": None, "armv7": None}),
    "SB+dmbs": (shaped(SB, "dmb.ish"), {"armv7": "propagation", "aarch64": "external", "riscv": "model"}),
    "SB+dmb.sts": (shaped(SB, "dmb.st"), {"armv7": None, "aarch64": None}),
    "SB+fence.w.rs": (shaped(SB, "fence.w.r"), {"riscv": "model", "tso": "tso", "power": "propagation"}),
    "SB+fence.tsos": (shaped(SB, "fence.tso"), {"riscv": None, "tso": None}),
    "SB+releases+acquires": (
        execution("Wx1.release Ry0.acquire", "Wy1.release Rx0.acquire"),
        {"aarch64": "external", "rc11": None, "cpp20": None, "riscv": None},
    ),
    "SB+releases+acquires-pc": (
        execution("Wx1.release Ry0.acquire_pc", "Wy1.release Rx0.acquire_pc"),
        {"aarch64": None},
    ),
    "SB+locked-writes": (
        execution("Rz0 Wz1 Rx0", "Wx1 mfence Rz0", amo="0:0>1"),
        {"tso": "tso", "pso": "pso", "rmo": "rmo", "ghb-tso": "ghb"},
    ),
    "SB+locked-reads": (
        execution("Wx1 Rz0 Wz1 Ry0", "Wy1 mfence Rx0", amo="0:1>2"),
        {"tso": "tso", "pso": "pso", "rmo": "rmo", "ghb-pso": "ghb"},
    ),
    "SB+rfi-addrs": (
        execution("Wx1 Rx1 Ry0", "Wy1 Ry1 Rx0", addr="0:1>2 1:1>2"),
        {"sc": "sc", "tso": None, "pso": None, "rmo": None, "power": None},
    ),
    "MP": (shaped(MP, "", ""), {"sc": "sc", "tso": "tso", "pso": None, "rmo": None, "power": None, "riscv": None}),
    "MP+stbar+po": (shaped(MP, "stbar", ""), {"pso": "pso", "rmo": None}),
    "MP+stbar+loadload": (shaped(MP, "stbar", "membar.loadload"), {"pso": "pso", "rmo": "rmo"}),
    "MP+lwsync+po": (shaped(MP, "lwsync", ""), {"power": None}),
    "MP+lwsync+addr": (
        shaped(MP, "lwsync", "", addr="1:0>1"),
        {"power": "observation", "ghb-power": "ghb", "rmo": "rmo"},
    ),
    "MP+eieio+addr": (shaped(MP, "eieio", "", addr="1:0>1"), {"power": "observation"}),
    "MP+lwsync+ctrl": (shaped(MP, "lwsync", "", ctrl="1:0>1"), {"power": None, "ghb-power": None, "armv7": None}),
    "MP+lwsync+ctrlisync": (
        shaped(MP, "lwsync", "isync", ctrl="1:0>1"),
        {"power": "observation", "ghb-power": "ghb"},
    ),
    "MP+lwsync+isync": (shaped(MP, "lwsync", "isync"), {"power": None}),
    "MP+dmb.st+addr": (shaped(MP, "dmb.st", "", addr="1:0>1"), {"armv7": "observation", "aarch64": "external"}),
    "MP+dmb+ctrlisb": (shaped(MP, "dmb.sy", "isb", ctrl="1:0>1"), {"armv7": "observation", "aarch64": "external"}),
    "MP+dmb+dmb.ld": (shaped(MP, "dmb.sy", "dmb.ld"), {"aarch64": "external"}),
    "MP+dmb.ld+addr": (shaped(MP, "dmb.ld", "", addr="1:0>1"), {"aarch64": None}),
    "MP+dmb+pick": (shaped(MP, "dmb.sy", "", pick_addr="1:0>1"), {"aarch64": None}),
    "MP+release+acquire": (
        execution("Wx1 Wy1.release", "Ry1.acquire Rx0"),
        {"aarch64": "external", "riscv": "model", "rc11": "coherence", "cpp20": "coherence"},
    ),
    "MP+release+acquire-pc": (execution("Wx1 Wy1.release", "Ry1.acquire_pc Rx0"), {"aarch64": "external"}),
    "MP+release+relaxed": (
        execution("Wx1 Wy1.release", "Ry1.relaxed Rx0"),
        {"aarch64": None, "rc11": None, "cpp20": None},
    ),
    "MP+fences": (
        execution("Wx1 c11.release Wy1.relaxed", "Ry1.relaxed c11.acquire Rx0"),
        {"rc11": "coherence", "cpp20": "coherence"},
    ),
    "MP+fence.w.w+fence.r.r": (shaped(MP, "fence.w.w", "fence.r.r"), {"riscv": "model", "power": "observation"}),
    "MP+fence.w.r+fence.r.r": (shaped(MP, "fence.w.r", "fence.r.r"), {"riscv": None}),
    "MP+release-sequence": (
        execution("Wx1 Wy1.release", "Ry1.relaxed Wy2.relaxed", "Ry2.acquire Rx0", amo="1:0>1"),
        {"rc11": "coherence", "cpp20": "coherence"},
    ),
    "MP+release-sequence-of-stores": (
        execution("Wx1 Wy1.release Wy2.relaxed", "Ry2.acquire Rx0"),
        {"rc11": "coherence", "cpp20": None},
    ),
    "MP+broken-release-sequence": (
        execution("Wx1 Wy1.release", "Ry1.relaxed Wy2.relaxed", "Ry2.acquire Rx0"),
        {"rc11": None, "cpp20": None},
    ),
    "LB": (
        shaped(LB, ""),
        {
            "tso": "tso",
            "rmo": None,
            "power": None,
            "aarch64": None,
            "riscv": None,
            "rc11": "no-thin-air",
            "cpp20": "no-thin-air",
        },
    ),
    "LB+datas": (
        shaped(LB, "", data="0:0>1 1:0>1"),
        {
            "rmo": "rmo",
            "power": "no-thin-air",
            "armv7": "no-thin-air",
            "aarch64": "external",
            "riscv": "model",
            "ghb-power": "thin",
        },
    ),
    "LB+ctrls": (
        shaped(LB, "", ctrl="0:0>1 1:0>1"),
        {"rmo": "rmo", "power": "no-thin-air", "aarch64": "external", "riscv": "model", "ghb-rmo": "thin"},
    ),
    "LB+picks": (shaped(LB, "", pick_addr="0:0>1 1:0>1"), {"aarch64": "external", "power": None}),
    "LB+addr-pos": (
        execution("Rx1 Rz0 Wy1", "Ry1 Rz0 Wx1", addr="0:0>1 1:0>1"),
        {"rmo": None, "ghb-rmo": None, "power": "no-thin-air", "aarch64": "external", "riscv": "model"},
    ),
    "LB+ctrl-po-same-location": (
        execution("Rx1 Wz1 Wy1", "Ry1 Wx1", ctrl="0:0>1", data="1:0>1"),
        {"power": "no-thin-air", "aarch64": "external"},
    ),
    "IRIW+addrs": (
        shaped(IRIW, "", addr="2:0>1 3:0>1"),
        {"sc": "sc", "tso": "tso", "power": None, "armv7": None, "aarch64": "external", "riscv": "model"},
    ),
    "IRIW+lwsyncs": (shaped(IRIW, "lwsync"), {"power": None, "ghb-power": None, "aarch64": "external"}),
    "IRIW+syncs": (shaped(IRIW, "sync"), {"power": "propagation", "ghb-power": "ghb"}),
    "IRIW+acquires": (
        execution("Wx1.relaxed", "Wy1.relaxed", "Rx1.acquire Ry0.acquire", "Ry1.acquire Rx0.acquire"),
        {"rc11": None, "cpp20": None, "aarch64": "external"},
    ),
    "IRIW+seq-csts": (
        execution("Wx1.seq_cst", "Wy1.seq_cst", "Rx1.seq_cst Ry0.seq_cst", "Ry1.seq_cst Rx0.seq_cst"),
        {"rc11": "sc", "cpp20": "sc"},
    ),
    "SB+seq-csts": (execution("Wx1.seq_cst Ry0.seq_cst", "Wy1.seq_cst Rx0.seq_cst"), {"rc11": "sc", "cpp20": "sc"}),
    "SB+seq-cst-fences": (
        execution("Wx1.relaxed c11.seq_cst Ry0.relaxed", "Wy1.relaxed c11.seq_cst Rx0.relaxed"),
        {"rc11": "sc", "cpp20": "sc"},
    ),
    "SB+acq-rel-fences": (
        execution("Wx1.relaxed c11.acq_rel Ry0.relaxed", "Wy1.relaxed c11.acq_rel Rx0.relaxed"),
        {"rc11": None, "cpp20": None},
    ),
    "WRC+data+addr": (shaped(WRC, "", "", data="1:0>1", addr="2:0>1"), {"power": None, "armv7": None, "rmo": "rmo"}),
    "WRC+lwsync+addr": (
        shaped(WRC, "lwsync", "", addr="2:0>1"),
        {"power": "observation", "ghb-power": "ghb"},
    ),
    "ISA2+sync+data+addr": (
        execution("Wx1 sync Wy1", "Ry1 Wz1", "Rz1 Rx0", data="1:0>1", addr="2:0>1"),
        {"power": "observation", "ghb-power": "ghb"},
    ),
    "R+lwsync+sync": (shaped(R, "lwsync", "sync"), {"power": None, "ghb-power": "ghb"}),
    "R+syncs": (shaped(R, "sync", "sync"), {"power": "propagation"}),
    "R+mfences": (shaped(R, "", "mfence"), {"tso": "tso", "pso": None}),
    "2+2W": (
        shaped(TWO_TWO_W, ""),
        {"tso": "tso", "pso": None, "power": None, "aarch64": None, "rc11": None, "cpp20": None},
    ),
    "2+2W+lwsyncs": (shaped(TWO_TWO_W, "lwsync"), {"power": "propagation", "pso": "pso", "rmo": "rmo"}),
    "2+2W+reservations": (
        execution("Rx1 Wx2 Ry0 Wy1", "Ry1 Wy2 Rx0 Wx1", lxsx="0:0>1 0:2>3 1:0>1 1:2>3"),
        {"power": "reservations"},
    ),
}


@pytest.mark.parametrize(
    ("name", "model", "violation"),
    [(name, model, check) for name, (_, checks) in CLASSICS.items() for model, check in checks.items()],
)
def test_classics(name: str, model: str, violation: str | None) -> None:
    found = failing(model, CLASSICS[name][0])
    assert violation in found if violation else not found


def test_same_location_order_of_armv7_is_weaker_than_that_of_power() -> None:
    """A read may commit before an earlier read of its location has: po-loc is in cc0 on POWER only."""
    early = execution("Wx1 dmb.sy Wy1", "Ry1 Wz1 Rz1 Rx0", data="1:0>1", addr="1:2>3")
    assert failing("armv7", early) == failing("power", early) != set()
    commit = execution("Wy1 dmb.sy Wz1", "Rz1 Wx1 Rx2 Wy2", "Wx2", ctrl="1:0>1", data="1:2>3")
    assert "no-thin-air" not in failing("armv7", commit)


@pytest.mark.parametrize(
    ("threads", "relations", "forbidden"),
    [
        # The halves of an atomic instruction are one event in the order of the manual.
        (("Wx1 Rx1 Wx2 Ry0", "Wy1 Ry1 Wy2 Rx0"), {"amo": "0:1>2 1:1>2", "addr": "0:1>3 1:1>3"}, True),
        (("Wx1 Rx1 Wx2 Ry0", "Wy1 Ry1 Wy2 Rx0"), {"lxsx": "0:1>2 1:1>2", "addr": "0:1>3 1:1>3"}, False),
        # Acquire and release on either half.
        (("Wx1 Ry0.release Wy1.release", "Ry1 Rx0"), {"amo": "0:1>2", "addr": "1:0>1"}, True),
        (("Wx1 Wy1", "Ry1.acquire Wy2.acquire Rx0"), {"amo": "1:0>1"}, False),
        (("Wx1 fence.w.w Wy1", "Ry1.acquire Wy2.acquire Rx0"), {"amo": "1:0>1"}, True),
        # A store-conditional carries dependencies through its result, and forwards its value in order.
        (("Rx0 Wx1 Wy1", "Ry1 Rx0"), {"lxsx": "0:0>1", "status_data": "0:1>2", "addr": "1:0>1"}, True),
        (("Rx0 Wx1 Wy1", "Ry1 Rx0"), {"lxsx": "0:0>1", "addr": "1:0>1"}, False),
        # Annotations on plain accesses are not RCsc; on reservations they are.
        (("Wx1.release Ry0.acquire", "Wy1.release Rx0.acquire"), {}, False),
        (
            ("Rx0 Wx1.release Ry0.acquire Wy1", "Ry1 Wy2.release Rx0.acquire Wx2"),
            {"lxsx": "0:0>1 0:2>3 1:0>1 1:2>3"},
            True,
        ),
    ],
)
def test_riscv_details(threads: tuple[str, ...], relations: dict[str, str], forbidden: bool) -> None:
    assert bool(failing("riscv", execution(*threads, **relations))) == forbidden


@pytest.mark.parametrize(
    ("threads", "relations", "forbidden"),
    [
        # An update with acquire and release is a fence for what is around it; with one of them it is not.
        (("Wx1 Rz0.acq_rel Wz1.acq_rel Ry0", "Wy1 dmb.sy Rx0"), {"amo": "0:1>2"}, True),
        (("Wx1 Rz0.acquire Wz1.acquire Ry0", "Wy1 dmb.sy Rx0"), {"amo": "0:1>2"}, False),
        (("Wx1 Rz0.acq_rel Wz1.acq_rel Ry0", "Wy1 dmb.sy Rx0"), {"lxsx": "0:1>2"}, False),
        # What a store-exclusive wrote is read by an acquire no earlier than the load-exclusive.
        (("Wx1 dmb.sy Wy1", "Ry1 Wy2 Ry2.acquire Rx0"), {"lxsx": "1:0>1"}, True),
        (("Wx1 dmb.sy Wy1", "Ry1 Wy2 Ry2 Rx0"), {"lxsx": "1:0>1", "addr": "1:2>3"}, False),
        # A read of what a dependent write wrote is ordered with what comes before the write.
        (("Wx1 dmb.sy Wy1", "Ry1 Wz1 Rz1 Rx0"), {"data": "1:0>1", "addr": "1:2>3"}, True),
        (("Wx1 dmb.sy Wy1", "Ry1 Wz1 Rz1 Rx0"), {"addr": "1:2>3"}, False),
        # dmb ld does not hold for the read of an atomic instruction without a result; dmb sy does.
        (("Wx1 dmb.sy Wy1", "Ry1 Wy2 dmb.ld Rx0"), {"amo": "1:0>1"}, True),
        (("Wx1 dmb.sy Wy1", "Ry1 Wy2 dmb.ld Rx0"), {"stadd": "1:0>1"}, False),
        (("Wx1 dmb.sy Wy1", "Ry1 Wy2 dmb.sy Rx0"), {"stadd": "1:0>1"}, True),
    ],
)
def test_aarch64_details(threads: tuple[str, ...], relations: dict[str, str], forbidden: bool) -> None:
    assert bool(failing("aarch64", execution(*threads, **relations))) == forbidden


@pytest.mark.parametrize(
    ("threads", "race"),
    [
        (("Wx1", "Rx0"), True),
        (("Wx1", "Wx2"), True),
        (("Rx0", "Rx0"), False),
        (("Wx1.relaxed", "Rx0.relaxed"), False),
        (("Wx1.relaxed", "Rx0"), True),
        (("Wx1 Rx1",), False),
        (("Wx1 Wy1.release", "Ry1.acquire Rx1"), False),
        (("Wx1 Wy1.release", "Ry0.acquire Rx0"), True),
        (("Wx1 Wy1.relaxed", "Ry1.acquire Rx1"), True),
        (("Wx1 mfence Wy1.relaxed", "Ry1.relaxed mfence Rx1"), True),
    ],
)
@pytest.mark.parametrize("model", OF_C)
def test_models_of_c_flag_data_races(model: str, threads: tuple[str, ...], race: bool) -> None:
    assert failing(model, execution(*threads), flags=True) == ({"data-race"} if race else set())


@pytest.mark.parametrize(
    ("threads", "model", "race"),
    [
        (("Wx1 Wy1.release Wy2.relaxed", "Ry2.acquire Rx1"), "rc11", False),
        (("Wx1 Wy1.release Wy2.relaxed", "Ry2.acquire Rx1"), "cpp20", True),
        (("Wx1 Wy1.release Wy2.release", "Ry2.acquire Rx1"), "cpp20", False),
        (("Wx1 c11.release Wy1.relaxed Wy2.relaxed", "Ry2.acquire Rx1"), "cpp20", False),
        (("Wx1 Wy1.release Wy2.relaxed", "Ry1.acquire Rx1"), "cpp20", False),
    ],
)
def test_stores_of_the_same_thread_continue_a_release_sequence_of_rc11_only(
    threads: tuple[str, ...], model: str, race: bool
) -> None:
    assert failing(model, execution(*threads), flags=True) == ({"data-race"} if race else set())


@pytest.mark.parametrize(
    ("threads", "late"),
    [
        (("Wy1.release", "Ry1.acquire Rx0.relaxed"), False),
        (("Wy1.relaxed", "Ry1.acquire Rx0.relaxed"), True),
        (("Wy1.release", "Ry1.relaxed Rx0.relaxed"), True),
        (("Wz1.relaxed Wy1.release", "Ry1.acquire Rx0.relaxed"), False),
        (("Wy1.release", "Ry1.relaxed c11.acquire Rx0.relaxed"), False),
    ],
)
@pytest.mark.parametrize("model", OF_C)
def test_models_of_c_flag_what_is_not_ordered_after_an_allocation(
    model: str, threads: tuple[str, ...], late: bool
) -> None:
    access = len(threads[1].split()) - 1
    found = execution(*threads, allocation=f"0:0>{access + len(threads[0].split())}")
    assert failing(model, found, flags=True) == ({"use-before-allocation"} if late else set())
