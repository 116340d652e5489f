"""C types as litmus tests need them: integers of the LP64 data model, pointers, void.

`const`, `volatile` and `_Atomic` leave no trace: whether an access is atomic follows from how it is written, not from
the type it goes through, as in herd.
"""

from __future__ import annotations

from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Integer:
    name: str
    size: int
    signed: bool
    rank: int

    @property
    def width(self) -> int:
        return 8 * self.size

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    target: CType

    size = 8
    width = 64
    signed = False

    def __str__(self) -> str:
        return f"{self.target}*"


@dataclass(frozen=True, slots=True)
class Void:
    size = 1
    width = 8
    signed = False

    def __str__(self) -> str:
        return "void"


CType = Integer | Pointer | Void

VOID = Void()
BOOL = Integer("bool", 1, False, 0)
CHAR = Integer("char", 1, True, 1)
UCHAR = Integer("unsigned char", 1, False, 1)
SHORT = Integer("short", 2, True, 2)
USHORT = Integer("unsigned short", 2, False, 2)
INT = Integer("int", 4, True, 3)
UINT = Integer("unsigned", 4, False, 3)
LONG = Integer("long", 8, True, 4)
ULONG = Integer("unsigned long", 8, False, 4)
LLONG = Integer("long long", 8, True, 5)
ULLONG = Integer("unsigned long long", 8, False, 5)

_UNSIGNED = {CHAR: UCHAR, SHORT: USHORT, INT: UINT, LONG: ULONG, LLONG: ULLONG}


def promoted(kind: Integer) -> Integer:
    """The integer promotions: whatever is smaller than an int becomes one."""
    return INT if kind.rank < INT.rank else kind


def common_type(left: Integer, right: Integer) -> Integer:
    """The usual arithmetic conversions."""
    left, right = promoted(left), promoted(right)
    if left is right:
        return left
    if left.signed == right.signed:
        return left if left.rank > right.rank else right
    unsigned, signed = (right, left) if left.signed else (left, right)
    if unsigned.rank >= signed.rank:
        return unsigned
    return signed if signed.size > unsigned.size else _UNSIGNED[signed]


def _sized(bits: str, signed: Integer, unsigned: Integer) -> dict[str, CType]:
    """`int32_t`, `uint_fast32_t` and so on."""
    prefixes = ("int", "int_least", "int_fast")
    names: dict[str, CType] = {f"{prefix}{bits}_t": signed for prefix in prefixes}
    return names | {f"u{prefix}{bits}_t": unsigned for prefix in prefixes}


TYPE_NAMES: dict[str, CType] = {
    "bool": BOOL,
    "_Bool": BOOL,
    "void": VOID,
    **_sized("8", CHAR, UCHAR),
    **_sized("16", SHORT, USHORT),
    **_sized("32", INT, UINT),
    **_sized("64", LONG, ULONG),
    **dict.fromkeys(("intptr_t", "intptr", "ptrdiff_t", "ssize_t", "intmax_t"), LONG),
    **dict.fromkeys(("uintptr_t", "uintptr", "size_t", "uintmax_t", "ulong"), ULONG),
    "uint": UINT,
    "ushort": USHORT,
    "uchar": UCHAR,
    "llong": LLONG,
    "ullong": ULLONG,
    "char8_t": UCHAR,
    "char16_t": USHORT,
    "char32_t": UINT,
    "wchar_t": INT,
}
TYPE_NAMES |= {
    f"atomic_{name}": kind for name, kind in TYPE_NAMES.items() if not name.startswith("_") and name != "void"
}
TYPE_NAMES |= {
    "atomic_char": CHAR,
    "atomic_schar": CHAR,
    "atomic_short": SHORT,
    "atomic_int": INT,
    "atomic_long": LONG,
    "atomic_flag": INT,
}

_BASE = {"char": CHAR, "short": SHORT, "int": INT, "long": LONG, "long long": LLONG, "": INT}
_BASE |= {"int short": SHORT, "int long": LONG, "int long long": LLONG}
SPECIFIERS = frozenset(("char", "short", "int", "long", "signed", "unsigned", "__signed__"))
QUALIFIERS = frozenset(
    "const volatile restrict register static auto extern inline _Atomic _Thread_local thread_local "
    "__const __volatile__ __restrict __restrict__ __inline".split()
)


def from_specifiers(words: list[str]) -> Integer | None:
    """The type that `unsigned long int` and the like name, in any order of the words; None if they do not fit."""
    rest = sorted(word for word in words if word not in {"signed", "unsigned", "__signed__"})
    if len(words) - len(rest) > 1:
        return None
    base = _BASE.get(" ".join(rest))
    if base is None or not words:
        return None
    return _UNSIGNED[base] if "unsigned" in words else base
