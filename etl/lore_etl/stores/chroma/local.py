"""Open a folder of Chroma's files in this process or by a child server, in the same format.

Damaged files crash the process or give wrong answers: they are sealed at each close and checked before each open.
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.errors import DatabaseUnavailable, IndexDamaged, LoreError
from lore_etl.stores import integrity
from lore_etl.stores.chroma.address import Address
from lore_etl.stores.chroma.backend import DATABASE, LIMIT, Limits
from lore_etl.stores.chroma.child_server import LOG, ChromaProcess, end_left_over
from lore_etl.stores.integrity import obstacle
from lore_etl.system.nofollow import open_regular, read_regular

if TYPE_CHECKING:
    from lore_etl.stores.chroma.http_client import HttpChroma

PROBE_SECONDS = 60
BUSY_SECONDS = 300  # a live child may be writing a thousand rows to its index; a dead child is detected sooner
SLACK_BYTES = 1_000_000  # for the links of the few vectors of a small index
VECTORS, LINKS, LENGTHS, HEADER = "data_level0.bin", "link_lists.bin", "length.bin", "header.bin"
UNSET_BYTES = 10_000_000  # more than Chroma writes for 100 vectors that are not set yet
_MAKE_ROOM = "Make room on the disk, or allow this process more open files, then try again."
COUNTS = struct.Struct("<iQQQ")  # the beginning of a header: version, an offset, room for vectors, vectors


class FolderBackend(ABC):
    """A folder of Chroma's files, checked at open and sealed at close; only a sync replaces files marked as damaged."""

    limits = Limits()

    def __init__(self, folder: Path, settings: DatabaseSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._is_open = False
        self._sealed: dict[str, integrity.Stamp] = {}

    @abstractmethod
    def _connect(self, rows: int) -> Any:
        """Open and return Chroma's collection, as `open` does; leave nothing open on failure."""

    @abstractmethod
    def _disconnect(self) -> None: ...

    @abstractmethod
    def where(self) -> str:
        """Return a readable description of the location."""

    def open(self, rows: int) -> Any:
        """Open the collection for searches among so many rows. Raises StorageError and Chroma's errors."""
        self._folder.mkdir(parents=True, exist_ok=True)
        end_left_over(self._folder)
        _inspect(self._folder, self._settings.collection)
        if (reason := obstacle(self._folder)) is not None:  # Chroma would panic and leave a broken client
            raise DatabaseUnavailable(f"The vector store cannot be opened: {reason}.", _MAKE_ROOM)
        self._sealed = integrity.unseal(self._folder)
        self.clean()
        collection = self._connect(rows)
        self._is_open = True
        return collection

    def is_alive(self) -> bool:
        """Return whether a call can be expected to succeed; if not, close the store and open it again."""
        return self._is_open and not integrity.is_suspect(self._folder)

    def unseal(self) -> None:
        self._sealed = integrity.unseal(self._folder) or self._sealed

    def clean(self) -> None:
        _blank_unset_vectors(self._folder)

    def seal(self) -> None:
        if _is_inflated(self._folder):
            raise IndexDamaged("The vector store is damaged: Chroma wrote a file that is larger than its content.")
        self.clean()
        integrity.seal(self._folder, self._sealed)

    def close(self, is_sound: bool) -> None:
        """Close the collection, and seal its files if they are undamaged. Can be called more than once."""
        if not self._is_open:
            return
        was_alive, self._is_open = self.is_alive(), False
        self._disconnect()
        if not was_alive:
            self.unseal()  # the files may be the reason why the server died
        elif is_sound and not _is_inflated(self._folder):
            self.seal()

    def explain(self, error: BaseException) -> LoreError | None:
        """Return the Lore error for an error of Chroma; None if the error is not from Chroma."""
        explained = self._explained(error)
        if isinstance(explained, IndexDamaged):
            integrity.mark(self._folder)
        return explained

    def _explained(self, error: BaseException) -> LoreError | None:
        from lore_etl.stores.chroma.client import ChromaError

        if isinstance(error, LoreError):
            return error
        kinds = ChromaError, ValueError, AttributeError  # the last one is raised by Chroma's clean-up
        problem = f"failed: Chroma reports {type(error).__name__}"
        return integrity.explain(error, self._folder, "vector store", kinds, problem)


class EmbeddedChroma(FolderBackend):
    """Chroma in this process."""

    _client: Any

    def _connect(self, rows: int) -> Any:
        from lore_etl.stores.chroma.client import bare, fit, hnsw, open_client

        self._client = open_client(self._folder)
        try:
            # a collection's configuration could name a model to load; with None, Chroma does not load it
            name, configuration = self._settings.collection, hnsw(self._settings)
            found = self._client.get_or_create_collection(name, embedding_function=None, configuration=configuration)
            fit(bare(found), configuration, rows)
            return found
        except BaseException:
            self._client.close()  # Chroma would return the broken client again for the same path
            raise

    def _disconnect(self) -> None:
        self._client.close()

    def where(self) -> str:
        return "in this process"


class ChildChroma(FolderBackend):
    """Chroma's server in a child process, reached over HTTP on this machine."""

    _process: ChromaProcess
    _chroma: HttpChroma | None = None
    _is_lost = False

    def _connect(self, rows: int) -> Any:
        from lore_etl.stores.chroma.client import hnsw
        from lore_etl.stores.chroma.http_client import HttpChroma

        self._process = ChromaProcess.start(self._folder, self._folder.parent / LOG)
        try:
            address = Address("127.0.0.1", self._process.port, timeout_seconds=BUSY_SECONDS, is_ours=True)
            self._chroma = HttpChroma(address)
            return self._chroma.collection(self._settings.collection, hnsw(self._settings), rows)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        if self._chroma is not None:
            self._chroma.close()
        self._process.stop()

    def where(self) -> str:
        return f"on 127.0.0.1:{self._process.port}, process {self._process.pid}"

    def is_alive(self) -> bool:
        """Return whether the server runs and has always answered: without an answer it hangs or is about to end."""
        return super().is_alive() and not self._is_lost and self._process.is_running()

    def _explained(self, error: BaseException) -> LoreError | None:
        explained = self._chroma.explain(error) if self._chroma else None
        if isinstance(explained, DatabaseUnavailable) and self._process.is_running() and LIMIT.get() is not None:
            return explained  # it may be writing: a search does not wait for that, nor end it
        if isinstance(explained, DatabaseUnavailable):
            self._is_lost = True
            hint = f"Call again to restart it. {LOG} has the reason why it ended."
            return DatabaseUnavailable(explained.message, hint)
        return explained or super()._explained(error)


def _is_inflated(folder: Path) -> bool:
    """Return whether a file of links is larger than all vectors: it grew to terabytes of zeros after a killed write."""
    pairs = ((file, file.with_name(VECTORS)) for file in folder.glob(f"*/{LINKS}"))
    return any(file.stat().st_size > SLACK_BYTES + whole.stat().st_size for file, whole in pairs if whole.exists())


def _blank_unset_vectors(folder: Path) -> None:
    """Overwrite the room for vectors in unflushed files, to which Chroma writes memory that may contain secrets."""
    for header in folder.glob(f"*/{HEADER}"):
        counts = read_regular(header, COUNTS.size)
        if len(counts) == COUNTS.size and COUNTS.unpack(counts)[-1] == 0:
            for name in (VECTORS, LENGTHS):
                _blank(header.with_name(name))


def _blank(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), open(open_regular(path, os.O_RDWR), "r+b") as file:
        content = file.read(UNSET_BYTES)
        if any(content):
            file.seek(0)
            file.write(bytes(len(content)))


def _inspect(folder: Path, collection: str) -> None:
    """Check files that have changed since they were sealed, before they can crash this process. Raises IndexDamaged."""
    if integrity.is_suspect(folder):
        raise IndexDamaged("The vector store is damaged: an earlier call could not use it.")
    changed = integrity.changed(folder)
    if changed == set() or not any(folder.iterdir()):
        return
    # Chroma, which may have been killed after the seal, changes the time of its database with the content
    if changed and (changed != {DATABASE} or not integrity.changed(folder, by_content=False)):
        raise IndexDamaged("The vector store is damaged: its files have changed since they were closed.")
    _probe(folder, collection)


def _probe(folder: Path, collection: str) -> None:
    """Read all in a child that may crash; with `-P`, it imports nothing from the project. Raises IndexDamaged."""
    command = [sys.executable, "-P", "-m", "lore_etl.stores.chroma.client", str(folder), collection]
    away = subprocess.DEVNULL
    try:
        done = subprocess.run(command, check=False, timeout=PROBE_SECONDS, stdin=away, stdout=away, stderr=away)
    except subprocess.TimeoutExpired as error:
        raise IndexDamaged("The vector store did not open within a minute.") from error
    if done.returncode:
        raise IndexDamaged("The vector store is damaged: a search does not find its content.")
