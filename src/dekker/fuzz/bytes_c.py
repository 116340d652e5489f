"""Random C programs that set and copy bytes: parts of variables, of elements and of memory of the heap, structs with
their padding. What every byte holds is followed while a program is written, so that it can assert it; the last
statement of some looks at a byte that nobody has set.

Engines share the front end, so that they would agree on a wrong value. A twin says what is right: it does nothing, or
nothing but decide on a variable that was never set.

Few kinds of objects make up a program, so that structs of one kind are assigned to one another; parts of objects begin
anywhere, so that padding of one is copied to members of another. Elements of arrays are found through numbers and
pointers that the front end does not know.
"""

from __future__ import annotations

from random import Random

from dekker.records import dataclass

_PRELUDE = """\
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
struct front { char a; int b; };
struct back { int a; char b; };
struct both { short a; long b; char c; };
struct nest { char a; struct front b; short c; };
struct pair { short a, b; };
int one = 1, two = 2, size;
void *known;
unsigned char seen[32];
static void publish(void *p) { known = p; }
"""
_LAST = "/* nobody has set all of it */"
RIGHT = "int main(void) { return 0; }\n"
DECIDES = "#include <assert.h>\nint main(void) { int v; assert(!v); return 0; }\n"

Byte = int | None
"""None is indeterminate."""


@dataclass(frozen=True)
class _Kind:
    """A type, and its scalars: how they are written behind the name of an object, and where they are."""

    declaration: str
    size: int
    scalars: tuple[tuple[str, int, int], ...]

    def padding(self) -> set[int]:
        return set(range(self.size)) - {start + i for _, start, size in self.scalars for i in range(size)}


_FRONT = (("a", 0, 1), ("b", 4, 4))
_KINDS = (
    _Kind("int {}", 4, (("", 0, 4),)),
    _Kind("long {}", 8, (("", 0, 8),)),
    _Kind("short {}", 2, (("", 0, 2),)),
    _Kind("int {}[3]", 12, tuple((f"[{i}]", 4 * i, 4) for i in range(3))),
    _Kind("unsigned char {}[6]", 6, tuple((f"[{i}]", i, 1) for i in range(6))),
    _Kind("struct front {}", 8, ((".a", 0, 1), (".b", 4, 4))),
    _Kind("struct back {}", 8, ((".a", 0, 4), (".b", 4, 1))),
    _Kind("struct both {}", 24, ((".a", 0, 2), (".b", 8, 8), (".c", 16, 1))),
    _Kind("struct nest {}", 16, ((".a", 0, 1), (".b.a", 4, 1), (".b.b", 8, 4), (".c", 12, 2))),
    _Kind("struct pair {}", 4, ((".a", 0, 2), (".b", 2, 2))),
    _Kind("struct front {}[2]", 16, tuple((f"[{i}].{f}", 8 * i + o, n) for i in (0, 1) for f, o, n in _FRONT)),
)


@dataclass
class _Object:
    """`name` is how it is written; `bytes` is what it holds. `behind` is the next element, if it is one of several, and
    `initially` what that holds."""

    name: str
    kind: _Kind
    bytes: list[Byte]
    behind: str = ""
    initially: Byte = None

    def address(self, start: int) -> str:
        return f"&{self.name}" if start == 0 else f"(char *)&{self.name} + {start}"


def bytes_program(seed: int) -> str:
    writer = _Writer(Random(seed))
    kinds = writer.random.choices(_KINDS, k=writer.random.randint(1, 4))
    objects = [writer.declare(number, writer.random.choice(kinds)) for number in range(writer.random.randint(2, 4))]
    objects += writer.other_elements(objects)
    for _ in range(writer.random.randint(2, 6)):
        writer.change(objects)
    if writer.random.random() < 0.5:
        writer.move_padding(objects)
        writer.look_at_scalars(objects)
    else:
        for item in objects:
            writer.look_at(item)
        writer.decide_on_unset(objects)
    return writer.text()


