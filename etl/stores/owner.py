"""One process owns an index: a file lock, and a note beside it that says who."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path

from filelock import FileLock, Timeout

from etl.errors import Busy, StorageError
from etl.stores.atomic import write_atomically

LOCK = "owner.lock"
NOTE = "owner.json"


class Ownership:
    """Held from the first use of an index to its close; the lock goes with the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # taken in one thread, released in another
        self._lock = FileLock(folder / LOCK, mode=0o600, thread_local=False)

    def take(self, wait_seconds: float = 0) -> None:
        """Own the index.

        Raises:
            Busy: another process owns it; the message says which.
            StorageError: the folder cannot be written.
        """
        try:
            self._lock.acquire(timeout=wait_seconds)
        except Timeout as error:
            raise Busy(f"Another process owns this index: {self._holder()}.") from error
        except OSError as error:
            raise StorageError(f"Cannot write to the index folder {self._folder.name}/: {error.strerror}.") from error
        with contextlib.suppress(StorageError):  # on a full disk the index can still be read
            write_atomically(self._folder / NOTE, (json.dumps(_me()),))

    def release(self) -> None:
        """Let others own it."""
        self._lock.release()

    def _holder(self) -> str:
        try:
            note = json.loads((self._folder / NOTE).read_text(encoding="utf-8"))
            return f"`{note['command']}` (pid {note['pid']}) since {note['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "it did not say who it is"


def _me() -> dict[str, object]:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])[:100]
    return {"pid": os.getpid(), "command": command, "since": time.strftime("%Y-%m-%d %H:%M:%S")}
