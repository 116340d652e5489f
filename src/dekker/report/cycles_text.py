"""Critical cycles for a person, as a picture (DOT), and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dekker.records import dataclass
from dekker.transform.describe import AccessView, CycleView, ThreadView


@dataclass(frozen=True)
class CyclesReport:
    """`complete`: there are no others."""

    program: str
    model: str
    cycles: Sequence[CycleView]
    complete: bool


def cycles_text(report: CyclesReport, most: int) -> str:
    return "\n".join(_lines(report, most))


def summary(report: CyclesReport) -> str:
    safe = sum(not cycle.critical for cycle in report.cycles)
    if safe:
        critical = replace(report, cycles=[cycle for cycle in report.cycles if cycle.critical])
        return f"{summary(critical)}; and {safe} that the model keeps in order"
    if not report.cycles and not report.complete:
        return f"there are too many candidates for critical cycles under {report.model} to list any"
    if not report.cycles:
        return f"no critical cycle under {report.model}: every execution is one of sc"
    kinds = Counter(cycle.idiom for cycle in report.cycles)
    listed = ", ".join(f"{count} {idiom}" for idiom, count in sorted(kinds.items(), key=lambda item: (-item[1], item)))
    shown = listed if len(kinds) <= 12 else f"{len(kinds)} kinds"
    plural = "" if len(report.cycles) == 1 else "s"
    more = "" if report.complete else "; there are too many to list, these are the shortest"
    return f"{len(report.cycles)} critical cycle{plural} under {report.model}: {shown}{more}"


def _lines(report: CyclesReport, most: int) -> Iterator[str]:
    yield summary(report)
    for number, cycle in enumerate(report.cycles[:most], 1):
        yield ""
        yield from cycle_lines(number, cycle)
    if len(report.cycles) > most:
        yield ""
        yield f"… and {len(report.cycles) - most} more (--most)"


def cycle_lines(number: int, cycle: CycleView) -> Iterator[str]:
    alike = f" (and {cycle.alike - 1} with other threads)" if cycle.alike > 1 else ""
    kept = "" if cycle.critical else ", which the model keeps in order"
    yield f"{number}. {cycle.idiom}{kept}{alike}"
    for index, (thread, link) in enumerate(zip(cycle.threads, cycle.links, strict=True)):
        yield f"   {thread.thread}"
        yield from (f"     {access_text(access)}" for access in thread.accesses[:1])
        for access in thread.accesses[1:]:
            yield f"     {access_text(access)}    {_order(thread)}"
        target = cycle.threads[(index + 1) % len(cycle.threads)].accesses[0]
        early = ", perhaps before other threads see it" if link.early else ""
        yield f"       {link.kind} → {access_text(target)}{early}"


def access_text(access: AccessView) -> str:
    verb = "reads" if access.direction == "R" else "writes"
    where = f"line {access.lines}" if access.spans else f"in {access.function}"
    return f"{verb} {access.location} ({where})"


def _order(thread: ThreadView) -> str:
    return "← may overtake the one before" if thread.unsafe else "(kept in order)"


# --- pictures


def cycles_dot(report: CyclesReport, most: int) -> str:
    lines = ["digraph cycles {", "  rankdir=TB;", '  node [shape=box, fontname="monospace"];']
    for number, cycle in enumerate(report.cycles[:most], 1):
        lines += _cluster(number, cycle)
    return "\n".join([*lines, "}"])


def _cluster(number: int, cycle: CycleView) -> Iterator[str]:
    yield f"  subgraph cluster_{number} {{"
    yield f"    label={_quoted(f'{number}. {cycle.idiom}')};"
    for index, thread in enumerate(cycle.threads):
        yield f"    subgraph cluster_{number}_{index} {{"
        yield f"      label={_quoted(thread.thread)}; style=dashed;"
        for place, access in enumerate(thread.accesses):
            label = (
                f"{access.direction} {access.location}\n{'line ' + access.lines if access.spans else access.function}"
            )
            yield f"      {_node(number, index, place)} [label={_quoted(label)}];"
        if len(thread.accesses) > 1:
            style = "style=dashed, color=red" if thread.unsafe else "color=black"
            yield f'      {_node(number, index, 0)} -> {_node(number, index, 1)} [label="po", {style}];'
        yield "    }"
    for index, link in enumerate(cycle.links):
        start = _node(number, index, len(cycle.threads[index].accesses) - 1)
        end = _node(number, (index + 1) % len(cycle.threads), 0)
        style = "style=dashed, color=red" if link.early else "color=blue"
        yield f'    {start} -> {end} [label="{link.kind}", {style}, constraint=false];'
    yield "  }"


def _node(cycle: int, thread: int, access: int) -> str:
    return f"c{cycle}_t{thread}_{access}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# --- JSON


def cycles_json(report: CyclesReport) -> str:
    record = {
        "program": report.program,
        "model": report.model,
        "complete": report.complete,
        "cycles": [cycle_record(cycle) for cycle in report.cycles],
    }
    return json.dumps(record, ensure_ascii=False)


def cycle_record(cycle: CycleView) -> dict[str, object]:
    return {
        "idiom": cycle.idiom,
        "critical": cycle.critical,
        "alike": cycle.alike,
        "threads": [
            {
                "thread": thread.thread,
                "unsafe": thread.unsafe,
                "accesses": [_access_record(access) for access in thread.accesses],
            }
            for thread in cycle.threads
        ],
        "links": [{"kind": link.kind, "early": link.early} for link in cycle.links],
    }


def _access_record(access: AccessView) -> dict[str, object]:
    return {
        "direction": access.direction,
        "location": access.location,
        "function": access.function,
        "places": [{"file": span.source.name, "line": span.line, "column": span.column} for span in access.spans],
    }
