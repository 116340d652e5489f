"""C: threads of a litmus test, or of a program for other tools, from one table of phrases.

A thread that stops early is written as nested conditions, because litmus tests know no jumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from benchmarks.languages.assembly import Inexpressible, condition
from benchmarks.sketch import (
    AtomicIncrement,
    Await,
    CompareAndIncrement,
    Equals,
    Fence,
    Sketch,
    Statement,
    Thread,
    TryLock,
    locations,
    registers,
)

RELAXED = "memory_order_relaxed"


@dataclass(frozen=True)
class Phrases:
    """How each statement reads. `{place}` is the location as a pointer, `{n}` the number of the statement. What may end
    the thread opens a block, in which the rest of the thread stands."""

    place: str = "{}"
    statements: dict[str, str] = field(default_factory=dict)

    def phrase(self, name: str, location: str = "", **words: object) -> str:
        if name not in self.statements:
            raise Inexpressible(f"C: no {name}")
        return self.statements[name].format(place=self.place.format(location), location=location, **words)


LITMUS = Phrases(
    statements={
        "Load": f"{{register}} = atomic_load_explicit({{place}}, {RELAXED});",
        "Store": f"atomic_store_explicit({{place}}, {{value}}, {RELAXED});",
        "Sum": "{register} = {left} + {right};",
        "StopIf": "if (!({register} == {value})) {{",
        "Publish": "atomic_store_explicit({place}, {value}, memory_order_release);",
        "full fence": "atomic_thread_fence(memory_order_seq_cst);",
        "light fence": "atomic_thread_fence(memory_order_acq_rel);",
        "AtomicIncrement": f"{{register}}atomic_fetch_add_explicit({{place}}, 1, {RELAXED});",
        "CompareAndIncrement": f"seen{{n}} = atomic_load_explicit({{place}}, {RELAXED});\n"
        "won{n} = atomic_compare_exchange_strong_explicit"
        f"({{place}}, &seen{{n}}, seen{{n}} + 1, {RELAXED}, {RELAXED});\nif (won{{n}} == 0) {{{{",
        "TryLock": "taken{n} = atomic_exchange_explicit({place}, 1, memory_order_acquire);\nif (taken{n} == 0) {{",
        "Unlock": "atomic_store_explicit({place}, 0, memory_order_release);",
        "Await": "now{n} = atomic_load_explicit({place}, memory_order_acquire);\n"
        "__VERIFIER_assume(now{n} == {register});",
    }
)
THREADS = replace(
    LITMUS,
    place="&{}",
    statements=LITMUS.statements
    | {"Await": "do now{n} = atomic_load_explicit({place}, memory_order_acquire); while (now{n} != {register});"},
)
"""For tools that read C with POSIX threads."""


def write_litmus(sketch: Sketch) -> str:
    threads = []
    for number, thread in enumerate(sketch.threads):
        parameters = ", ".join(f"atomic_int* {location}" for location in locations(thread))
        body = "\n".join(f"  {line}" for line in body_lines(thread, LITMUS))
        threads.append(f"P{number} ({parameters}) {{\n{body}\n}}\n")
    initial = " ".join(f"{location}={value};" for location, value in sketch.initial.items())
    text = condition(sketch.condition, _observed)
    return "\n".join((f"C {sketch.name}", f"{{ {initial} }}", "", *threads, f"{sketch.quantifier} ({text})", ""))


def _observed(atom: Equals) -> str:
    return atom.name if atom.thread is None else f"{atom.thread}:{atom.name}"


def body_lines(thread: Thread, phrases: Phrases) -> list[str]:
    declared = [*registers(thread), *_helpers(thread)]
    lines = [f"int {name} = 0;" for name in declared]
    depth = 0
    for n, statement in enumerate(thread):
        lines += [depth * "  " + line for line in _lines(n, statement, phrases)]
        depth += lines[-1].endswith("{")
    return lines + [level * "  " + "}" for level in reversed(range(depth))]


def _helpers(thread: Thread) -> Iterator[str]:
    for n, statement in enumerate(thread):
        match statement:
            case CompareAndIncrement():
                yield from (f"seen{n}", f"won{n}")
            case TryLock():
                yield f"taken{n}"
            case Await():
                yield f"now{n}"


def _lines(n: int, statement: Statement, phrases: Phrases) -> list[str]:
    words = vars(statement) | {"n": n}
    name = type(statement).__name__
    if isinstance(statement, Fence):
        name = "full fence" if statement.full else "light fence"
    if isinstance(statement, AtomicIncrement):
        words["register"] = "" if statement.register is None else f"{statement.register} = "
    return phrases.phrase(name, str(words.pop("location", "")), **words).splitlines()
