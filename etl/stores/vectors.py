"""The vector leg: Chroma, to which we give vectors and never text; it calls no model and no network.

What was measured of Chroma 1.5 shapes this file (docs/architecture.md, "What storage taught"): `add` of new rows
instead of `upsert` of old ones, paged reads, batches below 5,461, a look at the files before they are opened.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from etl.errors import IndexDamaged, StorageError
from etl.model import Chunk
from etl.settings import DatabaseSettings
from etl.stores.atomic import write_atomically

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

Vectors = NDArray[np.float32]
BATCH = 2_000  # Chroma refuses more than 5,461 rows at once
PAGE = 5_000
LOOKUP_BATCH = 200
PROBE_SECONDS = 60
SEAL = "seal.json"


def row_id(chunk: Chunk) -> str:
    """The row of a chunk's present content; a changed chunk gets a new row, so nothing is overwritten."""
    return f"{chunk.id}.{chunk.content_hash[:16]}"


class VectorStore:
    """Rows of (row id, vector, type, source) in one collection with cosine distance.

    Raises:
        IndexDamaged: the files are not as they were left, and a first open in a child process failed.
    """

    def __init__(self, folder: Path, settings: DatabaseSettings) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        if not is_sealed(folder) and any(folder.iterdir()):
            _probe(folder, settings.collection)
        self._client, self._collection = _open(folder, settings)
        self.seal()

    def add(self, rows: Sequence[tuple[str, str, str]], vectors: Vectors) -> None:
        """Add rows of (row id, type, source). A row that exists already stays as it is."""
        self._unseal()
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            self._call(
                self._collection.add,
                ids=[row[0] for row in some],
                embeddings=vectors[start : start + BATCH],
                metadatas=[{"type": row[1], "source": row[2]} for row in some],
            )

    def heal(self, rows: Sequence[tuple[str, str, str]], vectors: Vectors) -> None:
        """Write rows again that a search does not find; re-inserting is what brings them back."""
        self._unseal()
        self._call(
            self._collection.upsert,
            ids=[row[0] for row in rows],
            embeddings=vectors,
            metadatas=[{"type": row[1], "source": row[2]} for row in rows],
        )

    def update(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Set type and source of rows, vectors untouched."""
        self._unseal()
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            metadatas = [{"type": row[1], "source": row[2]} for row in some]
            self._call(self._collection.update, ids=[row[0] for row in some], metadatas=metadatas)

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
                if one not in ids and not (distances and max(distances) < 1e-5):
                    lost.append(start + offset)
        return lost

    def row_ids(self) -> set[str]:
        """Every row id, read in pages: one large `get` raises "too many SQL variables"."""
        found: set[str] = set()
        while True:
            page = self._call(self._collection.get, include=[], limit=PAGE, offset=len(found))["ids"]
            found.update(page)
            if len(page) < PAGE:
                return found

    def count(self) -> int:
        """How many rows the collection holds."""
        return int(self._call(self._collection.count))

    def seal(self) -> None:
        """Record the files as they are now: what the next open finds otherwise is looked at first."""
        write_atomically(self._folder / SEAL, (json.dumps(_file_stamps(self._folder)),))

    def close(self) -> None:
        """Let go of the files, sealed."""
        self._client.close()
        self.seal()

    def _unseal(self) -> None:
        (self._folder / SEAL).unlink(missing_ok=True)

    def _call(self, method: Any, **arguments: Any) -> Any:
        from chromadb.errors import ChromaError

        try:
            return method(**arguments)
        except ChromaError as error:
            raise IndexDamaged(f"Chroma failed: {type(error).__name__}.") from error
        except OSError as error:
            raise StorageError(f"Chroma failed: {error.strerror}.") from error


def _open(folder: Path, settings: DatabaseSettings) -> tuple[Any, Collection]:
    import chromadb
    from chromadb.config import Settings as ChromaSettings
    from chromadb.errors import ChromaError

    try:
        client = chromadb.PersistentClient(str(folder), ChromaSettings(anonymized_telemetry=False))
        # a collection's own configuration could name a model to load: None keeps it from being asked
        collection = client.get_or_create_collection(
            settings.collection,
            embedding_function=None,
            configuration={
                "hnsw": {
                    "space": "cosine",
                    "ef_search": settings.ef_search,
                    "ef_construction": settings.ef_construction,
                    "max_neighbors": settings.max_neighbors,
                }
            },
        )
    except (ChromaError, ValueError) as error:
        raise IndexDamaged(f"The vector store cannot be opened: {type(error).__name__}.") from error
    return client, collection


_PROBE = """
import sys
from pathlib import Path
import chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient(sys.argv[1], Settings(anonymized_telemetry=False))
names = [c.name for c in client.list_collections()]
if sys.argv[2] in names:
    collection = client.get_collection(sys.argv[2], embedding_function=None)
    some = collection.get(limit=50, include=["embeddings"])
    if some["ids"]:
        found = collection.query(query_embeddings=some["embeddings"], n_results=5, include=["distances"])
        lost = sum(one not in ids and max(d, default=1) > 1e-5
                   for one, ids, d in zip(some["ids"], found["ids"], found["distances"]))
        sys.exit(3 if lost else 0)
"""


def _probe(folder: Path, collection: str) -> None:
    """First open in a child: damaged HNSW files crash the process that opens them."""
    command = [sys.executable, "-c", _PROBE, str(folder), collection]
    try:
        done = subprocess.run(
            command, check=False, timeout=PROBE_SECONDS, capture_output=True, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise IndexDamaged("The vector store does not open within a minute.") from error
    if done.returncode:
        raise IndexDamaged("The vector store is damaged: its files changed since they were closed.")


def is_sealed(folder: Path) -> bool:
    """Whether the files are as they were when the store was closed."""
    try:
        recorded = json.loads((folder / SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(recorded == _file_stamps(folder))


def _file_stamps(folder: Path) -> dict[str, list[int]]:
    return {str(path.relative_to(folder)): [info.st_size, info.st_mtime_ns] for path, info in _files(folder)}


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SEAL:
            yield path, path.stat()


def remove(folder: Path) -> None:
    """Delete a store that is damaged or no longer wanted."""
    shutil.rmtree(folder, ignore_errors=True)
