"""A sketch as a C program with POSIX threads, for tools that read such programs."""

from __future__ import annotations

from benchmarks.languages.c import THREADS, Phrases, body_lines
from benchmarks.sketch import Equals, Sketch, locations, registers


def write_program(
    sketch: Sketch,
    phrases: Phrases = THREADS,
    kind: str = "atomic_int",
    headers: tuple[str, ...] = ("pthread.h", "stdatomic.h"),
    check: str = "",
) -> str:
    """`check`, a format with `{condition}`, is what `main` does after all threads have ended. Without it registers are
    not kept, so that nothing but the threads is explored."""
    names = dict.fromkeys(location for thread in sketch.threads for location in locations(thread))
    lines = [
        *(f"#include <{header}>" for header in headers),
        "",
        f"{kind} {', '.join(_defined(sketch, name) for name in names)};",
    ]
    for number, thread in enumerate(sketch.threads):
        kept = registers(thread) if check else ()
        if kept:
            lines.append(f"int {', '.join(_kept(number, name) for name in kept)};")
        body = [*body_lines(thread, phrases), *(f"{_kept(number, name)} = {name};" for name in kept), "return 0;"]
        lines += ["", f"static void *thread{number}(void *unused) {{", *(f"  {line}" for line in body), "}"]
    return "\n".join([*lines, "", *_main(sketch, check), ""])


def _defined(sketch: Sketch, location: str) -> str:
    return f"{location} = {sketch.initial[location]}" if location in sketch.initial else location


def _kept(thread: int, register: str) -> str:
    return f"kept_{thread}_{register}"


def _main(sketch: Sketch, check: str) -> list[str]:
    count = len(sketch.threads)
    lines = ["int main(void) {", f"  pthread_t threads[{count}];"]
    lines += [f"  pthread_create(&threads[{number}], 0, thread{number}, 0);" for number in range(count)]
    lines += [f"  pthread_join(threads[{number}], 0);" for number in range(count)]
    if check:
        text = " && ".join(f"{_observed(atom)} == {atom.value}" for atom in sketch.condition)
        lines.append("  " + check.format(condition=text if sketch.quantifier == "forall" else f"!({text})"))
    return [*lines, "  return 0;", "}"]


def _observed(atom: Equals) -> str:
    return atom.name if atom.thread is None else _kept(atom.thread, atom.name)
