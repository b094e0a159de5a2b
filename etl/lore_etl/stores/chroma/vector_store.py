"""Store and search vectors in Chroma, which gets no text and calls no model; the package's docstring has reasons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lore_etl.core.errors import Busy, IndexDamaged, LoreError, explaining
from lore_etl.models.embedder import Vectors
from lore_etl.stores.chroma.backend import NEIGHBOURS, effort, unreached
from lore_etl.stores.integrity import is_panic
from lore_etl.stores.snapshot import Gate, Kept

if TYPE_CHECKING:
    from lore_etl.stores.chroma.http_client import RemoteBackend
    from lore_etl.stores.chroma.local import FolderBackend

T = TypeVar("T")
Row = tuple[str, str, str]
RowVectors = tuple[Sequence[str], Vectors]
FEW = 1_000  # rows that are compared one by one, because their vectors are read once: faster than a restricted search
KEPT_NUMBERS = 2_000_000  # of the vectors that are kept in memory: 8 MB
DEPTH_FACTOR = 4  # factor by which the first search among all rows exceeds the requested number of rows


class VectorStore:
    """A store of rows (row id, vector, type, source) in one collection with cosine distance.

    Raises IndexDamaged for changed files or fewer rows than `at_least`, DatabaseUnavailable if a process is silent.
    """

    def __init__(self, backend: FolderBackend | RemoteBackend, at_least: int = 0) -> None:
        self._backend = backend
        self.where, self.is_alive = backend.where, backend.is_alive
        self._gate = Gate()
        self._closed = False
        self._is_sound = True
        # of recent selections of rows; the vector of a row id never changes
        self._kept = Kept[tuple[str, ...], RowVectors](KEPT_NUMBERS, lambda found: found[1].size)
        try:
            with self._reporting():
                self._collection = backend.open(at_least)
            count = self.count()
            if count < at_least:
                raise IndexDamaged(f"{at_least - count} of {at_least} vectors were lost.")
            self._effort = effort(at_least)
            self.seal()
        except BaseException:
            backend.close(is_sound=False)
            raise

    def add(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Add rows; existing rows stay unchanged."""
        self._write(self._collection.add, rows, vectors, self._backend.limits.write)

    def heal(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Rewrite rows that a search does not find, which makes them findable."""
        self._write(self._collection.upsert, rows, vectors, self._backend.limits.heal)

    def update(self, rows: Sequence[Row]) -> None:
        self._write(self._collection.update, rows, None, self._backend.limits.write)

    def _write(self, method: Any, rows: Sequence[Row], vectors: Vectors | None, step: int) -> None:
        with self._reporting():
            self._backend.unseal()
        for start, some in _portions(rows, step):
            self._call(
                method,
                ids=[row[0] for row in some],
                embeddings=None if vectors is None else vectors[start : start + step],
                metadatas=[{"type": row[1], "source": row[2]} for row in some],
            )
            with self._reporting():
                self._backend.clean()

    def delete(self, row_ids: Iterable[str]) -> None:
        """Delete rows; unknown row ids are ignored."""
        with self._reporting():
            self._backend.unseal()
        for _, some in _portions(list(row_ids), self._backend.limits.write):
            self._call(self._collection.delete, ids=some)

    def search(
        self, vector: Vectors, limit: int, only: Sequence[str] | None = None, type_: str | None = None
    ) -> list[tuple[str, float]]:
        """Return (row id, cosine similarity), best first, for all rows or `only` these, all of that type if given."""
        if only is None:
            return self._nearest(vector, limit)
        if len(only) <= FEW:
            return sorted(_scores(vector, self._vectors_of(only)).items(), key=lambda hit: -hit[1])[:limit]
        wanted, depth = set(only), min(DEPTH_FACTOR * limit, self._backend.limits.results)
        found = [hit for hit in self._nearest(vector, depth) if hit[0] in wanted]
        if len(found) >= limit:  # most rows are wanted: this is faster than a restricted search
            return found[:limit]
        if type_ is not None and len(only) > self._backend.limits.among:  # fewer requests; each reads the whole type
            return self._nearest(vector, limit, where={"type": type_})
        portions = _portions(only, self._backend.limits.among)
        found = [hit for _, some in portions for hit in self._nearest(vector, limit, ids=list(some))]
        return sorted(found, key=lambda hit: -hit[1])[:limit]

    def _nearest(self, vector: Vectors, limit: int, **those: Any) -> list[tuple[str, float]]:
        found = self._query([vector], min(limit, self._backend.limits.results), **those)
        hits = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(row_id, 1.0 - distance) for row_id, distance in hits]

    def _query(self, vectors: Sequence[Vectors] | Vectors, limit: int, **those: Any) -> Any:
        query = self._collection.query
        return self._call(query, query_embeddings=vectors, n_results=limit, include=["distances"], **those)

    def similarities(self, vector: Vectors, row_ids: Sequence[str]) -> dict[str, float]:
        """Return row id -> cosine similarity for those of these rows that exist."""
        return _scores(vector, self._read(row_ids))

    def _vectors_of(self, row_ids: Sequence[str]) -> RowVectors:
        """Return those of these rows that exist, with their vectors; searches with the same filter read them once."""
        wanted = tuple(row_ids)
        found = self._kept.get([wanted]).get(wanted)
        if found is None:
            found = self._read(wanted)
            if len(found[0]) == len(wanted):  # the others may get a vector soon
                self._kept.put({wanted: found})
        return found

    def _read(self, row_ids: Sequence[str]) -> RowVectors:
        pages = [page for page in self._pages(row_ids, "embeddings") if page["ids"]]
        ids = [id_ for page in pages for id_ in page["ids"]]
        vectors = [np.asarray(page["embeddings"], dtype=np.float32) for page in pages]
        return ids, np.concatenate(vectors) if vectors else np.empty((0, 0), dtype=np.float32)

    def _pages(self, row_ids: Sequence[str], *include: str) -> Iterator[Any]:
        for _, some in _portions(row_ids, self._backend.limits.read):
            yield self._call(self._collection.get, ids=list(some), include=list(include))

    def stored(self, row_ids: Sequence[str]) -> dict[str, tuple[str, str, Vectors]]:
        """Return row id -> (type, source, vector) for those of these rows that exist."""
        found: dict[str, tuple[str, str, Vectors]] = {}
        for page in self._pages(row_ids, "embeddings", "metadatas"):
            for id_, metadata, vector in zip(page["ids"], page["metadatas"], page["embeddings"], strict=True):
                found[id_] = *_labels(metadata), np.asarray(vector, dtype=np.float32)
        return found

    def missing(self, row_ids: Sequence[str], vectors: Vectors) -> list[int]:
        """Return the positions of rows that a search for their vector misses; `get` and `count` would find them."""
        lost: list[int] = []
        for start, some in _portions(row_ids, self._backend.limits.lookups):
            found = self._query(vectors[start : start + len(some)], NEIGHBOURS)
            lost += [start + offset for offset in unreached(some, found)]
        return lost

    def rows(self) -> dict[str, tuple[str, str]]:
        """Return row id -> (type, source), read in pages: a single large `get` raises "too many SQL variables"."""
        found: dict[str, tuple[str, str]] = {}
        limit = self._backend.limits.read
        while True:
            page = self._call(self._collection.get, include=["metadatas"], limit=limit, offset=len(found))
            found.update(zip(page["ids"], map(_labels, page["metadatas"]), strict=True))
            if len(page["ids"]) < limit:
                return found

    def count(self) -> int:
        return int(self._call(self._collection.count))

    def is_outgrown(self) -> bool:
        """Return whether the store has grown so much that it must be reopened for more thorough searches."""
        return effort(self.count()) > self._effort

    def seal(self) -> None:
        """Record the current state of the files, so that the next open checks only files that have changed."""
        with self._reporting():
            self._backend.seal()

    def close(self) -> None:
        """Close the store when all running calls have finished; seal it, unless Chroma failed."""
        with self._gate.switching():
            self._closed = True
        with self._reporting():
            self._backend.close(self._is_sound)

    def _call(self, method: Any, **arguments: Any) -> Any:
        with self._gate.reading():
            if self._closed:
                raise Busy("The vector store was just replaced or closed.")
            with self._reporting():
                return method(**arguments)

    def _reporting(self) -> AbstractContextManager[None]:
        return explaining(self._explain)

    def _explain(self, error: BaseException) -> LoreError | None:
        if not isinstance(error, Exception) and not is_panic(error):
            return None
        self._is_sound = False
        return self._backend.explain(error)


def _portions(rows: Sequence[T], size: int) -> Iterator[tuple[int, Sequence[T]]]:
    return ((start, rows[start : start + size]) for start in range(0, len(rows), size))


def _labels(metadata: dict[str, str] | None) -> tuple[str, str]:
    known = metadata or {}
    return known.get("type", ""), known.get("source", "")


def _scores(vector: Vectors, rows: RowVectors) -> dict[str, float]:
    ids, vectors = rows
    return dict(zip(ids, (vectors @ vector).tolist(), strict=True)) if ids else {}
