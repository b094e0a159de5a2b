"""Where the vectors of an index live: in this process, in a child server, on a remote server or in Chroma Cloud."""

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
        """The store of one generation, which holds so many vectors at least. Raises StorageError."""

    def exists(self, number: int) -> bool:
        """Whether there is anything of it."""

    def is_as_left(self, number: int, rows: int) -> bool:
        """Whether it is as the last load left it, as far as can be told without opening its vectors."""

    def remove(self, number: int) -> None:
        """Delete it, if there is anything of it."""

    def keep_only(self, number: int) -> None:
        """Delete all others."""


def generations_of(
    folder: Path, settings: DatabaseSettings, environment: Mapping[str, str] = os.environ
) -> Generations:
    """What the configuration says of the index in this folder; nothing is opened.

    Raises:
        ConfigError: keys do not fit together, or a variable of the environment is missing.
    """
    if settings.mode == "http":
        return RemoteGenerations(folder, settings, http_address(settings, environment))
    if settings.mode == "cloud":
        return RemoteGenerations(folder, settings, cloud_address(settings, environment), CLOUD)
    check_local(settings)
    return FolderGenerations(folder, settings, ChildChroma if settings.mode == "server" else EmbeddedChroma)
