"""What is kept of compilations answers as long as nothing that was read has changed, and never longer."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.reference.sequential import run
from tests.unit.frontends.c.programs import needs_compiler

from dekker import cache as cache_module
from dekker.cache import monthly_folder
from dekker.errors import InputError
from dekker.frontends import kept, parse_files
from dekker.frontends.c import driver, translate
from dekker.frontends.c.child_process import Finished, run_program
from dekker.frontends.dialect import Dialect
from dekker.ir.program import Program

pytestmark = needs_compiler

TEXT = '#include "value.h"\nint main(void) { return VALUE; }\n'
PARSER = """\
import sys
from dekker.frontends import parse_files
for _ in range(3):
    for path in sys.argv[1:]:
        assert parse_files([path]).function_by_name["main"].body
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled, by the names of the files."""
    done: list[str] = []

    def noted(command: list[str], environment: dict[str, str]) -> Finished:
        done.append(os.path.basename(command[-3]))
        return run_program(command, environment)

    monkeypatch.setattr(driver, "run_program", noted)
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program of two files, which nobody changes any more."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "value.h").write_text("#define VALUE 4\n")
    for name in ("test.c", "test.cpp"):
        (folder / name).write_text(TEXT)
    settle()
    return folder


def settle() -> None:
    time.sleep(2 * kept.TICK_NS / 1e9)


def value(path: Path, *flags: str) -> object:
    return run(parse_files([str(path)], flags)).value


def whole(program: Program) -> object:
    """Also what equality leaves out."""
    spans = [(span and (span.source.name, span.source.text, *span[1:])) for f in program.functions for span in f.spans]
    assert program.source is not None
    return program, spans, (program.source.name, program.source.text)


@pytest.mark.parametrize("name", ["test.c", "test.cpp"])
@pytest.mark.parametrize("place", [None, Path(sys.prefix).parent], ids=["elsewhere", "above the compiler"])
def test_the_second_time_nothing_is_compiled(
    folder: Path, name: str, place: Path | None, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what lies below the working directory, the compiler gives relative names."""
    monkeypatch.chdir(place or folder)
    with (folder / name).open("a") as file:
        file.write("#include <stdint.h>\n")
    settle()
    first, second = (parse_files([str(folder / name)]) for _ in range(2))
    assert compilations == [name]
    assert first is not second
    assert whole(first) == whole(second)
    sources = {id(span.source) for function in second.functions for span in function.spans if span is not None}
    assert sources == {id(second.source)}


def test_another_question_about_the_same_file_is_not_compiled_again(folder: Path, compilations: list[str]) -> None:
    path = str(folder / "test.c")
    parse_files([path])
    parse_files([path], nondet=(0, 7))
    parse_files([path], dialect=Dialect(assert_branches=True))
    assert compilations == ["test.c"]
    parse_files([path], ["-DOTHER"])
    parse_files([path], dialect=Dialect(overflow=True))
    assert compilations == ["test.c"] * 3


def test_of_several_files_those_that_changed_are_compiled_again(folder: Path, compilations: list[str]) -> None:
    other = folder / "other.c"
    for text in ("int other;\n", "int other = 2;\n"):
        other.write_text(text)
        settle()
        parse_files([str(folder / "test.c"), str(other)])
    assert compilations == ["test.c", "other.c", "other.c"]


def change_file(folder: Path) -> None:
    (folder / "test.c").write_text(TEXT.replace("VALUE", "5"))


def change_header(folder: Path) -> None:
    (folder / "value.h").write_text("#define VALUE 5\n")


def change_header_and_nothing_else(folder: Path) -> None:
    header = folder / "value.h"
    times = header.stat()
    change_header(folder)
    os.utime(header, ns=(times.st_atime_ns, times.st_mtime_ns))


def put_another_header_in_front(folder: Path) -> None:
    (folder / "first" / "value.h").write_text("#define VALUE 5\n")


def put_another_header_into_a_new_folder(folder: Path) -> None:
    (folder / "none" / "deep").mkdir(parents=True)
    (folder / "none" / "deep" / "inner.h").write_text("#undef VALUE\n#define VALUE 5\n")


@pytest.mark.parametrize(
    "change", [change_file, change_header, change_header_and_nothing_else], ids=lambda change: change.__name__
)
def test_a_change_is_noticed(folder: Path, change: Callable[[Path], None]) -> None:
    assert value(folder / "test.c") == value(folder / "test.c") == 4
    change(folder)
    assert value(folder / "test.c") == 5


