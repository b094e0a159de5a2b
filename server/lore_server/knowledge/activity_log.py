"""Log of calls: one JSON object per line, with the seed's field names.

It never contains the written texts, and an error in logging never makes a call fail.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lore_etl.core.clock import precise_timestamp
from lore_etl.system.durable import replace
from lore_etl.system.file_locks import close_locked, try_lock
from lore_etl.system.nofollow import open_regular

ACTIVITY = "activity.log"
LARGEST_BYTES = 5_000_000
KEPT = 3
_TEXT_CHARACTERS = 300


@dataclass(frozen=True)
class Activity:
    """A call. `duration` is in milliseconds; optional fields that are None or empty are omitted from the line."""

    method: str
    success: bool
    trace_id: str
    duration: float
    project_id: str | None = None
    filename: str | None = None
    chapter_title: str | None = None
    error: str | None = None
    error_code: str | None = None
    error_context: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the fields under the seed's names."""
        texts = {"project_id": self.project_id, "filename": self.filename, "chapter_title": self.chapter_title}
        found: dict[str, Any] = {"timestamp": precise_timestamp(), "method": self.method, "success": self.success}
        found |= {name: text[:_TEXT_CHARACTERS] for name, text in texts.items() if text}
        found |= {"traceId": self.trace_id, "duration": round(self.duration, 1)}
        if not self.success:
            found |= {"error": (self.error or "")[:_TEXT_CHARACTERS], "errorCode": self.error_code}
            context = {name: str(text)[:_TEXT_CHARACTERS] for name, text in self.error_context.items()}
            found |= {"errorContext": context} if context else {}
        return found


class ActivityLog:
    """The log in a knowledge folder; if the folder does not exist, nothing is logged."""

    def __init__(self, home: Path, largest_bytes: int = LARGEST_BYTES) -> None:
        self._path = home / ACTIVITY
        self._largest = largest_bytes

    def add(self, activity: Activity) -> None:
        """Append a line. Errors are ignored, because logging must not make a call fail."""
        with contextlib.suppress(OSError, ValueError):
            line = json.dumps(activity.record(), ensure_ascii=False).encode("utf-8", "replace") + b"\n"
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
        """Rename the log to `activity.log.1`, unless another process is doing so or has just done so."""
        lock = self._path.with_name(f"{ACTIVITY}.lock")
        descriptor = open_regular(lock, os.O_RDWR | os.O_CREAT)
        if not try_lock(descriptor):
            os.close(descriptor)
            return
        try:
            if self._is_full():
                for number in range(KEPT - 1, 0, -1):
                    older = self._path.with_name(f"{ACTIVITY}.{number}")
                    if older.exists():
                        replace(older, older.with_name(f"{ACTIVITY}.{number + 1}"))
                replace(self._path, self._path.with_name(f"{ACTIVITY}.1"))
        finally:
            close_locked(descriptor)
            lock.unlink(missing_ok=True)
