"""`sprintf` and `snprintf` into memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler
from tests.unit.frontends.c.verdicts import is_fine, result_of, two_threads

from dekker.errors import UnsupportedError

pytestmark = needs_compiler

TEXTS = {
    'sprintf(b, "%s-%d:%x%c%%", "ab", -12, 255, \'!\')': "ab--12:ff!%",
    'sprintf(b, "[%5d|%-5d|%05d|%5s|%-4s|%.2s|%3c]", 42, -7, -42, "abc", "de", "xyz", \'q\')': (
        "[   42|-7   |-0042|  abc|de  |xy|  q]"
    ),
    'sprintf(b, "%d %u %lld", (int)(1u << 31), -1, (long long)(1ull << 63))': (
        "-2147483648 4294967295 -9223372036854775808"
    ),
    'sprintf(b, "%lx %o %X %hhd %hu %zu", -1l, 8, 0xBEEF, 300, 65537, sizeof b)': "ffffffffffffffff 10 BEEF 44 1 96",
    'snprintf(b, 4, "%d", 123)': "123",
    'sprintf(b, "")': "",
}


@pytest.mark.parametrize("call", TEXTS)
def test_texts(tmp_path: Path, call: str) -> None:
    text = f'#include <string.h>\nint main(void) {{ char b[96]; assert({call} == {len(TEXTS[call])}); \
assert(!strcmp(b, "{TEXTS[call]}")); }}'
    assert is_fine(result_of(tmp_path, text))


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    text = """
#include <string.h>
int main(void) {
  char b[4];
  assert(snprintf(b, sizeof b, "%d", 123456) == 6 && !strcmp(b, "123"));
  assert(snprintf(0, 0, "%s", "text") == 4);
}
"""
    assert is_fine(result_of(tmp_path, text))
    too_long = 'int main(void) { char b[4]; sprintf(b, "%d", 1234); }'
    assert [violation.kind for violation in result_of(tmp_path, too_long).violations] == ["memory"]


def test_threads_may_do_it(tmp_path: Path) -> None:
    body = "char b[8]; snprintf(b, sizeof b, \"id%d\", 17); assert(b[3] == '7' && !b[4]);"
    assert is_fine(result_of(tmp_path, two_threads(body, body), "rc11"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('sprintf(b, "%f", 1.5)', "directive at `%f`"),
        ('sprintf(b, "%p", (void *)b)', "directive at `%p`"),
        ('sprintf(b, "%d")', "more values"),
        ("sprintf(b, b)", "not constant"),
        ('sprintf(b, "%.3d", 1)', "a precision"),
    ],
)
def test_what_is_not_supported_is_named(tmp_path: Path, call: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        result_of(tmp_path, f'int main(void) {{ char b[8] = "x"; {call}; }}')
