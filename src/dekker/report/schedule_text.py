"""A run moment by moment, with what is in the store buffers."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.result import ScheduleStep


def schedule_text(schedule: Sequence[ScheduleStep]) -> str:
    """One line per step; what is in the buffers stands behind it as long as it changes."""
    rows = [(f"thread {step.thread}", _line(step), _told(step), _buffers(step)) for step in schedule]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines, before = ["Step by step:", ""], ""
    for thread, line, text, buffers in rows:
        shown = "" if buffers == before else f"  | {buffers or 'buffers empty'}"
        before = buffers
        lines.append(f"  {thread:<{widths[0]}}  {line:>{widths[1]}}  {text:<{widths[2]}}{shown}".rstrip())
    return "\n".join(lines)


def _line(step: ScheduleStep) -> str:
    return str(step.span.line) if step.span is not None else ""


def _told(step: ScheduleStep) -> str:
    return f"{step.text} ({step.overtaken})" if step.overtaken else step.text


def _buffers(step: ScheduleStep) -> str:
    return "  ".join(f"{thread}: [{', '.join(entries)}]" for thread, entries in step.buffers)


def schedule_record(schedule: Sequence[ScheduleStep]) -> list[dict[str, object]]:
    return [
        {
            "thread": step.thread,
            "file": step.span.source.name if step.span is not None else None,
            "line": step.span.line if step.span is not None else None,
            "text": step.text,
            "overtaken": step.overtaken,
            "buffers": {str(thread): list(entries) for thread, entries in step.buffers},
        }
        for step in schedule
    ]
