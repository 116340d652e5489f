"""Violation witnesses of SV-COMP in their second form: YAML (format 2.0).

A sequence of segments: the numbers that the program leaves open, in the order in which they are asked for, and then the
violation. A correctness witness of this form consists of invariants; Dekker explores executions and has none to offer.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

from dekker.errors import UnsupportedError
from dekker.report.check_report import CheckReport
from dekker.report.svcomp import (
    PRODUCER,
    Chosen,
    TaskFiles,
    creation_time,
    interleaving,
    place,
    shown_violation,
    task_files,
    violated_specification,
)
from dekker.result import Verdict

FORMAT_VERSION = "2.0"


def yaml_witness(report: CheckReport, version: str) -> str:
    """`UnsupportedError` where the format has no witness for the answer; `version` is that of this program."""
    files = task_files(report)
    if report.verdict is not Verdict.UNSAFE:
        raise UnsupportedError(
            "a correctness witness in YAML consists of invariants, and Dekker, which explores executions, has none",
            hint="--witness-graphml writes one without",
        )
    found, witness = shown_violation(report)
    chosen = [step.choice for step in interleaving(witness) if step.choice is not None]
    file, line, column, function = place(found, witness)
    target: dict[str, object] = {
        "type": "target",
        "action": "follow",
        "location": _location(file, line, column, function),
    }
    entry = {
        "entry_type": "violation_sequence",
        "metadata": _metadata(files, report, violated_specification(found), version),
        "content": [_segment(item) for item in (*map(_returned, chosen), target)],
    }
    return "\n".join(_lines([entry], "")) + "\n"


def _metadata(files: TaskFiles, report: CheckReport, specification: str, version: str) -> dict[str, object]:
    return {
        "format_version": FORMAT_VERSION,
        "uuid": str(uuid.uuid4()),
        "creation_time": creation_time(),
        "producer": {"name": PRODUCER, "version": version, "configuration": f"{report.model}, {report.engine}"},
        "task": {
            "input_files": list(files.paths),
            "input_file_hashes": dict(zip(files.paths, files.hashes, strict=True)),
            "specification": specification,
            "data_model": "LP64",
            "language": "C",
        },
    }


def _segment(waypoint: dict[str, object]) -> dict[str, object]:
    return {"segment": [{"waypoint": waypoint}]}


def _returned(chosen: Chosen) -> dict[str, object]:
    return {
        "type": "function_return",
        "action": "follow",
        "constraint": {"value": f"\\result == {chosen.value}", "format": "acsl_expression"},
        "location": _location(chosen.file, chosen.line, chosen.column, chosen.caller),
    }


def _location(file: str, line: int, column: int, function: str) -> dict[str, object]:
    found: dict[str, object] = {"file_name": file, "line": line, "column": column}
    return found | ({"function": function} if function else {})


# --- YAML of lists, tables, texts and numbers; texts are quoted as in JSON, which is YAML


def _lines(value: object, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield f"{indent}{_key(key)}:"
                yield from _lines(item, f"{indent}  ")
            else:
                yield f"{indent}{_key(key)}: {json.dumps(item, ensure_ascii=False)}"
    elif isinstance(value, list):
        for item in value:
            first, *others = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.strip()}"
            yield from others
    else:
        yield f"{indent}{json.dumps(value, ensure_ascii=False)}"


def _key(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key, ensure_ascii=False)
