"""Cache embeddings, so that no text is embedded twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from lore_etl.core.atomic import put_aside
from lore_etl.core.errors import StorageError
from lore_etl.core.model import sha256
from lore_etl.models.embedder import Vectors
from lore_etl.stores.soundness import is_damage

CACHE = "embeddings.sqlite"
LENGTH_TOLERANCE = 0.01  # vectors have length 1; a larger difference means damage on disk
T = TypeVar("T")


class EmbeddingCache:
    """Vectors by model fingerprint and content hash, on disk. Each batch is committed: an interruption costs one batch.

    It is a cache: an unreadable file is put aside, and its vectors are computed again.

    Raises:
        StorageError: from any method: the disk failed.
    """

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        self._dimension = dimension
        self._model = sha256(fingerprint)[:16]
        self._path = folder / CACHE
        self._connection: sqlite3.Connection | None = None
        self._run(lambda connection: connection.execute("SELECT 1 FROM vector LIMIT 1").fetchone())

    def get(self, hashes: Iterable[str]) -> dict[str, Vectors]:
        """Return the cached vectors of these texts, by content hash."""
        wanted = list(hashes)
        return self._run(lambda connection: self._get(connection, wanted))

    def _get(self, connection: sqlite3.Connection, hashes: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        sql = "SELECT value FROM vector WHERE model = ? AND content = ?"
        for content_hash in hashes:
            row = connection.execute(sql, (self._model, content_hash)).fetchone()
            if row and len(row[0]) == 4 * self._dimension:
                vector = np.frombuffer(row[0], dtype="<f4")
                if abs(float(vector @ vector) - 1) < LENGTH_TOLERANCE:
                    found[content_hash] = vector
        return found

    def put(self, hashes: Sequence[str], vectors: Vectors) -> None:
        rows = [
            (self._model, content_hash, np.ascontiguousarray(vector, dtype="<f4").tobytes())
            for content_hash, vector in zip(hashes, vectors, strict=True)
        ]
        self._run(lambda connection: connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", rows))

    def keep_only(self, hashes: set[str]) -> None:
        """Delete this model's vectors of other texts if these number over 1,000 and over twice the hashes."""
        self._run(lambda connection: self._keep_only(connection, hashes))

    def _keep_only(self, connection: sqlite3.Connection, hashes: set[str]) -> None:
        limit = max(1000, 2 * len(hashes))
        count = connection.execute("SELECT count(*) FROM vector WHERE model = ?", (self._model,)).fetchone()[0]
        if count <= limit:
            return
        rows = connection.execute("SELECT content FROM vector WHERE model = ?", (self._model,))
        stale = [row[0] for row in rows if row[0] not in hashes]
        if len(stale) > limit:
            sql = "DELETE FROM vector WHERE model = ? AND content = ?"
            connection.executemany(sql, ((self._model, content_hash) for content_hash in stale))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in a transaction; if the file is damaged, run it again with an empty file."""
        try:
            with self._opened() as connection:
                return action(connection)
        except (sqlite3.DatabaseError, TypeError) as error:  # damage can turn a text into a number
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise StorageError(f"The embedding cache is not usable: {error}.") from error
            self.close()
            put_aside(self._path)
            with self._opened() as connection:
                return action(connection)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS vector (model TEXT, content TEXT, value BLOB, PRIMARY KEY (model, content))"
                " WITHOUT ROWID"
            )
        return self._connection
