"""Lock a knowledge folder for one writer among all threads and processes; the others wait, with a deadline."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lore_etl.core.errors import Busy
from lore_etl.system.file_locks import close_locked, try_lock
from lore_etl.system.nofollow import open_regular
from lore_server.knowledge.safe_files import reporting

_NOTE_BYTES = 4_000
_PAUSE_SECONDS = 0.002  # flock has no timeout; a write takes about 10 ms


class StoreLock:
    """A lock on a file. Unlike a lock of `filelock`, a child process can inherit it, see `descriptor`.

    All methods raise StorageError if the system cannot read or write the file.
    """

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self.wait_seconds = wait_seconds
        self._thread = threading.Lock()
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """Return the descriptor for git to inherit, so that after a kill the lock is held until git has finished."""
        assert self._descriptor is not None, "only while the lock is held"
        return self._descriptor

    def note(self, text: str) -> None:
        """Record the current operation, or "" when it is finished; after a kill, `left_off` returns it."""
        data = text.encode("utf-8", "replace")[:_NOTE_BYTES]
        with reporting(str(self._path)):
            os.ftruncate(self.descriptor, len(data))
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            os.write(self.descriptor, data)

    def left_off(self) -> str:
        """Return the operation that a killed writer did not finish; empty if there is none."""
        with reporting(str(self._path)):
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            return os.read(self.descriptor, _NOTE_BYTES).decode("utf-8", "replace").replace("\0", "").strip()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock. Raises Busy if another writer held it until the deadline."""
        deadline = time.monotonic() + self.wait_seconds
        if not self._thread.acquire(timeout=self.wait_seconds):
            raise Busy("Another call is writing to the knowledge folder.")
        try:
            self._descriptor = self._locked(deadline)
            try:
                yield
            finally:
                descriptor, self._descriptor = self._descriptor, None
                with reporting(str(self._path)):
                    close_locked(descriptor)
        finally:
            self._thread.release()

    def _locked(self, deadline: float) -> int:
        with reporting(str(self._path)):
            descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT)
            try:
                while not try_lock(descriptor):
                    if time.monotonic() > deadline:
                        raise Busy("Another process is writing to the knowledge folder.")
                    time.sleep(_PAUSE_SECONDS)
            except BaseException:
                os.close(descriptor)
                raise
        return descriptor
