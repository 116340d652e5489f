"""Witnesses of SV-COMP in their first form: an automaton in GraphML (format 1.0).

A violation witness leads from the start of `main` along an interleaving to the violation. Threads are started
(`createThread`), enter their function and leave it; a step names its thread and line; numbers that the program leaves
open are assumptions about results. A correctness witness is the automaton with one state and no invariant.
"""

from __future__ import annotations

from dekker.errors import UnsupportedError
from dekker.report.check_report import CheckReport
from dekker.report.svcomp import (
    PRODUCER,
    Step,
    TaskFiles,
    creation_time,
    interleaving,
    kept_specification,
    place,
    shown_violation,
    task_files,
    violated_specification,
)
from dekker.report.xml_text import Element, xml_document
from dekker.result import Verdict
from dekker.witness import Witness

_KEYS = (
    *(
        ("graph", name, "string")
        for name in (
            *("witness-format-version", "witness-type", "sourcecodelang", "producer", "specification"),
            *("programfile", "programhash", "architecture", "creationtime"),
        )
    ),
    ("node", "entry", "boolean"),
    ("node", "violation", "boolean"),
    ("edge", "threadId", "string"),
    ("edge", "createThread", "string"),
    ("edge", "enterFunction", "string"),
    ("edge", "returnFromFunction", "string"),
    ("edge", "startline", "int"),
    ("edge", "endline", "int"),
    ("edge", "assumption", "string"),
    ("edge", "assumption.scope", "string"),
    ("edge", "assumption.resultfunction", "string"),
)


def graphml_witness(report: CheckReport, version: str) -> str:
    """`UnsupportedError` where the format has no witness for the answer; `version` is that of this program."""
    files = task_files(report)
    if len(files.paths) != 1:
        raise UnsupportedError("a witness in GraphML is about one file", hint="--witness-yaml takes several")
    if report.verdict is not Verdict.UNSAFE:
        graph = _Automaton(files, "correctness_witness", kept_specification(report), version)
        return xml_document(graph.document)
    found, witness = shown_violation(report)
    graph = _Automaton(files, "violation_witness", violated_specification(found), version)
    graph.follow(witness)
    _, line, _, _ = place(found, witness)
    thread = max(0, found.finding.thread)
    graph.step({"threadId": str(thread), "startline": str(line), "endline": str(line)}, violation=True)
    return xml_document(graph.document)


class _Automaton:
    def __init__(self, files: TaskFiles, kind: str, specification: str, version: str) -> None:
        self.document = Element("graphml", {"xmlns": "http://graphml.graphdrawing.org/xmlns"})
        for target, name, what in _KEYS:
            self.document.add("key", {"id": name, "for": target, "attr.name": name, "attr.type": what})
        self.graph = self.document.add("graph", {"edgedefault": "directed"})
        data = {
            "witness-format-version": "1.0",
            "witness-type": kind,
            "sourcecodelang": "C",
            "producer": f"{PRODUCER} {version}",
            "specification": specification,
            "programfile": files.paths[0],
            "programhash": files.hashes[0],
            "architecture": "64bit",
            "creationtime": creation_time(),
        }
        _add_data(self.graph, data)
        self.states = 0
        self._node({"entry": "true"})

    def _node(self, data: dict[str, str]) -> None:
        _add_data(self.graph.add("node", {"id": f"N{self.states}"}), data)

    def step(self, data: dict[str, str], *, violation: bool = False) -> None:
        """To a new state."""
        self.states += 1
        self._node({"violation": "true"} if violation else {})
        ends = {"source": f"N{self.states - 1}", "target": f"N{self.states}"}
        _add_data(self.graph.add("edge", ends), data)

    def follow(self, witness: Witness) -> None:
        functions = [thread.function for thread in witness.threads]
        self.step({"threadId": "0", "createThread": "0", "enterFunction": functions[0]})
        entered = {0}
        for step in interleaving(witness):
            if step.thread not in entered:
                entered.add(step.thread)
                self.step({"threadId": str(step.thread), "enterFunction": functions[step.thread]})
            self.step(_step_data(step, witness))


def _step_data(step: Step, witness: Witness) -> dict[str, str]:
    data = {"threadId": str(step.thread), "startline": str(step.line), "endline": str(step.line)}
    if step.choice is not None:
        result = {"assumption": f"\\result == {step.choice.value}", "assumption.resultfunction": step.choice.function}
        return data | result | {"assumption.scope": step.choice.caller}
    started = _started_thread(step, witness)
    return data | ({"createThread": str(started)} if started is not None else {})


def _started_thread(step: Step, witness: Witness) -> int | None:
    for number in step.row.events if step.row is not None else ():
        event = witness.events[number]
        kind, _, thread = event.location.partition(" of thread ")
        if event.kind == "W" and kind == "start" and thread.isdigit():
            return int(thread)
    return None


def _add_data(element: Element, data: dict[str, str]) -> None:
    for key, value in data.items():
        element.add("data", {"key": key}, value)
