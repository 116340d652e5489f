"""What is kept from one run to the next, below the user's cache directory: `$XDG_CACHE_HOME/dekker`, else
`~/.cache/dekker`.

Each kind of thing has a folder there, with a folder for each month; older months are removed, and the oldest things
where they are many. Whoever removes all of it loses time and nothing else. Several processes may read and write at
once: a file is written beside its place and takes it in one step. One that is damaged is as good as none.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from importlib.util import source_hash
from pathlib import Path

MOST_BYTES = 64 << 20
"""Of each kind."""


def monthly_folder(kind: str) -> Path | None:
    """None if nothing can be kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base, "dekker", kind, time.strftime("%Y-%m"))
    try:
        if not folder.exists():
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    except OSError:
        return None


def read_kept(kind: str, name: str) -> bytes | None:
    folder = monthly_folder(kind)
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
    except OSError:
        return None
    checksum, body = content[:8], content[8:]
    return body if source_hash(body) == checksum else None


def keep(kind: str, name: str, body: bytes) -> None:
    """If there is no place for it, nothing happens."""
    folder = monthly_folder(kind)
    if folder is None:
        return
    beside = folder / f"{name}.{os.getpid()}"
    try:
        beside.write_bytes(source_hash(body) + body)
        beside.replace(folder / name)
        _make_room(folder)
    except OSError:
        with suppress(OSError):
            beside.unlink()


def _make_room(folder: Path) -> None:
    """The newer half stays."""
    with os.scandir(folder) as entries:
        found = [(entry.stat(), entry.path) for entry in entries]
    if sum(file.st_size for file, _ in found) <= MOST_BYTES:
        return
    size = 0
    for file, path in sorted(found, key=lambda item: item[0].st_mtime_ns, reverse=True):
        size += file.st_size
        if size > MOST_BYTES // 2:
            os.unlink(path)
