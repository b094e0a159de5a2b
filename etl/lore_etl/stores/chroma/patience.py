"""Limit the time that searches wait for a database in another process, because keywords can answer without it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lore_etl.core.errors import DatabaseUnavailable

SEARCH_SECONDS = 5.0  # less than the deadline of a search
AWAY_SECONDS = 10.0
_limit: ContextVar[float | None] = ContextVar("limit", default=None)


def limit() -> float | None:
    """Return the seconds that a request of this call may take; None if the timeout of its connection applies."""
    return _limit.get()


class Patience:
    """The patience of searches with the database of an index. All threads share what it remembers."""

    def __init__(self, seconds: float = SEARCH_SECONDS, away_seconds: float = AWAY_SECONDS) -> None:
        self._seconds, self._away_seconds = seconds, away_seconds
        self._away: tuple[float, str, str] | None = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit the requests of a block; after one in vain, other blocks fail at once. Raises DatabaseUnavailable."""
        now = time.monotonic()
        if (away := self._away) and now < away[0]:
            raise DatabaseUnavailable(*away[1:])
        token = _limit.set(self._seconds)
        try:
            yield
        except DatabaseUnavailable as error:
            if time.monotonic() >= now + self._seconds:
                self._away = (time.monotonic() + self._away_seconds, error.message, error.hint)
            raise
        finally:
            _limit.reset(token)
