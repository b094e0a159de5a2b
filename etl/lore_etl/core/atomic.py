"""Writing files so that a reader, or a crash, sees the old content or the new and nothing between."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lore_etl.core.errors import StorageError
from lore_etl.system.durable import replace, sync_folder


def write_atomically(path: Path, parts: Iterable[str], hint: str | None = None, mode: int = 0o666) -> None:
    """Write beside the target, make it durable, then rename over it. `hint` says what to do if that fails.

    The file is created with `mode`, less what the umask takes.

    Raises:
        StorageError: the disk is full or not writable; the target is as it was.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(
            temporary, "w", encoding="utf-8", newline="\n", opener=lambda name, flags: os.open(name, flags, mode)
        ) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StorageError(f"Cannot write {path.name}: {error.strerror}.", hint) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def put_aside(path: Path) -> None:
    """Rename a damaged SQLite file and its companions: a log left behind would be replayed into the next one."""
    for suffix in ("", "-wal", "-shm"):
        file = path.with_name(path.name + suffix)
        if file.exists():
            replace(file, file.with_name(f"{file.name}.damaged"))


def remove_folder(folder: Path) -> None:
    """Delete what is derived: a store that is damaged or no longer wanted."""
    shutil.rmtree(folder, ignore_errors=True)
