"""Small random programs that call functions, start and join threads, allocate and free.

Statements are drawn so that most programs do something wrong: assertions that fail in some executions, memory that is
freed too early, locks taken in different orders.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.source import Source

LOADS, STORES = ("relaxed", "acquire", "seq_cst", ""), ("relaxed", "release", "seq_cst", "")
SHARED = ("x", "y")

HELPERS = """
function bump(place) {
  old = rmw.add.4 [place], 1 acq_rel
  return old
}

function set_twice(place, depth) {
  branch depth eq.64 0 -> done
  store.4 [place] = depth relaxed
  result = call &set_twice(place, depth sub.64 1)
done:
  return depth
}

function lock(place) {
again:
  old, won = cmpxchg.4 [place] 0 -> 1 acquire/relaxed
  await won -> again
  return 0
}

function unlock(place) {
  store.4 [place] = 0 release
  return 0
}
"""


@dataclass
class _Lines:
    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    fresh: int = 0
    values: list[str] = field(default_factory=lambda: ["argument"])

    def register(self) -> str:
        self.fresh += 1
        return f"r{self.fresh}"

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def value(self) -> str:
        return self.one(*self.values, "1", "2")

    def statement(self) -> None:
        getattr(self, self.one(*STATEMENTS))()

    # --- statements

    def load(self) -> None:
        register = self.register()
        self.lines.append(f"{register} = load.4 [&{self.one(*SHARED)}] {self.one(*LOADS)}")
        self.values.append(register)

    def store(self) -> None:
        self.lines.append(f"store.4 [&{self.one(*SHARED)}] = {self.value()} {self.one(*STORES)}")

    def call(self) -> None:
        register = self.register()
        arguments = self.one("bump(&x)", "bump(&y)", "set_twice(&x, 2)", "set_twice(&y, 1)")
        self.lines.append(f"{register} = call &{arguments}")
        self.values.append(register)

    def critical(self) -> None:
        locks = self.draw(st.permutations(("l", "m")))
        self.lines += [f"{self.register()} = call &lock(&{name})" for name in locks]
        self.load()
        self.lines += [f"{self.register()} = call &unlock(&{name})" for name in reversed(locks)]

    def publish(self) -> None:
        register = self.register()
        self.lines += [f"{register} = allocate 8", f"store.4 [{register}] = {self.value()}"]
        self.lines.append(f"store.8 [&p] = {register} {self.one(*STORES)}")

    def follow(self) -> None:
        pointer, register, end = self.register(), self.register(), f"L{len(self.lines)}"
        self.lines += [f"{pointer} = load.8 [&p] {self.one(*LOADS)}", f"branch {pointer} eq.64 0 -> {end}"]
        self.lines.append(f"{register} = load.4 [{pointer} add.64 {self.one('0', '4')}]")
        self.lines.append(f"{end}:")
        self.values.append(register)

    def release(self) -> None:
        pointer = self.register()
        self.lines += [f"{pointer} = load.8 [&p] {self.one(*LOADS)}", f"free {pointer}"]

    def claim(self) -> None:
        self.lines.append(f'assert {self.value()} ult.64 2, "small"')

    def choose(self) -> None:
        register = self.register()
        self.lines.append(f"{register} = choose 0 .. 1")
        self.values.append(register)

    def say(self) -> None:
        self.lines.append(f'print "%d\\n"({self.value()})')

    def fence(self) -> None:
        self.lines.append(f"fence {self.one('c11.seq_cst', 'c11.release', 'c11.acquire')}")


STATEMENTS = (
    *("load", "load", "store", "store", "call", "critical", "publish", "follow", "release", "claim", "claim"),
    *("choose", "say", "fence"),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    workers = [_worker(draw, f"w{number}") for number in range(2)]
    main = _Lines(draw, values=["1"])
    for _ in range(draw(st.integers(0, 1))):
        main.statement()
    main.lines += ["t0 = spawn &w0(1)", "t1 = spawn &w1(2)"]
    for _ in range(draw(st.integers(0, 2))):
        main.statement()
    for number in range(draw(st.integers(0, 2))):
        main.lines.append(f"e{number} = join t{number}")
        main.statement()
    body = "\n  ".join(main.lines)
    objects = "object x[4]\nobject y[4]\nobject l[4]\nobject m[4]\nobject p[8]"
    text = f"program threads\narchitecture C\n{objects}\nfunction main() {{\n  {body}\n}}\n" + "\n".join(workers)
    program = parse_program(Source("threads.ir", f"{text}\n{HELPERS}\nthread main runs main\n"))
    validate(program)
    return program


def _worker(draw: st.DrawFn, name: str) -> str:
    lines = _Lines(draw)
    for _ in range(draw(st.integers(1, 3))):
        lines.statement()
    lines.lines.append(f"return {lines.value()}")
    body = "\n  ".join(lines.lines)
    return f"function {name}(argument) {{\n  {body}\n}}"
