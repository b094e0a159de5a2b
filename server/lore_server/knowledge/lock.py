"""One writer of a knowledge folder at a time, among threads and processes; the others queue, with a deadline."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lore_etl.core.errors import AccessDenied, Busy

_NOTE_BYTES = 4_000
_PAUSE_SECONDS = 0.002  # the kernel has no wait with a deadline; a write takes some 10 ms


class StoreLock:
    """An flock on a file. Unlike `filelock`, it can be handed to a child process, see `descriptor`."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self._wait = wait_seconds
        self._thread = threading.Lock()
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """To be inherited by git: if we are killed, the lock is held until git, which works on, has ended too."""
        assert self._descriptor is not None, "only while the lock is held"
        return self._descriptor

    def note(self, text: str) -> None:
        """Say what is being done; empty when it is done. After a kill the next one reads it, see `left_off`."""
        data = text.encode("utf-8", "replace")[:_NOTE_BYTES]
        os.ftruncate(self.descriptor, len(data))
        os.pwrite(self.descriptor, data, 0)

    def left_off(self) -> str:
        """What a writer that died was doing; empty if none did."""
        return os.pread(self.descriptor, _NOTE_BYTES, 0).decode("utf-8", "replace").replace("\0", "").strip()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock.

        Raises:
            Busy: another writer had it all the time.
            AccessDenied: the folder cannot be written.
        """
        deadline = time.monotonic() + self._wait
        if not self._thread.acquire(timeout=self._wait):
            raise Busy("Another call is writing to the knowledge folder.")
        try:
            self._descriptor = self._locked(deadline)
            try:
                yield
            finally:
                os.close(self._descriptor)
                self._descriptor = None
        finally:
            self._thread.release()

    def _locked(self, deadline: float) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise AccessDenied(f"Cannot lock the knowledge folder: {error.strerror}.") from error
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(descriptor)
                    raise Busy("Another process is writing to the knowledge folder.") from None
                time.sleep(_PAUSE_SECONDS)
            except BaseException:
                os.close(descriptor)
                raise
            else:
                return descriptor
