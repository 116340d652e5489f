"""An independent judge of executions: it shares no code with the engines that find them.

`replay` runs every thread concretely with the values that a trace says its reads return, and derives all base
relations by following values through registers; `judge` evaluates a model on what comes out; `check_witness` does both
for a witness and compares everything that it says.
"""

from dekker.replay.check import check_witness, deviations
from dekker.replay.judge import Judgement, judge
from dekker.replay.rebuild import Mismatch, Replayed, replay
from dekker.replay.record import Origin, Wanted, make_witness

__all__ = [
    "Judgement",
    "Mismatch",
    "Origin",
    "Replayed",
    "Wanted",
    "check_witness",
    "deviations",
    "judge",
    "make_witness",
    "replay",
]
