"""Independent items, each run by one of several processes. The death of a process costs the item that it was at."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from dekker.records import dataclass
from dekker.run.processes import belong_to_the_parent
from dekker.run.supervision import last_words

Item = TypeVar("Item")
T = TypeVar("T")


@dataclass(frozen=True)
class Death:
    """Of a process: the limit that it could not keep otherwise, or "", and its exit status."""

    limit: str
    status: int | None
    time_s: float


def run_side_by_side(
    run: Callable[[Item], T], chunks: Sequence[Sequence[Item]], number: int, died: Callable[[Item, Death], T]
) -> Iterator[T]:
    """Results in the order of the items; `died` gives that of an item whose process is dead. After Ctrl-C, what was
    done behind the item that is waited for comes before the exception."""
    work: _Work[Item, T] = _Work(run, died, deque(_numbered(chunks)))
    following = 0
    with work.workers(number):
        try:
            while work.left or work.results:
                if following in work.results:
                    yield work.results.pop(following)
                    following += 1
                else:
                    work.wait()
        except KeyboardInterrupt:
            for _, result in sorted(work.results.items()):
                yield result
            raise


def _numbered(chunks: Sequence[Sequence[Item]]) -> Iterator[list[tuple[int, Item]]]:
    first = 0
    for chunk in chunks:
        yield list(enumerate(chunk, first))
        first += len(chunk)


@dataclass
class _Worker:
    """`items` are what it has and did not answer yet; `words` is where it writes which limit ends it."""

    process: BaseProcess
    connection: Connection[Any, Any]
    words: int
    items: deque[tuple[int, Any]] = field(default_factory=deque)
    since: float = 0.0


@dataclass
class _Work(Generic[Item, T]):
    run: Callable[[Item], T]
    died: Callable[[Item, Death], T]
    waiting: deque[list[tuple[int, Item]]]
    results: dict[int, T] = field(default_factory=dict)
    active: list[_Worker] = field(default_factory=list)

    @property
    def left(self) -> bool:
        return bool(self.waiting) or any(worker.items for worker in self.active)

    @contextmanager
    def workers(self, number: int) -> Iterator[None]:
        try:
            for _ in range(number):
                self._start()
            yield
        finally:
            for worker in self.active:
                worker.process.terminate()
            for worker in self.active:
                _close(worker)

    def wait(self) -> None:
        """For at least one result, or the death of a process."""
        known = {worker.connection: worker for worker in self.active}
        for ready in wait(list(known)):
            worker = known[ready]  # type: ignore[index]
            try:
                result = worker.connection.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            self.results[worker.items.popleft()[0]] = result
            worker.since = time.monotonic()
            self._give(worker)

    def _start(self) -> None:
        if not self.waiting:
            return
        ours, theirs = multiprocessing.Pipe()
        read, write = os.pipe()
        process = multiprocessing.Process(target=_serve, args=(theirs, write, self.run), daemon=True)
        process.start()
        theirs.close()
        os.close(write)
        worker = _Worker(process, ours, read)
        self.active.append(worker)
        self._give(worker)

    def _give(self, worker: _Worker) -> None:
        if worker.items or not self.waiting:
            return
        chunk = self.waiting.popleft()
        worker.items.extend(chunk)
        worker.since = time.monotonic()
        with suppress(OSError):  # it is dead, which shows when it is waited for
            worker.connection.send([item for _, item in chunk])

    def _replace(self, worker: _Worker) -> None:
        self.active.remove(worker)
        worker.process.join()
        if worker.items:
            number, item = worker.items.popleft()
            limit = os.read(worker.words, 100).decode()
            death = Death(limit, worker.process.exitcode, time.monotonic() - worker.since)
            self.results[number] = self.died(item, death)
        if worker.items:
            self.waiting.appendleft(list(worker.items))
        _close(worker)
        self._start()


def _close(worker: _Worker) -> None:
    worker.process.join()
    worker.connection.close()
    os.close(worker.words)


def _serve(connection: Connection[Any, Any], words: int, run: Callable[[Any], Any]) -> None:
    belong_to_the_parent()
    with last_words(lambda limit: ((f"/dev/fd/{words}", limit),)):
        while True:
            for item in connection.recv():
                connection.send(run(item))
