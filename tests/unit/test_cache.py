from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dekker import cache as cache_module
from dekker.cache import keep, monthly_folder, read_kept

WRITER = """\
from dekker.cache import keep, read_kept
for number in range(200):
    keep("things", "shared", bytes([number]) * 5000)
    found = read_kept("things", "shared")
    assert found is not None and len(found) == 5000 and len(set(found)) == 1
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def kept_file(name: str) -> Path:
    folder = monthly_folder("things")
    assert folder is not None
    return folder / name


def test_what_is_kept_is_read() -> None:
    assert read_kept("things", "a") is None
    keep("things", "a", b"text")
    assert read_kept("things", "a") == b"text"
    assert read_kept("others", "a") is None
    assert read_kept("things", "b") is None


def test_it_lies_below_the_cache_directory(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep("things", "a", b"text")
    assert kept_file("a").is_relative_to(cache / "dekker" / "things")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(cache / "home"))
    assert kept_file("a").is_relative_to(cache / "home" / ".cache" / "dekker" / "things")


def test_older_months_are_removed(cache: Path) -> None:
    old = cache / "dekker" / "things" / "1999-12"
    old.mkdir(parents=True)
    keep("things", "a", b"text")
    assert not old.exists()


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MOST_BYTES", 1000)
    for number in range(12):
        keep("things", str(number), bytes(100))
        os.utime(kept_file(str(number)), ns=(number, number))
    assert [number for number in range(12) if read_kept("things", str(number)) is not None] == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("damaged", [b"", b"text", b"\0" * 12, None], ids=["empty", "short", "zeros", "cut"])
def test_what_is_damaged_is_as_good_as_none(damaged: bytes | None) -> None:
    keep("things", "a", b"some text")
    file = kept_file("a")
    file.write_bytes(file.read_bytes()[:-1] if damaged is None else damaged)
    assert read_kept("things", "a") is None
    keep("things", "a", b"some text")
    assert read_kept("things", "a") == b"some text"


def test_a_folder_in_its_place_is_as_good_as_none() -> None:
    kept_file("a").mkdir()
    assert read_kept("things", "a") is None
    keep("things", "a", b"text")
    assert list(kept_file("a").parent.iterdir()) == [kept_file("a")]


@pytest.mark.parametrize("base", [os.devnull, "/proc/nowhere"])
def test_where_nothing_can_be_written_nothing_is_kept(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert monthly_folder("things") is None
    keep("things", "a", b"text")
    assert read_kept("things", "a") is None


def test_a_folder_that_cannot_be_written_to_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("things", "a", b"text")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert monthly_folder("things") is None


def test_processes_do_not_disturb_one_another(cache: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    processes = [subprocess.Popen([sys.executable, "-c", WRITER], env=environment) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert [file.name for file in kept_file("shared").parent.iterdir()] == ["shared"]
