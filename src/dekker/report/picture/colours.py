"""How relations look: a colour on light and on dark ground that also people tell apart who see few, and a dash."""

from __future__ import annotations

from dekker.records import dataclass
from dekker.report.picture.view import ADDR, CO, CTRL, DATA, FENCE, FR, OTHER, PO, RF, RMW


@dataclass(frozen=True, slots=True)
class Look:
    light: str
    dark: str
    dash: str
    meaning: str


LOOKS = {
    PO: Look("#6e7781", "#8b949e", "", "program order"),
    RF: Look("#c8102e", "#ff7b72", "", "reads-from: a write and the read that takes its value"),
    CO: Look("#0550ae", "#79c0ff", "", "coherence: the order of writes to one location"),
    FR: Look("#b35900", "#ffa657", "", "from-read: a read and the write that replaces what it saw"),
    ADDR: Look("#8250df", "#d2a8ff", "6 3", "address dependency"),
    DATA: Look("#8250df", "#d2a8ff", "2 3", "data dependency"),
    CTRL: Look("#8250df", "#d2a8ff", "8 3 2 3", "control dependency"),
    RMW: Look("#0e7490", "#56d4dd", "", "the halves of an atomic update"),
    FENCE: Look("#1a7f37", "#7ee787", "", "accesses with a fence between them"),
    OTHER: Look("#57606a", "#c9d1d9", "4 2", "another relation of the model"),
}

CYCLE_LIGHT, CYCLE_DARK = "#ffd33d", "#7a5c00"