@pytest.mark.parametrize(
    "change",
    [put_another_header_in_front, put_another_header_into_a_new_folder],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("form", [("-I{0}",), ("-I", "{0}")])
def test_a_header_that_hides_another_is_noticed(
    folder: Path, change: Callable[[Path], None], form: tuple[str, ...], compilations: list[str]
) -> None:
    flags = [word.format(folder / name) for name in ("none", "first", "second") for word in form]
    for name in ("first", "second/deep"):
        (folder / name).mkdir(parents=True)
    (folder / "value.h").rename(folder / "second" / "value.h")
    (folder / "second" / "deep" / "inner.h").write_text("\n")
    (folder / "test.c").write_text(TEXT.replace('"value.h"', "<value.h>\n#include <deep/inner.h>"))
    settle()
    assert value(folder / "test.c", *flags) == value(folder / "test.c", *flags) == 4
    assert len(compilations) == 1
    change(folder)
    assert value(folder / "test.c", *flags) == 5


def test_a_header_that_is_gone_is_an_error(folder: Path) -> None:
    assert value(folder / "test.c") == 4
    (folder / "value.h").unlink()
    with pytest.raises(InputError, match=r"value\.h"):
        parse_files([str(folder / "test.c")])


def test_what_is_touched_and_not_changed_still_serves(folder: Path, compilations: list[str]) -> None:
    assert value(folder / "test.c") == 4
    (folder / "value.h").touch()
    (folder / "notes.txt").write_text("of no use to a compiler\n")
    assert value(folder / "test.c") == 4
    assert len(compilations) == 1


def test_a_file_that_has_just_been_written_may_change_once_more(folder: Path, compilations: list[str]) -> None:
    for number in range(6):
        (folder / "value.h").write_text(f"#define VALUE {number}\n")
        assert value(folder / "test.c") == number


@pytest.mark.parametrize(
    "text",
    [
        '#if __has_include("other.h")\n#define VALUE 5\n#else\n#define VALUE 4\n#endif\n',
        "#include_next <stdint.h>\n#define VALUE 4\n",
    ],
)
def test_who_asks_for_other_files_is_compiled_each_time(folder: Path, text: str, compilations: list[str]) -> None:
    (folder / "value.h").write_text(text)
    settle()
    assert value(folder / "test.c") == value(folder / "test.c") == 4
    assert len(compilations) == 2


@pytest.mark.parametrize("flag", ["-includevalue.h", "-isystem.", "-Wp,-DVALUE=4", "-fmodules", "@flags"])
def test_flags_that_name_other_files_are_not_kept(flag: str) -> None:
    assert not driver.can_be_kept([flag])


@pytest.mark.parametrize(
    "flag", ["-DX=1", "-Iinclude", "-std=c++20", "-O2", "-Wall", "-w", "-pthread", "-fno-exceptions", "-m32"]
)
def test_other_flags_are(flag: str) -> None:
    assert driver.can_be_kept([flag])
    assert driver.can_be_kept(["-I", "include", "-D", "X", flag])
    assert not driver.can_be_kept(["-include", "value.h", flag])


@pytest.mark.parametrize("name", kept.TELLING[:2])
def test_nor_is_what_a_variable_sends_elsewhere(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str]
) -> None:
    (folder / "value.h").rename(folder / "cache.h")
    monkeypatch.setenv(name, str(folder / "there"))
    (folder / "there").mkdir()
    for number in (4, 5):
        (folder / "there" / "value.h").write_text(f"#define VALUE {number}\n")
        settle()
        assert value(folder / "test.c") == number
    monkeypatch.delenv(name)
    with pytest.raises(InputError):
        parse_files([str(folder / "test.c")])


def test_another_compiler_is_asked_each_time(folder: Path, tmp_path: Path) -> None:
    module, program = tmp_path / "saved.ll", tmp_path / "clang"
    path = str(folder / "test.c")
    program.write_text(f'#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done\ncp {module} "$2"\n')
    program.chmod(0o755)
    for number in (3, 8):
        module.write_text(f"define i32 @main() {{\n  ret i32 {number}\n}}\n")
        assert run(parse_files([path], compiler=str(program))).value == number


def test_where_nothing_can_be_kept_everything_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for base in (os.devnull, "/proc/nowhere", str(folder)):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert value(folder / "test.c") == 4
    monkeypatch.setattr(cache_module, "monthly_folder", lambda kind: None)
    assert value(folder / "test.c") == value(folder / "test.c") == 4


@pytest.mark.parametrize("kind", ["ir", "programs"])
@pytest.mark.parametrize("damage", [lambda text: b"", lambda text: text[:-9], lambda text: text.replace(b"4", b"5")])
def test_what_is_damaged_is_made_again(folder: Path, kind: str, damage: Callable[[bytes], bytes]) -> None:
    assert value(folder / "test.c") == 4
    place = monthly_folder(kind)
    assert place is not None
    (file,) = place.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert value(folder / "test.c") == 4


def test_a_changed_front_end_reads_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[str]
) -> None:
    read: list[str] = []

    def translated(*arguments: Any) -> tuple[Program, list[kept.Reads] | None]:
        read.append("once more")
        return translate(*arguments)

    monkeypatch.setattr("dekker.frontends.c.translate", translated)
    for code in ("one", "one", "other"):
        monkeypatch.setattr(kept, "_code", lambda code=code: code)
        parse_files([str(folder / "test.c")])
    assert len(read) == 2
    assert compilations == ["test.c"]


def test_the_front_end_is_known_by_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "frontends" / "c" / "library"
    inner.mkdir(parents=True)
    monkeypatch.setattr(kept, "PACKAGE", str(tmp_path))
    seen = {kept._code.__wrapped__()}
    for file in (inner / "text", inner.parent / "module.py"):
        for text in ("one", "other"):
            file.write_text(text)
            settle()
            seen.add(kept._code.__wrapped__())
    assert len(seen) == 5


def test_what_is_kept_consists_of_programs_alone() -> None:
    for stranger in (os.system, subprocess.Popen, parse_files, kept.Reads(("", []), [], {}, {})):
        with pytest.raises(pickle.UnpicklingError, match="no part of a program"):
            kept._Reader(io.BytesIO(pickle.dumps(stranger))).load()


def test_processes_do_not_disturb_one_another(folder: Path) -> None:
    command = [sys.executable, "-c", PARSER, str(folder / "test.c"), str(folder / "test.cpp")]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
