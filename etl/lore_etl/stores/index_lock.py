"""Let one process own an index, with a file lock in the index folder and a note about its owner."""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import FileLock, Timeout

from lore_etl.core.errors import Busy, StorageError
from lore_etl.stores.claim import LOCK, inspect
from lore_etl.stores.owner_file import living_note, my_note, read_note, remove_note, write_note

RELEASE_SECONDS = 5.0
PAUSE_SECONDS = 0.02


class Ownership:
    """The lock of an index, held from its first use to its close; the system releases it if the process is killed.

    The lock is in the folder of the stores, which differs from the index folder if that is read-only.
    """

    def __init__(self, folder: Path, kind: str = "direct", stores: Path | None = None) -> None:
        self._folder = folder
        # acquired in one thread, released in another
        self._lock = FileLock((stores or folder) / LOCK, mode=0o600, thread_local=False)
        self._note = my_note(kind)

    def take(self, wait_seconds: float = RELEASE_SECONDS) -> None:
        """Own the index, and do not wait for an owner that is running. Raises Busy, StorageError.

        Wait for a holder without a note, or with the note of a process that has ended: its last threads may be ending,
        it may be about to write its note, or it only checks the lock, which it then holds for a moment.
        """
        try:
            self._lock.acquire(wait_seconds, PAUSE_SECONDS, cancel_check=self._has_owner)
        except Timeout as error:
            raise Busy(f"Another process owns this index: {self._holder()}.", _hint(self._folder)) from error
        except OSError as error:
            inspect(self._folder)  # reports the cause, if the lock is a symlink
            raise StorageError(f"Cannot write to the index folder {self._folder.name}/: {error.strerror}.") from error
        with contextlib.suppress(OSError):  # on a full disk the index can still be read
            write_note(self._folder, self._note)

    def release(self) -> None:
        if self._lock.is_locked:
            remove_note(self._folder, self._note)
        self._lock.release()

    def _has_owner(self) -> bool:
        return living_note(self._folder) is not None

    def _holder(self) -> str:
        note = read_note(self._folder)
        if note is None:
            return "it is unidentified"
        return f"`{note.command}` (pid {note.pid}) since {note.since}"


def _hint(folder: Path) -> str:
    note = read_note(folder)
    if note is not None and note.address:
        return "Stop it with `lore stop`, or omit --no-daemon to use it."
    return "Wait for it to finish and try again."
