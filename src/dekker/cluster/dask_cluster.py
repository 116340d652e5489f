"""A crew on a Dask cluster. The only importer of Dask."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from dekker.cluster.crew import Crew, CrewLost, DeadlyWork
from dekker.cluster.worker import dekker_version, versioned
from dekker.errors import InputError
from dekker.run.checkpoint import noted_interrupts

try:
    import dask
    import distributed
except ImportError as missing:
    raise InputError(f"--cluster needs Dask ({missing})", hint="pip install 'dekker[cluster]'") from None

T = TypeVar("T")

LOCAL = "local"
CONNECT_S = 10.0
WORKERS_S = 10.0
"""How long to wait for the first worker."""
LOOK_FOR_WORKERS_S = 1.0
FETCH_S = 1.0
"""How long to wait for a result the first time that it is asked for."""
MOST_DEATHS = 3
"""Times that Dask gives up a task because workers died that had it (each time after some); then it is the task's
fault."""
SAME_VERSION = "install the same version of Dekker on all machines"
TALKATIVE = ("distributed", "tornado")
OWN_SETTINGS = {"distributed.worker.profile.enabled": False}
"""Of local clusters: nobody looks at the profile."""


class DaskCrew(Crew):
    def __init__(self, client: distributed.Client, address: str) -> None:
        self._client = client
        self._address = address
        self._slots = 0
        self._looked: float | None = None
        self._fetching = threading.Lock()
        self._is_closed = False

    def slots(self) -> int:
        now = time.monotonic()
        if self._looked is None or now - self._looked > LOOK_FOR_WORKERS_S:
            self._looked = now
            try:
                self._slots = sum(self._client.nthreads().values())
            except OSError:
                raise self._lost() from None
        return self._slots

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        promise: Future[Any] = Future()
        self._send(promise, partial(self._client.submit, versioned, function, *arguments, pure=False), MOST_DEATHS)
        return promise

    def _send(self, promise: Future[Any], send: Callable[[], distributed.Future], deaths_left: int) -> None:
        sent = send()
        promise.add_done_callback(lambda done: done.cancelled() and sent.cancel())
        sent.add_done_callback(partial(self._deliver, promise, send, deaths_left))

    def _deliver(
        self,
        promise: Future[Any],
        send: Callable[[], distributed.Future],
        deaths_left: int,
        sent: distributed.Future,
    ) -> None:
        """In a thread of Dask's. Whatever happens, the promise is kept."""
        try:
            fetched = self._fetched(promise, sent)
            if fetched is None:
                return
            version, result = fetched
            if version != dekker_version():
                raise _other_version(version)
            promise.set_result(result)
        except distributed.KilledWorker:
            if deaths_left:
                self._send(promise, send, deaths_left - 1)
            else:
                _break(promise, DeadlyWork("workers die of a part of this work", hint="they may need more memory"))
        except (ImportError, AttributeError) as error:
            _break(promise, InputError(f"a worker of the cluster cannot do this: {error}", hint=SAME_VERSION))
        except (CancelledError, OSError):
            _break(promise, self._lost())
        except BaseException as error:
            _break(promise, error)

    def _fetched(self, promise: Future[Any], sent: distributed.Future) -> tuple[str, Any] | None:
        """Nothing if nobody waits for it any more. Dask waits forever for what was cancelled while it was fetched, so
        it is asked again and again."""
        patience = FETCH_S
        while True:
            with self._fetching:
                if promise.done() or self._is_closed:
                    return None
                with suppress(TimeoutError):
                    fetched: tuple[str, Any] = sent.result(timeout=patience)
                    return fetched
            patience *= 2

    def close(self) -> None:
        """Dask waits forever for a result that is fetched while its client closes, and the process for Dask."""
        with self._fetching:
            self._is_closed = True

    def run_everywhere(self, function: Callable[[], T]) -> list[T]:
        """By each worker, once, beside what it does."""
        return list(self._client.run(function, on_error="ignore").values())

    def _lost(self) -> CrewLost:
        return CrewLost(
            f"the cluster at {self._address} went away",
            hint="`dekker resume` goes on from a checkpoint, if there is one",
        )


def _break(promise: Future[Any], error: BaseException) -> None:
    with suppress(InvalidStateError):  # nobody waits for it any more
        promise.set_exception(error)


@contextmanager
def dask_crew(address: str, jobs: int | None = None) -> Iterator[DaskCrew]:
    """`local`, or `local:N`, is a cluster of this machine's own with as many processes as cores, `jobs`, or N; others
    are where `dask scheduler` says that it is."""
    name, _, number = address.partition(":")
    with _quiet():
        if name != LOCAL:
            with _client(address) as client, closing(_ready(client, address)) as crew:
                yield crew
            return
        with (
            _local_cluster(_local_workers(number, jobs)) as cluster,
            distributed.Client(cluster) as client,
            closing(_ready(client, address)) as crew,
        ):
            yield crew


@contextmanager
def _local_cluster(n_workers: int) -> Iterator[distributed.LocalCluster]:
    with ExitStack() as stack:
        with _interrupts_put_off(), dask.config.set(OWN_SETTINGS):
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",  # for the rest of what a scheduler serves
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
            )
        yield cluster


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Threads and processes that are started meanwhile leave Ctrl-C to the main thread for good, because they inherit
    that it is blocked. Here it is raised at the end."""
    resource_tracker.ensure_running()  # which unblocks interrupts if it is started later
    with noted_interrupts() as interrupts:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if interrupts.seen:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _quiet() -> Iterator[None]:
    """What goes wrong is said by us, in fewer words."""
    names = (name for name in logging.root.manager.loggerDict if name.startswith(TALKATIVE))
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _local_workers(number: str, jobs: int | None) -> int:
    if not number:
        return jobs or os.cpu_count() or 1
    if not number.isdecimal() or not 0 < int(number) <= 1024:
        raise InputError(f"'{LOCAL}:{number}' is no cluster", hint=f"{LOCAL}:4 has four workers")
    return int(number)


def _client(address: str) -> distributed.Client:
    try:
        return distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"there is no Dask scheduler at '{address}': {error}",
            hint="`dask scheduler` prints its address, such as tcp://10.0.0.1:8786",
        ) from None


def _ready(client: distributed.Client, address: str) -> DaskCrew:
    """There are workers, and they have the same Dekker."""
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except TimeoutError:
        raise InputError(
            f"the Dask scheduler at '{address}' has no workers", hint=f"start some with `dask worker {address}`"
        ) from None
    for version in _versions(client, address):
        if version != dekker_version():
            raise _other_version(version)
    return DaskCrew(client, address)


def _versions(client: distributed.Client, address: str) -> list[str]:
    """Of the workers that can be asked."""
    try:
        found = list(client.run(dekker_version, on_error="return").values())
    except Exception as error:  # what Dask makes of that of a worker
        found = [error]
    versions = [item for item in found if isinstance(item, str)]
    if not versions:
        raise InputError(f"the workers of '{address}' cannot load Dekker: {found[0]}", hint=SAME_VERSION)
    return versions


def _other_version(theirs: str) -> InputError:
    return InputError(
        f"a worker of the cluster has Dekker {theirs}, and here it is {dekker_version()}",
        hint=SAME_VERSION,
    )
