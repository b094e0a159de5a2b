"""Choose the storage of an index's vectors: in this process, a child server, a remote server or Chroma Cloud."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.address import check_local, cloud_address, http_address
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma, FolderGenerations
from lore_etl.stores.chroma.remote_collections import CLOUD, RemoteGenerations

if TYPE_CHECKING:
    from lore_etl.stores.chroma.vector_store import VectorStore


class Generations(Protocol):
    """The generations of one index."""

    def open(self, number: int, at_least: int = 0) -> VectorStore:
        """Open the store of a generation, which must have at least that many vectors. Raises StorageError."""

    def exists(self, number: int) -> bool:
        """Return whether any part of the generation exists."""

    def is_as_left(self, number: int, rows: int) -> bool:
        """Return whether it is unchanged since the last load, as far as can be checked without opening its vectors."""

    def remove(self, number: int) -> None:
        """Delete the generation, if it exists."""

    def keep_only(self, number: int) -> None:
        """Delete all other generations."""


def generations_of(
    folder: Path, settings: DatabaseSettings, environment: Mapping[str, str] = os.environ
) -> Generations:
    """Return the configured generations of the index in this folder, without opening them.

    Raises:
        ConfigError: keys contradict each other, or an environment variable is missing.
    """
    if settings.mode == "http":
        return RemoteGenerations(folder, settings, http_address(settings, environment))
    if settings.mode == "cloud":
        return RemoteGenerations(folder, settings, cloud_address(settings, environment), CLOUD)
    check_local(settings)
    return FolderGenerations(folder, settings, ChildChroma if settings.mode == "server" else EmbeddedChroma)
