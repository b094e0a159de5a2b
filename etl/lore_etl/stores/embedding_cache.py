"""Cache the embeddings of an index, and of all projects of a user, with a hash that reveals changed bits."""

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lore_etl.config.project import private_folder
from lore_etl.core.atomic import put_aside
from lore_etl.core.errors import StorageError
from lore_etl.core.model import sha256
from lore_etl.models.embedder import Vectors
from lore_etl.stores import integrity
from lore_etl.stores.snapshot import Kept
from lore_etl.stores.sqlite_file import connect, in_portions, is_damage, vacuum

CACHE, SHARED = "embeddings.sqlite", "vectors.sqlite"
PAGE_BYTES = 16_384  # a vector in half precision with its keys takes 0.9 KB, of 3,072 dimensions 6.3 KB
SEAL_BYTES = 8
LAYOUT = 2  # each vector has a seal
KEPT_VECTORS = 24_000  # 0.8 KB each with 384 dimensions: 20 MB
FEW, UNSHARED_FEW = 250, 1_000  # vectors of other texts, as after a switch of branches
STALE_SHARE, UNSHARED_SHARE = 0.25, 2
LENGTH_TOLERANCE = 0.01  # vectors have length 1; a larger difference means damage on disk
KEPT_SHARE = 0.8  # an eviction leaves room, so that not every batch evicts
SECONDS_PER_DAY = 86_400
VALUES = "content, value"
_HALF = np.dtype("<f2")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding (model TEXT, content TEXT, value BLOB, UNIQUE (model, content));
CREATE TABLE IF NOT EXISTS distrusted (model TEXT, content TEXT, PRIMARY KEY (model, content));
"""
_SHARED_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding
    (model TEXT, content TEXT, used INTEGER, value BLOB, UNIQUE (model, content));
CREATE INDEX IF NOT EXISTS least_used ON embedding (used);
"""
log = logging.getLogger(__name__)
T = TypeVar("T")


