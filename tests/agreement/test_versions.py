"""Versions without bound: with few threads, they reach what counters reach that are kept as they are."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.reference.lang_outcomes import explored

from dekker.errors import UnsupportedError
from dekker.frontends.lang import parse_file
from dekker.frontends.lang.syntax import LangFile
from dekker.source import Source

SLICE = 40
CAMPAIGN = 1000


def text_of(seed: int) -> str:
    """Two or three processes that change `top` by CMPXCHG, some with a new version and some without, and leave in `won`
    which of them succeeded."""
    random = Random(seed)

    def change(number: int) -> str:
        version = random.choice((0, 4, 4, 8))
        held = random.choice((f"{random.randint(0, 3)}", "p", "y % 4"))
        first = random.choice(("", "read: y := x;", f"write: x := {random.randint(1, 3)};"))
        again = random.choice(("", "read: h := top; p := h % 4;"))
        return f"""
          read: h := top; p := h % 4; {first} {again}
          new := h - h % 4 + {version} + {held};
          seen := h;
          CMPXCHG(top = seen ? top := new : seen := top);
          if(seen = h) {{ won := won + {1 << number} }}
        """

    def process(number: int) -> str:
        changes = "".join(change(place) for place in range(random.randint(1, 2)))
        return f"process P{number} {{ won := 0; y := 0; {changes} }}"

    return "var x = 0; var top = 0 versioned 4; " + " ".join(process(n) for n in range(random.randint(2, 3)))


def test_counting_from_a_version_that_lies_behind_is_refused() -> None:
    code = "{ read: h := top; new := h + 8; read: h := top; seen := h; CMPXCHG(top = seen ? top := new : seen := top) }"
    file = parse_file(Source("t.lang", f"var top = 0 versioned 4; process P {code} process Q {code.replace('8', '4')}"))
    with pytest.raises(UnsupportedError, match="counted up from one that lies behind"):
        explored(file, "tso")


def outcomes(file: LangFile, model: str) -> set[tuple[int, ...]]:
    reached = explored(file, model, frozenset(("won", "y")))
    machine = reached.machine
    found = set()
    top = machine.memory.numbers[machine.memory.layout.starts["top"], 8]
    for memory, threads in reached.final:
        values = [value % 4 if cell == top else value for cell, value in enumerate(machine.globals[memory])]
        for thread in sorted(threads, key=lambda item: machine.locals[item].thread_class):
            local = machine.locals[thread]
            code = machine.codes[local.thread_class]
            values += [local.registers[code.registers[name]] for name in ("won", "y")]
        found.add(tuple(values))
    return found


def require_same(seed: int, model: str) -> None:
    file = parse_file(Source("t.lang", text_of(seed)))
    counted = tuple(replace(item, versions=None, values=(4,)) if item.name == "top" else item for item in file.globals)
    assert outcomes(file, model) == outcomes(replace(file, globals=counted), model), f"text_of({seed}): {text_of(seed)}"


@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_versions_reach_what_counters_reach(model: str) -> None:
    for seed in range(SLICE):
        require_same(seed, model)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_versions_reach_what_counters_reach_campaign(model: str) -> None:
    for seed in range(SLICE, SLICE + CAMPAIGN):
        require_same(seed, model)
