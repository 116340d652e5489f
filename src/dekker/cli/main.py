"""The `dekker` command: verbs, exit status, and the last line of defence against tracebacks."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

import click

from dekker.errors import DekkerError, LimitReached
from dekker.interrupts import noted_interrupts
from dekker.resources import Command

STATUS_HOLDS, STATUS_VIOLATED, STATUS_INPUT, STATUS_UNDECIDED = range(4)
STATUS_NO_READER = 128 + signal.SIGPIPE
"""As of a command that a closed pipe ends: it says nothing about the program."""

INTERRUPTED = "interrupted: there is no answer yet"

EPILOG = """\b
Exit status:
  0  the property holds (fully, or within the stated bound)
  1  it is violated
  2  the input or the call is at fault
  3  undecided: a limit, or no execution came to its end
"""

VERBS = {
    "check": "Check a C or C++ program under a memory model.",
    "compare": "Check a program under several memory models: one table.",
    "explain": "Why an outcome is possible under a model, and not under another.",
    "fences": "Where fences are needed under a memory model, and which.",
    "fuzz": "Compare all engines on random programs.",
    "instrument": "Write a program as C in which the delays of a memory model are spelled out.",
    "generate": "Litmus tests from cycles of relaxations.",
    "litmus": "Run litmus tests under a memory model.",
    "modular": "Check a program for any number of threads.",
    "models": "List the memory models that ship with Dekker.",
    "replay": "Check a witness from scratch, and show it.",
    "resume": "Go on from a checkpoint of `dekker check`.",
    "schema": "Print the JSON Schema of what the other verbs write.",
    "show": "Print a program as Dekker represents it.",
}


class Verbs(click.Group):
    """Loads the file of a verb only when it is called: start-up time counts in batches."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"dekker.cli.{cmd_name}").command
        if not gc.isenabled():  # since the process began
            gc.freeze()
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


@click.group(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dekker", message="%(prog)s %(version)s")
def dekker() -> None:
    """Can this concurrent program go wrong on this memory model, and if so, how?"""


def main(arguments: list[str] | None = None) -> None:
    Command.is_one = True
    try:
        status = _status(arguments)
    except KeyboardInterrupt:
        end_interrupted()
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is said is said
    sys.exit(status)


def end_interrupted() -> NoReturn:
    """At once: Python remembers an interrupt that came while it compiled code, and would end by the signal."""
    print(INTERRUPTED, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STATUS_UNDECIDED)


def run_command(arguments: list[str] | None) -> int:
    try:
        return _status(arguments)
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        return STATUS_UNDECIDED


def _status(arguments: list[str] | None) -> int:
    try:
        with noted_interrupts():
            status = dekker.main(args=arguments, prog_name="dekker", standalone_mode=False)
        return status if isinstance(status, int) else STATUS_HOLDS
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show(sys.stderr)
        return STATUS_INPUT
    except DekkerError as error:
        print(error, file=sys.stderr)
        return STATUS_INPUT
    except (BrokenPipeError, SystemExit):  # which click makes of the other; it leaves everything else to us
        return _without_reader()
    except MemoryError:
        print("UNKNOWN: stopped by memory")
        return STATUS_UNDECIDED
    except LimitReached as limit:
        print(f"UNKNOWN: stopped by {limit.reason}")
        return STATUS_UNDECIDED
    except OSError as error:
        print(f"error: cannot write the output: {error.strerror or error}", file=sys.stderr)
        return STATUS_INPUT
    except Exception as error:
        return _report_bug(error)


def _without_reader() -> int:
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 — there is nobody to tell
    return STATUS_NO_READER


def _report_bug(error: Exception) -> int:
    if os.environ.get("DEKKER_DEBUG"):
        raise error
    print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
    print("\nhint: this is a defect of Dekker; DEKKER_DEBUG=1 shows where it happened", file=sys.stderr)
    return STATUS_INPUT
