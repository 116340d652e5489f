"""The file of a checkpoint. Its first line names the format and has a checksum of the rest, which is one JSON object.

It is written beside the old one and takes its place in one step, so that at every moment there is a whole one. A
symbolic link stays one, and what it leads to is replaced.
"""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

from dekker.errors import InputError

MAGIC = "dekker-checkpoint"
VERSION = 6


def require_place(name: str) -> None:
    """`InputError` unless a checkpoint can be written there, and nothing is lost by it but another one."""
    if not name:
        raise InputError("the name of the checkpoint is empty", hint="--checkpoint needs the name of a file")
    file = Path(name)
    try:
        target = _target(file)
        _require_no_loss(file, target)
        beside = _beside(target)
        beside.open("wb").close()
        beside.unlink()
    except (OSError, ValueError) as error:
        raise _not_written(file, error) from None


def _require_no_loss(file: Path, target: Path) -> None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"cannot write the checkpoint '{file}': it is a folder")
    if not stat.S_ISREG(mode):
        raise InputError(f"cannot write the checkpoint '{file}': it is no ordinary file")
    with target.open("rb") as stream:
        begins = stream.read(len(MAGIC) + 1)
    if begins not in (b"", f"{MAGIC} ".encode()):
        raise InputError(
            f"'{file}' exists and is no checkpoint, so that it is not replaced by one",
            hint="give --checkpoint another name",
        )


def write_content(file: Path, content: dict[str, Any]) -> None:
    body = json.dumps(content, separators=(",", ":")).encode()
    head = f"{MAGIC} {VERSION} {sha256(body).hexdigest()}\n".encode()
    try:
        target = _target(file)
        beside = _beside(target)
    except OSError as error:
        raise _not_written(file, error) from None
    try:
        with beside.open("wb") as stream:
            stream.write(head + body)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _not_written(file, error) from None


def read_content(file: Path) -> dict[str, Any]:
    """`InputError` for whatever is no checkpoint, or a damaged one, or one of another version."""
    try:
        head, _, body = file.read_bytes().partition(b"\n")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{file}': {getattr(error, 'strerror', error)}") from None
    words = head.decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != MAGIC:
        raise InputError(f"'{file}' is no checkpoint", hint="`dekker check PROGRAM --checkpoint FILE` writes one")
    if words[1] != str(VERSION):
        raise InputError(f"'{file}' is a checkpoint of version {words[1]}; this Dekker reads version {VERSION}")
    if sha256(body).hexdigest() != words[2]:
        raise damaged(file, "its checksum is wrong")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise damaged(file, "it holds no JSON") from None
    if not isinstance(content, dict):
        raise damaged(file, "it holds no object")
    return content


def damaged(file: Path, reason: str) -> InputError:
    return InputError(f"'{file}' is a damaged checkpoint: {reason}")


def _not_written(file: Path, error: OSError | ValueError) -> InputError:
    return InputError(f"cannot write the checkpoint '{file}': {getattr(error, 'strerror', None) or error}")


def _target(file: Path) -> Path:
    """Where a link leads to."""
    return Path(os.path.realpath(file)) if file.is_symlink() else file


def _beside(target: Path) -> Path:
    """A name that is not too long if that of the target is not."""
    number = sha256(os.fsencode(target.name)).hexdigest()[:16]
    return target.parent / f".{number}.{os.getpid()}.new"


def _sync_folder(folder: Path) -> None:
    """The new name must be on the disk, too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
