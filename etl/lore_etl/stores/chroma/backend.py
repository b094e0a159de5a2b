"""What vector stores and their connections to Chroma share. Imports no other module of this package."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from lore_etl.core.errors import DatabaseUnavailable

FIRST_ROWS = 20_000  # with more rows, the configured ef_search finds fewer than 98 % of the nearest 100
DATABASE = "chroma.sqlite3"  # in the folder of a generation; Chroma changes it whenever it is opened
NEIGHBOURS = 5  # results of a search that checks whether a row is found
SAME_PLACE = 1e-4  # in single precision with 768 dimensions, the distance of a vector to itself is up to 1.5e-5
SEARCH_SECONDS = 5.0  # less than the deadline of a search
AWAY_SECONDS = 10.0
LIMIT: ContextVar[float | None] = ContextVar("limit", default=None)
"""The seconds that a request of this call may take; None if the timeout of its connection applies."""


@dataclass(frozen=True)
class Limits:
    """The maximum numbers of rows in a request."""

    write: int = 2_000
    heal: int = 100
    """Rows that already exist: each can take 60 ms on a busy machine, and a request has a timeout."""
    read: int = 5_000
    results: int = 10_000
    lookups: int = 200
    among: int = 50_000
    """Rows that a search can be restricted to."""


def effort(rows: int) -> int:
    """Return the factor of the configured `ef_search`: it doubles whenever the rows quadruple."""
    factor = 1
    while rows > FIRST_ROWS * factor**2:
        factor *= 2
    return factor


def unreached(row_ids: Sequence[str], found: Mapping[str, Any]) -> list[int]:
    """Return the positions of rows not found by their vectors; if texts are equal, rows as near count as found."""
    searches = enumerate(zip(row_ids, found["ids"], found["distances"], strict=True))
    return [
        n for n, (row_id, ids, distances) in searches if row_id not in ids and max(distances, default=1) > SAME_PLACE
    ]


class Patience:
    """The patience with a database in another process, shared by all threads: keywords can answer without it."""

    def __init__(self, seconds: float = SEARCH_SECONDS, away_seconds: float = AWAY_SECONDS) -> None:
        self._seconds, self._away_seconds = seconds, away_seconds
        self._away: tuple[float, str, str] | None = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit the requests of a block; after one in vain, other blocks fail at once. Raises DatabaseUnavailable."""
        now = time.monotonic()
        if (away := self._away) and now < away[0]:
            raise DatabaseUnavailable(*away[1:])
        token = LIMIT.set(self._seconds)
        try:
            yield
        except DatabaseUnavailable as error:
            if time.monotonic() >= now + self._seconds:
                self._away = (time.monotonic() + self._away_seconds, error.message, error.hint)
            raise
        finally:
            LIMIT.reset(token)
