"""Explorations that survive: what is left and what was found are written to a file now and then, and read again.

The file stands alone, like a witness. Its first line names the format and has a checksum of the rest, which is one JSON
object. It is written beside the old one and takes its place in one step, so that at every moment there is a whole one.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from base64 import b85decode, b85encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from dekker.errors import InputError
from dekker.native import Exploration, Explore, Known, Request, Rest, Work, explore
from dekker.replay.record import model_text
from dekker.run.program_texts import REPRESENTATION, program_text, read_program_text
from dekker.run.slices import NOT_BEGUN, TRACES, Progress, traces_left, with_limits_left
from dekker.run.witnesses import load_model_text
from dekker.source import Source
from dekker.task import Limits, Task
from dekker.witness import ProgramText, texts_from_plain, texts_to_plain

MAGIC = "dekker-checkpoint"
VERSION = 2
FIRST_SLICE_S = 0.2
DEFAULT_EVERY_S = 30.0
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
        with noted_interrupts() as interrupts:
            while not self.progress.finished:
                if traces_left(request, self.progress) == 0:
                    return replace(self.progress.found, stopped_by=TRACES)
                left = with_limits_left(request, self.progress, time.monotonic() - started)
                part = self._slice(task, left, slice_s, interrupts)
                if part is None:
                    return replace(self.progress.found, stopped_by="interrupt")
                if part.mixed_sizes is not None or part.guess is not None:
                    return part
                self.progress = self.progress.after(part)
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
    body = json.dumps({**content, "progress": _plain_progress(progress)}, separators=(",", ":")).encode()
    head = f"{MAGIC} {VERSION} {sha256(body).hexdigest()}\n".encode()
    beside = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as stream:
            stream.write(head + body)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(file)
        _sync_folder(file.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot write '{file}': {error.strerror}") from None


def _sync_folder(folder: Path) -> None:
    """The new name must be on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _task_content(task: Task, about: dict[str, Any]) -> dict[str, Any]:
    limits = task.limits
    return {
        **texts_to_plain(program_text(task.program, task.model), model_text(task.model)),
        "leaks": task.program.property.leaks,
        "pieces": sorted(task.pieces),
        "examples": task.examples,
        "limits": [limits.unroll, limits.counts_known_rounds, limits.stop_at_first, limits.deadlocks],
        "about": about,
    }


def _plain_progress(progress: Progress) -> dict[str, Any]:
    rest = progress.rest
    kept = [item.name for item in fields(Exploration) if item.name not in ("rest", "started_again", "asking")]
    return {
        "digest": progress.digest,
        "finished": progress.finished,
        "found": {name: getattr(progress.found, name) for name in kept},
        "rest": {
            "units": [(b85encode(unit).decode(), depth, sleep_id) for unit, depth, sleep_id in rest.units],
            "words": rest.words,
            "known": rest.known,
            "next_id": rest.next_id,
            "slept": rest.slept,
        },
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
    content = _checked_content(file)
    try:
        program_of, model_of = texts_from_plain(content)
        model = load_model_text(model_of)
        program = replace(read_program_text(program_of, model), source=_source(program_of))
        if content["leaks"]:
            program = replace(program, property=replace(program.property, leaks=True))
        unroll, known_rounds, stop, deadlocks = content["limits"]
        limits = Limits(unroll, counts_known_rounds=known_rounds, stop_at_first=stop, deadlocks=deadlocks)
        pieces = frozenset((function, index) for function, index in content["pieces"])
        task = Task(program, model, limits, examples=content["examples"], pieces=pieces)
        return Checkpoint(task, _progress(content["progress"]), content["about"])
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(file, f"its content is not as it should be ({error})") from None


def _source(text: ProgramText) -> Source:
    """As it was written, or else the representation, under a name that says so."""
    written = next((item.text for item in text.sources if item.file == text.file), None)
    if text.front_end != REPRESENTATION:
        return Source(text.file, text.text)
    return Source(f"{text.file}.ir", text.text) if written is None else Source(text.file, written)


def _checked_content(file: Path) -> dict[str, Any]:
    try:
        head, _, body = file.read_bytes().partition(b"\n")
    except OSError as error:
        raise InputError(f"cannot read '{file}': {error.strerror}") from None
    words = head.decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != MAGIC:
        raise InputError(f"'{file}' is no checkpoint", hint="`dekker check PROGRAM --checkpoint FILE` writes one")
    if words[1] != str(VERSION):
        raise InputError(f"'{file}' is a checkpoint of version {words[1]}; this Dekker reads version {VERSION}")
    if sha256(body).hexdigest() != words[2]:
        raise _refused(file, "its checksum is wrong")
    content = json.loads(body)
    if not isinstance(content, dict):
        raise _refused(file, "it holds no object")
    return content


def _refused(file: Path, reason: str) -> InputError:
    return InputError(f"'{file}' is a damaged checkpoint: {reason}")


def _progress(content: dict[str, Any]) -> Progress:
    found, rest = content["found"], content["rest"]
    return Progress(
        content["digest"],
        Exploration(
            **{
                **found,
                "states": [(tuple(state), count, _trace(example)) for state, count, example in found["states"]],
                "violations": [
                    (kind, tuple(place), at, _trace(trace)) for kind, place, at, trace in found["violations"]
                ],
                "flag_examples": {flag: _trace(example) for flag, example in found["flag_examples"].items()},
                "deadlock_example": _trace(found["deadlock_example"]),
                "cut_at": [tuple(place) for place in found["cut_at"]],
                "stuck_at": None if found["stuck_at"] is None else tuple(found["stuck_at"]),
            }
        ),
        Rest(
            [(b85decode(unit), depth, sleep_id) for unit, depth, sleep_id in rest["units"]],
            rest["words"],
            _known(rest["known"]),
            rest["next_id"],
            rest["slept"],
        ),
        content["finished"],
    )


def _trace(events: list[list[int]]) -> Any:
    return [tuple(event) for event in events]


def _known(known: list[Any]) -> Known:
    return tuple(item if isinstance(item, bool) else [tuple(entry) for entry in item] for item in known)  # type: ignore[return-value]
