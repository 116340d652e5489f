r"""Lang, the language of "Thread-Modular Model Checking of Concurrent Programs Under TSO Using Code Rewriting"
(Leonardsson), in files of their own.

    var flag[0..1] = 0;

    process P { r0 := 1; write: flag[0] := r0; barrier; read: r1 := flag[1]; if(not(r1)) { critical: skip } }
    process Q { r0 := 1; write: flag[1] := r0; barrier; read: r1 := flag[0]; if(not(r1)) { critical: skip } }

    forbidden P@critical && Q@critical;

Grammar. `X*` is any number of X, `[X]` at most one. What Fig. 10 of the paper does not have is marked with ‡.

    PROGRAM   = ITEM*
    ITEM      = "var" NAME ["[" NUMBER ".." NUMBER "]"] ["=" NUMBER ("," NUMBER)*] ["versioned" NUMBER] ";" ‡
              | "process" NAME [INITIAL] BLOCK ‡
              | "class" NAME "(" NUMBER | "many" ")" [INITIAL] BLOCK ‡
              | "forbidden" ["final"] EXPRESSION over states ";" ‡              see `forbidden.py`
    INITIAL   = "with" NAME "=" NUMBER ("," NAME "=" NUMBER)*                   registers that do not start with 0
    BLOCK     = "{" STATEMENT separated by ";" "}"                              no `;` is needed behind `}` ‡
    STATEMENT = NAME ":=" EXPRESSION
              | NAME ":=" "choose" "(" NUMBER "," NUMBER ")" ‡                  any number in that range
              | "read" ":" NAME ":=" VARIABLE
              | "write" ":" VARIABLE ":=" EXPRESSION                            the paper has a register there
              | "CMPXCHG" "(" VARIABLE "=" NAME "?" VARIABLE ":=" NAME ":" NAME ":=" VARIABLE ")"
              | "barrier" | "skip" ‡ | "assert" "(" EXPRESSION ")" ‡ | "assume" "(" EXPRESSION ")" ‡
              | "if" "(" EXPRESSION ")" STATEMENT ["else" STATEMENT] | "while" "(" EXPRESSION ")" STATEMENT
              | NAME ":" [STATEMENT] ‡ | BLOCK
    VARIABLE  = NAME | NAME "[" EXPRESSION "]"
    EXPRESSION over numbers and registers: the operators are those of `expressions.py`

A name that `var` declares is a variable, everywhere; any other is a register of its process. Numbers have 64 bits and a
sign. An index outside of its array's range is an error of the program. `var head = 0 versioned 4;` says that `head` is
`p + 4 * version`, where the version starts with 1 and never gets smaller: `dekker modular` then needs no bound on it.
"""

from __future__ import annotations

from dekker.frontends.lang.instances import ARCHITECTURE, program_of, system_of
from dekker.frontends.lang.parser import parse_file
from dekker.ir.program import Program
from dekker.ir.thread_classes import System
from dekker.source import Source

__all__ = ["ARCHITECTURE", "DEFAULT_MODEL", "parse_file", "parse_lang", "parse_system"]

DEFAULT_MODEL = "tso"


def parse_lang(source: Source) -> Program:
    """The fixed threads of the file, for engines that know no classes."""
    return program_of(parse_file(source))


def parse_system(source: Source) -> System:
    return system_of(parse_file(source))
