"""Interface between a vector store and its Chroma collection. Imports no other module of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lore_etl.core.errors import LoreError

FIRST_ROWS = 20_000  # with more rows, the configured ef_search finds fewer than 98 % of the nearest 100
DATABASE = "chroma.sqlite3"  # in the folder of a generation; Chroma changes it whenever it is opened
NEIGHBOURS = 5  # results of a search that checks whether a row is found
SAME_PLACE = 1e-4  # in single precision with 768 dimensions, the distance of a vector to itself is up to 1.5e-5


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
    """Return the factor of the configured `ef_search`: it doubles whenever the rows quadruple.

    With 32 neighbours, the recall of a fixed `ef_search` falls from .986 at 20,000 rows to .843 at 300,000.
    """
    factor = 1
    while rows > FIRST_ROWS * factor**2:
        factor *= 2
    return factor


def unreached(row_ids: Sequence[str], found: Mapping[str, Any]) -> list[int]:
    """Return the positions of the rows that the searches for their vectors have not found.

    A row also counts as found if other rows at the same distance take its place, because texts may be equal.
    """
    searches = enumerate(zip(row_ids, found["ids"], found["distances"], strict=True))
    return [
        n for n, (row_id, ids, distances) in searches if row_id not in ids and max(distances, default=1) > SAME_PLACE
    ]


class Backend(Protocol):
    """The storage of one generation."""

    limits: Limits

    def open(self, rows: int) -> Any:
        """Open the collection for searches among so many rows. Raises StorageError and Chroma's errors."""

    def where(self) -> str:
        """Return a readable description of the location."""

    def is_alive(self) -> bool:
        """Return whether a call can be expected to succeed; if not, close the store and open it again."""

    def unseal(self) -> None:
        """Mark the files as being written."""

    def clean(self) -> None:
        """Remove all content that is not part of a vector from the files."""

    def seal(self) -> None:
        """Mark everything written so far as complete."""

    def close(self, is_sound: bool) -> None:
        """Close the collection, and seal its files if they are undamaged. Can be called more than once."""

    def explain(self, error: BaseException) -> LoreError | None:
        """Return the Lore error for an error of Chroma; None if the error is not from Chroma."""
