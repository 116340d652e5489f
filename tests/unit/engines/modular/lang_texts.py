"""Lang texts as code, systems and local states."""

from __future__ import annotations

from dekker.engines.modular.capture import Local
from dekker.engines.modular.engine import ModularOptions, run
from dekker.engines.modular.forbidden import visible_of
from dekker.engines.modular.machine import LocalId, Machine
from dekker.engines.modular.memory import Memory, NewCells
from dekker.engines.modular.rules import RULE_SETS
from dekker.engines.modular.rules.candidates import Candidate
from dekker.frontends.lang import parse_file, parse_system
from dekker.frontends.lang.syntax import Block, LangFile
from dekker.ir.thread_classes import System
from dekker.modular_result import ModularResult
from dekker.source import Source


def file_of(text: str) -> LangFile:
    return parse_file(Source("test.lang", text))


def system_of_text(text: str) -> System:
    return parse_system(Source("test.lang", text))


def block(text: str, variables: str = "var x = 0; var y = 0;") -> Block:
    """The code of a process."""
    return file_of(f"{variables} process P {text}").processes[0].body


def check(text: str, model: str = "tso", **options: int | bool) -> ModularResult:
    return run(system_of_text(text), ModularOptions(model, **options))  # type: ignore[arg-type]


class OneThread:
    """The first process of a text, candidate by candidate."""

    def __init__(self, text: str, model: str = "tso") -> None:
        system = system_of_text(text)
        memory = Memory(system.program, system.first_index)
        for item in system.program.objects:
            for offset in range(0, item.size, 8):
                try:
                    memory.cell(memory.layout.starts[item.name] + offset, 8, None)
                except NewCells:
                    continue
        self.machine = Machine(system, RULE_SETS[model], memory, visible_of(system))
        self.thread: LocalId = self.machine.initial_local(0)
        self.values = self.machine.initial_global()

    @property
    def local(self) -> Local:
        return self.machine.locals[self.thread]

    def register(self, name: str) -> int:
        return self.local.registers[self.machine.codes[0].registers[name]]

    def candidates(self) -> tuple[str, ...]:
        """Each as a word and its variable, with the value if it is known."""
        return tuple(self._name(move.candidate) for move in self.machine.moves_of(self.thread))

    def passed(self) -> tuple[str, ...]:
        memory = self.machine.memory
        return tuple(f"{memory.name(item.cell)}={item.value}" for item in self.local.passed)  # type: ignore[union-attr]

    def take(self, name: str) -> None:
        (move,) = (move for move in self.machine.moves_of(self.thread) if self._name(move.candidate) == name)
        ((written, becomes),) = self.machine.outcomes(self.thread, move, self.values)
        self.values, _ = self.machine.written(self.values, move.cell, written)
        self.thread = becomes

    def memory_value(self, name: str) -> int:
        names = [self.machine.memory.name(cell) for cell in range(len(self.machine.memory.places))]
        return self.machine.globals[self.values][names.index(name)]

    def _name(self, candidate: Candidate) -> str:
        kind = type(candidate).__name__
        cell, value = getattr(candidate, "cell", None), getattr(candidate, "value", None)
        text = kind if cell is None else f"{kind} {self.machine.memory.name(cell)}"
        return text if value is None else f"{text}={value}"
