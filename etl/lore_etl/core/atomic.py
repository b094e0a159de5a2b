"""Write files atomically: readers see either the old or the new content, even after a crash."""

import glob
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lore_etl.core.errors import StorageError, os_errors_as
from lore_etl.system.durable import replace, sync_folder
from lore_etl.system.nofollow import open_regular, read_regular
from lore_etl.system.processes import born


def write_atomically(path: Path, parts: Iterable[str | bytes], hint: str | None = None, mode: int = 0o666) -> None:
    """Write a file durably and atomically; `hint` is the hint of the error. Raises StorageError."""
    with os_errors_as(StorageError, f"Cannot write {path.name}", hint):
        replace_content(path, parts, mode, is_durable=True)
        sync_folder(path.parent)


def read_if_any(path: Path, limit: int = 1_000, errors: str = "strict") -> str | None:
    """Return up to `limit` bytes of a regular file as text; None if there is none, or if it is a link."""
    with suppress(OSError, UnicodeDecodeError):
        return read_regular(path, limit).decode(errors=errors)
    return None


def replace_content(path: Path, parts: Iterable[str | bytes], mode: int, is_durable: bool = False) -> None:
    """Write a temporary file beside the target and rename it, with `is_durable` after a sync. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=lambda name, flags: open_regular(name, flags, mode)) as file:
            file.writelines(part if isinstance(part, bytes) else part.encode() for part in parts)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def remove_temporary(path: Path) -> None:
    """Delete the temporary files of processes that were killed while they wrote this file."""
    for file in path.parent.glob(f"{glob.escape(path.name)}.*.tmp"):
        number = file.name[len(path.name) + 1 : -len(".tmp")]
        if number.isdecimal() and born(int(number)) is None:
            with suppress(OSError):
                file.unlink()


def put_aside(path: Path) -> None:
    """Rename a damaged SQLite file with its log files, because a remaining log would be replayed into the next file."""
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        remove_folder(file)  # a folder in its place could not replace a file that was set aside before
        if file.exists():
            replace(file, file.with_name(f"{file.name}.damaged"))


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
