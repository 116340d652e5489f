"""The C that `dekker instrument` writes, searched under SC, beside the program itself under the weak model.

    python -m benchmarks.emitted [--timeout S] [--model NAME]... [PATH...]

Paths are C programs and folders of them; without any, those of `examples/c/table1` with the options of the table in
`examples/c/README.md`. Each row has the verdict of the engine `transform` and that of the states engine on the emitted
C, with the states that each has visited and its seconds of CPU. Both try few delays first, and stop at the first
violation. What is outside of the framework is named with its reason.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dekker.errors import UnsupportedError
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.instrument import instrument_files
from dekker.run.transform import FEW_DELAYS
from dekker.task import Limits, Search

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "c"
MODELS = ("tso", "pso", "rmo", "power")
_ROW = re.compile(r"^\| \[\w+\.c\]\((table1/\w+\.c)\) \| `?([^|`]*)`? \|")


@dataclass(frozen=True)
class Example:
    path: Path
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    verdict: str
    states: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.verdict} | {self.states} | {self.seconds:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--model", action="append", choices=MODELS, help="only this one")
    options = parser.parse_args(arguments)
    print("| program | options | model | transform | states | seconds | emitted C | states | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for example in _named(options.paths) if options.paths else table1():
        for model in options.model or MODELS:
            print(
                f"| {example.path.stem} | {' '.join(example.flags)} | {model} | {_row(example, model, options)} |",
                flush=True,
            )


def table1() -> list[Example]:
    """Every program of Table 1, with every set of options that its README knows."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    found = (_ROW.match(line) for line in text.splitlines())
    return [Example(EXAMPLES / row[1], tuple(row[2].split())) for row in found if row is not None]


def _named(paths: list[Path]) -> list[Example]:
    inside = (sorted(path.rglob("*.c")) if path.is_dir() else [path] for path in paths)
    return [Example(path) for group in inside for path in group]


def _row(example: Example, model: str, options: argparse.Namespace) -> str:
    try:
        return f"{direct(example, model, options.timeout)} | {emitted(example, model, options.timeout)}"
    except UnsupportedError as error:
        return f"outside: {error.diagnostic.message} | | | | |"


def direct(example: Example, model: str, timeout: float) -> Answer:
    limits = Limits(counts_known_rounds=False, stop_at_first=True, timeout_s=timeout)
    return _answer((str(example.path),), CheckOptions(model, "transform", limits, example.flags))


def emitted(example: Example, model: str, timeout: float) -> Answer:
    """With few delays first; the last answer counts, or the first violation."""
    limits = Limits(counts_known_rounds=False, stop_at_first=True, timeout_s=timeout)
    options = CheckOptions("sc", "states", limits, search=Search(depth_first=True))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "emitted.c"
        for text in texts(example, model):
            target.write_text(text, encoding="utf-8")
            answer = _answer((str(target),), options)
            if answer.verdict in (Verdict.UNSAFE.value, Verdict.UNKNOWN.value):
                break
    return answer


def texts(example: Example, model: str) -> Iterator[str]:
    """The emitted C with more and more room for delays."""
    last = ""
    for buffer in (*FEW_DELAYS, None):
        text = instrument_files((str(example.path),), model, "weighted", buffer, example.flags)
        if text != last:
            yield text
        last = text


def _answer(paths: tuple[str, ...], options: CheckOptions) -> Answer:
    started = time.process_time()
    report = check(paths, options)
    seconds = time.process_time() - started
    return Answer(report.verdict.value, report.result.statistics.get("states", 0), seconds)


if __name__ == "__main__":
    main()
