"""How a vector store reaches its Chroma collection. Imports no other module of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from lore_etl.core.errors import LoreError

SAME_PLACE = 1e-4  # in single precision a vector is up to 1.5e-5 from itself at 768 dimensions


@dataclass(frozen=True)
class Limits:
    """How much is asked for at once."""

    write: int = 2_000
    heal: int = 100
    """Rows that exist: one alone can take 60 ms on a busy machine, and a request has a time-out."""
    read: int = 5_000
    results: int = 10_000
    lookups: int = 200
    among: int = 50_000
    """Rows that a search can be kept to."""


class Backend(Protocol):
    """Where one generation is kept."""

    limits: Limits

    def open(self) -> Any:
        """Chroma's collection. Raises StorageError, and what Chroma raises."""

    def where(self) -> str:
        """The place in words, for people."""

    def is_alive(self) -> bool:
        """Whether a call can be expected to work."""

    def unseal(self) -> None:
        """We are about to write."""

    def seal(self) -> None:
        """What was written so far is whole."""

    def close(self, is_sound: bool) -> None:
        """Let go of it, and remember how it was left if it is sound; can be called again."""

    def explain(self, error: BaseException) -> LoreError | None:
        """An error of Chroma as one of ours; None if it is none of Chroma's."""