class SharedVectors:
    """Vectors by model and content hash in one file of at most `limit` bytes, used by several processes at once.

    It has no text. The least recently used go first, by day. Damage is only logged: texts are then embedded again.
    """

    def __init__(self, folder: Path, limit: int, today: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._limit = limit
        self._day = int(today() // SECONDS_PER_DAY)
        self._connection: sqlite3.Connection | None = None
        self._is_usable = True

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return content hash -> vector for the known texts, and record their use."""
        return self._run(lambda connection: self._get(connection, model, hashes), {})

    def put(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Add vectors that were computed on this machine, never those from a file of another origin."""
        rows = [(model, one, self._day, _sealed(model, one, value)) for one, value in vectors.items()]
        self._run(lambda connection: self._put(connection, rows), None)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _get(self, connection: sqlite3.Connection, model: str, hashes: Sequence[str]) -> dict[str, bytes]:
        rows = _select(connection, "content, value, used", model, hashes)
        if old := [(self._day, model, content) for content, _, used in rows if used != self._day]:
            connection.executemany("UPDATE embedding SET used = ? WHERE model = ? AND content = ?", old)
        found = ((content, _unsealed(model, content, value)) for content, value, _ in rows)
        return {content: value for content, value in found if value is not None}

    def _put(self, connection: sqlite3.Connection, rows: Sequence[tuple[str, str, int, bytes]]) -> None:
        connection.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", rows)
        used = _number(connection, "page_count") - _number(connection, "freelist_count")
        if (size := used * _number(connection, "page_size")) > self._limit:
            count = connection.execute("SELECT count(*) FROM embedding").fetchone()[0]
            surplus = count - int(count * KEPT_SHARE * self._limit / size)
            oldest = "SELECT rowid FROM embedding ORDER BY used LIMIT ?"
            connection.execute(f"DELETE FROM embedding WHERE rowid IN ({oldest})", (surplus,))
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _run(self, action: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run an action in a transaction; after an error, continue without the file until this process ends."""
        if not self._is_usable:
            return otherwise
        try:
            with self._open_once() as connection:
                return action(connection)
        except (OSError, sqlite3.Error) as error:
            log.warning("The shared embedding cache is not usable: %s.", error)
            self._is_usable = False
            self.close()
            if isinstance(error, sqlite3.Error) and is_damage(error):
                put_aside(self._folder / SHARED)
            return otherwise

    def _open_once(self) -> sqlite3.Connection:
        if self._connection is None:
            path = private_folder(self._folder) / SHARED
            self._connection = _open(path, _SHARED_SCHEMA, auto_vacuum="INCREMENTAL")
            path.chmod(0o600)
        return self._connection


class EmbeddingCache:
    """Vectors by model fingerprint and content hash, on disk. Each batch is committed: an interruption costs one batch.

    Half precision moves vectors by less than `embed.spread` does. An unreadable file is set aside. A vector that
    differs from its seal is not used, and the file is marked until `repair`. Unknown texts are looked up in the cache
    of all projects, which also receives computed vectors. Methods raise StorageError if the disk failed.
    """

    def __init__(self, folder: Path, fingerprint: str, dimension: int, shared: SharedVectors | None = None) -> None:
        self._dimension = dimension
        self._model = sha256(fingerprint)[:16]
        self._path = folder / CACHE
        self._shared = shared
        self._connection: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._kept = Kept[str, bytes](KEPT_VECTORS)
        self._distrusted: set[str] | None = None  # as in the file, once it was read
        self._run(lambda connection: connection.execute("SELECT 1 FROM embedding LIMIT 1").fetchone())

    def get(self, hashes: Iterable[str]) -> dict[str, Vectors]:
        wanted = list(hashes)
        found = self._checked(
            self._intact(self._run(lambda connection: _select(connection, VALUES, self._model, wanted)))
        )
        missing = [content_hash for content_hash in wanted if content_hash not in found]
        if missing and self._shared is not None:
            elsewhere = self._checked(self._shared.get(self._model, missing))
            if elsewhere:
                self.add(elsewhere, elsewhere.values())
            found |= elsewhere
        return found

    def _intact(self, stored: Iterable[tuple[str, object]]) -> dict[str, bytes]:
        """Return the packed vectors that match their seals; mark the file if there is another."""
        found: dict[str, bytes] = {}
        for content_hash, value in stored:
            if (packed := _unsealed(self._model, content_hash, value)) is None:
                integrity.mark(self._path)
            else:
                found[content_hash] = packed
        return found

    def similarities(self, vector: Vectors, hashes: Sequence[str]) -> dict[str, float]:
        """Return content hash -> cosine similarity of readable vectors, by a connection independent of a sync's."""
        names, vectors, lengths = self._sound(self.kept_values(hashes))
        return dict(zip(names, ((vectors @ vector) / lengths).tolist(), strict=True))

    def kept_values(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return content hash -> packed vector of these texts, if readable, and keep them for later searches."""
        return self._kept.read(hashes, lambda missing: self._intact(self._read(missing)))

    def _read(self, hashes: Iterable[str]) -> list[tuple[str, object]]:
        return self._searching(lambda connection: _select(connection, VALUES, self._model, hashes))

    def compared(self, hashes: Iterable[str]) -> tuple[dict[str, Vectors], int]:
        """Return content hash -> vector of these texts as in the file, and how many differ from their seals."""
        stored = self._read(hashes)
        intact = self._intact(stored)
        return self._checked(intact), len(stored) - len(intact)

    def check(self) -> None:
        with self._reading, closing(sqlite3.connect(self._path)) as connection:
            try:
                is_damaged = connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok"
            except sqlite3.DatabaseError as error:
                is_damaged = is_damage(error)
            if is_damaged:
                integrity.mark(self._path)

    def _checked(self, values: Mapping[str, bytes]) -> dict[str, Vectors]:
        names, vectors, _ = self._sound(values)
        return dict(zip(names, vectors, strict=True))

    def _sound(self, values: Mapping[str, bytes]) -> tuple[list[str], Vectors, Vectors]:
        """Return the hashes, vectors and lengths of the vectors that have this dimension and length 1."""
        size = self._dimension * _HALF.itemsize
        rows = [row for row in sorted(values.items()) if len(row[1]) == size]
        numbers = np.frombuffer(b"".join(value for _, value in rows), dtype=_HALF)
        vectors = numbers.reshape(len(rows), self._dimension).astype(np.float32)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        sound = np.abs(squares - 1) < LENGTH_TOLERANCE
        names = [name for (name, _), is_sound in zip(rows, sound, strict=True) if is_sound]
        return names, vectors[sound], np.sqrt(squares[sound])

    def put(self, hashes: Iterable[str], vectors: Iterable[Vectors]) -> dict[str, Vectors]:
        """Add vectors that were computed here to this index and the shared cache; return them as `get` will."""
        packed = self.add(hashes, vectors)
        if self._shared is not None:
            self._shared.put(self._model, packed)
        return self._checked(packed)

    def add(self, hashes: Iterable[str], vectors: Iterable[Vectors]) -> dict[str, bytes]:
        """Add vectors to this index only; return them as they are stored."""
        model, numbers = self._model, (np.ascontiguousarray(vector, dtype=_HALF).tobytes() for vector in vectors)
        packed = dict(zip(hashes, numbers, strict=True))
        rows = [(model, content_hash, _sealed(model, content_hash, value)) for content_hash, value in packed.items()]
        self._run(lambda connection: connection.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?)", rows))
        self._kept.drop(packed)
        return packed

    def distrust(self, hashes: Iterable[str]) -> None:
        """Record that the vectors of these texts were computed elsewhere and not compared yet."""
        rows = [(self._model, content_hash) for content_hash in hashes]
        self._run(lambda connection: connection.executemany("INSERT OR IGNORE INTO distrusted VALUES (?, ?)", rows))
        self._distrusted = None

    def distrusted(self, hashes: Iterable[str]) -> list[str]:
        """Return those of these texts whose vectors were computed elsewhere and not compared yet."""
        if self._distrusted is None:
            sql = "SELECT content FROM distrusted WHERE model = ?"
            rows = self._searching(lambda connection: connection.execute(sql, (self._model,)).fetchall())
            self._distrusted = {content for (content,) in rows}
        return [content_hash for content_hash in hashes if content_hash in self._distrusted]

    def trust(self, hashes: Collection[str]) -> None:
        self._distrusted = (self._distrusted or set()) - set(hashes)
        sql, rows = "DELETE FROM distrusted WHERE model = ? AND content = ?", ((self._model, one) for one in hashes)
        self._searching(lambda connection: connection.executemany(sql, rows).fetchall())

    def drop_distrusted(self) -> None:
        sql = "DELETE FROM embedding WHERE (model, content) IN (SELECT model, content FROM distrusted)"
        self._run(lambda connection: connection.execute(sql))
        self._run(lambda connection: connection.execute("DELETE FROM distrusted"))
        self._distrusted = None

    def _searching(self, action: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
        """Run an action of a search. If it fails, return nothing: the next sync reports or repairs the file."""
        with self._reading:
            try:
                self._reader = self._reader or sqlite3.connect(self._path, timeout=1, check_same_thread=False)
                with self._reader as connection:
                    return action(connection)
            except sqlite3.Error as error:
                if is_damage(error):
                    integrity.mark(self._path)
                return []

    def repair(self) -> list[str]:
        """If a call has found damage, delete all damaged vectors, and return the hashes of their texts."""
        if not integrity.is_suspect(self._path):
            return []
        damaged = self._run(self._drop_damaged)
        integrity.unmark(self._path)
        return damaged

    def _drop_damaged(self, connection: sqlite3.Connection) -> list[str]:
        if (found := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(found)
        stored = connection.execute("SELECT rowid, model, content, value FROM embedding")
        damaged = [(row, content) for row, model, content, value in stored if _unsealed(model, content, value) is None]
        connection.executemany("DELETE FROM embedding WHERE rowid = ?", ((row,) for row, _ in damaged))
        self._kept.drop(content for _, content in damaged)
        return [str(content) for _, content in damaged]

    def keep_only(self, number: int, hashes: Callable[[], set[str]]) -> None:
        """Delete this model's vectors of other texts, and free their space, once there are too many."""
        few, share = (UNSHARED_FEW, UNSHARED_SHARE) if self._shared is None else (FEW, STALE_SHARE)
        mine, model = "FROM embedding WHERE model = ?", (self._model,)
        count = self._run(lambda connection: connection.execute(f"SELECT count(*) {mine}", model).fetchone()[0])
        if count <= number + max(few, int(number * share)):
            return
        kept = hashes()
        rows = self._run(lambda connection: connection.execute(f"SELECT model, content {mine}", model).fetchall())
        stale = [row for row in rows if row[1] not in kept]
        self._run(lambda connection: connection.executemany(f"DELETE {mine} AND content = ?", stale))
        self._run(vacuum)

    def close(self) -> None:
        with self._reading:
            for connection in (self._connection, self._reader):
                if connection is not None:
                    connection.close()
            self._connection = self._reader = None
        if self._shared is not None:
            self._shared.close()

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in a transaction; if the file is damaged, run it again with an empty file."""
        try:
            with self._open_once() as connection:
                return action(connection)
        except (sqlite3.DatabaseError, TypeError) as error:  # damage can turn a text into a number
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise StorageError(f"The embedding cache is not usable: {error}.") from error
            self.close()
            put_aside(self._path)
            integrity.unmark(self._path)
            with self._open_once() as connection:
                return action(connection)

    def _open_once(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _open(self._path, _SCHEMA)
        return self._connection


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _select(connection: sqlite3.Connection, columns: str, model: str, hashes: Iterable[str]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for marks, some in in_portions(hashes):
        sql = f"SELECT {columns} FROM embedding WHERE model = ? AND content IN ({marks})"
        found += connection.execute(sql, (model, *some))
    return found


def _sealed(model: str, content: str, value: bytes) -> bytes:
    return value + hashlib.blake2b(f"{model}\0{content}\0".encode() + value, digest_size=SEAL_BYTES).digest()


def _unsealed(model: str, content: str, stored: object) -> bytes | None:
    value = stored[:-SEAL_BYTES] if isinstance(stored, bytes) else b""  # damage can turn it into a number
    return value if stored == _sealed(model, content, value) else None


def _open(path: Path, schema: str, auto_vacuum: str = "NONE") -> sqlite3.Connection:
    """Open a file of vectors. Raises sqlite3.DatabaseError, also for a file of another version of Lore."""
    connection = connect(path, PAGE_BYTES, auto_vacuum=auto_vacuum)
    try:
        if _number(connection, "user_version") != LAYOUT:
            with connection:
                connection.execute("BEGIN IMMEDIATE")  # another process may create the same file
                found = _number(connection, "user_version")
                if not found and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    connection.execute(f"PRAGMA user_version = {LAYOUT}")
                elif found != LAYOUT:
                    raise sqlite3.DatabaseError(f"it has layout {found}, of another version of Lore")
        connection.executescript(schema)
    except BaseException:
        connection.close()
        raise
    return connection