def bytes_twin(text: str) -> str:
    return DECIDES if _LAST in text else RIGHT


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self._globals: list[str] = []
        self._body: list[str] = []

    def text(self) -> str:
        """In the first thread, or in another."""
        shared, body = "\n".join(self._globals), "\n  ".join(self._body)
        if self.random.random() < 0.6:
            return f"{_PRELUDE}{shared}\nint main(void) {{\n  {body}\n  return 0;\n}}\n"
        run = "pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); return 0;"
        return f"{_PRELUDE}{shared}\nvoid *run(void *v) {{\n  {body}\n  return 0;\n}}\nint main(void) {{ {run} }}\n"

    def declare(self, number: int, kind: _Kind) -> _Object:
        name, declared = f"v{number}", kind.declaration.format(f"v{number}")
        place = self.random.choice(("local", "local", "published", "global", "heap", "element", "element", "elements"))
        if place == "global":
            self._globals.append(f"{declared};")
            return _Object(name, kind, [0] * kind.size)
        if place in ("local", "published"):
            self._body.append(f"{declared};")
            if place == "published":
                self._body.append(f"publish(&{name});")
            return _Object(name, kind, [None] * kind.size)
        self._globals.append(f"typedef {kind.declaration.format(f't{number}')};")
        if place == "heap":
            self._body.append(f"t{number} *{name} = malloc(sizeof(t{number}));")
            return _Object(f"(*{name})", kind, [None] * kind.size)
        if place == "elements":
            self._body.append(f"t{number} *{name} = malloc(3 * sizeof(t{number}));")
            return self._element(number, kind, None)
        self._globals.append(f"t{number} v{number}[3];")
        return self._element(number, kind, 0)

    def _element(self, number: int, kind: _Kind, initially: Byte) -> _Object:
        """By its index, or through a pointer that is local or read from memory."""
        held, element, pointer = [initially] * kind.size, f"v{number}[one]", f"p{number}"
        way = self.random.choice(("index", "index", "local", "global"))
        if way == "index":
            return _Object(element, kind, held, f"v{number}[two]", initially)
        if way == "global":
            self._globals.append(f"t{number} *{pointer};")
        self._body.append(f"{'' if way == 'global' else f't{number} *'}{pointer} = &{element};")
        return _Object(f"(*{pointer})", kind, held, f"{pointer}[one]", initially)

    def other_elements(self, objects: list[_Object]) -> list[_Object]:
        """Some that lie behind others."""
        return [
            _Object(item.behind, item.kind, [item.initially] * item.kind.size)
            for item in objects
            if item.behind and self.random.random() < 0.3
        ]

    # --- changes

    def change(self, objects: list[_Object]) -> None:
        item = self.random.choice(objects)
        self.random.choice((self._set, self._fill, self._fill, self._copy, self._copy, self._assign))(item, objects)

    def _set(self, item: _Object, objects: list[_Object]) -> None:
        name, start, size = self.random.choice(item.kind.scalars)
        value = self.random.randrange(1 << 8 * size - 1)
        self._body.append(f"{item.name}{name} = {value};")
        item.bytes[start : start + size] = value.to_bytes(size, "little")

    def _fill(self, item: _Object, objects: list[_Object]) -> None:
        start, size = self._part(item)
        value = self.random.choice((0, 1, 255))
        self._body.append(f"memset({item.address(start)}, {value}, {self._length(size)});")
        item.bytes[start : start + size] = [value] * size

    def _copy(self, item: _Object, objects: list[_Object]) -> None:
        source = self.random.choice(objects)
        if source is item:
            return
        start, size = self._part(item)
        size = min(size, source.kind.size)
        begin = self.random.choice((0, source.kind.size - size, self.random.randint(0, source.kind.size - size)))
        function = self.random.choice(("memcpy", "memcpy", "memmove"))
        self._body.append(f"{function}({item.address(start)}, {source.address(begin)}, {self._length(size)});")
        item.bytes[start : start + size] = source.bytes[begin : begin + size]

    def _assign(self, item: _Object, objects: list[_Object]) -> None:
        """Of structs, all bytes are copied."""
        same = [other for other in objects if other is not item and other.kind is item.kind]
        if not same or "[" in item.kind.declaration or not all(name for name, _, _ in item.kind.scalars):
            self._set(item, objects)
            return
        source = self.random.choice(same)
        self._body.append(f"{item.name} = {source.name};")
        item.bytes[:] = source.bytes

    def _part(self, item: _Object) -> tuple[int, int]:
        if self.random.random() < 0.4:
            return 0, item.kind.size
        start = self.random.randrange(item.kind.size) if self.random.random() < 0.5 else 0
        return start, self.random.randint(1, item.kind.size - start)

    def _length(self, size: int) -> str:
        """Sometimes known only when the program runs."""
        if self.random.random() < 0.9:
            return str(size)
        self._body.append(f"size = {size};")
        return "size"

    def move_padding(self, objects: list[_Object]) -> None:
        """From a struct whose bytes are all set, to anywhere in an element of several, where it may be a scalar."""
        sources = [item for item in objects if item.kind.padding()]
        targets = [item for item in objects if item.behind]
        if not sources or not targets:
            return
        source, target = self.random.choice(sources), self.random.choice(targets)
        if source is target:
            return
        value = self.random.choice((1, 255))
        self._body.append(f"memset(&{source.name}, {value}, {source.kind.size});")
        source.bytes[:] = [value] * source.kind.size
        begin = self.random.choice((0, 0, self.random.randrange(source.kind.size)))
        most = min(source.kind.size - begin, target.kind.size)
        size = self.random.randint(1, most)
        start = self.random.randint(0, target.kind.size - size)
        copied = f"{source.address(begin)}, {self._length(size)}"
        self._body.append(f"{self.random.choice(('memcpy', 'memmove'))}({target.address(start)}, {copied});")
        target.bytes[start : start + size] = [value] * size

    # --- looks

    def look_at_scalars(self, objects: list[_Object]) -> None:
        """Nothing else is looked at, so that padding seems to be of no use."""
        for item in objects:
            for name, start, size in item.kind.scalars:
                self._look_at_scalar(item, name, item.bytes[start : start + size])

    def look_at(self, item: _Object) -> None:
        """At its scalars, or at a copy of all its bytes, or of a scalar at bytes."""
        if self.random.random() < 0.5:
            self.look_at_scalars([item])
            return
        start, size = self._part(item)
        if self.random.random() < 0.3:
            self._body.append(f"memmove(seen, {item.address(start)}, {self._length(size)});")
            self._look_at_bytes("seen[{}]", item.bytes[start : start + size])
        else:
            self._look_at_bytes(f"((unsigned char *)&{item.name})[{{}}]", item.bytes)

    def _look_at_scalar(self, item: _Object, name: str, held: list[Byte]) -> None:
        known = bytes(byte or 0 for byte in held)
        care = bytes(0 if byte is None else 255 for byte in held)
        value, mask = int.from_bytes(known, "little"), int.from_bytes(care, "little")
        if mask:
            self._body.append(f"assert(((unsigned long){item.name}{name} & {mask}ul) == {value}ul);")

    def _look_at_bytes(self, text: str, held: list[Byte]) -> None:
        for index, byte in enumerate(held):
            if byte is not None and self.random.random() < 0.5:
                self._body.append(f"assert({text.format(index)} == {byte});")

    def decide_on_unset(self, objects: list[_Object]) -> None:
        item = self.random.choice(objects)
        unset = [index for index, byte in enumerate(item.bytes) if byte is None]
        if unset and self.random.random() < 0.7:
            self._body.append(f"memcpy(seen, &{item.name}, {item.kind.size}); {_LAST}")
            self._body.append(f"assert(!seen[{self.random.choice(unset)}]);")
