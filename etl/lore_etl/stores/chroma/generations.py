"""Choose the storage of an index's vectors: in this process, a child server, a remote server or Chroma Cloud."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.address import check_local, cloud_address, http_address
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma, FolderGenerations
from lore_etl.stores.chroma.remote_collections import CLOUD, RemoteGenerations

Generations = FolderGenerations | RemoteGenerations


def generations_of(
    folder: Path, settings: DatabaseSettings, environment: Mapping[str, str] = os.environ
) -> Generations:
    """Return the configured generations of the index in this folder, without opening them. Raises ConfigError."""
    if settings.mode == "http":
        return RemoteGenerations(folder, settings, http_address(settings, environment))
    if settings.mode == "cloud":
        return RemoteGenerations(folder, settings, cloud_address(settings, environment), CLOUD)
    check_local(settings)
    return FolderGenerations(folder, settings, ChildChroma if settings.mode == "server" else EmbeddedChroma)
