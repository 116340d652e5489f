"""The rsmc engine beside what it finds: progress, examples, large executions."""

from __future__ import annotations

from pathlib import Path

import pytest

from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_program
from dekker.models import load_model
from dekker.result import Result
from dekker.source import Source
from dekker.task import Limits, Task

FIGURE_11 = Path(__file__).parents[4] / "examples" / "rsmc" / "dekker.rsmc"


def run(text: str, model: str, limits: Limits = Limits()) -> Result:
    return rsmc.run(Task(parse_program(Source("test.rsmc", text)), load_model(model), limits))


def test_progress_is_reported() -> None:
    program = parse_program(Source(str(FIGURE_11), FIGURE_11.read_text(encoding="utf-8")))
    seen: list[dict[str, int]] = []
    rsmc.run(Task(program, load_model("power"), progress=seen.append))
    assert seen
    assert [s["complete"] for s in seen] == sorted(s["complete"] for s in seen)
    assert seen[-1]["commits"] > 0


def test_a_callback_that_raises_ends_the_run() -> None:
    program = parse_program(Source(str(FIGURE_11), FIGURE_11.read_text(encoding="utf-8")))

    def stop(_: dict[str, int]) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        rsmc.run(Task(program, load_model("power"), progress=stop))


def message_behind_private_work(n_writes: int) -> str:
    private = "\n".join(f"a{i} := {i}" for i in range(n_writes))
    names = " ".join(f"a{i} = 0" for i in range(n_writes))
    return f"""x = 0 y = 0 {names}
thread P:
{private}
x := 1
lwsync
y := 1
thread Q:
r0 := y
lwsync
r1 := x
exists (Q:r0=1 /\\ Q:r1=0)
"""


@pytest.mark.parametrize("model", ["sc", "power"])
@pytest.mark.parametrize("n_writes", [20, 40, 70, 150, 300, 600])
def test_executions_beyond_64_128_256_512_and_1024_events(n_writes: int, model: str) -> None:
    result = run(message_behind_private_work(n_writes), model)
    assert (result.satisfying, result.violating, result.blocked) == (0, 3, 0)


def test_too_many_events_are_no_answer() -> None:
    assert run(message_behind_private_work(40_000), "power").stopped_by == "events"
