"""Format and parse all timestamps that Lore writes."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def timestamp(at: float | None = None) -> str:
    """Return a time (seconds since the epoch, by default now) as text, such as `2026-01-31T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def precise_timestamp() -> str:
    """Return the present time with milliseconds, such as `2026-01-31T12:00:00.123Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local_timestamp() -> str:
    """Return the present time in the local time zone, such as `2026-01-31T14:00:00+0200`."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def seconds_since(text: str | None) -> int | None:
    """Return the whole seconds since a `timestamp`, or None for None. Raises ValueError."""
    if text is None:
        return None
    return max(0, int(time.time() - datetime.fromisoformat(text).timestamp()))
