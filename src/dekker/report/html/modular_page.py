"""The page of `dekker modular`: what is covered, and the way to a bad state."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.modular_result import Finding, ModularResult, PathStep, counts_text, covers
from dekker.report.execution_text import clean
from dekker.report.html.check_pages import TONES
from dekker.report.html.page import Page, Plain, Sources
from dekker.report.html.run_data import PATH, run_plain
from dekker.report.modular_report import modular_text, why_unknown
from dekker.report.picture.moments import Moment
from dekker.report.picture.view import Column, Node, RunView
from dekker.result import Verdict

SENTENCES = {
    Verdict.SAFE: "No bad state can be reached",
    Verdict.SAFE_WITHIN_BOUND: "No bad state can be reached within the bound",
    Verdict.UNSAFE: "A bad state can be reached",
    Verdict.UNKNOWN: "Whether a bad state can be reached is open",
}


def modular_page(result: ModularResult, texts: Mapping[str, str]) -> Page:
    """One entry, and one for each further finding."""
    sources = Sources()
    numbers = [sources.add(file, text) for file, text in texts.items()]
    names = ", ".join(texts)
    found = result.findings[:1] if result.instance else result.findings
    entry: Plain = {
        "name": names,
        "verdict": result.verdict.value,
        "tone": TONES[result.verdict],
        "sentence": f"{SENTENCES[result.verdict]}, for {covers(result)}",
        "cells": [],
        "facts": [list(fact) for fact in _facts(result) if fact[1]],
        "notes": [*(line.strip() for line in why_unknown(result)), *result.notes],
        "findings": [_finding(finding, result) for finding in found],
        "sources": numbers,
    }
    shown = next((finding for finding in found if finding.steps), None)
    if shown is not None:
        view, moments = path_view(shown)
        entry["run"] = {**run_plain(view, moments), "heading": "The way to it, from top to bottom", "told": PATH}
    return Page(f"{names} under {result.model}", modular_text(result), entries=[entry], sources=sources)


def _facts(result: ModularResult) -> list[tuple[str, str]]:
    return [
        ("Model", result.model),
        ("Engine", "modular"),
        ("Threads", counts_text(result.threads)),
        ("Looked at together", "" if result.concrete is None else f"{result.concrete} threads"),
        ("Shown by", counts_text(result.instance)),
        ("Tried in vain", counts_text(result.tried)),
        ("States", str(result.n_states)),
        ("Stopped by", result.stopped_by or ""),
        ("Time", f"{result.time_s:.2f} s"),
    ]


def _finding(finding: Finding, result: ModularResult) -> Plain:
    lines = [f"{name}: {place}" for name, place in finding.threads]
    if finding.memory:
        lines.insert(0, f"memory: {', '.join(f'{name} = {value}' for name, value in finding.memory)}")
    if not result.instance and result.concrete is not None:
        lines.append("in the abstraction, which may reach more than the program does")
    where = f"{finding.span}: " if finding.span is not None else ""
    return {"title": f"{where}{finding.message}", "lines": lines}


def path_view(finding: Finding) -> tuple[RunView, list[Moment]]:
    """Each thread has a column; time goes down."""
    names = list(dict.fromkeys(step.thread for step in finding.steps))
    listed = [_step(names.index(step.thread), step, moment) for moment, step in enumerate(finding.steps)]
    order = sorted(range(len(listed)), key=lambda n: (listed[n].thread, n))
    place = {step: position for position, step in enumerate(order)}
    view = RunView(
        finding.message,
        tuple(Column(clean(name)) for name in names),
        tuple(listed[n] for n in order),
        (),
        finally_=tuple((clean(name), clean(value)) for name, value in finding.memory),
        timed=True,
    )
    return view, [Moment(listed[n].thread, (place[n],)) for n in range(len(listed))]


def _step(thread: int, step: PathStep, moment: int) -> Node:
    text = clean(f"{step.text}, comes to {step.arrives}" if step.arrives else step.text)
    if step.span is None:
        return Node(thread, "", "call", text, moment=moment)
    source = " ".join(step.span.source.line(step.span.line).split())
    return Node(thread, "", "call", text, clean(source), step.span.source.name, step.span.line, moment=moment)
