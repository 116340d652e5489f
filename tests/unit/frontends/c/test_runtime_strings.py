"""Strings, numbers in texts, sorting, and memory that grows. Random programs compare them with native ones, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler
from tests.unit.frontends.c.verdicts import is_fine, messages, result_of

pytestmark = needs_compiler

HEADERS = "#define _GNU_SOURCE\n#include <string.h>\n#include <strings.h>\n#include <ctype.h>\n#include <malloc.h>\n"

TRUE = [
    'strlen("abc") == 3 && strnlen("abc", 2) == 2 && strnlen("a", 9) == 1',
    'strcmp("abc", "abd") < 0 && strcmp("b", "a") > 0 && !strcmp("", "") && !strncmp("abc", "abd", 2)',
    'strcasecmp("AbC", "aBc") == 0 && strncasecmp("ABx", "aby", 2) == 0 && strcasecmp("a", "B") < 0',
    'memcmp("\\x01\\xff", "\\x02\\x00", 2) < 0 && memcmp("abcdefgh", "abcdefgi", 8) < 0 && !memcmp("abc", "abd", 2)',
    'strcpy(b, "hello") == b && !strcmp(strcat(b, " world"), "hello world") && strlen(b) == 11',
    'stpcpy(b, "abc") == b + 3 && strlcpy(b, "hello", 3) == 5 && !strcmp(b, "he")',
    'strncpy(b, "ab", 5) == b && b[4] == 0 && b[5] == 120',
    '!strcmp(strncat(strcpy(b, "ab"), "cdef", 2), "abcd")',
    "strchr(s, 'w') == s + 6 && !strchr(s, 'z') && strchr(s, 0) == s + 11 && strchrnul(s, 'z') == s + 11",
    "strrchr(s, 'o') == s + 7 && !strrchr(s, 'z') && memchr(s, 'o', 4) == 0 && memchr(s, 'o', 5) == s + 4",
    'strstr(s, "lo w") == s + 3 && strstr(s, "") == s && !strstr(s, "worlds")',
    'strspn("aabx", "ab") == 3 && strcspn("xxab", "ab") == 2 && strpbrk(s, "wo") == s + 4 && !strpbrk(s, "z")',
    'strtok(strcpy(b, ",a,,b;"), ",;") == b + 1 && strtok(0, ",;") == b + 4 && !strtok(0, ",;") && !strtok(0, ",;")',
    'atoi(" -42x") == -42 && strtol("0x1fz", &e, 0) == 31 && *e == 122 && strtoul("777", 0, 8) == 511',
    'strtol("99999999999999999999", 0, 10) == 0x7fffffffffffffff && strtoul("-1", 0, 10) == -1UL',
    'strtol("", &e, 10) == 0 && *e == 0 && strtol("0x", &e, 16) == 0 && *e == 120',
    "abs(-3) == 3 && labs(-4L) == 4 && div(7, -2).quot == -3 && ldiv(-7, 2).rem == -1",
    "isalpha('x') && !isalpha('3') && isdigit('3') && isspace('\\t') && ispunct('!') && toupper('a') == 'A'",
    "(qsort(v, 5, sizeof *v, compare), v[0] == 1 && v[4] == 5) && bsearch(&v[2], v, 5, sizeof *v, compare) == v + 2",
    "(p = strdup(s), !strcmp(p, s)) && (p = realloc(p, 100), p[99] = 1, !strcmp(p, s)) && malloc_usable_size(p) == 100",
    "(p = realloc(0, 8), p[7] = 1) && !realloc(p, 0) && (p = calloc(3, 4), p[11] == 0)",
    'getenv("HOME") == 0 && mempcpy(b, "xy", 2) == b + 2 && memrchr(s, 111, 11) == s + 7',
]


@pytest.mark.parametrize("condition", TRUE)
def test_results(tmp_path: Path, condition: str) -> None:
    text = f"""{HEADERS}
int compare(const void *a, const void *b) {{ return *(int *)a - *(int *)b; }}
int main(void) {{
  char b[40] = "xxxxxxxxxx", *e, *p, *s = "hello world"; int v[5] = {{3, 1, 2, 5, 4}};
  assert({condition});
  return 0;
}}"""
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ('char b[3]; strcpy(b, "abc");', "which lie in no object"),
        ("char b[3] = {1, 1, 1}; return strlen(b);", "which lie in no object"),
        ("char *p = malloc(4); p = realloc(p, 8); p[8] = 1;", "which lie in no object"),
        ("char *p = malloc(4), *q = realloc(p, 8); q[0] = p[0];", "may have been freed"),
        ("char *p = malloc(4); free(p); realloc(p, 8);", "may have been freed already"),
        ('char *p = malloc(4); free(p); printf("%d %s", 1, p);', "may have been freed"),
        ("char *p = malloc(4); free(p); puts(p);", "may have been freed"),
        ("char x; realloc(&x, 8);", "not the start of memory that was allocated"),
        ("calloc(1UL << 33, 1UL << 33);", "allocation of"),
        ('div(1, atoi("0"));', "division by zero"),
    ],
)
def test_misuse(tmp_path: Path, steps: str, message: str) -> None:
    (found,) = messages(result_of(tmp_path, f"{HEADERS}int main(void) {{ {steps} return 0; }}"))
    assert message in found


def test_what_realloc_copies_is_what_other_threads_see(tmp_path: Path) -> None:
    text = """
int *p;
void *f(void *unused) { p = realloc(p, 4 * sizeof *p); p[3] = 4; return 0; }
int main(void) {
  p = malloc(2 * sizeof *p); p[0] = 1; p[1] = 2;
  pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0);
  assert(p[0] == 1 && p[1] == 2 && p[3] == 4);
  return 0;
}"""
    for model in ("sc", "power", "rc11"):
        assert is_fine(result_of(tmp_path, text, model))
