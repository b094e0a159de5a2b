"""A part of the index that a search keeps to, however much else matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lore_etl.stores.catalogue import Catalogue


class Part(Protocol):
    """Equal parts are equal values: what they hold is kept as long as the index stays as it is."""

    def __hash__(self) -> int: ...

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        """Id of each chunk in it that is of the type -> its row in the vectors."""


@dataclass(frozen=True)
class Below:
    """The files below any of these folders."""

    folders: tuple[str, ...]

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        """Id of each chunk in it that is of the type -> its row in the vectors."""
        return catalogue.rows_below(self.folders, type_)


@dataclass(frozen=True)
class Only:
    """These files."""

    files: frozenset[str]

    def rows(self, catalogue: Catalogue, type_: str | None) -> dict[str, str]:
        """Id of each chunk in it that is of the type -> its row in the vectors."""
        return catalogue.rows_of(self.files, type_)
