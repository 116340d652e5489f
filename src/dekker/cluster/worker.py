"""What a worker does: explores the units of a call. It needs nothing but this package.

The question (program, model, options) is sent with a call; a worker keeps it, so that later calls need only name it. A
worker that does not have it says so.
"""

from __future__ import annotations

import pickle
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from dekker.cluster.coordinator import Call
from dekker.native import Exploration, Request, explore

T = TypeVar("T")

PROTOCOL = 1
"""Changes with what is sent."""
MOST_QUESTIONS = 8

_questions: OrderedDict[str, Request] = OrderedDict()
_lock = Lock()


@lru_cache
def dekker_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 — slow to load

    return f"{version('dekker')} (protocol {PROTOCOL})"


def question_of(request: Request) -> bytes:
    """Without limits, which are those of each call, and without what belongs to this process."""
    return zlib.compress(pickle.dumps(replace(request, limits=request.limits.of_question(), progress=None)))


def versioned(function: Callable[..., T], *arguments: Any) -> tuple[str, T]:
    """So that whoever asks can tell whether it was the same function."""
    return dekker_version(), function(*arguments)


def answer(call: Call, digest: str, question: bytes | None) -> Exploration | None:
    """None if the worker does not know the question."""
    request = _known_question(digest, question)
    if request is None:
        return None
    limits = replace(request.limits, max_traces=call.max_traces)
    return explore(replace(request, limits=limits), call.work())


def _known_question(digest: str, question: bytes | None) -> Request | None:
    with _lock:
        if digest not in _questions:
            if question is None:
                return None
            _questions[digest] = pickle.loads(zlib.decompress(question))
            if len(_questions) > MOST_QUESTIONS:
                _questions.popitem(last=False)
        _questions.move_to_end(digest)
        return _questions[digest]
