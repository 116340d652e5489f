"""The command line: one file per verb. Data goes to stdout, everything else to stderr."""

from dekker.cli.main import main

__all__ = ["main"]
