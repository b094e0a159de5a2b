"""Store generations as collections of a remote Chroma server or of Chroma Cloud.

Their names contain an id of the index, because other indexes may use the same server and the same configured name.
"""

from __future__ import annotations

import json
import secrets
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import IndexDamaged, LoreError
from lore_etl.stores import integrity
from lore_etl.stores.chroma.address import Address
from lore_etl.stores.chroma.backend import Limits

if TYPE_CHECKING:
    from lore_etl.stores.chroma.http_client import HttpChroma
    from lore_etl.stores.chroma.vector_store import VectorStore

IDENTITY = "chroma-id.json"
HTTP = Limits(write=1_000)  # with 4,096 dimensions, a request stays below a server's limit of 40 MiB
CLOUD = Limits(write=300, read=300, results=300, lookups=100, among=300)
"""The limits listed in docs.trychroma.com/cloud/quotas-limits."""


class RemoteGenerations:
    """The generations of an index, each a collection `<collection>-<id of the index>-<number>`."""

    def __init__(self, folder: Path, settings: DatabaseSettings, address: Address, limits: Limits = HTTP) -> None:
        self._folder = folder
        self._settings = settings
        self._address = address
        self._limits = limits

    def name(self, number: int) -> str:
        """Return the name of a generation's collection. Raises StorageError."""
        return f"{self._prefix()}{number}"

    def open(self, number: int, at_least: int = 0) -> VectorStore:
        from lore_etl.stores.chroma.vector_store import VectorStore  # imports numpy

        if integrity.is_suspect(self._marked(number)):
            raise IndexDamaged("The vector store is damaged: vectors differ from those of their texts.")
        backend = RemoteBackend(self.name(number), self._settings, self._address, self._limits)
        return VectorStore(backend, at_least)

    def exists(self, number: int) -> bool:
        return self._ask(lambda chroma: chroma.count(self.name(number))) is not None

    def is_as_left(self, number: int, rows: int) -> bool:
        if integrity.is_suspect(self._marked(number)):
            return False
        return bool(self._ask(lambda chroma: chroma.count(self.name(number))) == rows)

    def mark(self, number: int) -> None:
        """Mark a generation in which damage was found."""
        integrity.mark(self._marked(number))

    def _marked(self, number: int) -> Path:
        return self._folder / f"vectors-{number}"

    def remove(self, number: int) -> None:
        self._ask(lambda chroma: chroma.remove(self.name(number)))
        integrity.unmark(self._marked(number))

    def keep_only(self, number: int) -> None:
        for mark in self._folder.glob("vectors-*.suspect"):
            if mark != self._marked(number).with_suffix(".suspect"):
                mark.unlink(missing_ok=True)
        prefix, kept = self._prefix(), self.name(number)

        def remove_others(chroma: HttpChroma) -> None:
            for name in chroma.names():
                if name.startswith(prefix) and name != kept:
                    chroma.remove(name)

        self._ask(remove_others)

    def _prefix(self) -> str:
        return f"{self._settings.collection}-{_identity(self._folder)}-"

    def _ask(self, question: Any) -> Any:
        from lore_etl.stores.chroma.http_client import HttpChroma

        with closing(HttpChroma(self._address)) as chroma:
            try:
                return question(chroma)
            except Exception as error:
                explained = _explained(chroma, error)
                if explained is None:
                    raise
                raise explained from error


class RemoteBackend:
    """A collection of a server, which manages its own files."""

    def __init__(self, name: str, settings: DatabaseSettings, address: Address, limits: Limits) -> None:
        self._name = name
        self._settings = settings
        self._address = address
        self._chroma: HttpChroma | None = None
        self._is_lost = False
        self.limits = limits

    def open(self, rows: int) -> Any:
        from lore_etl.stores.chroma.client import hnsw
        from lore_etl.stores.chroma.http_client import HttpChroma

        self._chroma = HttpChroma(self._address)
        # Chroma Cloud has another kind of index, and chooses its settings itself
        configuration = hnsw(self._settings) if self._address.token is None else {"spann": {"space": "cosine"}}
        return self._chroma.collection(self._name, configuration, rows)

    def where(self) -> str:
        return f"at {self._address}, collection {self._name}"

    def is_alive(self) -> bool:
        return not self._is_lost

    def unseal(self) -> None: ...

    def clean(self) -> None: ...

    def seal(self) -> None: ...

    def close(self, is_sound: bool) -> None:
        chroma, self._chroma = self._chroma, None
        if chroma is not None:
            chroma.close()

    def explain(self, error: BaseException) -> LoreError | None:
        if self._chroma is None or not isinstance(error, Exception):
            return None
        explained = _explained(self._chroma, error)
        self._is_lost = self._is_lost or explained is not None
        return explained


def _explained(chroma: HttpChroma, error: Exception) -> LoreError | None:
    from lore_etl.stores.chroma.client import ChromaError, NotFoundError

    explained = chroma.explain(error)
    if explained is not None:
        return explained
    if isinstance(error, NotFoundError):
        return IndexDamaged(f"The collection no longer exists in Chroma at {chroma.address}.")
    if isinstance(error, (ChromaError, ValueError)):
        return chroma.reported(error)
    return None


def _identity(folder: Path) -> str:
    """Return the id of the index in this folder. A copy of the folder gets a new id, so that both can be written."""
    file = folder / IDENTITY
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        if known["folder"] == str(folder):
            return str(known["id"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    made = secrets.token_hex(6)
    write_atomically(file, (json.dumps({"id": made, "folder": str(folder)}),))
    return made
