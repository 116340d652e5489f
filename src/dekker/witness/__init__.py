"""`Witness`: one concrete execution, complete with the texts of its program and model, and its JSON form.

A witness file stands alone: it holds everything that is needed to check it from scratch.
"""

from dekker.witness.execution_record import (
    CLAIMS,
    DEADLOCK,
    FLAG,
    SATISFIES,
    VIOLATES,
    VIOLATIONS,
    Choice,
    Finding,
    Frames,
    IncludedText,
    ModelText,
    Note,
    Output,
    Pair,
    Position,
    ProgramText,
    SourceText,
    Witness,
    WitnessEvent,
    WitnessFrame,
    WitnessThread,
)
from dekker.witness.json_form import FORMAT, VERSION, from_json, to_json, to_plain

__all__ = [
    "CLAIMS",
    "DEADLOCK",
    "FLAG",
    "FORMAT",
    "SATISFIES",
    "VERSION",
    "VIOLATES",
    "VIOLATIONS",
    "Choice",
    "Finding",
    "Frames",
    "IncludedText",
    "ModelText",
    "Note",
    "Output",
    "Pair",
    "Position",
    "ProgramText",
    "SourceText",
    "Witness",
    "WitnessEvent",
    "WitnessFrame",
    "WitnessThread",
    "from_json",
    "to_json",
    "to_plain",
]
