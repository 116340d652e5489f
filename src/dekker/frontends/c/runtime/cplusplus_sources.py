"""The part of libc++ that is no header and that no handler stands for: its sources come with the compiler.

They are compiled with the program when it calls something in them. What is not listed here has no place in programs
whose memory accesses are to be checked, or throws exceptions.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

_FILES: Mapping[str, str] = {
    "algorithm.cpp": r"_ZNSt3__1(6__sort|27__insertion_sort_incomplete)I.*",
    "hash.cpp": r"_ZNSt3__112__next_primeEm",
    "string.cpp": r"_ZN?K?St3__1(12basic_stringI|9to_string|4stoi|4stol|5stoul|plI).*",
    "future.cpp": r"_ZN?K?St3__1(17__assoc_sub_state|6futureIvE|7promiseIvE|13shared_futureIvE).*",
    "functional.cpp": r"_ZN?K?St3__117bad_function_call.*",
    "memory.cpp": r"_ZNSt3__1(5alignE|14__sp_mut).*",
}


def source_of(name: str) -> Path | None:
    """The file that defines a function."""
    file = next((file for file, pattern in _FILES.items() if re.fullmatch(pattern, name)), None)
    folder = _folder()
    return None if file is None or folder is None else folder / file


def source_flags() -> tuple[str, ...]:
    return ("-std=c++23", f"-I{_folder()}", "-D_LIBCPP_BUILDING_LIBRARY", "-w")


def _folder() -> Path | None:
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0], "lib", "libcxx", "src")
