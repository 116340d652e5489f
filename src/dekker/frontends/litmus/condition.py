"""The final part of a litmus file: `locations […]`, `filter …`, and the condition, as a `Property`.

Precedence from tight to loose: `~`, `/\\`, `\\/`, `=>`. What the names in it stand for is asked of a `Names`, so that
assembly and C share this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from dekker.errors import ParseError, UnsupportedError
from dekker.frontends.litmus.format import (
    DIGITS,
    FINAL_WORD,
    LAST_INDEX,
    NAME,
    THREAD,
    LitmusFile,
    check_number,
    parse_number,
    type_size,
)
from dekker.ir.property import (
    AddressValue,
    And,
    Condition,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    Property,
    Quantifier,
    RegisterValue,
    Term,
    Truth,
    observables,
)
from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """`register(thread, name)` gives None if the thread cannot have such a register; the thread exists. `memory(name,
    index)` is the value of `name`, or of `name[index]`; a name not met before is a new global. `address(name)` says
    that the address of a global is compared with. Threads have numbers, and names where `thread_names` has them."""

    threads: int
    register: Callable[[int, str], RegisterValue | None]
    memory: Callable[[str, int | None], MemoryValue]
    address: Callable[[str, int], AddressValue]
    thread_names: Mapping[str, int] = field(default_factory=dict)


def parse_property(test: LitmusFile, names: Names) -> Property:
    """Reads everything from `locations` or the condition on. Behind the condition there may be `;` and blocks
    `<< … >>`, which are for other tools."""
    wide: set[RegisterValue] = set()
    while True:
        reader = _Reader(test, names, frozenset(wide))
        result = reader.property()
        if reader.widened <= wide:
            return result
        wide |= reader.widened


_KEYWORD = re.compile(rf"\s*(?:;\s*)*({FINAL_WORD})\b|\s*(?=\()")
_TRAILER = re.compile(r"(?:\s+|;|<<.*?>>)*", re.DOTALL)
_ATOM = re.compile(
    rf"\s*(?:{THREAD}:([%$]?{NAME})|\[?({NAME})\]?)\s*==?\s*"
    rf"(?:(-?{DIGITS})|((?!NULL\b){NAME}))(?=\s*(?:[/\\)=;]|$|\n))",
    re.ASCII,
)
_OPERATOR = re.compile(r"\s*(/\\|\\/|=>|&&|\|\|)")
_TOKEN = re.compile(rf"\s*({DIGITS}|[%$]?{NAME}|!=|<>|==|=(?!>)|/\\|\\/|=>|\S)", re.ASCII)
_TYPE_WORD = re.compile(r"[A-Za-z_]\w*|\*", re.ASCII)
_THREAD_NAME = re.compile(THREAD, re.ASCII)
_EXPECTED_MODELS = re.compile(r"\s*;?\s*with\b(?:\s*[\w.-]+\s*:\s*(?:(?:~\s*)?exists|forall)\b\s*;?)*")


def _begins_number(text: str) -> bool:
    """Not with a digit of another script, nor with one that is raised (²)."""
    return text[:1].isascii() and text[:1].isdigit()


_PRECEDENCE = {"/\\": 3, "&&": 3, "\\/": 2, "||": 2, "=>": 1}
_DEEPEST = 90
_LARGEST = 8
_HINT = "atoms look like `0:r1=1`, `x=2`, `[x]=2` or `0:r1=x`; join them with `/\\`, `\\/`, `~`, `=>`"
_QUANTIFIERS = {
    "exists": Quantifier.EXISTS,
    "forall": Quantifier.FORALL,
    "final": Quantifier.EXISTS,
    "observed": Quantifier.EXISTS,
}


class _Reader:
    """A recursive descent over `test.text`; `position` is where to go on."""

    def __init__(self, test: LitmusFile, names: Names, wide: frozenset[RegisterValue]) -> None:
        self.test = test
        self.text = test.text
        self.position = test.final
        self.names = names
        self.wide = wide
        self.widened: set[RegisterValue] = set()
        self.depth = 0

    def property(self) -> Property:
        observed: list[Observable] = []
        condition: Condition | None = None
        keep: Formula | None = None
        while condition is None and (found := _KEYWORD.match(self.text, self.position)):
            word = found[1] or "exists"
            if word == "filter" and keep is not None:
                raise ParseError("there is a filter already", self.test.span(*found.span(1)), "join them with `/\\`")
            self.position = found.end()
            if word == "locations":
                observed += self.locations()
            elif word == "filter":
                keep = self.formula()
            else:
                condition = self.condition(word.lower())
        self.check_rest()
        if condition is not None:
            observed += observables(condition.formula)
        return Property(condition, keep, tuple(dict.fromkeys(observed)))

    def condition(self, word: str) -> Condition:
        quantifier = _QUANTIFIERS.get(word, Quantifier.NOT_EXISTS)
        formula = self.observed_states() if word == "observed" else self.formula()
        self.skip_expectations()
        return Condition(quantifier, formula)

    def observed_states(self) -> Formula:
        """States as a test runner prints them: `x=1; 0:r1=0; and x=2; 0:r1=1;`."""
        states: list[Formula] = []
        while True:
            atoms: list[Formula] = []
            while self.peek() not in ("", "and") and not _KEYWORD.match(self.text, self.position):
                atoms.append(self.atom())
                self.expect(";")
            states.append(And(tuple(atoms)))
            if not self.accept("and"):
                return Or(tuple(states))

    def skip_expectations(self) -> None:
        """The old form adds what to expect per model: `with tso: ~exists; default: exists;`. The question stays
        whether the state exists."""
        found = _EXPECTED_MODELS.match(self.text, self.position)
        if found is not None:
            self.position = found.end()

    def check_rest(self) -> None:
        rest = _TRAILER.match(self.text, self.position)
        assert rest is not None
        self.position = rest.end()
        if self.position < len(self.text):
            hint = "only comments, `;` and blocks `<< … >>` may follow; join conditions with `/\\` or `\\/`"
            raise self.error("the test should end here", hint)

    def locations(self) -> list[Observable]:
        self.expect("[")
        found: list[Observable] = []
        while not self.accept("]"):
            found.append(self.observable())
            self.skip_type()
            if not self.accept(";") and self.peek() != "]":
                raise self.error("expected `;` or `]`", "locations are separated by `;`, as in `locations [x; 0:r1;]`")
        return found

    def skip_type(self) -> None:
        """It only says how to print the value."""
        start = self.token()[1]
        words = []
        while _TYPE_WORD.fullmatch(self.peek()):
            words.append(self.take())
        if words and type_size(" ".join(words)) is None:
            hint = "locations are separated by `;`, as in `locations [x; 0:r1;]`"
            raise ParseError(f"`{' '.join(words)}` is not a type", self.test.span(start, self.position), hint)

    # Formulas

    def formula(self, weakest: int = 1) -> Formula:
        """Precedence climbing: an operand, then all operators at least as tight as `weakest`."""
        left = self.operand()
        while found := _OPERATOR.match(self.text, self.position):
            precedence = _PRECEDENCE[found[1]]
            if precedence < weakest:
                break
            left = self.joined(left, precedence)
        return left

    def joined(self, left: Formula, precedence: int) -> Formula:
        """`left` and all further operands of the same precedence. Implication associates to the right."""
        operands = [left]
        while (found := _OPERATOR.match(self.text, self.position)) and _PRECEDENCE[found[1]] == precedence:
            self.position = found.end()
            if precedence == 1:
                return Or((Not(left), self.nested(self.formula)))
            operands.append(self.formula(precedence + 1))
        return And(tuple(operands)) if precedence == 3 else Or(tuple(operands))

    def operand(self) -> Formula:
        found = None if self.names.thread_names else _ATOM.match(self.text, self.position)
        if found is not None:
            return self.simple_atom(found)
        if self.accept("("):
            formula = self.nested(self.formula)
            self.expect(")")
            return formula
        word = self.peek()
        if word in ("~", "not", "!"):
            self.take()
            return Not(self.nested(self.operand))
        if word in ("true", "false"):
            self.take()
            return Truth(word == "true")
        return self.atom()

    def nested(self, read: Callable[[], Formula]) -> Formula:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("the condition is nested too deeply")
        formula = read()
        self.depth -= 1
        return formula

    def simple_atom(self, found: re.Match[str]) -> Formula:
        thread, register, location, number, symbol = found.groups()
        if thread is not None:
            left: Observable = self.register(int(thread), register, found.start(2) if register else found.start())
        else:
            left = self.global_value(location, None, found.start(3))
        self.position = found.end()
        if number is not None:
            return self.equals(left, parse_number(number), found.start(4))
        return Equals(left, self.names.address(symbol, 0))

    def atom(self) -> Formula:
        left = self.observable()
        operator = self.peek()
        if operator not in ("=", "==", "!=", "<>"):
            raise self.unsupported() if operator == "(" else self.error("expected `=`", _HINT)
        self.take()
        start = self.token()[1]
        formula = self.array(left) if self.peek() == "{" else self.equals(left, self.term(), start)
        return formula if operator in ("=", "==") else Not(formula)

    def array(self, left: Observable) -> Formula:
        """`x={1,2}` compares element by element."""
        if isinstance(left, RegisterValue):
            raise self.error("a register does not hold an array")
        self.expect("{")
        parts: list[Formula] = []
        while not self.accept("}"):
            start = self.token()[1]
            parts.append(self.equals(self.names.memory(left.symbol, len(parts)), self.term(), start))
            if not self.accept(","):
                self.expect("}")
                break
        return And(tuple(parts))

    def equals(self, left: Observable, right: Term, start: int) -> Formula:
        """`start` is where `right` stands."""
        if not isinstance(right, int):
            return Equals(left, right)
        bits = left.width if isinstance(left, RegisterValue) else 8 * left.size
        if not -(1 << bits - 1) <= right < 1 << bits:
            span = self.test.span(start, self.position)
            check_number(right, span)
            if isinstance(left, MemoryValue):
                name = left.label or left.symbol
                hint = f"`int64_t {left.symbol};` in the initial state makes it wider"
                raise ParseError(f"{right} does not fit into the {left.size} bytes of `{name}`", span, hint)
            self.widened.add(left)
        if isinstance(left, RegisterValue) and left in self.wide:
            left, bits = RegisterValue(left.thread, left.register, 64, left.label), 64
        right &= (1 << bits) - 1
        return Equals(left, right - (1 << bits) if right >> (bits - 1) else right)

    # Names

    def observable(self) -> Observable:
        start = self.token()[1]
        thread = self.thread()
        if thread is not None:
            if self.peek() == "(":
                raise self.unsupported()
            return self.register(thread, self.name(), start)
        if self.accept("*"):
            return self.memory()
        if self.accept("["):
            value = self.memory()
            self.expect("]")
            return value
        return self.memory()

    def memory(self) -> MemoryValue:
        start = self.token()[1]
        name = self.name()
        if self.peek() == "(":
            raise self.unsupported(name)
        return self.global_value(name, self.index() if self.accept("[") else None, start)

    def global_value(self, name: str, index: int | None, start: int) -> MemoryValue:
        value = self.names.memory(name, index)
        if value.size > _LARGEST:
            span = self.test.span(start, start + len(name))
            raise UnsupportedError(f"`{name}` has {value.size} bytes: conditions on it are not supported", span)
        return value

    def index(self) -> int:
        text = self.peek()
        if not _begins_number(text) or parse_number(text) > LAST_INDEX:
            raise self.error(f"expected a number up to {LAST_INDEX}")
        self.take()
        self.expect("]")
        return parse_number(text)

    def term(self) -> Term:
        start = self.token()[1]
        text = self.peek()
        if text in ("[", "*"):
            return self.observable()
        thread = self.thread()
        if thread is not None:
            return self.register(thread, self.name(), start)
        if _begins_number(text) or text == "-":
            return self.number()
        self.accept("&")
        name = self.name()
        if name == "NULL":
            return 0
        if self.peek() == "(":
            raise self.unsupported(name)
        if self.accept("+"):
            return self.names.address(name, self.number())
        if self.accept("["):
            return self.names.address(name, self.names.memory(name, self.index()).offset)
        return self.names.address(name, 0)

    def thread(self) -> int | None:
        found = _TOKEN.match(self.text, self.position)
        named = None if found is None else self.names.thread_names.get(found[1])
        if found is None or (named is None and not _THREAD_NAME.fullmatch(found[1])):
            return None
        colon = _TOKEN.match(self.text, found.end())
        if colon is None or colon[1] != ":":
            return None
        self.position = colon.end()
        return int(found[1].lstrip("Pp")) if named is None else named

    def register(self, thread: int, name: str, start: int) -> RegisterValue:
        span = self.test.span(start, start + len(name))
        if thread >= self.names.threads:
            raise ParseError(
                f"there is no thread {thread}", span, f"threads are numbered from 0 to {self.names.threads - 1}"
            )
        value = self.names.register(thread, name)
        if value is None:
            raise ParseError(f"`{name}` is not a register of thread {thread}", span)
        return value

    def number(self) -> int:
        negative = self.accept("-")
        text = self.peek()
        if not _begins_number(text):
            raise self.error("expected a number", _HINT)
        self.take()
        return -parse_number(text) if negative else parse_number(text)

    def name(self) -> str:
        text = self.peek()
        if not re.match(r"[%$]?[A-Za-z_.]", text):
            raise self.error("expected the name of a register or location", _HINT)
        return self.take()

    # Tokens

    def token(self) -> tuple[str, int, int]:
        found = _TOKEN.match(self.text, self.position)
        return (found[1], found.start(1), found.end()) if found else ("", len(self.text), len(self.text))

    def peek(self) -> str:
        return self.token()[0]

    def take(self) -> str:
        text, _, self.position = self.token()
        return text

    def accept(self, text: str) -> bool:
        found, _, end = self.token()
        if found == text:
            self.position = end
        return found == text

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected `{text}`", _HINT)

    def error(self, message: str, hint: str | None = None) -> ParseError:
        text, start, end = self.token()
        found = f", found `{text}`" if text else ", found the end of the file"
        return ParseError(message + found, self.test.span(start, end), hint)

    def unsupported(self, name: str = "") -> UnsupportedError:
        text, start, end = self.token()
        span = self.test.span(start - len(name), end)
        return UnsupportedError(f"conditions on `{name or text}` are not supported", span, _HINT)
