"""Random C programs without undefined behaviour (signed overflow apart, which wraps: compile with `-fwrapv`).

A program leaves what it computes in `unsigned long out[OUT_SIZE]`; `out_count` counts the results. With `NATIVE`
defined `main` prints them. Nothing depends on the order in which a compiler evaluates operands: calls and increments
are statements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

OUT_SIZE = 256

SIGNED = ("signed char", "short", "int", "long")
UNSIGNED = ("unsigned char", "unsigned short", "unsigned int", "unsigned long")
INTEGERS = (*SIGNED, *UNSIGNED, "_Bool")
FLOATS = ("float", "double")

_PRELUDE = f"""\
#include <stdatomic.h>
#include <stdarg.h>
#include <string.h>
#include <stdlib.h>
#include <ctype.h>
#ifdef NATIVE
#include <stdio.h>
#endif
unsigned long out[{OUT_SIZE}];
unsigned int out_count;
static void emit(unsigned long value) {{
  out[out_count % {OUT_SIZE}] = out[out_count % {OUT_SIZE}] * 31 + value;
  out_count++;
}}
static void emit_double(double value) {{
  unsigned long bits;
  if (value == value) {{ memcpy(&bits, &value, 8); emit(bits); }}
}}
static void emit_float(float value) {{
  unsigned int bits;
  if (value == value) {{ memcpy(&bits, &value, 4); emit(bits); }}
}}
static int sign(long value) {{ return (value > 0) - (value < 0); }}
static int ascending(const void *a, const void *b) {{
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}}
static void emit_place(const char *base, const char *place) {{ emit(place ? place - base : 999); }}
static long h_(long value) {{ return value * 7 + 1; }}
static long to_long(double value) {{ return value > -1e15 && value < 1e15 ? (long)value : 7; }}
"""

_MAIN = f"""\
#ifdef NATIVE
  for (unsigned int i = 0; i < out_count && i < {OUT_SIZE}; i++) printf("%lu ", out[i]);
  printf("%u\\n", out_count);
