"""What was called, one JSON object a line, in the seed's fields; never what was written, and never in a call's way."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lore_etl.core.clock import precise_timestamp

ACTIVITY = "activity.log"
LARGEST_BYTES = 5_000_000
KEPT = 3
_TEXT_CHARACTERS = 300


@dataclass(frozen=True)
class Activity:
    """One call. `duration` is in milliseconds; what is None or empty is left out of the line."""

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
        """The fields by the seed's names."""
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
    """The log in a knowledge folder; without the folder nothing is logged."""

    def __init__(self, home: Path, largest_bytes: int = LARGEST_BYTES) -> None:
        self._path = home / ACTIVITY
        self._largest = largest_bytes

    def add(self, activity: Activity) -> None:
        """Append a line. What goes wrong here is not the call's concern."""
        with contextlib.suppress(OSError, ValueError):
            line = json.dumps(activity.record(), ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            # a pipe of that name would block
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            try:
                facts = os.fstat(descriptor)
                if stat.S_ISREG(facts.st_mode):
                    os.write(descriptor, line)  # one write of a line: processes do not mix theirs
                    if facts.st_size + len(line) > self._largest:
                        self._rotate(descriptor)
            finally:
                os.close(descriptor)

    def _rotate(self, descriptor: int) -> None:
        """The log becomes `activity.log.1`; whoever else sees that it is full finds the lock taken or it moved."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino != self._path.lstat().st_ino:
            return
        for number in range(KEPT - 1, 0, -1):
            older = self._path.with_name(f"{ACTIVITY}.{number}")
            if older.exists():
                older.rename(older.with_name(f"{ACTIVITY}.{number + 1}"))
        self._path.rename(self._path.with_name(f"{ACTIVITY}.1"))
