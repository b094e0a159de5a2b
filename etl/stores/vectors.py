"""The vector leg: Chroma, to which we give vectors and never text; it calls no model and no network.

What was measured of Chroma 1.5 shapes this file (docs/architecture.md, "What storage taught"): `add` of new rows
instead of `upsert` of old ones, paged reads, batches below 5,461, a look at the files before they are opened.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from etl.errors import Busy, IndexDamaged, StorageError
from etl.settings import DatabaseSettings
from etl.stores import seal
from etl.stores.atomic import is_full

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

Vectors = NDArray[np.float32]
Row = tuple[str, str, str]
BATCH = 2_000  # Chroma refuses more than 5,461 rows at once
PAGE = 5_000
LOOKUP_BATCH = 200
PROBE_SECONDS = 60
SAME_PLACE = 1e-4  # in single precision a vector is up to 1.5e-5 from itself at 768 dimensions
DATABASE = "chroma.sqlite3"  # Chroma writes to it even when it is only opened


class VectorStore:
    """Rows of (row id, vector, type, source) in one collection with cosine distance.

    `at_least` is how many rows must be there: files that vanish would else open as an empty store.

    Raises:
        IndexDamaged: the files are not as they were left, or rows are lost.
    """

    def __init__(self, folder: Path, settings: DatabaseSettings, at_least: int = 0) -> None:
        self._folder = folder
        self._in_use = 0
        self._closed = False
        self._is_sound = True
        self._idle = threading.Condition()
        with self._reporting():
            folder.mkdir(parents=True, exist_ok=True)
            _inspect(folder, settings.collection)
            self._sealed = seal.unseal(folder)
            self._client, self._collection = _open(folder, settings)
        count = self.count()
        if count < at_least:
            self._client.close()
            raise IndexDamaged(f"{at_least - count} of {at_least} vectors were lost.")
        self.seal()

    def add(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Add rows. One that exists already stays as it is."""
        self._write(self._collection.add, rows, vectors)

    def heal(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Write rows again that a search does not find; re-inserting is what brings them back."""
        self._write(self._collection.upsert, rows, vectors)

    def update(self, rows: Sequence[Row]) -> None:
        """Set type and source of rows, vectors untouched."""
        self._write(self._collection.update, rows, None)

    def _write(self, method: Any, rows: Sequence[Row], vectors: Vectors | None) -> None:
        self._unseal()
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            self._call(
                method,
                ids=[row[0] for row in some],
                embeddings=None if vectors is None else vectors[start : start + BATCH],
                metadatas=[{"type": row[1], "source": row[2]} for row in some],
            )

    def delete(self, row_ids: Iterable[str]) -> None:
        """Take rows out; unknown ones are no error."""
        self._unseal()
        gone = list(row_ids)
        for start in range(0, len(gone), BATCH):
            self._call(self._collection.delete, ids=gone[start : start + BATCH])

    def search(self, vector: Vectors, limit: int, type_: str | None = None) -> list[tuple[str, float]]:
        """(row id, cosine similarity), best first."""
        where: Any = {"type": type_} if type_ is not None else None
        found = self._call(
            self._collection.query,
            query_embeddings=[vector],
            n_results=limit,
            where=where,
            include=["distances"],
        )
        return [(one, 1.0 - distance) for one, distance in zip(found["ids"][0], found["distances"][0], strict=True)]

    def similarities(self, vector: Vectors, row_ids: Sequence[str]) -> dict[str, float]:
        """Row id -> cosine similarity of exactly these rows, of those that exist."""
        if not row_ids:
            return {}
        found = self._call(self._collection.get, ids=list(row_ids), include=["embeddings"])
        return dict(zip(found["ids"], (np.asarray(found["embeddings"]) @ vector).tolist(), strict=True))

    def missing(self, row_ids: Sequence[str], vectors: Vectors) -> list[int]:
        """Positions of the rows that a search for their own vector does not find.

        `get` and `count` stay right while `query` lies, so the query is what is asked. A row also counts as found
        when its place is taken by others at the same distance: texts may be equal.
        """
        lost: list[int] = []
        for start in range(0, len(row_ids), LOOKUP_BATCH):
            some = row_ids[start : start + LOOKUP_BATCH]
            found = self._call(
                self._collection.query,
                query_embeddings=vectors[start : start + LOOKUP_BATCH],
                n_results=5,
                include=["distances"],
            )
            for offset, (one, ids, distances) in enumerate(zip(some, found["ids"], found["distances"], strict=True)):
                if one not in ids and max(distances, default=1) > SAME_PLACE:
                    lost.append(start + offset)
        return lost

    def rows(self) -> dict[str, tuple[str, str]]:
        """Row id -> (type, source), read in pages: one large `get` raises "too many SQL variables"."""
        found: dict[str, tuple[str, str]] = {}
        while True:
            page = self._call(self._collection.get, include=["metadatas"], limit=PAGE, offset=len(found))
            metadatas = (one or {} for one in page["metadatas"])
            found.update(
                (id_, (one.get("type", ""), one.get("source", "")))
                for id_, one in zip(page["ids"], metadatas, strict=True)
            )
            if len(page["ids"]) < PAGE:
                return found

    def row_ids(self) -> set[str]:
        """Every row id."""
        return set(self.rows())

    def count(self) -> int:
        """How many rows the collection holds."""
        return int(self._call(self._collection.count))

    def seal(self) -> None:
        """Record the files as they are now: what the next open finds otherwise is looked at first."""
        with self._reporting():
            seal.seal(self._folder, self._sealed)

    def _unseal(self) -> None:
        with self._reporting():
            self._sealed = seal.unseal(self._folder) or self._sealed

    def close(self) -> None:
        """Let go of the files once the calls that use them are done; sealed, unless Chroma failed on the way."""
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: not self._in_use)
        self._client.close()
        if self._is_sound:
            self.seal()

    def _call(self, method: Any, **arguments: Any) -> Any:
        with self._idle:
            if self._closed:
                raise Busy("The vector store was just replaced or closed.")
            self._in_use += 1
        try:
            with self._reporting():
                return method(**arguments)
        finally:
            with self._idle:
                self._in_use -= 1
                self._idle.notify_all()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        from chromadb.errors import ChromaError

        try:
            yield
        except OSError as error:
            self._is_sound = False
            raise StorageError(f"The vector store failed: {error.strerror}.") from error
        except (ChromaError, ValueError, AttributeError) as error:  # the last from Chroma's own clean-up
            self._is_sound = False
            if is_full(self._folder):
                raise StorageError("The vector store failed: the disk is full.") from error
            raise IndexDamaged(f"The vector store failed: Chroma reports {type(error).__name__}.") from error


def _open(folder: Path, settings: DatabaseSettings) -> tuple[Any, Collection]:
    from etl.stores.chroma import open_client

    client = open_client(folder)
    hnsw: Any = {
        "space": "cosine",
        "ef_search": settings.ef_search,
        "ef_construction": settings.ef_construction,
        "max_neighbors": settings.max_neighbors,
    }
    try:
        # a collection's own configuration could name a model to load: None keeps it from being asked
        collection = client.get_or_create_collection(
            settings.collection, embedding_function=None, configuration={"hnsw": hnsw}
        )
    except BaseException:
        client.close()  # Chroma would hand the broken one out again for the same path
        raise
    return client, collection


def _inspect(folder: Path, collection: str) -> None:
    """Look at files that are not as we left them before this process opens them: damaged ones would crash it."""
    changed = seal.changed(folder)
    if changed == set() or not any(folder.iterdir()):
        return
    if changed and any(name != DATABASE for name in changed):
        raise IndexDamaged("The vector store is damaged: its files changed since they were closed.")
    _probe(folder, collection)


def _probe(folder: Path, collection: str) -> None:
    """A first open and a search for rows from everywhere, in a child that may crash.

    `-P`: the folder we are run in is somebody's project, and nothing in it may be imported.
    """
    command = [sys.executable, "-P", "-m", "etl.stores.chroma", str(folder), collection]
    try:
        done = subprocess.run(
            command, check=False, timeout=PROBE_SECONDS, capture_output=True, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise IndexDamaged("The vector store does not open within a minute.") from error
    if done.returncode:
        raise IndexDamaged("The vector store is damaged: a search does not find what it holds.")
