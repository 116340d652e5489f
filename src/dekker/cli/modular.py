"""`dekker modular`: can any number of threads go wrong?"""

from __future__ import annotations

import click

from dekker.cli.check import STATUS
from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.exports import write_answer
from dekker.cli.limits import MEGABYTES, SECONDS, TRACES
from dekker.cli.pictures import HTML, texts_of, write_page
from dekker.cli.progress import ProgressLine
from dekker.engines.modular.engine import FEWEST_CONCRETE, MODELS, MOST_CONCRETE, MOST_STATES, ModularOptions
from dekker.errors import InputError
from dekker.report.modular_report import modular_json, modular_text
from dekker.run.modular import MANY, ModularCall, modular
from dekker.run.supervision import supervised
from dekker.task import Limits

MOST_THREADS = 64


class ClassCount(click.ParamType[tuple[str, int | None]]):
    """`NAME=COUNT` or `NAME=many`"""

    name = "class"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | None]:
        name, equals, count = str(value).partition("=")
        if name and equals and count == MANY:
            return name, None
        if not (name and count.isascii() and count.isdigit() and int(count[:9]) <= MOST_THREADS):
            self.fail(f"{value!r} is neither NAME=many nor NAME=COUNT with a count up to {MOST_THREADS}", param, ctx)
        return name, int(count[:9])


@click.command(name="modular", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--model", "-m", type=click.Choice(MODELS, case_sensitive=False), default="tso", show_default=True)
@click.option(
    "--class",
    "classes",
    type=ClassCount(),
    multiple=True,
    metavar="NAME=COUNT",
    help="How many threads a class has, a number or `many`. In C a class is a function that threads run.",
)
@click.option(
    "--concrete",
    type=click.IntRange(min=1, max=MOST_CONCRETE),
    help="Threads that are looked at together where there is any number; more are slower and rule out more (default: "
    f"from {FEWEST_CONCRETE} on, and more where that leaves a doubt).",
)
@click.option(
    "--instances",
    type=click.IntRange(min=0, max=MOST_THREADS),
    default=4,
    show_default=True,
    help="An error is tried with up to so many threads in each class with any number.",
)
@click.option("--timeout", type=SECONDS, help="Seconds.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@click.option("--max-states", type=TRACES, metavar="N", help=f"States of each search (default: {MOST_STATES}).")
@click.option("--keep-going", is_flag=True, help="Explore everything, not only up to the first bad state.")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@click.option("--json", "json_file", metavar="FILE", help="Write the answer as a JSON object; - is stdout.")
@HTML
def command(
    paths: tuple[str, ...],
    model: str,
    classes: tuple[tuple[str, int | None], ...],
    concrete: int | None,
    instances: int,
    timeout: float | None,
    memory: int | None,
    max_states: int | None,
    keep_going: bool,
    cc: str | None,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Check a Lang program, or a C program whose threads have finitely many states, for any number of threads.

    Classes with `many` threads are checked for every number at once: SAFE then holds for all of them. A bad state that
    is found that way is tried in concrete instances; if none shows it, the answer is UNKNOWN. Classes with a number of
    threads are explored exactly. Forbidden states and assertions are checked; that threads come to an end is not.
    """
    names = [name for name, _ in classes]
    if len(set(names)) != len(names):
        raise InputError("a class is counted twice", hint="give --class once for each class")
    progress = ProgressLine()
    options = ModularOptions(
        model, concrete, instances, timeout, memory, max_states, first_only=not keep_going, progress=progress
    )
    with progress, supervised(Limits(timeout_s=timeout, memory_mb=memory)):
        result = modular(paths, ModularCall(options, dict(classes), compiler_flags(), cc))
    if json_file != "-":
        print(modular_text(result))
    if json_file is not None:
        write_answer(json_file, modular_json(result))
    if html_file is not None:
        from dekker.report.html.modular_page import modular_page  # noqa: PLC0415 — rarely needed

        write_page(html_file, modular_page(result, texts_of(paths)))
    return STATUS[result.verdict]
