"""Format and parse timestamps, and `valid_until`, the last day on which a document is valid."""

import datetime
import re
import time

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")  # YAML also accepts `2026-6-1` as a date


def timestamp(at: float | None = None) -> str:
    """Return a time (seconds since the epoch, by default now) as text, such as `2026-01-31T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def precise_timestamp() -> str:
    """Return the present time with milliseconds, such as `2026-01-31T12:00:00.123Z`."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_since(text: str | None) -> int | None:
    """Return the whole seconds since a `timestamp`, or None for None. Raises ValueError."""
    if text is None:
        return None
    return max(0, int(time.time() - datetime.datetime.fromisoformat(text).timestamp()))


def day_or_none(value: object) -> datetime.date | None:
    """Return the day of a date, or the local day of a time with a zone; None for any other value."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        moment: datetime.date = value if isinstance(value, datetime.datetime) else _parsed(str(value).strip())
        if not isinstance(moment, datetime.datetime):
            return moment
        return moment.astimezone().date() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def problem_of(value: object) -> str | None:
    """Return what is wrong with a `valid_until`; None for a day, and if there is no value."""
    if value is None or value == "" or day_or_none(value) is not None:
        return None
    expected = "a date such as 2026-12-31, or a time with a zone such as 2026-12-31T18:00:00Z"
    return f"valid_until `{str(value)[:50]}` is not {expected}"


def _parsed(text: str) -> datetime.date:
    if found := _DAY.fullmatch(text):
        year, month, day = map(int, found.groups())
        return datetime.date(year, month, day)
    return datetime.datetime.fromisoformat(text)
