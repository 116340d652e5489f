"""Programs as tests: `@pytest.mark.dekker("queue.c", model="power")` and the fixture `dekker_check`.

pytest loads this file in every run, so that it imports nothing of Dekker until a test asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from dekker.api import Result

MARK = "dekker"
_RESULTS = pytest.StashKey[dict[str, Any]]()
_OWN_ARGUMENTS = ("model", "models", "expect")


class DekkerCheck(Protocol):
    """What the fixture is: checks a program, fails the test if it goes wrong, and gives the result for each model."""

    def __call__(
        self,
        program: str | os.PathLike[str] | Sequence[str],
        *,
        model: str | None = ...,
        models: Sequence[str] = ...,
        expect: str | None = ...,
        **arguments: Any,
    ) -> dict[str, Result]: ...


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "dekker(program, model=None, models=(), expect=None, **arguments): the program holds under the model or models;"
        " without a program, what the fixture dekker_check takes if it is told nothing else",
    )


@pytest.fixture
def dekker_check(request: pytest.FixtureRequest) -> DekkerCheck:
    """Checks a program under one or several models, and fails with the explained counterexample."""
    defaults: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if not mark.args:
            defaults |= mark.kwargs
    folder = request.path.parent

    def check(program: Any, **arguments: Any) -> dict[str, Result]:
        __tracebackhide__ = True
        own = {"model", "models"} if {"model", "models"} & arguments.keys() else set()
        inherited = {key: value for key, value in defaults.items() if key not in own}
        return _check(program, folder, inherited | arguments)

    return check


@pytest.fixture
def dekker_results(request: pytest.FixtureRequest) -> dict[str, Result]:
    """What the marks of the test found, by model; filled before the body of the test runs."""
    return request.node.stash.setdefault(_RESULTS, {})  # type: ignore[no-any-return]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    for mark in item.iter_markers(MARK):
        if mark.args:
            _reject_more(mark)
            item.stash.setdefault(_RESULTS, {}).update(_check(mark.args[0], item.path.parent, dict(mark.kwargs)))


def _reject_more(mark: pytest.Mark) -> None:
    if len(mark.args) > 1:
        pytest.fail("pytest.mark.dekker takes one program; several C files of one program are a list", pytrace=False)


def _check(program: Any, folder: Path, arguments: dict[str, Any]) -> dict[str, Result]:
    __tracebackhide__ = True
    from dekker.api import check, compare  # noqa: PLC0415 — only if a test asks for it
    from dekker.errors import DekkerError  # noqa: PLC0415

    model, models, expect = (arguments.pop(name, None) for name in _OWN_ARGUMENTS)
    if model is not None and models:
        pytest.fail("dekker: give either model or models", pytrace=False)
    wanted = _verdicts(expect)
    if "language" not in arguments:
        program = _located(program, folder)
    results, problem = {}, ""
    try:
        if models:
            results = compare(program, models, **arguments)
        else:
            found = check(program, model, **arguments)
            results = {found.model: found}
    except DekkerError as error:
        problem = str(error)
    if problem:  # behind the handler, so that pytest does not show it twice
        pytest.fail(problem, pytrace=False)
    wrong = [result for result in results.values() if result.verdict.value not in wanted]
    if wrong:
        pytest.fail("\n\n".join(_message(result, expect) for result in wrong), pytrace=False)
    return results


def _verdicts(expect: str | None) -> tuple[str, ...]:
    from dekker.result import Verdict  # noqa: PLC0415

    if expect is None:
        return Verdict.SAFE.value, Verdict.SAFE_WITHIN_BOUND.value
    known = [verdict.value for verdict in Verdict]
    if expect not in known:
        pytest.fail(f"dekker: there is no verdict {expect!r}; verdicts are {', '.join(known)}", pytrace=False)
    return (expect,)


def _located(program: Any, folder: Path) -> Any:
    """Paths are relative to the folder of the test."""
    if isinstance(program, str | os.PathLike):
        path = folder / program
        try:
            return os.path.relpath(path)
        except ValueError:  # another drive
            return str(path)
    return [_located(item, folder) for item in program]


def _message(result: Result, expect: str | None) -> str:
    return str(result) if expect is None else f"expected {expect}, but:\n{result}"
