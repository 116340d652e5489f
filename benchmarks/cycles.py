"""How the analysis of critical cycles grows with the size of a program: `python -m benchmarks.cycles`.

The programs are generated C. Threads run modules in turn. A module belongs to two threads: one fills a slot and raises
a flag, the other waits for the flag and empties it; some modules protect a counter by a mutex instead. Most of the code
is arithmetic on local variables, as in real programs. All threads look at a flag that stops them, and count what they
did.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from dekker.frontends import parse_files
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.transform.classes import classes_of
from dekker.transform.cycles import critical_cycles
from dekker.transform.graph import event_graph
from dekker.transform.rules import rules_of
from dekker.transform.selection import Strategy, select

SIZES = (1_000, 3_500, 7_000, 14_000, 28_000)
MODELS = ("tso", "power")
THREADS = 8
WORK = 24


def generated_program(lines: int, threads: int = THREADS, seed: int = 1) -> str:
    """C of about so many lines."""
    rng = random.Random(seed)
    text = ["#include <pthread.h>", "", "static volatile int stopped;", f"static int done[{threads}];", ""]
    calls: list[list[str]] = [[] for _ in range(threads)]
    number = 0
    while len(text) + sum(map(len, calls)) + 14 * threads < lines:
        first, second = rng.sample(range(threads), 2)
        text += _module(rng, number, first, second, calls)
        number += 1
    for thread in range(threads):
        text += [f"static void *thread{thread}(void *argument) {{", "  int total = (int)(long)argument;"]
        text += ["  while (!stopped) {", *(f"    {call}" for call in calls[thread])]
        text += [f"    done[{thread}] = total;", "  }", "  return 0;", "}", ""]
    text += ["int main(void) {", f"  pthread_t threads[{threads}];"]
    text += [f"  pthread_create(&threads[{t}], 0, thread{t}, (void *){t}L);" for t in range(threads)]
    text += ["  stopped = 1;", *(f"  pthread_join(threads[{t}], 0);" for t in range(threads)), "  return 0;", "}"]
    return "\n".join(text) + "\n"


def _module(rng: random.Random, number: int, first: int, second: int, calls: list[list[str]]) -> Iterator[str]:
    fill, empty = f"fill{number}", f"empty{number}"
    if rng.random() < 0.2:
        yield f"static pthread_mutex_t lock{number} = PTHREAD_MUTEX_INITIALIZER;"
        yield f"static int counter{number};"
        yield from _function(rng, fill, [f"pthread_mutex_lock(&lock{number});", f"counter{number} += a;"])
        yield from _function(rng, empty, [f"pthread_mutex_lock(&lock{number});", f"a += counter{number};"])
    else:
        yield f"static struct {{ volatile int flag; int slot[4]; }} shared{number};"
        place = rng.randrange(4)
        yield from _function(rng, fill, [f"shared{number}.slot[{place}] = a;", f"shared{number}.flag = 1;"])
        wait = [
            f"if (shared{number}.flag) {{",
            f"  a += shared{number}.slot[{place}];",
            f"  shared{number}.flag = 0;",
            "}",
        ]
        yield from _function(rng, empty, wait)
    calls[first].append(f"total += {fill}(total);")
    calls[second].append(f"total += {empty}(total);")


def _function(rng: random.Random, name: str, accesses: list[str]) -> Iterator[str]:
    yield f"static int {name}(int a) {{"
    yield f"  int b = a + {rng.randrange(100)}, c = {rng.randrange(100)};"
    for _ in range(WORK):
        target, left, right = rng.choice("abc"), rng.choice("abc"), rng.choice("abc")
        yield f"  {target} = ({left} {rng.choice('+-^&|')} {right}) + {rng.randrange(1000)};"
    yield from (f"  {line}" for line in accesses)
    locked = [line for line in accesses if "pthread_mutex_lock" in line]
    yield from (f"  {line.replace('_lock', '_unlock', 1)}" for line in locked)
    yield "  return a ^ b ^ c;"
    yield "}"
    yield ""


def measure(lines: int, model: str) -> dict[str, object]:
    """One row, in a process of its own so that its memory is its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "generated.c")
        text = generated_program(lines)
        path.write_text(text, encoding="utf-8")
        started = time.process_time()
        program = prepare(parse_files([str(path)]), load_model(model))
    read = time.process_time()
    classes = classes_of(event_graph(program, rules_of(model)))
    graph = time.process_time()
    cycles = critical_cycles(classes)
    listed = time.process_time()
    selection = select(program, model, Strategy.WEIGHTED)
    selected = time.process_time()
    return {
        "lines": text.count("\n"),
        "model": model,
        "events": len(classes.graph.events),
        "classes": len(classes.all),
        "cycles": f"{len(cycles.found)}{'' if cycles.complete else '+'}",
        "delayed": len(selection.delayed),
        "read s": round(read - started, 1),
        "graph s": round(graph - read, 2),
        "cycles s": round(listed - graph, 2),
        "all s": round(selected - listed, 2),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, nargs="*", default=SIZES)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--write", metavar="FILE", help="only write the program of the first size")
    options = parser.parse_args()
    if options.write:
        Path(options.write).write_text(generated_program(options.lines[0]), encoding="utf-8")
        return
    heading = True
    for lines in options.lines:
        for model in options.models:
            with get_context("spawn").Pool(1) as pool:
                row = pool.apply(measure, (lines, model))
            if heading:
                print(*(f"{name:>9}" for name in row))
                heading = False
            print(*(f"{value!s:>9}" for value in row.values()))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
