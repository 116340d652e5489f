"""What C threads compute, by running their instructions one after the other, also against a C compiler."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dekker.frontends.litmus import parse_litmus
from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import (
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
    evaluate_binary,
    evaluate_unary,
)
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Branch,
    CompareExchange,
    Fence,
    Jump,
    Load,
    Return,
    Rmw,
    Store,
)
from dekker.ir.layout import layout
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.source import Source


class Machine:
    """Runs the first thread of a program alone."""

    def __init__(self, program: Program) -> None:
        validate(program)
        self.program = program
        self.layout = layout(program)
        self.registers: dict[str, int] = {}
        self.memory: dict[int, int] = {}
        for item in program.objects:
            for cell in item.cells:
                value = cell.value if isinstance(cell.value, int) else self.layout.resolve(cell.value)
                self.write(self.layout.starts[item.name] + cell.offset, value, cell.size)

    def read(self, address: int, size: int) -> int:
        return sum(self.memory.get(address + i, 0) << 8 * i for i in range(size))

    def write(self, address: int, value: int, size: int) -> None:
        for i in range(size):
            self.memory[address + i] = value >> 8 * i & 255

    def global_value(self, name: str, size: int = 4) -> int:
        return self.read(self.layout.starts[name], size)

    def value(self, expr: Expr) -> int:
        match expr:
            case Const(value):
                return value
            case Reg(name):
                return self.registers.get(name, 0)
            case Address():
                return self.layout.resolve(expr)
            case Unary(op, width, operand):
                return evaluate_unary(op, width, self.value(operand))
            case Binary(op, width, left, right):
                return evaluate_binary(op, width, self.value(left), self.value(right))
            case Select(condition, then, other):
                return self.value(then if self.value(condition) else other)

    def run(self, steps: int = 100_000) -> Machine:
        thread = self.program.threads[0]
        function = self.program.function_by_name[thread.function]
        self.registers = {name: self.value(value) for name, value in thread.registers}
        at = 0
        while at < len(function.body) and steps:
            steps -= 1
            target = self.step(function.body[at])
            at = at + 1 if target is None else len(function.body) if target == "" else function.labels[target]
        assert steps, "the thread does not end"
        return self

    def step(self, instruction: object) -> str | None:
        match instruction:
            case Assign(dst, value):
                self.registers[dst] = self.value(value)
            case Load(dst, address, size):
                self.registers[dst] = self.read(self.value(address), size)
            case Store(address, value, size):
                self.write(self.value(address), self.value(value), size)
            case Rmw(dst, op, address, operand, size):
                place, new = self.value(address), self.value(operand) & mask(8 * size)
                old = self.read(place, size)
                if dst is not None:
                    self.registers[dst] = old
                self.write(place, RMW_OPERATORS[op](8 * size, old, new), size)
            case CompareExchange(dst, success, address, expected, desired, size):
                place, new = self.value(address), self.value(desired)
                old = self.read(place, size)
                equal = old == self.value(expected)
                if dst is not None:
                    self.registers[dst] = old
                if success is not None:
                    self.registers[success] = int(equal)
                if equal:
                    self.write(place, new, size)
            case Branch(condition, target):
                return target if self.value(condition) else None
            case Jump(target):
                return target
            case Return():
                return ""
            case Assume(condition) | Assert(condition, _):
                assert self.value(condition)
            case Fence():
                pass
            case _:
                pytest.fail(f"{instruction} should not occur")
        return None


def run(body: str, parameters: str = "int* x, int* y", init: str = "") -> Machine:
    text = f"C test\n{{ {init} }}\nP0 ({parameters}) {{\n{body}\n}}\nexists (true)\n"
    return Machine(parse_litmus(Source("test.litmus", text))).run()


def signed32(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("-8 >> 1", -4),
        ("-8u >> 28", 15),
        ("1 << 3 | 1", 9),
        ("5 & 3 ^ 1", 0),
        ("~0", -1),
        ("!5", 0),
        ("!!5", 1),
        ("-1 < 1", 1),
        ("-1 < 1u", 0),
        ("-1 < 1l", 1),
        ("(unsigned char)300", 44),
        ("(char)200", -56),
        ("(bool)256", 1),
        ("(int)(short)0x18000", -32768),
        ("0x10 + 010 + 0b11", 27),
        ("'a' + '\\n' + '\\0'", 107),
        ("true + false", 1),
        ("1 ? 2 : 3", 2),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("1 && 0 || 1", 1),
        ("(1, 2)", 2),
        ("sizeof(long) + sizeof(int*) + sizeof(char)", 17),
        ("2147483647 + 1", -2147483648),
        ("4294967295 > 0", 1),
        ("1 == 1 != 0", 1),
        ("- - 1", 1),
        ("(int)(intptr_t)NULL", 0),
    ],
)
def test_expression(expression: str, value: int) -> None:
    assert signed32(run(f"int r = {expression};").registers["r"]) == value


def test_statements() -> None:
    machine = run(
        """
        int a = 0, b, n;
        for (int i = 0; i < 10; i++) { if (i == 3) continue; if (i == 7) break; a += i; }
        b = 0;
        do { b++; } while (b < 5);
        n = 0;
        while (1) { n += 2; if (n > 6) goto out; }
        n = 100;
        out: ;
        """
    )
    assert [machine.registers[name] for name in ("a", "b", "n")] == [0 + 1 + 2 + 4 + 5 + 6, 5, 8]


def test_return_ends_the_thread() -> None:
    assert run("int a = 1; if (a) return; a = 2;").registers["a"] == 1


def test_short_circuit_skips_the_right_side() -> None:
    machine = run("int a = 0, b = 0; int r = a && (b = 1); int s = !a || (b = 2); int t = 1 && (b += 4);")
    assert [machine.registers[name] for name in "rst"] == [0, 1, 1]
    assert machine.registers["b"] == 4


def test_left_to_right() -> None:
    machine = run("int a = 1; int r = a + (a = 5) * 10 + a++; int s = a;")
    assert machine.registers["r"] == 1 + 50 + 5
    assert machine.registers["s"] == 6


def test_steps_and_updates() -> None:
    machine = run(
        "int a = 5; int r = a++ + 10; int s = --a; a <<= 2; a ^= 1; *x += 3; (*x)++; int t = ++*x; int u = (*y)--;"
    )
    assert [machine.registers[name] for name in "rsatu"] == [15, 5, 21, 5, 0]
    assert signed32(machine.global_value("y")) == -1


def test_pointers_and_arrays() -> None:
    machine = run(
        """
        int* p = x; int *q = x + 1;
        *p = 1; *q = 2; p[2] = *p + q[0]; x[3] = 9;
        int i = 3; int r = *(x + i); int d = &x[3] - q; int *e = &*q; int s = e == q; int t = p < q;
        *(int*)z = 7;
        """,
        "int* x, int** z, int* w",
        "int x[4]; int* z = &w;",
    )
    start = machine.layout.starts["x"]
    assert [machine.read(start + 4 * i, 4) for i in range(4)] == [1, 2, 3, 9]
    assert [machine.registers[name] for name in "rdst"] == [9, 2, 1, 1]


def test_pointer_in_memory() -> None:
    machine = run("int* r = *p; *r = 4; *p = y; **p = 5;", "int** p, int* y", "p = &x; [y] = 1;")
    assert (machine.global_value("x"), machine.global_value("y")) == (4, 5)


def test_address_dependency_is_kept() -> None:
    program = parse_litmus(
        Source("t", "C t\n{}\nP0 (int* x, int* y) { int r0 = *x; int r1 = *(y + (r0 ^ r0)); }\nexists (0:r1=0)")
    )
    load = program.functions[0].body[1]
    assert isinstance(load, Load)
    assert "r0" in repr(load.address)


def test_parameter_that_is_assigned() -> None:
    machine = run("x = y; *x = 1;")
    assert (machine.global_value("x"), machine.global_value("y")) == (0, 1)


def test_global_by_name() -> None:
    machine = run("x = 3; y = x + 1; atomic_store(&y, y + 1);", "int x, atomic_int y")
    assert (machine.global_value("x"), machine.global_value("y")) == (3, 5)


def test_globals_of_the_initial_state_without_parameters() -> None:
    machine = run("*x = y + 1; atomic_store(&y, 7);", "", "x = 0; int y = 4;")
    assert (machine.global_value("x"), machine.global_value("y")) == (5, 7)


def test_initial_registers() -> None:
    machine = run("int r1; *x = r0 + r1;", "int* x", "0:r0 = 3; 0:r1 = 4;")
    assert machine.global_value("x") == 7


def test_sizes_of_accesses() -> None:
    machine = run(
        "*c = -1; *s = -1; *l = -1; int r = *c; unsigned u = *(unsigned char*)c; long m = *s; bool b = *c;",
        "char* c, short* s, long* l",
    )
    assert machine.global_value("c", 8) == 0xFF
    assert machine.global_value("s", 8) == 0xFFFF
    assert machine.global_value("l", 8) == mask(64)
    assert machine.registers["r"] == 0xFFFFFFFF
    assert machine.registers["u"] == 255
    assert machine.registers["m"] == mask(64)
    assert machine.registers["b"] == 1


@pytest.mark.parametrize(
    ("call", "result", "after"),
    [
        ("atomic_load(x)", 6, 6),
        ("atomic_exchange(x, 9)", 6, 9),
        ("atomic_fetch_add(x, 3)", 6, 9),
        ("atomic_fetch_sub(x, 3)", 6, 3),
        ("atomic_fetch_or(x, 1)", 6, 7),
        ("atomic_fetch_and(x, 3)", 6, 2),
        ("atomic_fetch_xor(x, 3)", 6, 5),
        ("__atomic_add_fetch(x, 3, __ATOMIC_RELAXED)", 9, 9),
        ("__atomic_nand_fetch(x, 3, __ATOMIC_RELAXED)", -3, -3),
        ("__sync_fetch_and_sub(x, 1)", 6, 5),
        ("__sync_bool_compare_and_swap(x, 6, 8)", 1, 8),
        ("__sync_bool_compare_and_swap(x, 7, 8)", 0, 6),
        ("__sync_val_compare_and_swap(x, 6, 8)", 6, 8),
        ("__sync_val_compare_and_swap(x, 7, 8)", 6, 6),
        ("__sync_lock_test_and_set(x, 1)", 6, 1),
        ("atomic_flag_test_and_set(x)", 6, 1),
        ("(atomic_store(x, 2), 1)", 1, 2),
        ("atomic_compare_exchange_strong(x, &e, 8)", 1, 8),
        ("atomic_compare_exchange_strong(x, &f, 8)", 0, 6),
        ("atomic_compare_exchange_strong(x, y, 8)", 0, 6),
        ("__builtin_expect(*x, 1)", 6, 6),
    ],
)
def test_functions(call: str, result: int, after: int) -> None:
    machine = run(f"int e = 6, f = 5; int r = {call};", init="x = 6; y = 5;")
    assert signed32(machine.registers["r"]) == result
    assert signed32(machine.global_value("x")) == after


def test_failed_compare_exchange_writes_expected() -> None:
    machine = run(
        "int e = 5; int r = atomic_compare_exchange_weak(x, &e, 8); int s = atomic_compare_exchange_weak(x, y, 9);",
        init="x = 6; y = 5;",
    )
    assert [machine.registers[name] for name in "ers"] == [6, 0, 0]
    assert machine.global_value("y") == 6


def test_compare_exchange_into_its_own_expected_value() -> None:
    machine = run("int e = 6; e = atomic_compare_exchange_strong(x, &e, 8);", init="x = 6;")
    assert machine.registers["e"] == 1


def test_generic_forms() -> None:
    machine = run(
        """
        int a = 1, b;
        __atomic_store(x, &a, __ATOMIC_RELEASE);
        __atomic_load(x, &b, __ATOMIC_ACQUIRE);
        int c = 5, d;
        __atomic_exchange(x, &c, &d, __ATOMIC_SEQ_CST);
        int e = 5, f = 7;
        int ok = __atomic_compare_exchange(x, &e, &f, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
        __atomic_exchange(x, &a, y, __ATOMIC_SEQ_CST);
        """
    )
    assert [machine.registers[name] for name in ("b", "d", "ok")] == [1, 1, 1]
    assert (machine.global_value("x"), machine.global_value("y")) == (1, 7)


# Against a compiler

TYPES = {
    "c": "char",
    "uc": "unsigned char",
    "s": "short",
    "us": "unsigned short",
    "i": "int",
    "u": "unsigned",
    "l": "long",
    "ul": "unsigned long",
    "b": "_Bool",
}
LITERALS = ["0", "1", "2", "7", "-1", "127", "128", "255", "0x7fffffff", "0x80000000", "4294967296", "3u", "5l", "9ul"]


class Writer:
    """Writes random C without undefined behaviour: shifts are short, divisors are not 0 and not -1, and variables
    change only where C orders that."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0:
            return pick([*TYPES, *TYPES, pick(LITERALS)])
        part = self.expression
        kind = self.random.randrange(10)
        if kind == 0:
            return f"({pick('-~!+')} {part(depth - 1)})"
        if kind == 1:
            return f"(({pick(list(TYPES.values()))}){part(depth - 1)})"
        if kind == 2:
            return f"({part(depth - 1)} {pick(['<<', '>>'])} ({part(depth - 1)} & 7))"
        if kind == 3:
            return f"({part(depth - 1)} {pick('/%')} (({part(depth - 1)} & 15) + 1))"
        if kind == 4:
            return f"({part(depth - 1)} ? {part(depth - 1)} : {part(depth - 1)})"
        if kind == 5:
            return f"({part(depth - 1)} {pick(['&&', '||'])} {part(depth - 1)})"
        if kind == 6:
            return f"({part(depth - 1)} {pick(['==', '!=', '<', '<=', '>', '>='])} {part(depth - 1)})"
        return f"({part(depth - 1)} {pick('+-*&|^')} {part(depth - 1)})"

    def statement(self, depth: int) -> str:
        kind = self.random.randrange(8 if depth else 4)
        name = self.random.choice(list(TYPES))
        value = self.expression(2)
        if kind == 0:
            return f"{name} {self.random.choice(['+=', '-=', '*=', '&=', '|=', '^='])} {value};"
        if kind == 1:
            return f"{name}{self.random.choice(['++', '--'])};"
        if kind <= 3:
            return f"{name} = {value};"
        body = " ".join(self.statement(depth - 1) for _ in range(2))
        if kind == 4:
            return f"if ({value}) {{ {body} }} else {{ {self.statement(depth - 1)} }}"
        if kind == 5:
            return f"for (int k = 0; k < 3; k++) {{ if (k == 1 && {value}) continue; {body} }}"
        if kind == 6:
            return f"{{ int n = 0; while (n++ < 4) {{ {body} if ({value}) break; }} }}"
        return f"{{ int n = 3; do {{ {body} }} while (--n && {value}); }}"

    def thread(self) -> str:
        declared = " ".join(f"{kind} {name} = {self.random.choice(LITERALS)};" for name, kind in TYPES.items())
        return declared + "\n" + "\n".join(self.statement(2) for _ in range(6))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_agrees_with_a_compiler(tmp_path: Path) -> None:
    threads = [Writer(seed).thread() for seed in range(150)]
    show = "".join(f' printf("%llx ", (unsigned long long){name});' for name in TYPES)
    functions = "".join(f'void f{i}(void) {{\n{body}\n{show} puts("");\n}}\n' for i, body in enumerate(threads))
    calls = " ".join(f"f{i}();" for i in range(len(threads)))
    source = tmp_path / "threads.c"
    source.write_text(f"#include <stdio.h>\n{functions}int main(void) {{ {calls} }}\n")
    subprocess.run(["cc", "-w", "-fwrapv", "-o", tmp_path / "threads", source], check=True, capture_output=True)
    lines = subprocess.run([tmp_path / "threads"], check=True, capture_output=True, text=True).stdout.splitlines()
    widths = {"char": 8, "_Bool": 8, "short": 16, "int": 32, "unsigned": 32, "long": 64}
    for body, line in zip(threads, lines, strict=True):
        machine = run(body)
        for (name, kind), printed in zip(TYPES.items(), line.split(), strict=True):
            width = widths[kind.split()[-1]]
            assert machine.registers[name] == int(printed, 16) & mask(width), (name, body)
