r"""Programs in the language of Fig. 1 of "Stateless Model Checking for POWER" (Abdulla, Atig, Jonsson, Leonardsson),
with a condition on final states behind them.

    x = 0  y = 0

    thread P:
    L0: r0 := x;
    L1: y := r0 + 1;

    thread Q:
    L2: r1 := y;
    L3: x := 1;

    exists (P:r0=1 /\ Q:r1=2)

Grammar. `X*` is any number of X, `X+` at least one, `[X]` at most one. What the paper does not have is marked with ‡.

    PROGRAM     = VARIABLE* THREAD+ [FINAL ‡]
    VARIABLE    = NAME "=" NUMBER [";" ‡] | NAME "=" "&" NAME [";" ‡] ‡
    THREAD      = "thread" NAME ":" STATEMENT+
    STATEMENT   = NAME ":" INSTRUCTION ";"                      the label ‡ may be missing, and so may the `;` ‡ at
                                                                the end of a line; empty statements ‡ do nothing
    INSTRUCTION = NAME ":=" EXPRESSION                          register assignment
                | NAME ":=" "[" EXPRESSION "]"                  load
                | "[" EXPRESSION "]" ":=" EXPRESSION            store
                | NAME ":=" NAME                                load, if the right-hand name is a variable
                | NAME ":=" EXPRESSION                          store, if the left-hand name is a variable
                | "if" EXPRESSION "goto" NAME
                | "goto" NAME ‡
                | "sync" | "lwsync" | "isync" | "eieio" ‡
    EXPRESSION  = numbers, registers, `&x` and the operators of `expressions.py`
    FINAL       = `locations`, `filter` and condition as in litmus tests; threads by name or number, from 0

A name that is declared is a variable, everywhere; any other is a register of its thread. `x` alone stands for `[&x]`.
"""

from __future__ import annotations

from pathlib import PurePath

from dekker.frontends.rsmc.cursor import Cursor
from dekker.frontends.rsmc.final import parse_final
from dekker.frontends.rsmc.lexer import tokenize
from dekker.frontends.rsmc.parser import parse_threads, parse_variables
from dekker.ir.program import Program, Thread
from dekker.source import Source

__all__ = ["ARCHITECTURE", "DEFAULT_MODEL", "parse_rsmc"]

ARCHITECTURE = "RSMC"
DEFAULT_MODEL = "power"


def parse_rsmc(source: Source) -> Program:
    """Whatever is wrong with the text is an `InputError` that says where."""
    cursor = Cursor(tokenize(source))
    objects = parse_variables(cursor)
    variables = frozenset(item.name for item in objects)
    threads = parse_threads(cursor, variables)
    return Program(
        PurePath(source.name).stem,
        ARCHITECTURE,
        objects,
        tuple(thread.function() for thread in threads),
        tuple(Thread(thread.name, thread.name) for thread in threads),
        parse_final(cursor, variables, threads),
        source,
    )
