"""A scope that limits a search to part of the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lore_etl.stores.catalogue import Catalogue


def type_or_none(type_: str) -> str | None:
    """Return the type of a filter, None for all types."""
    return None if type_ == "all" else type_


class Part(Protocol):
    """A scope. Equal scopes are equal values, so their content can be cached while the index does not change."""

    def __hash__(self) -> int: ...

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        """Return the chunks of this type in scope: chunk id -> row in the vector store."""


@dataclass(frozen=True)
class Below:
    """The files below any of these folders."""

    folders: tuple[str, ...]

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        return catalogue.rows_below(self.folders, type_)


@dataclass(frozen=True)
class Only:
    """These files only."""

    files: frozenset[str]

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        return catalogue.rows_of(self.files, type_)
