"""`dekker fuzz`: do all engines say the same about random programs?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import monotonic

import click

from dekker.cli.cluster import CLUSTER
from dekker.cli.limits import JOBS, SECONDS
from dekker.cli.main import STATUS_HOLDS, STATUS_UNDECIDED, STATUS_VIOLATED
from dekker.cluster import crew_at
from dekker.errors import InputError
from dekker.fuzz.campaign import Coverage, Extent, Problem, campaign
from dekker.fuzz.kinds import KINDS

BETWEEN_LINES_S = 10.0


@click.command(name="fuzz")
@click.option("--number", "-n", type=click.IntRange(min=1, max=1 << 62), help="Programs.")
@click.option("--time", "seconds", type=SECONDS, help="Seconds; without either, until Ctrl-C.")
@click.option(
    "--seed", type=click.IntRange(min=0, max=1 << 62), default=0, show_default=True, help="Number of the first program."
)
@click.option("--kinds", default=",".join(KINDS), show_default=True, help="Kinds of programs.")
@click.option("--jobs", "-j", type=JOBS, default=1, show_default=True, help="Processes.")
@CLUSTER
@click.option("--out", "folder", default="fuzz", show_default=True, help="Folder for what engines disagree about.")
def command(
    number: int | None, seconds: float | None, seed: int, kinds: str, jobs: int, cluster: str | None, folder: str
) -> int:
    """Run random programs on all engines that apply, and compare the answers.

    Programs are litmus tests of all architectures, .rsmc, Lang and C programs, and others in the program
    representation; each is determined by its number. What engines disagree about is made small and saved in a folder,
    which is the only time there is one. Status 1 if there was something.
    """
    started = last = monotonic()
    coverage, n_saved = Coverage(), 0

    def show(coverage: Coverage) -> None:
        nonlocal last, n_saved
        for problem in coverage.problems[n_saved:]:
            _save(Path(folder), problem)
        n_saved = len(coverage.problems)
        if monotonic() - last > BETWEEN_LINES_S:
            last = monotonic()
            rate = coverage.programs / (last - started)
            print(
                f"{coverage.programs} programs, {rate:.0f}/s, {len(coverage.problems)} problems",
                file=sys.stderr,
                flush=True,
            )

    chosen = _kinds(kinds)
    with crew_at(cluster, jobs) as crew:
        try:
            ended = campaign(Extent(seed, number, seconds), chosen, jobs, coverage, show, crew)
        finally:
            print(coverage_text(coverage, monotonic() - started), flush=True)
    if coverage.problems:
        return STATUS_VIOLATED
    return STATUS_HOLDS if ended else STATUS_UNDECIDED


def _kinds(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in KINDS]
    if unknown or not names:
        raise InputError(f"there is no kind of programs {', '.join(unknown)!r}", hint=f"kinds are {', '.join(KINDS)}")
    return names


def coverage_text(coverage: Coverage, seconds: float) -> str:
    numbers = ", ".join(f"{part[0]} to {part[-1]}" for part in coverage.numbers) or "none"
    lines = [
        f"{coverage.programs} programs (numbers {numbers}), {seconds:.0f} s, processors {coverage.cpu_s:.0f} s",
        f"{coverage.compared} compared, {coverage.violated} of them with violations, deadlocks or flags",
    ]
    for name, counts in (
        ("kinds", coverage.kinds),
        ("models", coverage.models),
        ("engines", coverage.engines),
        ("not compared", coverage.skipped),
    ):
        lines.append(f"{name}: " + (", ".join(f"{key} {count}" for key, count in counts.most_common()) or "none"))
    lines.append(f"disagreements: {len(coverage.problems)}")
    lines += (
        f"  {problem.kind} {problem.seed} under {problem.model}: {problem.message}" for problem in coverage.problems
    )
    return "\n".join(lines)


def _save(folder: Path, problem: Problem) -> None:
    """The program as it was drawn, the small one, and what is wrong."""
    name = f"{problem.kind}-{problem.seed}-{problem.model}"
    about = {"kind": problem.kind, "seed": problem.seed, "model": problem.model, "problem": problem.message}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}{problem.extension}").write_text(problem.text, encoding="utf-8")
        (folder / f"{name}.small.ir").write_text(problem.small, encoding="utf-8")
        (folder / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write to '{folder}': {error.strerror}") from None
