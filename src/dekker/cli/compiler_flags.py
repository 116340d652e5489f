"""What follows `--` on the command line goes to the compiler, with arguments of its own (`-include FILE`)."""

from __future__ import annotations

import click

_KEY = "dekker.compiler_flags"


class CompilerCommand(click.Command):
    """A verb that takes programs and, behind `--`, flags for their compiler."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_KEY] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])


def compiler_flags() -> tuple[str, ...]:
    """Of the call that is being carried out."""
    flags: tuple[str, ...] = click.get_current_context().meta.get(_KEY, ())
    return flags
