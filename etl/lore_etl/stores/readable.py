"""Let an index be read where nothing can be written: from a private copy, and with room in reserve on a full disk.

SQLite, Chroma and the lock write even while they read.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lore_etl.config.project import cache_folder
from lore_etl.core.errors import Busy
from lore_etl.stores.claim import LOCK, record_folder
from lore_etl.system.file_locks import close_locked, try_lock
from lore_etl.system.nofollow import may_write, open_regular

COPIES = "read-only"
RESERVE = "reserve"
RESERVE_BYTES = 128_000  # the shared memory of the catalogue and of the embedding cache takes 32 kB each
AMPLE = 100  # times the reserve must be free before it is taken
PREFIXES = ("catalogue.", "embeddings.", "keywords", "vectors-", "chroma-id.json")
"""The beginnings of the names in an index folder that searches need."""


def folder_of_stores(index: Path) -> Path:
    """Return the folder whose stores are opened: the index folder, or the place of its copy if it cannot be written."""
    if not index.is_dir() or may_write(index):
        return index
    return cache_folder() / COPIES / record_folder(index).name


def copy_stores(index: Path, copy: Path) -> None:
    """Replace the copy, whose lock the caller holds, by the inspected index. Raises OSError, Busy."""
    remove_copy(copy)
    with _unchanging(index):
        for entry in sorted(index.iterdir()):
            if entry.name.startswith(PREFIXES):
                _copy(entry, copy / entry.name)


def remove_copy(copy: Path) -> None:
    """Delete the content of a copy, except its lock. Raises OSError."""
    for entry in copy.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a folder with the times of the files, which their seals record; follow no symlink."""
    if source.is_dir() and not source.is_symlink():
        target.mkdir(mode=0o700)
        for entry in source.iterdir():
            _copy(entry, target / entry.name)
        return
    with open(open_regular(source), "rb") as content:
        with open(open_regular(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as copied:
            shutil.copyfileobj(content, copied, 1 << 20)
        info = os.fstat(content.fileno())
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))


def adjust_reserve(index: Path) -> None:
    """Take the reserve while there is ample room, and give it back when the disk is full."""
    file = index / RESERVE
    with suppress(OSError):  # a precaution that fails must not stop what would work without it
        free = shutil.disk_usage(index).free
        if free < RESERVE_BYTES:
            file.unlink(missing_ok=True)
        elif free > AMPLE * RESERVE_BYTES and not (file.exists() and file.stat().st_size == RESERVE_BYTES):
            with open(open_regular(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as taken:
                taken.write(os.urandom(RESERVE_BYTES))  # some disks compress zeros to nothing


@contextmanager
def _unchanging(index: Path) -> Iterator[None]:
    """Keep owners away that can write the same index through another path. Raises Busy."""
    try:
        descriptor = open_regular(index / LOCK)
    except FileNotFoundError:
        yield  # the index itself is a copy without its lock
        return
    try:
        if not try_lock(descriptor, shared=True):
            raise Busy("Another process owns this index, and changes it through a path that is writable.")
        yield
    finally:
        close_locked(descriptor)
