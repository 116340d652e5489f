"""Where checkpoints are written, and what is read as one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.agreement.test_checkpoints import written
from tests.cli.calls import dekker

from dekker.engines.rsmc import engine as rsmc
from dekker.errors import InputError
from dekker.native import EVERYTHING
from dekker.run.checkpoint import Checkpoints, read_checkpoint
from dekker.run.checkpoint_file import MAGIC, VERSION

OTHERS: tuple[object, ...] = (3, "x", [], {}, True, 1 << 70)
PROGRAM = str(Path(__file__).parents[3] / "examples" / "litmus" / "dekker-x86.litmus")


def checked(file: str, *more: str, program: str = PROGRAM) -> tuple[int, str]:
    outcome = dekker("check", program, "--keep-going", "--checkpoint", file, *more)
    return outcome.status, outcome.err


# --- writing


def test_only_checkpoints_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "state"
    for content in (None, b"", f"{MAGIC} 1 of an older version".encode()):
        if content is not None:
            file.write_bytes(content)
        assert checked(str(file))[0] == 0
        assert read_checkpoint(file).progress.finished
    for content in (b"int main() {}", MAGIC.encode(), b"\0"):
        file.write_bytes(content)
        status, error = checked(str(file))
        assert status == 2
        assert f"'{file}' exists and is no checkpoint" in error
        assert file.read_bytes() == content


def test_the_program_is_not_replaced(tmp_path: Path) -> None:
    program = tmp_path / "p.litmus"
    text = Path(PROGRAM).read_bytes()
    program.write_bytes(text)
    assert checked(str(program), program=str(program))[0] == 2
    assert program.read_bytes() == text


def test_a_link_stays_one(tmp_path: Path) -> None:
    link, target = tmp_path / "link", tmp_path / "folder" / "target"
    target.parent.mkdir()
    link.symlink_to("folder/target")
    for _ in range(2):
        assert checked(str(link))[0] == 0
        assert link.is_symlink()
        assert not target.is_symlink()
        assert dekker("resume", str(link)).status == 0
    assert [file.name for file in target.parent.iterdir()] == ["target"]


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    for file in (pipe, device):
        status, error = checked(str(file))
        assert status == 2
        assert f"'{file}': it is no ordinary file" in error


def test_names_that_are_none_of_files_are_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for file in (".", "/", str(tmp_path), f"{PROGRAM}/x", str(tmp_path / "no" / "x"), f"{tmp_path}/{'k' * 300}", loop):
        status, error = checked(str(file))
        assert status == 2
        assert f"cannot write the checkpoint '{file}'" in error
    assert "the name of the checkpoint is empty" in checked("")[1]


def test_long_names_are_not_too_long(tmp_path: Path) -> None:
    file = tmp_path / ("k" * 250)
    assert checked(str(file))[0] == 0
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("option", ["--json", "--witness", "--html", "--graph", "--sarif", "--junit", "--witness-yaml"])
def test_nothing_else_is_written_over_it(option: str, tmp_path: Path) -> None:
    file, other = tmp_path / "state.svg", tmp_path / "folder" / ".." / "state.svg"
    (tmp_path / "folder").mkdir()
    status, error = checked(str(file), option, str(other))
    assert status == 2
    assert f"{option} would write over the checkpoint" in error
    assert not file.exists()


def test_a_file_that_goes_on_is_not_written_over(tmp_path: Path) -> None:
    file = written(tmp_path)
    content = file.read_bytes()
    for option in ("--json", "--witness"):
        outcome = dekker("resume", str(file), option, str(file))
        assert outcome.status == 2
        assert f"{option} would write over the checkpoint" in outcome.err
        assert file.read_bytes() == content


def test_an_estimate_has_no_checkpoint(tmp_path: Path) -> None:
    status, error = checked(str(tmp_path / "state"), "--estimate")
    assert status == 2
    assert "--estimate" in error
    assert not list(tmp_path.iterdir())


# --- reading


def forge(file: Path, body: bytes) -> None:
    """With the right checksum."""
    file.write_bytes(f"{MAGIC} {VERSION} {sha256(body).hexdigest()}\n".encode() + body)


@pytest.mark.parametrize("body", [b"", b"nan", b"[]", b"{}", b"\xff\xfe", b'"x"', b"[" * 100_000])
def test_what_is_no_object_is_damaged(body: bytes, tmp_path: Path) -> None:
    forge(tmp_path / "state", body)
    outcome = dekker("resume", str(tmp_path / "state"))
    assert outcome.status == 2
    assert "is a damaged checkpoint" in outcome.err


def parts(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = (
        content.items() if isinstance(content, dict) else enumerate(content[:2]) if isinstance(content, list) else ()
    )
    for key, item in inside:
        yield from parts(item, (*path, key))


def with_part(content: dict[str, Any], path: tuple[Any, ...], value: object) -> bytes:
    changed = json.loads(json.dumps(content))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(changed).encode()


def test_parts_of_other_types_are_damage(tmp_path: Path) -> None:
    """No part can be another thing than it is."""
    file = written(tmp_path)
    content = json.loads(file.read_bytes().partition(b"\n")[2])
    n_tried = 0
    for path in parts(content):
        part = content
        for key in path:
            part = part[key]
        if part is None:
            continue
        for value in OTHERS:
            if type(value) is type(part) and value != 1 << 70:
                continue
            forge(file, with_part(content, path, value))
            with pytest.raises(InputError):
                read_checkpoint(file)
            n_tried += 1
    assert n_tried > 300


def cut_off(content: dict[str, Any]) -> None:
    content["progress"]["rest"]["units"] = []


def other_unit(content: dict[str, Any]) -> None:
    content["progress"]["rest"]["units"][0][0] = "x"


def negative_unit(content: dict[str, Any]) -> None:
    content["progress"]["rest"]["units"][0][1] = -1


def nothing_counted(content: dict[str, Any]) -> None:
    content["progress"]["found"]["statistics"] = {}


def negative_rounds(content: dict[str, Any]) -> None:
    content["limits"][0] = -1


def no_checks(content: dict[str, Any]) -> None:
    content["model"]["text"] = "x"


@pytest.mark.parametrize("change", [cut_off, other_unit, negative_unit, nothing_counted, negative_rounds, no_checks])
def test_what_cannot_be_is_refused(change: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    file = written(tmp_path)
    content = json.loads(file.read_bytes().partition(b"\n")[2])
    change(content)
    forge(file, json.dumps(content).encode())
    assert dekker("resume", str(file)).status == 2


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = written(tmp_path)
    checkpoint = read_checkpoint(file)
    again = Checkpoints(file, {}, progress=checkpoint.progress)
    rsmc.run(replace(checkpoint.task, limits=replace(checkpoint.task.limits, max_traces=30), explorer=again))
    expected = replace(again.progress, found=replace(again.progress.found, rest=EVERYTHING))
    assert read_checkpoint(file).progress == replace(expected, limits=checkpoint.progress.limits)
