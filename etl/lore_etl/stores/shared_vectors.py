"""Keep embeddings for all projects of a user, so that another clone or a new index need not embed them again.

Vectors are stored with a hash of their keys and numbers, so that a changed bit is noticed when they are read.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from lore_etl.config.user_folders import private_folder
from lore_etl.stores.sqlite_file import connect, is_damage

SHARED = "vectors.sqlite"
PAGE_BYTES = 16_384  # a vector in half precision with its keys takes 0.9 KB, of 3,072 dimensions 6.3 KB
KEPT_SHARE = 0.8  # an eviction leaves room, so that not every batch evicts
SECONDS_PER_DAY = 86_400
log = logging.getLogger(__name__)
T = TypeVar("T")
SEAL_BYTES = 8
LAYOUT = 2  # each vector has a seal
_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding
    (model TEXT, content TEXT, used INTEGER, value BLOB, UNIQUE (model, content));
CREATE INDEX IF NOT EXISTS least_used ON embedding (used);
"""


class SharedVectors:
    """Vectors by model and content hash in one file of at most `limit` bytes, used by several processes at once.

    It contains no text. The vectors used least recently are deleted first, by day. A file that cannot be used is only
    logged: without it, texts are embedded again. So are those whose vector differs from its seal.
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
        rows = [(model, one, self._day, sealed(model, one, value)) for one, value in vectors.items()]
        self._run(lambda connection: self._put(connection, rows), None)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _get(self, connection: sqlite3.Connection, model: str, hashes: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        old = []
        sql = "SELECT value, used FROM embedding WHERE model = ? AND content = ?"
        for content_hash in hashes:
            row = connection.execute(sql, (model, content_hash)).fetchone()
            if row and (value := unsealed(model, content_hash, row[0])) is not None:
                found[content_hash] = value
                if row[1] != self._day:
                    old.append((self._day, model, content_hash))
        if old:
            connection.executemany("UPDATE embedding SET used = ? WHERE model = ? AND content = ?", old)
        return found

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
            with self._opened() as connection:
                return action(connection)
        except (OSError, sqlite3.Error) as error:
            log.warning("The shared embedding cache is not usable: %s.", error)
            self._is_usable = False
            self.close()
            if isinstance(error, sqlite3.Error) and is_damage(error):
                for suffix in ("", "-wal", "-shm"):
                    (self._folder / (SHARED + suffix)).unlink(missing_ok=True)
            return otherwise

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            path = private_folder(self._folder) / SHARED
            self._connection = open_vectors(path, _SCHEMA, auto_vacuum="INCREMENTAL")
            path.chmod(0o600)
        return self._connection


def _number(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def sealed(model: str, content: str, value: bytes) -> bytes:
    """Return the numbers of a vector, followed by their seal."""
    return value + _seal(model, content, value)


def unsealed(model: str, content: str, stored: object) -> bytes | None:
    """Return the numbers of a stored vector; None if it is damaged."""
    if not isinstance(stored, bytes):  # damage can turn it into a number
        return None
    value = stored[:-SEAL_BYTES]
    return value if stored[-SEAL_BYTES:] == _seal(model, content, value) else None


def open_vectors(path: Path, schema: str, auto_vacuum: str = "NONE") -> sqlite3.Connection:
    """Open a file of vectors. Raises sqlite3.DatabaseError, also for a file of another version of Lore."""
    connection = connect(path, PAGE_BYTES, auto_vacuum=auto_vacuum)
    try:
        if _layout(connection) != LAYOUT:
            _record_layout(connection)
        connection.executescript(schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _record_layout(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")  # another process may create the same file
        if not _layout(connection) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        elif (found := _layout(connection)) != LAYOUT:
            raise sqlite3.DatabaseError(f"it has layout {found}, of another version of Lore")


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _seal(model: str, content: str, value: bytes) -> bytes:
    return hashlib.blake2b(f"{model}\0{content}\0".encode() + value, digest_size=SEAL_BYTES).digest()