#endif
  return 0;
}}
"""


@dataclass
class Struct:
    name: str
    fields: list[tuple[str, str, int]]
    """Type, name, and number of elements (0 for a scalar, -n for a bit field of n bits)."""


@dataclass
class Routine:
    name: str
    result: str
    parameters: list[tuple[str, str]]
    recursive: bool = False


@dataclass
class Scope:
    """What an expression can name: text of an integer lvalue, and whether it may be assigned."""

    integers: list[tuple[str, str]] = field(default_factory=list)
    readonly: list[str] = field(default_factory=list)
    floats: list[tuple[str, str]] = field(default_factory=list)
    arrays: list[tuple[str, str, int]] = field(default_factory=list)
    structs: list[tuple[str, Struct]] = field(default_factory=list)
    pointers: list[tuple[str, str]] = field(default_factory=list)

    def copy(self) -> Scope:
        return Scope(*(list(getattr(self, name)) for name in self.__dataclass_fields__))


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.floats = FLOATS if seed % 2 else ()
        self.structs: list[Struct] = []
        self.routines: list[Routine] = []
        self.top = Scope()
        self.names = 0
        self.lines: list[str] = []
        self.loops = 0

    # --- the program

    def program(self) -> str:
        self.lines = [_PRELUDE]
        for _ in range(self.random.randint(1, 3)):
            self.struct()
        for _ in range(self.random.randint(4, 9)):
            self.global_variable()
        for _ in range(self.random.randint(2, 5)):
            self.routine()
        self.tables()
        self.lines.append("int main(void) {")
        scope = self.top.copy()
        self.block(scope, 2, 8)
        self.emit_all(scope)
        self.lines.append(_MAIN)
        return "\n".join(self.lines)

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def struct(self) -> None:
        r = self.random
        fields: list[tuple[str, str, int]] = []
        for index in range(r.randint(1, 5)):
            kind = r.choice((*INTEGERS, *self.floats)) if r.random() < 0.85 else "unsigned int"
            shape = r.random()
            if shape < 0.2 and kind not in FLOATS:
                fields.append((kind, f"m{index}", r.randint(1, 4)))
            elif shape < 0.4 and kind not in FLOATS and kind != "_Bool":
                bits = {"char": 8, "short": 16, "int": 32, "long": 64}[kind.split()[-1]]
                fields.append((kind, f"m{index}", -r.randint(1, bits)))
            else:
                fields.append((kind, f"m{index}", 0))
        packed = " __attribute__((packed))" if r.random() < 0.15 else ""
        item = Struct(f"struct s{len(self.structs)}", fields)
        body = " ".join(self.field_text(*entry) for entry in fields)
        self.lines.append(f"{item.name} {{ {body} }}{packed};")
        self.structs.append(item)

    @staticmethod
    def field_text(kind: str, name: str, count: int) -> str:
        if count < 0:
            return f"{kind} {name} : {-count};"
        return f"{kind} {name}[{count}];" if count else f"{kind} {name};"

    def constant(self, kind: str) -> str:
        r = self.random
        if kind == "_Bool":
            return str(r.randint(0, 1))
        if kind in FLOATS:
            return f"{r.choice((0.0, 1.0, -1.5, 3.25, 1e10, 0.1, r.uniform(-100, 100)))!r}" + (
                "f" if kind == "float" else ""
            )
        bits = {"char": 8, "short": 16, "int": 32, "long": 64}[kind.rsplit(maxsplit=1)[-1]]
        value = r.choice(
            (0, 1, 2, 3, 5, 7, r.getrandbits(bits), (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1)
        )
        if not kind.startswith("unsigned") and value >> (bits - 1):
            value -= 1 << bits
        suffix = "UL" if kind.startswith("unsigned") else "L"
        if value == -(1 << 63):
            return f"({value + 1}L-1)"
        return f"({kind}){value}{suffix}" if value >= 0 else f"({kind})({value}{suffix})"

    def struct_values(self, item: Struct) -> str:
        parts = []
        for kind, name, count in item.fields:
            if count > 0:
                parts.append(f".{name} = {{ {', '.join(self.constant(kind) for _ in range(count))} }}")
            else:
                parts.append(f".{name} = {self.constant(kind)}")
        return "{ " + ", ".join(parts) + " }"

    def global_variable(self) -> None:
        r = self.random
        prefix = r.choice(("", "", "static ", "_Thread_local ", "volatile ", "_Atomic "))
        # Compilers disagree on `_Atomic _Bool x; x += 3;`.
        kind = r.choice(INTEGERS[:-1] if prefix == "_Atomic " else INTEGERS)
        shape = r.random()
        name = self.name("g")
        if shape < 0.4:
            self.lines.append(f"{prefix}{kind} {name} = {self.constant(kind)};")
            self.top.integers.append((name, kind))
        elif shape < 0.5 and self.floats:
            kind = r.choice(FLOATS)
            self.lines.append(f"{kind} {name} = {self.constant(kind)};")
            self.top.floats.append((name, kind))
        elif shape < 0.7:
            count = r.choice((1, 3, 4, 8, 16))
            values = ", ".join(self.constant(kind) for _ in range(r.randint(1, count)))
            prefix = "" if prefix == "_Atomic " else prefix
            self.lines.append(f"{prefix}{kind} {name}[{count}] = {{ {values} }};")
            self.top.arrays.append((name, kind, count))
        elif shape < 0.9:
            item = r.choice(self.structs)
            prefix = "" if prefix in ("_Atomic ", "volatile ") else prefix
            self.lines.append(f"{prefix}{item.name} {name} = {self.struct_values(item)};")
            self.top.structs.append((name, item))
        elif self.top.arrays:
            array, kind, count = r.choice(self.top.arrays)
            text = next(line for line in self.lines if f" {array}[" in line or line.startswith(f"{kind} {array}["))
            if not text.startswith(("_Thread_local", "volatile")):
                self.lines.append(f"{kind} *{name} = &{array}[{r.randrange(count)}];")
                self.top.pointers.append((name, kind))

    def routine(self) -> None:
        r = self.random
        result = r.choice((*INTEGERS, *(item.name for item in self.structs), *self.floats[1:], "void"))
        kinds = [
            r.choice((*INTEGERS, *INTEGERS, *(s.name for s in self.structs), *self.floats))
            for _ in range(r.randint(0, 5))
        ]
        recursive = r.random() < 0.3
        routine = Routine(self.name("f"), result, [(kind, self.name("p")) for kind in kinds], recursive)
        scope = self.top.copy()
        parameters = [f"{kind} {name}" for kind, name in routine.parameters]
        if recursive:
            parameters.insert(0, "int depth")
        header = (
            f"{r.choice(('', 'static ', 'static inline '))}{result} {routine.name}({', '.join(parameters) or 'void'})"
        )
        self.lines.append(f"{header} {{")
        for kind, name in routine.parameters:
            self.declare(scope, kind, name)
        if recursive:
            scope.readonly.append("depth")
            self.lines.append(f"if (depth <= 0) {self.return_text(scope, result)}")
        self.block(scope, 2, 4)
        if recursive:
            self.call(scope, routine, "depth - 1")
        self.lines.append(self.return_text(scope, result))
        self.lines.append("}")
        self.routines.append(routine)

    def tables(self) -> None:
        """Functions called through pointers, with variable arguments, through a table."""
        r = self.random
        names = []
        for _ in range(3):
            name = self.name("h")
            names.append(name)
            scope = self.top.copy()
            scope.integers += [("x", "long"), ("y", "unsigned int")]
            self.lines.append(f"static long {name}(long x, unsigned int y) {{ return {self.integer(scope, 3)}; }}")
        self.lines.append(f"static long (*table[3])(long, unsigned int) = {{ {', '.join(names)} }};")
        third = "i % 3 == 2 ? to_long(va_arg(list, double))" if self.floats else "i % 3 == 2 ? va_arg(list, int)"
        self.lines.append(
            "static long total(int n, ...) { va_list list; va_start(list, n); long t = 0; for (int i = 0; i < n; i++) "
            f"t = t * {r.choice((3, 5, 7))} + ({third} : "
            "i % 3 == 1 ? va_arg(list, long) : va_arg(list, int)); "
            "va_end(list); return t; }"
        )

    def return_text(self, scope: Scope, kind: str) -> str:
        if kind == "void":
            return "return;"
        if kind == "double":
            return f"return {self.floating(scope, 2)};"
        matching = [name for name, item in scope.structs if item.name == kind]
        if kind.startswith("struct"):
            if matching:
                return f"return {self.random.choice(matching)};"
            item = next(item for item in self.structs if item.name == kind)
            return f"return ({kind}){self.struct_values(item)};"
        return f"return {self.integer(scope, 2)};"

    def declare(self, scope: Scope, kind: str, name: str) -> None:
        if kind in FLOATS:
            scope.floats.append((name, kind))
        elif kind.startswith("struct"):
            scope.structs.append((name, next(item for item in self.structs if item.name == kind)))
        else:
            scope.integers.append((name, kind))

    # --- statements

    def block(self, scope: Scope, depth: int, most: int) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(scope, depth)

    def statement(self, scope: Scope, depth: int) -> None:
        r = self.random
        simple = [
            self.assign,
            self.assign,
            self.assign,
            self.local,
            self.local,
            self.update,
            self.float_assign,
            self.copy_struct,
        ]
        simple += [
            self.emit,
            self.call_any,
            self.indirect,
            self.bytes,
            self.pointer,
            self.builtin,
            self.atomic,
            self.variadic,
            self.heap,
        ]
        simple += [self.strings, self.numbers, self.sorting, self.growing, self.characters]
        simple += [self.text, self.matrix, self.union, self.nested_struct, self.variable_length, self.jumps]
        nested = [self.branch, self.loop, self.loop, self.switch, self.condition]
        if depth > 0 and r.randrange(len(simple) + 2 * len(nested)) >= len(simple):
            r.choice(nested)(scope, depth - 1)
        else:
            r.choice(simple)(scope)

    def place(self, scope: Scope) -> tuple[str, str] | None:
        """An integer lvalue and its type."""
        r = self.random
        options: list[tuple[str, str]] = list(scope.integers)
        options += [(f"{name}[{self.index(scope, count)}]", kind) for name, kind, count in scope.arrays]
        options += [(f"*{name}", kind) for name, kind in scope.pointers]
        for name, item in scope.structs:
            for kind, member, count in item.fields:
                if kind not in FLOATS:
                    text = f"{name}.{member}[{self.index(scope, count)}]" if count > 0 else f"{name}.{member}"
                    options.append((text, kind))
        return r.choice(options) if options else None

    def index(self, scope: Scope, count: int) -> str:
        if self.random.random() < 0.5:
            return str(self.random.randrange(count))
        return f"(unsigned int)({self.integer(scope, 1)}) % {count}"

    def assign(self, scope: Scope) -> None:
        place = self.place(scope)
        if place is not None:
            op = self.random.choice(("=", "=", "=", "+=", "-=", "*=", "^=", "|=", "&="))
            self.lines.append(f"{place[0]} {op} {self.integer(scope, 3)};")

    def update(self, scope: Scope) -> None:
        place = self.place(scope)
        if place is not None and place[1] != "_Bool":
            r = self.random
            target, text = place[0], r.choice(("{0}++;", "--{0};", "++{0};", "{0}--;"))
            if r.random() < 0.5 and scope.integers:
                self.lines.append(
                    f"{r.choice(scope.integers)[0]} = " + text.format(f"({target})")
                    if "volatile" in target
                    else text.format(f"({target})")
                )
            else:
                self.lines.append(text.format(f"({target})"))

    def local(self, scope: Scope) -> None:
        r = self.random
        name = self.name("v")
        shape = r.random()
        kind = r.choice(INTEGERS)
        if shape < 0.5:
            storage = r.choice(("", "", "", "static ", "volatile "))
            initial = self.constant(kind) if storage == "static " else self.integer(scope, 2)
            self.lines.append(f"{storage}{kind} {name} = {initial};")
            scope.integers.append((name, kind))
        elif shape < 0.6 and self.floats:
            kind = r.choice(FLOATS)
            self.lines.append(f"{kind} {name} = {self.floating(scope, 2)};")
            scope.floats.append((name, kind))
        elif shape < 0.8:
            count = r.choice((1, 2, 3, 5, 8, 20, 40))
            values = ", ".join(self.constant(kind) for _ in range(r.randint(1, count)))
            self.lines.append(f"{kind} {name}[{count}] = {{ {values} }};")
            scope.arrays.append((name, kind, count))
        else:
            item = r.choice(self.structs)
            same = [other for other, known in scope.structs if known is item]
            initial = r.choice(same) if same and r.random() < 0.5 else self.struct_values(item)
            self.lines.append(f"{item.name} {name} = {initial};")
            scope.structs.append((name, item))

    def float_assign(self, scope: Scope) -> None:
        places = list(scope.floats)
        for name, item in scope.structs:
            places += [(f"{name}.{member}", kind) for kind, member, _ in item.fields if kind in FLOATS]
        if places:
            self.lines.append(f"{self.random.choice(places)[0]} = {self.floating(scope, 2)};")

    def copy_struct(self, scope: Scope) -> None:
        pairs = [(a, b) for a, first in scope.structs for b, second in scope.structs if first is second and a != b]
        if pairs:
            target, source = self.random.choice(pairs)
            how = self.random.choice(
                ("{0} = {1};", "memcpy(&{0}, &{1}, sizeof {0});", "memmove(&{0}, &{1}, sizeof {1});")
            )
            self.lines.append(how.format(target, source))

    def emit(self, scope: Scope) -> None:
        self.lines.append(f"emit({self.integer(scope, 3)});")

    def emit_all(self, scope: Scope) -> None:
        for name, _ in scope.integers:
            self.lines.append(f"emit({name});")
        for name, kind in scope.floats:
            self.lines.append(f"emit_{kind}({name});")
        for name, _, count in scope.arrays:
            self.lines.append(f"for (int i = 0; i < {count}; i++) emit({name}[i]);")
        for name, item in scope.structs:
            for kind, member, count in item.fields:
                if kind in FLOATS:
                    self.lines.append(f"emit_{kind}({name}.{member});")
                elif count > 0:
                    self.lines.append(f"for (int i = 0; i < {count}; i++) emit({name}.{member}[i]);")
                else:
                    self.lines.append(f"emit({name}.{member});")

    def call_any(self, scope: Scope) -> None:
        if self.routines and self.loops < 2:
            self.call(scope, self.random.choice(self.routines), str(self.random.randint(0, 3)))

    def call(self, scope: Scope, routine: Routine, depth: str) -> None:
        arguments = [depth] if routine.recursive else []
        for kind, _ in routine.parameters:
            if kind in FLOATS:
                arguments.append(self.floating(scope, 1))
            elif kind.startswith("struct"):
                same = [name for name, item in scope.structs if item.name == kind]
                item = next(item for item in self.structs if item.name == kind)
                arguments.append(self.random.choice(same) if same else f"({kind}){self.struct_values(item)}")
            else:
                arguments.append(self.integer(scope, 1))
        text = f"{routine.name}({', '.join(arguments)})"
        target = self.target_of(scope, routine.result)
        self.lines.append(f"{target} = {text};" if target else f"{text};")

    def target_of(self, scope: Scope, kind: str) -> str | None:
        if kind == "void":
            return None
        if kind.startswith("struct"):
            same = [name for name, item in scope.structs if item.name == kind]
            return self.random.choice(same) if same else None
        if kind in FLOATS:
            return self.random.choice(scope.floats)[0] if scope.floats else None
        return self.random.choice(scope.integers)[0] if scope.integers else None

    def indirect(self, scope: Scope) -> None:
        if any(line.startswith("static long (*table") for line in self.lines) and scope.integers:
            target = self.random.choice(scope.integers)[0]
            chosen = self.integer(scope, 1)
            self.lines.append(
                f"{target} = table[(unsigned int)({chosen}) % 3]({self.integer(scope, 1)}, {self.integer(scope, 1)});"
            )

    def variadic(self, scope: Scope) -> None:
        if any(line.startswith("static long total") for line in self.lines) and scope.integers:
            count = self.random.randint(0, 9)
            parts = []
            for index in range(count):
                kind = ("int", "long", "double" if self.floats else "short")[index % 3]
                parts.append(self.floating(scope, 1) if kind == "double" else f"({kind})({self.integer(scope, 1)})")
            if self.floats:
                parts = [f"(double)({part})" if index % 3 == 2 else part for index, part in enumerate(parts)]
            target = self.random.choice(scope.integers)[0]
            self.lines.append(f"{target} = total({', '.join([str(count), *parts])});")

    def bytes(self, scope: Scope) -> None:
        r = self.random
        arrays = [entry for entry in scope.arrays if not self.is_special(entry[0])]
        if not arrays:
            return
        name, kind, count = r.choice(arrays)
        shape = r.random()
        if shape < 0.3:
            value = "1" if kind == "_Bool" else str(r.choice((0, 0, 1, 255)))
            self.lines.append(f"memset({name}, {value}, sizeof {name});")
        elif shape < 0.6 and count > 1:
            self.lines.append(f"memmove({name} + 1, {name}, sizeof {name} - sizeof {name}[0]);")
        elif shape < 0.8 and count > 1:
            length = f"((unsigned long)({self.integer(scope, 1)}) % {count}) * sizeof {name}[0]"
            self.lines.append(
                f"memmove({name}, {name} + 1, {length} > sizeof {name} - sizeof {name}[0] ? 0 : {length});"
            )
        else:
            self.lines.append(f"emit(memcmp({name}, {name}, sizeof {name}) == 0);")

    def is_special(self, name: str) -> bool:
        return any(
            f" {name}[" in line and line.startswith(("volatile", "_Thread_local volatile")) for line in self.lines
        )

    def pointer(self, scope: Scope) -> None:
        arrays = [entry for entry in scope.arrays if not self.is_special(entry[0])]
        if arrays:
            name, kind, count = self.random.choice(arrays)
            pointer = self.name("q")
            self.lines.append(f"{kind} *{pointer} = {name} + {self.index(scope, count)};")
            self.lines.append(f"emit({pointer} - {name}); emit(*{pointer});")
            scope.pointers.append((pointer, kind))

    def heap(self, scope: Scope) -> None:
        name, count = self.name("a"), self.random.randint(1, 6)
        allocation = self.random.choice((f"calloc({count}, sizeof(long))", f"malloc({count} * sizeof(long))"))
        self.lines.append(f"long *{name} = {allocation};")
        self.lines.append(f"for (int i = 0; i < {count}; i++) {name}[i] = i * {self.integer(scope, 1)};")
        self.lines.append(f"emit({name}[{self.random.randrange(count)}]); free({name});")

    def builtin(self, scope: Scope) -> None:
        place = self.random.choice(scope.integers)[0] if scope.integers else None
        if place is None:
            return
        a, b = self.integer(scope, 2), self.integer(scope, 2)
        text = self.random.choice(
            (
                f"{place} = __builtin_popcountl({a});",
                f"{place} = __builtin_popcount({a});",
                f"{place} = __builtin_clz((unsigned int)({a}) | 1);",
                f"{place} = __builtin_ctzl((unsigned long)({a}) | 1024);",
                f"{place} = __builtin_bswap32({a});",
                f"{place} = __builtin_bswap64({a});",
                f"{{ int t_; {place} = __builtin_add_overflow((int)({a}), (int)({b}), &t_); emit(t_); }}",
                f"{{ long t_; {place} = __builtin_mul_overflow((long)({a}), (long)({b}), &t_); emit(t_); }}",
                (
                    f"{{ unsigned t_; {place} = __builtin_mul_overflow((unsigned)({a}), (unsigned)({b}), &t_); "
                    f"emit(t_); }}"
                ),
                (
                    f"{{ unsigned long t_; "
                    f"{place} = __builtin_sub_overflow((unsigned long)({a}), (unsigned long)({b}), &t_); emit(t_); }}"
                ),
                f"{place} = ((unsigned __int128)(unsigned long)({a}) * (unsigned long)({b})) >> 64;",
                (
                    f"{{ __int128 t_ = (__int128)({a}) * ({b}) + ({a}); {place} = t_ >> ((unsigned int)({b}) & 127); "
                    f"emit(t_ < (__int128)({b})); }}"
                ),
                (
                    f"{{ unsigned __int128 t_ = ({a}); t_ = (t_ << 70) - ({b}); {place} = t_ >> 3; emit(t_ >> 65); "
                    f"emit(t_ > 5); }}"
                ),
                f"{place} = ((unsigned int)({a}) << 7) | ((unsigned int)({a}) >> 25);",
            )
        )
        self.lines.append(text)

    def atomic(self, scope: Scope) -> None:
        if not scope.integers:
            return
        name, target = self.name("x"), self.random.choice(scope.integers)[0]
        kind = self.random.choice(("int", "unsigned char", "long", "unsigned short"))
        op = self.random.choice(("add", "sub", "and", "or", "xor"))
        self.lines.append(f"_Atomic {kind} {name} = {self.integer(scope, 1)};")
        self.lines.append(f"{target} = atomic_fetch_{op}(&{name}, {self.integer(scope, 1)}); emit({name});")
        self.lines.append(
            f"{{ {kind} old_ = {self.integer(scope, 1)}; "
            f"emit(atomic_compare_exchange_strong(&{name}, &old_, {self.integer(scope, 1)})); emit(old_); }}"
        )
        self.lines.append(
            f"emit(atomic_exchange_explicit(&{name}, {self.integer(scope, 1)}, memory_order_acq_rel)); "
            f"{name} += 3; emit({name});"
        )
        self.values_of_assignments(scope, name)

    def values_of_assignments(self, scope: Scope, atomic: str) -> None:
        """An assignment in an expression: what was read goes into a variable and on."""
        r, target, place = self.random, self.name("v"), self.place(scope)
        reads = [f"atomic_load(&{atomic})", f"atomic_load_explicit(&{atomic}, memory_order_acquire)", atomic]
        reads += [f"atomic_fetch_{r.choice(('add', 'xor'))}(&{atomic}, 1)", f"atomic_exchange(&{atomic}, 5)"]
        reads += [f"h_({self.integer(scope, 1)})", *([place[0]] if place is not None else [])]
        use = r.choice(
            ("emit(({0}) % 5)", "emit(({0}) * 3 + {1})", "if (({0}) & 1) emit({1})", "emit(({0}) ? {1} : 9)")
        )
        self.lines.append(f"long {target} = 1; {use.format(f'{target} = {r.choice(reads)}', '2')}; emit({target});")
        scope.integers.append((target, "long"))

    def text(self, scope: Scope) -> None:
        word = "".join(self.random.choice("abcXYZ 019") for _ in range(self.random.randint(1, 12)))
        name = self.name("w")
        size = len(word) + self.random.choice((1, 1, 4))
        self.lines.append(f'const char *{name} = "{word}"; signed char {name}b[{size}] = "{word}";')
        self.lines.append(f"emit(strlen({name})); emit({name}[{self.index(scope, len(word) + 1)}]);")
        self.lines.append(
            f"emit(strcmp({name}, (char *){name}b) == 0); {name}b[0]++; emit(strcmp({name}, (char *){name}b) < 0);"
        )
        scope.arrays.append((f"{name}b", "signed char", size))

    def word(self, most: int = 10) -> str:
        return "".join(self.random.choice("abcab,; 01") for _ in range(self.random.randint(0, most)))

    def strings(self, scope: Scope) -> None:
        r, name = self.random, self.name("b")
        one, other = self.word(), self.word(4)
        character = r.choice("abc,0")
        self.lines.append(f'char {name}[64], {name}c[64]; strcpy({name}, "{one}"); strcat({name}, "{other}");')
        steps = (
            f'strncat({name}, "{one}", {r.randint(0, 12)});',
            f"strncpy({name}c, {name}, sizeof {name}c); emit(memcmp({name}, {name}c, strlen({name}) + 1) == 0);",
            f"emit_place({name}, strchr({name}, '{character}')); emit_place({name}, strrchr({name}, '{character}'));",
            f'emit_place({name}, strstr({name}, "{other}")); emit_place({name}, strpbrk({name}, ",;"));',
            f"emit_place({name}, memchr({name}, '{character}', strlen({name})));",
            f'emit(sign(strcmp({name}, "{other}"))); emit(sign(strncmp({name}, "{other}", {r.randint(0, 6)})));',
            f'emit(sign(memcmp({name}, "abcdefgh", {r.choice((1, 2, 3, 4, 7, 8))})));',
            f'emit(strspn({name}, "abc")); emit(strcspn({name}, ",;"));',
            f"{{ char *d_ = strdup({name}); emit(strlen(d_)); emit(d_[0]); free(d_); }}",
            f'for (char *w_ = strtok({name}, ",; "); w_; w_ = strtok(0, ",; ")) {{ emit(strlen(w_)); emit(w_[0]); }}',
        )
        for step in r.sample(steps, r.randint(1, 5)):
            if "memcmp" not in step or "abcdefgh" not in step or len(one + other) >= 8:
                self.lines.append(step)
        self.lines.append(f"emit(strlen({name}));")

    def numbers(self, scope: Scope) -> None:
        r = self.random
        digits = r.choice(
            ("12", "0", "777", "0x1f", "0X", "08", "zz", "9223372036854775808", "18446744073709551616", "")
        )
        text = r.choice(("", " ", "\\t ")) + r.choice(("", "-", "+")) + digits + r.choice(("", "x", " 1", "g"))
        base = r.choice((0, 8, 10, 16, 36, 2))
        function = r.choice(("strtol", "strtoul", "strtoll"))
        self.lines.append(
            f'{{ const char *s_ = "{text}"; char *e_; emit({function}(s_, &e_, {base})); emit(e_ - s_); }}'
        )
        self.lines.append(f'emit(atoi("{r.choice(("-", "", " "))}{r.randint(0, 99999)}"));')
        a, b = self.integer(scope, 1), self.integer(scope, 1)
        self.lines.append(f"{{ div_t d_ = div((short)({a}), ((int)({b}) & 15) + 1); emit(d_.quot); emit(d_.rem); }}")
        self.lines.append(f"emit(labs((int)({a})) + abs((short)({b})));")

    def sorting(self, scope: Scope) -> None:
        name, count = self.name("t"), self.random.randint(1, 7)
        values = ", ".join(self.constant("long") for _ in range(count))
        self.lines.append(f"long {name}[{count}] = {{ {values} }}; {name}[0] = {self.integer(scope, 1)};")
        self.lines.append(f"qsort({name}, {count}, sizeof(long), ascending);")
        self.lines.append(f"for (int i = 0; i < {count}; i++) emit({name}[i]);")
        self.lines.append(
            f"{{ long k_ = {self.constant('long')}; "
            f"long *f_ = bsearch(&k_, {name}, {count}, sizeof(long), ascending); emit(f_ != 0); }}"
        )

    def growing(self, scope: Scope) -> None:
        r, name, kind = self.random, self.name("y"), self.random.choice(("long", "int", "char", "short"))
        first, second = r.randint(1, 5), r.randint(1, 9)
        self.lines.append(f"{kind} *{name} = malloc({first} * sizeof({kind}));")
        self.lines.append(f"for (int i = 0; i < {first}; i++) {name}[i] = i * {self.integer(scope, 1)};")
        self.lines.append(f"{name} = realloc({name}, {second} * sizeof({kind})); {name}[{second - 1}] = 3;")
        self.lines.append(f"for (int i = 0; i < {min(first, second)}; i++) emit({name}[i]);")
        self.lines.append(f"free({name});")

    def characters(self, scope: Scope) -> None:
        tests = ("alpha", "digit", "alnum", "space", "upper", "lower", "punct", "xdigit", "cntrl", "print", "graph")
        chosen = self.random.sample(tests, 3)
        self.lines.append(f"{{ int c_ = (int)({self.integer(scope, 2)}) & 127;")
        self.lines.extend(f"emit(!!is{test}(c_));" for test in chosen)
        self.lines.append("emit(toupper(c_)); emit(tolower(c_)); }")

    def matrix(self, scope: Scope) -> None:
        kind, rows, columns = self.random.choice(INTEGERS), self.random.randint(1, 4), self.random.randint(1, 4)
        name = self.name("k")
        self.lines.append(
            f"{kind} {name}[{rows}][{columns}]; for (int i = 0; i < {rows}; i++) for (int j = 0; "
            f"j < {columns}; j++) {name}[i][j] = i * 5 + j;"
        )
        self.lines.append(
            f"{name}[{self.index(scope, rows)}][{self.index(scope, columns)}] = {self.integer(scope, 2)};"
        )
        self.lines.append(f"emit({name}[{self.index(scope, rows)}][{self.index(scope, columns)}]);")

    def union(self, scope: Scope) -> None:
        name = self.name("u")
        self.lines.append(
            f"union {{ unsigned long l; unsigned int i[2]; unsigned short s; signed char c[8]; double d; }} {name};"
        )
        self.lines.append(f"{name}.l = {self.integer(scope, 2)}; emit({name}.s); emit({name}.i[1]);")
        self.lines.append(f"{name}.c[{self.index(scope, 8)}] = {self.integer(scope, 1)}; emit({name}.l);")
        self.lines.append(
            f"{name}.d = {self.floating(scope, 1)}; emit({name}.i[0]);"
            if self.floats and not scope.floats
            else f"emit({name}.c[3]);"
        )

    def nested_struct(self, scope: Scope) -> None:
        item = self.random.choice(self.structs)
        outer, name, pointer = self.name("o"), self.name("n"), self.name("r")
        count = self.random.randint(1, 3)
        self.lines.append(f"struct {outer} {{ char c; {item.name} a[{count}]; struct {outer} *next; short t; }};")
        values = ", ".join(self.struct_values(item) for _ in range(count))
        self.lines.append(f"struct {outer} {name} = {{ 1, {{ {values} }}, 0, 7 }}; {name}.next = &{name};")
        self.lines.append(f"struct {outer} {name}c = {name}; {name}c.t += 3; {name}.next = &{name}c;")
        self.lines.append(f"{item.name} *{pointer} = &{name}.next->a[{self.index(scope, count)}];")
        for kind, member, length in item.fields:
            if kind not in FLOATS and length <= 0:
                self.lines.append(f"{pointer}->{member} = {self.integer(scope, 2)};")
            if kind not in FLOATS:
                text = f"{member}[{length - 1}]" if length > 0 else member
                self.lines.append(f"emit({name}.next->a[0].{text}); emit({pointer}->{text}); emit({name}c.t);")
        scope.structs.append((f"(*{pointer})", item))
        scope.structs.append((f"{name}.a[{count - 1}]", item))

    def variable_length(self, scope: Scope) -> None:
        if self.loops == 0:
            name, size = self.name("z"), self.name("e")
            self.lines.append(f"int {size} = ((unsigned int)({self.integer(scope, 1)}) & 7) + 1; short {name}[{size}];")
            self.lines.append(f"for (int i = 0; i < {size}; i++) {name}[i] = i * {self.integer(scope, 1)};")
            self.lines.append(f"emit({name}[{size} - 1]); emit(sizeof {name});")

    def jumps(self, scope: Scope) -> None:
        again, out, count = self.name("l"), self.name("l"), self.name("c")
        self.lines.append(f"{{ int {count} = 0; {again}: if ({count}++ > 3) goto {out};")
        self.assign(scope)
        self.lines.append(f"if ({self.integer(scope, 2)}) goto {again}; emit({count}); {out}:; emit({count} + 1); }}")

    def inside(self, scope: Scope, depth: int) -> None:
        self.lines.append("{")
        self.block(scope.copy(), depth, 3)
        self.lines.append("}")

    def branch(self, scope: Scope, depth: int) -> None:
        self.lines.append(f"if ({self.integer(scope, 3)})")
        self.inside(scope, depth)
        if self.random.random() < 0.5:
            self.lines.append("else")
            self.inside(scope, depth)

    def condition(self, scope: Scope, depth: int) -> None:
        self.lines.append(f"if ({self.integer(scope, 2)} && ({self.integer(scope, 2)} || !({self.integer(scope, 1)})))")
        self.inside(scope, depth)

    def loop(self, scope: Scope, depth: int) -> None:
        r = self.random
        name, count = self.name("i"), r.randint(1, 6)
        inner = scope.copy()
        inner.readonly.append(name)
        self.loops += 1
        leave = f"if ({self.integer(inner, 2)}) {r.choice(('break', 'continue'))};" if r.random() < 0.4 else ""
        shape = r.random()
        if shape < 0.6:
            self.lines.append(
                f"for ({r.choice(('int', 'unsigned char', 'long'))} {name} = 0; {name} < {count}; {name}++) {{ {leave}"
            )
        elif shape < 0.8:
            self.lines.append(f"{{ int {name} = {count}; while ({name}-- > 0) {{ {leave}")
        else:
            self.lines.append(f"{{ unsigned {name} = 0; do {{ {leave}")
        self.block(inner, depth, 3)
        self.lines.append("}" if shape < 0.6 else "} }" if shape < 0.8 else f"}} while ({name}++ < {count}); }}")
        self.loops -= 1

    def switch(self, scope: Scope, depth: int) -> None:
        r = self.random
        self.lines.append(f"switch (({r.choice(('int', 'unsigned char', 'long'))})({self.integer(scope, 2)}) & 7) {{")
        for value in r.sample(range(-1, 9), r.randint(1, 5)):
            self.lines.append(f"case {value}:")
            self.inside(scope, depth)
            if r.random() < 0.7:
                self.lines.append("break;")
        if r.random() < 0.6:
            self.lines.append("default:")
            self.inside(scope, depth)
        self.lines.append("}")

    # --- expressions

    def integer(self, scope: Scope, depth: int) -> str:
        r = self.random
        if depth <= 0 or r.random() < 0.15:
            return self.atom(scope)
        shape = r.random()
        a = self.integer(scope, depth - 1)
        if shape < 0.15:
            return f"({r.choice(('-', '~', '!', '+'))}({a}))"
        if shape < 0.3:
            return f"(({r.choice(INTEGERS)})({a}))"
        if shape < 0.36 and scope.floats:
            return f"to_long({self.floating(scope, depth - 1)})"
        if shape < 0.4 and scope.floats:
            return (
                f"({self.floating(scope, 1)} {r.choice(('<', '<=', '==', '!=', '>', '>='))} {self.floating(scope, 1)})"
            )
        b = self.integer(scope, depth - 1)
        if shape < 0.5:
            return f"(({a}) {r.choice(('<<', '>>'))} (({b}) & 31))"
        if shape < 0.6:
            return self.division(a, b)
        if shape < 0.7:
            return f"(({a}) {r.choice(('<', '<=', '==', '!=', '>', '>='))} ({b}))"
        if shape < 0.76:
            return f"(({a}) {r.choice(('&&', '||'))} ({b}))"
        if shape < 0.82:
            return f"(({a}) ? ({b}) : ({self.integer(scope, depth - 1)}))"
        return f"(({a}) {r.choice(('+', '-', '*', '&', '|', '^'))} ({b}))"

    def division(self, a: str, b: str) -> str:
        op = self.random.choice(("/", "%"))
        return self.random.choice(
            (
                f"(({a}) {op} ((({b}) & 15) + 1))",
                f"((unsigned long)({a}) {op} ((unsigned long)({b}) | 1))",
                f"((unsigned int)({a}) {op} ((unsigned int)({b}) | 3))",
                f"((short)({a}) {op} -((({b}) & 7) + 2))",
                f"((long)({a}) {op} {self.random.choice((-3, 7, 10, -1000, 1))})"
                if op == "/"
                else f"((int)({a}) % 10)",
            )
        )

    def atom(self, scope: Scope) -> str:
        r = self.random
        if r.random() < 0.3:
            return self.constant(r.choice(INTEGERS))
        if scope.readonly and r.random() < 0.3:
            return r.choice(scope.readonly)
        options = [name for name, _ in scope.integers]
        options += [f"{name}[{r.randrange(count)}]" for name, _, count in scope.arrays]
        options += [f"*{name}" for name, _ in scope.pointers]
        for name, item in scope.structs:
            for kind, member, count in item.fields:
                if kind in FLOATS:
                    continue
                text = f"{name}.{member}[{r.randrange(count)}]" if count > 0 else f"{name}.{member}"
                # In gcc a bit field of more than 32 bits has a type of its own, in clang that of its declaration.
                options.append(f"(({kind}){text})" if count < 0 else text)
        return r.choice(options) if options else "3"

    def floating(self, scope: Scope, depth: int) -> str:
        r = self.random
        if depth <= 0 or not scope.floats or r.random() < 0.2:
            return r.choice(
                (*(name for name, _ in scope.floats), self.constant("double"), f"(double)({self.atom(scope)})")
            )
        a, b = self.floating(scope, depth - 1), self.floating(scope, depth - 1)
        shape = r.random()
        if shape < 0.1:
            return f"(-({a}))"
        if shape < 0.25:
            return f"(({r.choice(FLOATS)})({a}))"
        if shape < 0.35:
            return f"(({r.choice(FLOATS)})({self.integer(scope, 1)}))"
        return f"(({a}) {r.choice(('+', '-', '*', '/'))} ({b}))"


def c_program(seed: int) -> str:
    return Generator(seed).program()
