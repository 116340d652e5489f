"""docs/c-library.md names functions that exist, and all groups of them."""

from __future__ import annotations

import re
from pathlib import Path

from dekker.frontends.c.runtime import RUNTIME
from dekker.frontends.c.runtime.threads import END_OF_KEYS

PAGE = Path(__file__).parents[2] / "docs" / "c-library.md"
CLASSES = {"mutex", "timed_mutex", "recursive_mutex", "shared_mutex", "lock_guard", "unique_lock", "scoped_lock"}
CLASSES |= {
    "condition_variable",
    "this_thread",
    "shared_ptr",
    "weak_ptr",
    "main",
    "wait",
    "new",
    "delete",
    "float",
    "double",
}
CLASSES |= {"new", "delete", "float", "double", "mfence", "lwsync", "mtx_t", "cnd_t"}
ENGINES = ("states", "axiomatic")
NOT_FUNCTIONS = re.compile(rf"std::.*|\w+\.h|__atomic_|__sync_|__VERIFIER_atomic_|{'|'.join((*CLASSES, *ENGINES))}")


def names() -> set[str]:
    found = re.findall(r"`([\w.:]+)`", PAGE.read_text(encoding="utf-8"))
    functions = {name for name in found if RUNTIME.find(name) is not None}
    unknown = {name for name in found if not NOT_FUNCTIONS.fullmatch(name)} - functions
    assert unknown == set()
    return functions


def test_functions_of_the_page_are_known() -> None:
    assert len(names()) > 80


def test_families_are_on_the_page() -> None:
    families = {re.split(r"(?<=[a-z0-9])_", name)[0] for name in names()}
    assert {"pthread", "sem", "thrd", "mtx", "cnd", "tss"} <= families


def test_the_number_of_keys_is_the_one_that_is_enforced() -> None:
    assert f"at most {END_OF_KEYS - 1}" in PAGE.read_text(encoding="utf-8")
