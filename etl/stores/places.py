"""Where Chroma lives: in this process, in one of our own, or on somebody's server. One function chooses.

What the ways differ in is said by two protocols: where one generation is kept, and where all of them are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from etl.errors import LoreError
from etl.settings import DatabaseSettings
from etl.stores.address import check_local, cloud_address, http_address

if TYPE_CHECKING:
    from etl.stores.vectors import VectorStore


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


class Place(Protocol):
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
    from etl.stores import connections, folders, remote

    if settings.mode == "http":
        return remote.RemoteGenerations(folder, settings, http_address(settings, environment))
    if settings.mode == "cloud":
        return remote.RemoteGenerations(folder, settings, cloud_address(settings, environment), remote.CLOUD)
    check_local(settings)
    connect = connections.Served if settings.mode == "server" else connections.Embedded
    return folders.FolderGenerations(folder, settings, connect)
