"""Log of calls: one JSON object per line. A logging error never makes a call fail."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from lore_etl.system.durable import replace
from lore_etl.system.file_locks import close_locked, try_lock
from lore_etl.system.nofollow import open_regular

ACTIVITY = "activity.log"
LARGEST_BYTES = 5_000_000
KEPT = 3


class ActivityLog:
    """The log in a folder; if the folder does not exist, nothing is logged."""

    def __init__(self, home: Path, largest_bytes: int = LARGEST_BYTES, name: str = ACTIVITY) -> None:
        self._path = home / name
        self._largest = largest_bytes

    def add(self, record: Mapping[str, object]) -> None:
        """Append a line. Errors are ignored, because logging must not make a call fail."""
        with contextlib.suppress(OSError, ValueError):
            line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            descriptor = open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(descriptor, line)  # a single write, so that the lines of several processes do not mix
            finally:
                os.close(descriptor)
            if self._is_full():
                self._rotate()

    def _is_full(self) -> bool:
        return self._path.lstat().st_size > self._largest

    def _rotate(self) -> None:
        """Rename the log to `<name>.1`, unless another process is doing so or has just done so."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        descriptor = open_regular(lock, os.O_RDWR | os.O_CREAT)
        if not try_lock(descriptor):
            os.close(descriptor)
            return
        try:
            if self._is_full():
                for number in range(KEPT - 1, 0, -1):
                    older = self._path.with_name(f"{self._path.name}.{number}")
                    if older.exists():
                        replace(older, older.with_name(f"{self._path.name}.{number + 1}"))
                replace(self._path, self._path.with_name(f"{self._path.name}.1"))
        finally:
            close_locked(descriptor)
            lock.unlink(missing_ok=True)
