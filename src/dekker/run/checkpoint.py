"""Explorations that survive: what is left and what was found are written to a file now and then, and read again. The
file stands alone, like a witness."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from dekker.native import Exploration, Explore, Request, Work, explore
from dekker.records import dataclass
from dekker.replay.record import model_text
from dekker.run.checkpoint_file import damaged, read_content, write_content
from dekker.run.checkpoint_form import from_plain, read_as, to_plain
from dekker.run.program_texts import REPRESENTATION, program_text, read_program_text
from dekker.run.slices import DEFAULT_EVERY_S, NOT_BEGUN, TRACES, Progress, traces_left, with_limits_left
from dekker.run.witnesses import load_model_text
from dekker.source import Source
from dekker.task import Limits, Task
from dekker.witness import ProgramText, texts_from_plain, texts_to_plain

FIRST_SLICE_S = 0.2
WRONG_UNIT = "a unit of work"
"""With which the core complains."""
SHARE_OF_WRITING = 20
"""Slices are at least so many times as long as writing takes."""


@dataclass
class Checkpoints:
    """Explores in slices, and writes a file after each. `about` is kept in the file for whoever goes on."""

    file: Path
    about: dict[str, Any]
    every_s: float = DEFAULT_EVERY_S
    progress: Progress = NOT_BEGUN
    explore: Explore = field(default=explore)

    def __call__(self, task: Task, request: Request) -> Exploration:
        """Goes on if this is the exploration that was begun, else begins."""
        self.progress = self.progress.of(request)
        content = _task_content(task, self.about)
        started, slice_s = time.monotonic(), min(FIRST_SLICE_S, self.every_s)
        earlier = self.progress.found.statistics.get("complete", 0)
        with noted_interrupts() as interrupts:
            while not self.progress.finished:
                if traces_left(request, self.progress) == 0:
                    return replace(self.progress.found, stopped_by=TRACES)
                left = with_limits_left(request, self.progress, time.monotonic() - started, earlier)
                part = self._slice(task, left, slice_s, interrupts)
                if part is None:
                    return replace(self.progress.found, stopped_by="interrupt")
                if part.mixed_sizes is not None or part.guess is not None:
                    return part
                self.progress = self.progress.after(part)
                earlier = 0 if part.started_again else earlier
                began_writing = time.monotonic()
                write_checkpoint(self.file, content, self.progress)
                slice_s = max(min(2 * slice_s, self.every_s), SHARE_OF_WRITING * (time.monotonic() - began_writing))
                if part.stopped_by not in ("", TRACES) and not self.progress.finished:
                    return replace(self.progress.found, stopped_by=part.stopped_by)
        return self.progress.found

    def _slice(self, task: Task, request: Request, slice_s: float, interrupts: Interrupts) -> Exploration | None:
        work = Work(task.jobs, keeps_rest=True, slice_s=slice_s, split_seed=task.split_seed, rest=self.progress.rest)
        if interrupts.seen:
            return None
        try:
            interrupts.raised = True
            return self.explore(request, work)
        except KeyboardInterrupt:
            return None
        except (ValueError, RuntimeError) as error:
            if str(error).startswith(WRONG_UNIT):
                raise damaged(self.file, str(error)) from None
            raise
        finally:
            interrupts.raised = False


@dataclass
class Interrupts:
    """Whether Ctrl-C was `seen`, and whether it is `raised` as an exception, which the core heeds."""

    seen: bool = False
    raised: bool = False


@contextmanager
def noted_interrupts() -> Iterator[Interrupts]:
    """Ctrl-C does not tear apart what belongs together: a file that is being written is written to the end."""
    interrupts = Interrupts()

    def note(signum: int, frame: object) -> None:
        interrupts.seen = True
        if interrupts.raised:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


# --- writing


def write_checkpoint(file: Path, content: dict[str, Any], progress: Progress) -> None:
    write_content(file, {**content, "progress": to_plain(progress)})


def _task_content(task: Task, about: dict[str, Any]) -> dict[str, Any]:
    limits = task.limits
    return {
        **texts_to_plain(program_text(task.program, task.model), model_text(task.model)),
        "leaks": task.program.property.leaks,
        "pieces": sorted(task.pieces),
        "examples": task.examples,
        "limits": [
            limits.unroll,
            limits.deepest or limits.unroll,
            limits.counts_known_rounds,
            limits.stop_at_first,
            limits.deadlocks,
            limits.counts_executions,
        ],
        "about": about,
    }


# --- reading


@dataclass(frozen=True)
class Checkpoint:
    """A task that was begun, how far it has come, and what else its file says."""

    task: Task
    progress: Progress
    about: dict[str, Any]


def read_checkpoint(file: Path) -> Checkpoint:
    """`InputError` for whatever is no checkpoint, or a damaged one, or one of another version."""
    content = read_content(file)
    try:
        program_of, model_of = texts_from_plain(content)
        model = load_model_text(model_of)
        program = replace(read_program_text(program_of, model), source=_source(program_of))
        if read_as(bool, content["leaks"]):
            program = replace(program, property=replace(program.property, leaks=True))
        unroll, deepest, *others = read_as(tuple[int, int, bool, bool, bool, bool], content["limits"])
        if not 0 <= unroll <= deepest < 1 << 31:
            raise ValueError(f"{unroll} rounds of {deepest}")
        known_rounds, stop, deadlocks, counts = others
        limits = Limits(
            unroll,
            counts_known_rounds=known_rounds,
            stop_at_first=stop,
            deadlocks=deadlocks,
            deepest=deepest,
            counts_executions=counts,
        )
        pieces = frozenset(read_as(list[tuple[str, int]], content["pieces"]))
        task = Task(program, model, limits, examples=read_as(bool, content["examples"]), pieces=pieces)
        return Checkpoint(task, from_plain(content["progress"]), read_as(dict[str, list[str]], content["about"]))
    except (KeyError, ValueError) as error:
        raise damaged(file, f"its content is not as it should be ({error})") from None


def _source(text: ProgramText) -> Source:
    """As it was written, or else the representation, under a name that says so."""
    written = next((item.text for item in text.sources if item.file == text.file), None)
    if text.front_end != REPRESENTATION:
        return Source(text.file, text.text)
    return Source(f"{text.file}.ir", text.text) if written is None else Source(text.file, written)
