"""Which names a program has: variables everywhere, registers and labels by process."""

from __future__ import annotations

from dataclasses import field

from dekker.errors import ParseError
from dekker.frontends.lang.syntax import Global
from dekker.frontends.rsmc.cursor import Cursor, suggestion
from dekker.frontends.rsmc.lexer import Token
from dekker.records import dataclass


@dataclass(slots=True)
class ProcessNames:
    """`registers` are those that something assigns; `reads` has the first token that reads each."""

    process: str
    globals: dict[str, Global]
    registers: dict[str, None] = field(default_factory=dict)
    labels: dict[str, Token] = field(default_factory=dict)
    reads: dict[str, Token] = field(default_factory=dict)

    def check(self, cursor: Cursor) -> None:
        """A register that nothing assigns is most likely a variable that nobody declared."""
        for name, token in self.reads.items():
            if name not in self.registers:
                raise ParseError(
                    f"nothing in {self.process} assigns the register `{name}`",
                    cursor.span(token),
                    suggestion(name, self.registers)
                    or f"set it first, or start it with a value: `process {self.process} with {name} = 0 {{ … }}`",
                )


@dataclass(slots=True)
class Names:
    globals: dict[str, Global] = field(default_factory=dict)
    processes: dict[str, ProcessNames] = field(default_factory=dict)
