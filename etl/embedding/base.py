"""What an embedder is, and the cache that makes a vector be computed once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from etl.chunking.tokens import TokenCounter
from etl.model import sha256

Vectors = NDArray[np.float32]
CACHE = "embeddings.sqlite"


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    name: str
    fingerprint: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, shape (len(texts), dimension). Raises EmbeddingFailed."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dimension,)."""
        ...

    def tokens(self) -> TokenCounter:
        """The counter of the model's own tokens."""
        ...


class EmbeddingCache:
    """Vectors by (model fingerprint, text), on disk; committed batch by batch, so an interruption costs one batch."""

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        self._dimension = dimension
        self._model = sha256(fingerprint)[:16]
        self._path = folder / CACHE
        try:
            self._connection = self._opened()
        except sqlite3.DatabaseError:
            # a cache: what cannot be read is computed again
            self._path.rename(self._path.with_suffix(".damaged"))
            self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vector (model TEXT, content TEXT, value BLOB, PRIMARY KEY (model, content))"
            " WITHOUT ROWID"
        )
        connection.execute("SELECT count(*) FROM (SELECT 1 FROM vector LIMIT 1)").fetchone()
        return connection

    def get(self, hashes: Iterable[str]) -> dict[str, Vectors]:
        """Content hash -> vector, of those that are cached."""
        found: dict[str, Vectors] = {}
        sql = "SELECT value FROM vector WHERE model = ? AND content = ?"
        for one in hashes:
            row = self._connection.execute(sql, (self._model, one)).fetchone()
            if row and len(row[0]) == 4 * self._dimension:
                found[one] = np.frombuffer(row[0], dtype="<f4")
        return found

    def put(self, hashes: Sequence[str], vectors: Vectors) -> None:
        """Keep vectors."""
        rows = (
            (self._model, one, np.ascontiguousarray(vector, dtype="<f4").tobytes())
            for one, vector in zip(hashes, vectors, strict=True)
        )
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows)

    def keep_only(self, hashes: set[str]) -> None:
        """Drop what is no longer wanted by this model, once that is more than what is."""
        rows = self._connection.execute("SELECT content FROM vector WHERE model = ?", (self._model,))
        stale = [row[0] for row in rows if row[0] not in hashes]
        if len(stale) > max(1000, 2 * len(hashes)):
            with self._connection:
                sql = "DELETE FROM vector WHERE model = ? AND content = ?"
                self._connection.executemany(sql, ((self._model, one) for one in stale))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
