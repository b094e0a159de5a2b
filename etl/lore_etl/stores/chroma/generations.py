"""Choose the storage of vectors; remote names contain the index's id, as others may use the same server and name."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.atomic import remove_folder, write_atomically
from lore_etl.core.errors import IndexDamaged, explaining
from lore_etl.stores import integrity
from lore_etl.stores.chroma.address import Address, check_local, cloud_address, http_address
from lore_etl.stores.chroma.backend import Limits
from lore_etl.stores.chroma.child_server import end_left_over
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma, FolderBackend
from lore_etl.stores.chroma.vector_store import VectorStore

if TYPE_CHECKING:
    from lore_etl.stores.chroma.http_client import HttpChroma

IDENTITY = "chroma-id.json"
HTTP = Limits(write=1_000)  # with 4,096 dimensions, a request stays below a server's limit of 40 MiB
CLOUD = Limits(write=300, read=300, results=300, lookups=100, among=300)
"""The limits listed in docs.trychroma.com/cloud/quotas-limits."""


@dataclass(frozen=True)
class _Generations:
    """The generations of the vectors of an index; damage that was found in one is marked in the index folder."""

    folder: Path
    settings: DatabaseSettings

    def mark(self, number: int) -> None:
        integrity.mark(self._place(number))

    def _place(self, number: int) -> Path:
        return self.folder / f"vectors-{number}"


@dataclass(frozen=True)
class FolderGenerations(_Generations):
    """The generations of an index as folders `vectors-N` in the index folder."""

    backend: type[FolderBackend]

    def open(self, number: int, at_least: int = 0) -> VectorStore:
        """Open the store of a generation, which must have at least that many vectors. Raises StorageError."""
        return VectorStore(self.backend(self._place(number), self.settings), at_least)

    def exists(self, number: int) -> bool:
        return any(self._place(number).glob("*"))

    def is_as_left(self, number: int, rows: int) -> bool:
        """Return whether it is unchanged since the last load, as far as can be checked without opening its vectors."""
        return integrity.is_sealed(self._place(number))

    def remove(self, number: int) -> None:
        _remove(self._place(number))

    def keep_only(self, number: int) -> None:
        for folder in self.folder.glob("vectors-*"):
            if folder.is_dir() and folder != self._place(number):
                _remove(folder)


def _remove(folder: Path) -> None:
    end_left_over(folder)
    remove_folder(folder)
    integrity.unmark(folder)


@dataclass(frozen=True)
class RemoteGenerations(_Generations):
    """The generations of an index, each a collection `<collection>-<id of the index>-<number>`."""

    address: Address
    limits: Limits = HTTP

    def name(self, number: int | str) -> str:
        return f"{self.settings.collection}-{_identity(self.folder)}-{number}"

    def open(self, number: int, at_least: int = 0) -> VectorStore:
        from lore_etl.stores.chroma.http_client import HttpChroma, RemoteBackend  # imports Chroma

        if integrity.is_suspect(self._place(number)):
            raise IndexDamaged("The vector store is damaged: vectors differ from those of their texts.")
        name = self.name(number)  # which may fail
        return VectorStore(RemoteBackend(HttpChroma(self.address), name, self.settings, self.limits), at_least)

    def exists(self, number: int) -> bool:
        return self._count(number) is not None

    def is_as_left(self, number: int, rows: int) -> bool:
        return not integrity.is_suspect(self._place(number)) and self._count(number) == rows

    def _count(self, number: int) -> int | None:
        with self._connected() as chroma:
            return chroma.count(self.name(number))

    def remove(self, number: int) -> None:
        with self._connected() as chroma:
            chroma.remove(self.name(number))
        integrity.unmark(self._place(number))

    def keep_only(self, number: int) -> None:
        for mark in self.folder.glob("vectors-*.suspect"):
            if mark != self._place(number).with_suffix(".suspect"):
                mark.unlink(missing_ok=True)
        prefix, kept = self.name(""), self.name(number)
        with self._connected() as chroma:
            for name in chroma.names():
                if name.startswith(prefix) and name != kept:
                    chroma.remove(name)

    @contextmanager
    def _connected(self) -> Iterator[HttpChroma]:
        from lore_etl.stores.chroma.http_client import HttpChroma

        with closing(HttpChroma(self.address)) as chroma, explaining(chroma.explain_all):
            yield chroma


def _identity(folder: Path) -> str:
    """Return the id of the index in this folder. A copy of the folder gets a new id, so that both can be written."""
    file = folder / IDENTITY
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(file.read_text(encoding="utf-8"))
        if known["folder"] == str(folder):
            return str(known["id"])
    made = secrets.token_hex(6)
    write_atomically(file, (json.dumps({"id": made, "folder": str(folder)}),))
    return made


Generations = FolderGenerations | RemoteGenerations


def generations_of(folder: Path, settings: DatabaseSettings) -> Generations:
    """Return the configured generations of the index in this folder, without opening them. Raises ConfigError."""
    if settings.mode == "http":
        return RemoteGenerations(folder, settings, http_address(settings, os.environ))
    if settings.mode == "cloud":
        return RemoteGenerations(folder, settings, cloud_address(settings, os.environ), CLOUD)
    check_local(settings)
    return FolderGenerations(folder, settings, ChildChroma if settings.mode == "server" else EmbeddedChroma)
