"""Open the file of the catalogue for all threads, report damage, and check a file that another program wrote."""

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from lore_etl.core.atomic import read_if_any, replace_content
from lore_etl.core.errors import Busy, CatalogueDamaged, StorageError
from lore_etl.core.model import position_of
from lore_etl.stores import integrity
from lore_etl.stores.catalogue_rows import COLUMNS, check, chunk_of, use_rows
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.snapshot import Derived, Snapshot
from lore_etl.stores.sqlite_file import connect, is_damage, refuse_link, row_seal, stamp, unsealed, vacuum

SEAL = "catalogue.seal"  # the stamp of the file when Lore closed it; a file with another stamp is checked
SCHEMA_VERSION = 5
PAGE_BYTES = 8_192  # records of about 1.2 KB leave a tenth less space unused than on pages of 4 KB
META = Derived[dict[str, str]]("values of the whole index")
IDLE_CONNECTIONS = 4  # each holds two file descriptors; further concurrent calls open their own connections
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS file (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash TEXT NOT NULL, recipe TEXT NOT NULL,
    facts TEXT NOT NULL, notes TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunk (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, type TEXT NOT NULL, position INTEGER NOT NULL,
    has_vector INTEGER NOT NULL, content_hash TEXT NOT NULL, class TEXT, own TEXT NOT NULL, relations TEXT NOT NULL,
    metadata_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS class (name TEXT PRIMARY KEY, record TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS uses (path TEXT PRIMARY KEY, names TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS used (
    last TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, places INTEGER NOT NULL, line INTEGER NOT NULL,
    PRIMARY KEY (last, name, path)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chunk_order ON chunk (source, position);
CREATE INDEX IF NOT EXISTS chunk_type ON chunk (type, source, position);
CREATE INDEX IF NOT EXISTS chunk_waiting ON chunk (has_vector) WHERE has_vector = 0;
"""


class CatalogueFile:
    """The database file with the values that describe the whole index; all threads share its connections.

    Each commit replaces the `snapshot`. Raises CatalogueDamaged (and marks the file), StorageError, Busy after `close`.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / CATALOGUE
        self._idle: list[sqlite3.Connection] = []
        self._guard, self._is_closed = threading.Lock(), False
        self.snapshot = Snapshot()
        self._seal = folder / SEAL
        self._left: str | None = None
        with self._reporting():
            is_new, found = not self._path.exists(), stamp(self._path)
            if integrity.is_suspect(self._path) or not (is_new or self._path.stat().st_size):
                raise sqlite3.DatabaseError("an earlier call could not read it, or it is empty")
            try:
                with self.transaction() as connection:
                    _check_version(connection)
                    connection.executescript(_SCHEMA)
                    if not is_new and found != read_if_any(self._seal):
                        _check_catalogue(connection)
                self._left = stamp(self._path)
            except (sqlite3.Error, CatalogueDamaged):
                self._left = None
                self.close()
                raise

    def verify(self) -> None:
        """Check the content if another program wrote to the file. Raises CatalogueDamaged, also if a reader did."""
        with self._reporting():
            if integrity.is_suspect(self._path) or not self._path.exists():
                raise sqlite3.DatabaseError("an earlier call could not read it, or it is missing")
            if (found := stamp(self._path)) != self._left:
                self.check()
                self._left = found

    def check(self) -> int:
        """Check the whole content, whoever wrote it, and return the number of rows."""
        with self._reporting(), closing(self._open()) as connection:  # others have pages in memory
            return _check_catalogue(connection)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one call. A few idle connections are kept; one for each thread would leak."""
        with self._guard:
            if self._is_closed:
                raise Busy("The catalogue was just replaced or closed.")
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._open()
        try:
            yield connection
        finally:
            with self._guard:
                has_room = not self._is_closed and len(self._idle) < IDLE_CONNECTIONS
                is_kept = has_room and not connection.in_transaction  # a failed commit leaves a transaction open
                if is_kept:
                    self._idle.append(connection)
            if not is_kept:
                connection.close()

    def _open(self) -> sqlite3.Connection:
        refuse_link(self._path)  # a checkout may have put one there
        return connect(self._path, PAGE_BYTES, isolation_level=None)

    def close(self) -> None:
        """Close the connections, those in use when their calls end, and seal the file if only Lore wrote to it."""
        with self._guard:
            was_closed, self._is_closed = self._is_closed, True
            idle, self._idle, self.snapshot = self._idle, [], Snapshot()
        only_ours = not was_closed and stamp(self._path) == self._left
        for connection in idle:
            connection.close()
        if only_ours and (found := stamp(self._path)) != read_if_any(self._seal):
            with suppress(OSError):  # without a seal, the next open checks the file
                replace_content(self._seal, [found], 0o666)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a mistake in the code, not damage
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise StorageError(f"The catalogue is not usable: {error}.") from error
            self.report_damage(str(error))

    def report_damage(self, problem: str) -> NoReturn:
        """Mark the file as damaged, so that the next sync rebuilds it, and raise CatalogueDamaged."""
        integrity.mark(self._path)
        raise CatalogueDamaged(f"The catalogue is damaged: {problem}.")

    @contextmanager
    def transaction(self, is_synced: bool = False) -> Iterator[sqlite3.Connection]:
        """Run statements in a transaction, which is rolled back if an error occurs; it may have to reach the disk."""
        with self._connect() as connection:
            connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            if connection.in_transaction:
                connection.execute("COMMIT")
                self._left = stamp(self._path)
            self.snapshot = Snapshot()

    def vacuum(self) -> None:
        with self._reporting(), self._connect() as connection:
            vacuum(connection)
            self._left = stamp(self._path)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._reporting(), self._connect() as connection:
            return connection.execute(sql, values).fetchall()

    def meta(self, key: str) -> str | None:
        return self.metas(key)[0]

    def metas(self, *keys: str) -> tuple[str | None, ...]:
        """Return values that describe the whole index, in the order of the keys."""
        sql = "SELECT key, value, seal FROM meta"
        with self._reporting():
            found = self.snapshot.read(META, None, lambda: dict(unsealed(row, "a value") for row in self._rows(sql)))
        return tuple(map(found.get, keys))

    def set_meta(self, **values: str | None) -> None:
        """Set or, with None, remove values. `dirty` reaches the disk at once, as the commits of other stores do."""
        with self._reporting(), self.transaction(is_synced=values.get("dirty") is not None) as connection:
            set_values(connection, values)


def set_values(connection: sqlite3.Connection, values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            connection.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, value, row_seal(key, value)))


def _check_version(connection: sqlite3.Connection) -> None:
    """Raise CatalogueDamaged for another version: a derived catalogue is not migrated, but rebuilt by the next sync."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, SCHEMA_VERSION):
        message = f"The index is of another version of Lore (layout {found}; this version writes {SCHEMA_VERSION})."
        raise CatalogueDamaged(message, "Run `lore sync` to rebuild it from the files and cached vectors.")
    if not found:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _check_catalogue(connection: sqlite3.Connection) -> int:
    """Check pages, indexes and rows (0.35 s for 40,000 chunks); return their number. Raises sqlite3.DatabaseError."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    rows = 0
    try:
        for row in connection.execute(f"SELECT {COLUMNS} FROM chunk"):
            chunk = chunk_of(row)
            if row[:4] != (chunk.id, chunk.source, chunk.type, position_of(chunk)):
                raise ValueError(chunk.id)
            rows += 1
        used = set(connection.execute("SELECT last, name, path, places, line FROM used"))
        for path, names in connection.execute("SELECT path, names FROM uses"):
            used ^= use_rows(path, names)
        if used:
            raise ValueError("uses")
        for table in ("file", "class", "meta", "uses"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                unsealed(row, "a row")
                rows += 1
        for (facts,) in connection.execute("SELECT facts FROM file"):
            check(facts)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise sqlite3.DatabaseError("a row is damaged") from error
    return rows
