"""Generations as folders of Chroma's files, opened in this process or by a `chroma run` of our own.

Both read and write the same files, so the one can follow the other. Damaged ones crash whoever opens them or answer
wrongly: they are sealed when they are left, and looked at before they are opened.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.atomic import remove_folder
from lore_etl.core.errors import IndexDamaged, LoreError, StorageError
from lore_etl.stores import integrity
from lore_etl.stores.chroma.backend import Limits
from lore_etl.stores.chroma.child_server import end_left_over
from lore_etl.stores.store_errors import is_panic, obstacle

if TYPE_CHECKING:
    from lore_etl.stores.chroma.vector_store import VectorStore

PROBE_SECONDS = 60
DATABASE = "chroma.sqlite3"  # Chroma writes to it even when it is only opened


class Connection(Protocol):
    """An open collection, and what holds it open."""

    collection: Any

    def where(self) -> str:
        """In words, for people."""

    def is_alive(self) -> bool:
        """Whether a call can be expected to work."""

    def close(self) -> None:
        """Let go of the files."""

    def explain(self, error: Exception) -> LoreError | None:
        """An error of the connection as one of ours; None if it is none."""


Connect = Callable[[Path, DatabaseSettings], Connection]


class FolderGenerations:
    """`vectors-N` in the index folder, opened by `connect`."""

    def __init__(self, folder: Path, settings: DatabaseSettings, connect: Connect) -> None:
        self._folder = folder
        self._settings = settings
        self._connect = connect

    def folder(self, number: int) -> Path:
        """Where a generation's files are."""
        return self._folder / f"vectors-{number}"

    def open(self, number: int, at_least: int = 0) -> VectorStore:
        """See `Generations`. Raises IndexDamaged, StorageError."""
        from lore_etl.stores.chroma.vector_store import VectorStore

        return VectorStore(FolderPlace(self.folder(number), self._settings, self._connect), at_least)

    def exists(self, number: int) -> bool:
        """See `Generations`."""
        return any(self.folder(number).glob("*"))

    def is_as_left(self, number: int, rows: int) -> bool:
        """See `Generations`."""
        return integrity.is_sealed(self.folder(number))

    def remove(self, number: int) -> None:
        """See `Generations`. Raises StorageError."""
        end_left_over(self.folder(number))
        remove_folder(self.folder(number))

    def keep_only(self, number: int) -> None:
        """See `Generations`. Raises StorageError."""
        for folder in self._folder.glob("vectors-*"):
            if folder != self.folder(number):
                end_left_over(folder)
                remove_folder(folder)


class FolderPlace:
    """One folder: looked at, unsealed, opened; sealed when it is left."""

    limits = Limits()

    def __init__(self, folder: Path, settings: DatabaseSettings, connect: Connect) -> None:
        self._folder = folder
        self._settings = settings
        self._connect = connect
        self._connection: Connection | None = None
        self._sealed: dict[str, integrity.Stamp] = {}

    def open(self) -> Any:
        """See `Place`. Raises IndexDamaged: the files are not as they were left."""
        self._folder.mkdir(parents=True, exist_ok=True)
        end_left_over(self._folder)
        _inspect(self._folder, self._settings.collection)
        if (reason := obstacle(self._folder)) is not None:  # Chroma would panic, and leave a broken client behind
            raise StorageError(f"The vector store cannot be opened: {reason}.")
        self._sealed = integrity.unseal(self._folder)
        self._connection = self._connect(self._folder, self._settings)
        return self._connection.collection

    def where(self) -> str:
        """See `Place`."""
        return self._connection.where() if self._connection else "closed"

    def is_alive(self) -> bool:
        """See `Place`."""
        return self._connection is not None and self._connection.is_alive()

    def unseal(self) -> None:
        """See `Place`: a crash from here on is no damage."""
        self._sealed = integrity.unseal(self._folder) or self._sealed

    def seal(self) -> None:
        """See `Place`: what the next open finds otherwise is looked at first."""
        integrity.seal(self._folder, self._sealed)

    def close(self, is_sound: bool) -> None:
        """See `Place`. Files that a server died on lose their seal: they may be why."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        was_alive = connection.is_alive()
        connection.close()
        if not was_alive:
            self.unseal()
        elif is_sound:
            self.seal()

    def explain(self, error: BaseException) -> LoreError | None:
        """See `Place`."""
        from lore_etl.stores.chroma.client import ChromaError

        explained = self._connection.explain(error) if self._connection and isinstance(error, Exception) else None
        if explained is not None:
            return explained
        if isinstance(error, OSError):
            return StorageError(f"The vector store failed: {error.strerror}.")
        if not isinstance(error, (ChromaError, ValueError, AttributeError)) and not is_panic(error):
            return None  # AttributeError comes from Chroma's own clean-up
        if (reason := obstacle(self._folder)) is not None:
            return StorageError(f"The vector store failed: {reason}.")
        return IndexDamaged(f"The vector store failed: Chroma reports {type(error).__name__}.")


def _inspect(folder: Path, collection: str) -> None:
    """Look at files that are not as we left them before anything of ours opens them: damaged ones would crash it."""
    changed = integrity.changed(folder)
    if changed == set() or not any(folder.iterdir()):
        return
    if changed and any(name != DATABASE for name in changed):
        raise IndexDamaged("The vector store is damaged: its files changed since they were closed.")
    _probe(folder, collection)


def _probe(folder: Path, collection: str) -> None:
    """A first open and a search for rows from everywhere, in a child that may crash.

    `-P`: the folder we are run in is somebody's project, and nothing in it may be imported.
    """
    command = [sys.executable, "-P", "-m", "lore_etl.stores.chroma.client", str(folder), collection]
    try:
        done = subprocess.run(
            command, check=False, timeout=PROBE_SECONDS, capture_output=True, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise IndexDamaged("The vector store does not open within a minute.") from error
    if done.returncode:
        raise IndexDamaged("The vector store is damaged: a search does not find what it holds.")
