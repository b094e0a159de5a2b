"""Record the files and chunks of the index in SQLite. One transaction of this catalogue makes a sync visible.

The catalogue is derived: without it, a sync reads every file again and builds the stores from cached vectors.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from lore_etl.core.errors import Busy, CatalogueDamaged, StorageError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk, canonical_json, position_of, row_id_of
from lore_etl.stores.soundness import check_catalogue, is_damage, stamp

CATALOGUE = "catalogue.sqlite"
SUSPECT = "catalogue.suspect"  # marks damage found by a reader; the next sync rebuilds the catalogue
SEAL = "catalogue.seal"  # the stamp of the file when Lore closed it; a file with another stamp is checked
VARIABLES = 500  # older versions of SQLite allow at most 999 variables in a statement
SCHEMA_VERSION = 1
IDLE_CONNECTIONS = 4  # each holds two file descriptors; further concurrent calls open their own connections
UNREAD = "unread "  # prefix of the stamp of an unreadable file: it is read again, but does not count as changed
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS file (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash TEXT NOT NULL, recipe TEXT NOT NULL,
    facts TEXT NOT NULL, notes TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunk (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, type TEXT NOT NULL, position INTEGER NOT NULL,
    content_hash TEXT NOT NULL, metadata_hash TEXT NOT NULL, has_vector INTEGER NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chunk_order ON chunk (source, position);
CREATE INDEX IF NOT EXISTS chunk_type ON chunk (type, source, position);
CREATE INDEX IF NOT EXISTS chunk_waiting ON chunk (has_vector) WHERE has_vector = 0;
"""
_DAY = "coalesce(json_extract(record, '$.updated'), json_extract(record, '$.created'))"
_DATES = f"SELECT id, {_DAY} FROM chunk WHERE {_DAY} IS NOT NULL"


@dataclass(frozen=True)
class FileRow:
    """The record of a file from the time it was last read."""

    path: str
    stamp: str
    hash: str
    recipe: str
    facts: str
    notes: str


class ChunkState(NamedTuple):
    """The state of a chunk in the index, as needed for comparison."""

    content_hash: str
    metadata_hash: str
    has_vector: bool


class Catalogue:
    """The database of files and chunks. All threads share its connections, one call at a time.

    Readers see whole transactions while a sync writes.
    Raises:
        CatalogueDamaged: from any method: the file is damaged. This is recorded, so that the next sync rebuilds it.
        StorageError: from any method: the disk or the system failed, not the file.
        Busy: from any method after `close`.
    """

    def __init__(self, folder: Path, busy_seconds: float = 30) -> None:
        self._path, self._suspect = folder / CATALOGUE, folder / SUSPECT
        self._busy_seconds = busy_seconds
        self._idle: list[sqlite3.Connection] = []
        self._guard, self._is_closed = threading.Lock(), False
        self._seal = folder / SEAL
        self._left: str | None = None
        with self._reporting():
            is_new, found = not self._path.exists(), stamp(self._path)
            if self._suspect.exists() or not (is_new or self._path.stat().st_size):
                raise sqlite3.DatabaseError("an earlier call could not read it, or it is empty")
            try:
                with self.transaction() as connection:
                    _check_version(connection)
                    connection.executescript(_SCHEMA)
                    if not is_new and found != self._sealed():
                        check_catalogue(connection)
                self._left = stamp(self._path)
            except sqlite3.Error:
                self._left = None
                self.close()
                raise

    def verify(self) -> None:
        """Check the content if another program wrote to the file. Raises CatalogueDamaged, also if a reader did."""
        with self._reporting():
            if self._suspect.exists():
                raise sqlite3.DatabaseError("an earlier call could not read it")
            if not self._is_as_left():
                found = stamp(self._path)
                with closing(self._opened()) as connection:  # existing connections have pages in memory
                    check_catalogue(connection)
                self._left = found

    def _sealed(self) -> str | None:
        with suppress(OSError, UnicodeDecodeError):
            return self._seal.read_text(encoding="utf-8")
        return None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one call. A few idle connections are kept; one for each thread would leak."""
        with self._guard:
            if self._is_closed:
                raise Busy("The catalogue was just replaced or closed.")
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._opened()
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

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the connections, those in use when their calls end, and seal the file if only Lore wrote to it."""
        with self._guard:
            was_closed, self._is_closed = self._is_closed, True
            idle, self._idle = self._idle, []
        only_ours = not was_closed and self._is_as_left()
        for connection in idle:
            connection.close()
        if only_ours:
            with suppress(OSError):  # without a seal, the next open checks the file
                found = stamp(self._path)
                if found != self._sealed():
                    self._seal.write_text(found, encoding="utf-8")

    def _is_as_left(self) -> bool:
        with suppress(OSError):
            return stamp(self._path) == self._left
        return False

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a mistake in the code, not damage
        except (sqlite3.DatabaseError, ValidationError) as error:
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise StorageError(f"The catalogue is not usable: {error}.") from error
            with suppress(OSError):
                self._suspect.touch()
            reason = "a record is damaged" if isinstance(error, ValidationError) else error
            raise CatalogueDamaged(f"The catalogue is damaged: {reason}.") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements in a transaction, which is rolled back if an error occurs."""
        with self._connected() as connection:
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

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[str, ...]]:
        with self._reporting(), self._connected() as connection:
            return connection.execute(sql, values).fetchall()

    def meta(self, key: str) -> str | None:
        """Return a value that describes the whole index."""
        return self.metas(key)[0]

    def metas(self, *keys: str) -> tuple[str | None, ...]:
        """Return several values, read by one statement, in the order of the keys."""
        found = {key: value for key, value in self._rows("SELECT key, value FROM meta")}
        return tuple(found.get(key) for key in keys)

    def set_meta(self, **values: str | None) -> None:
        """Set or, with None, remove values."""
        with self._reporting(), self.transaction() as connection:
            _set(connection, values)

    def files(self) -> dict[str, FileRow]:
        """Return the records of all files, by path."""
        rows = self._rows("SELECT path, stamp, hash, recipe, facts, notes FROM file")
        return {row[0]: FileRow(*row) for row in rows}

    def stamps(self) -> dict[str, str]:
        """Return the stamp of every recorded file, by path: enough to detect changes."""
        return dict(self._rows("SELECT path, stamp FROM file"))  # type: ignore[arg-type]

    def stamps_of(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the stamps of the given files that are recorded, by path."""
        return self._by_key("SELECT path, stamp FROM file WHERE path", paths)

    def files_of(self, recipes: Sequence[str]) -> dict[str, FileRow]:
        """Return the records of the files that these sources own, without facts and notes: enough to detect changes."""
        marks = " OR ".join(["recipe LIKE ?"] * len(recipes))
        sql = f"SELECT path, stamp, hash, recipe, '', '' FROM file WHERE {marks} ORDER BY path"
        return {row[0]: FileRow(*row) for row in self._rows(sql, [f"{recipe}:%" for recipe in recipes])}

    def facts_of(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the facts of the given files that are recorded, by path."""
        return self._by_key("SELECT path, facts FROM file WHERE path", paths)

    def _by_key(self, sql: str, keys: Iterable[str]) -> dict[str, str]:
        """Return the second column of a statement by the first, which is its key."""
        portions = (self._rows(f"{sql} IN ({marks})", some) for marks, some in _portions(dict.fromkeys(keys)))
        return {key: value for rows in portions for key, value in rows}

    def replace_files(self, changed: Iterable[FileRow], deleted: Iterable[str], **meta: str | None) -> None:
        """Add, replace and remove records of files, in one transaction with `meta`."""
        with self._reporting(), self.transaction() as connection:
            connection.executemany("DELETE FROM file WHERE path = ?", ((path,) for path in deleted))
            rows = ((f.path, f.stamp, f.hash, f.recipe, f.facts, f.notes) for f in changed)
            connection.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)", rows)
            _set(connection, meta)

    def chunk_states(self) -> dict[str, ChunkState]:
        """Return the state of every chunk, by id."""
        rows = self._rows("SELECT id, content_hash, metadata_hash, has_vector FROM chunk")
        return {id_: ChunkState(content, metadata, bool(vector)) for id_, content, metadata, vector in rows}

    def apply(self, changed: Iterable[tuple[Chunk, bool]], deleted: Iterable[str], **meta: str | None) -> None:
        """Add or replace chunks, given as (chunk, has_vector), and remove ids, in one transaction with `meta`."""
        with self._reporting(), self.transaction() as connection:
            connection.executemany("DELETE FROM chunk WHERE id = ?", ((chunk_id,) for chunk_id in deleted))
            rows = (_values_of(chunk, has_vector) for chunk, has_vector in changed)
            connection.executemany("INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            _set(connection, meta)

    def mark_vectors(self, ids: Iterable[str], present: bool) -> None:
        """Record whether these chunks have a vector in the store."""
        with self._reporting(), self.transaction() as connection:
            rows = ((int(present), chunk_id) for chunk_id in ids)
            connection.executemany("UPDATE chunk SET has_vector = ? WHERE id = ?", rows)

    def with_vector(self) -> int:
        return int(self._rows("SELECT count(*) FROM chunk WHERE has_vector = 1")[0][0])

    def waiting(self) -> int:
        """Return the number of chunks that have no vector yet."""
        return int(self._rows("SELECT count(*) FROM chunk WHERE has_vector = 0")[0][0])

    def total(self) -> int:
        return int(self._rows("SELECT count(*) FROM chunk")[0][0])

    def files_with_chunks(self) -> int:
        return int(self._rows("SELECT count(DISTINCT source) FROM chunk")[0][0])

    def sources(self, type_: str | None, under: str | None) -> list[JSON]:
        """Return the files that have chunks, by path: type, title, number of chunks, last line."""
        where, values = "WHERE 1", list[object]()
        if type_ is not None:
            where, values = f"{where} AND type = ?", [type_]
        if under is not None:  # a range can use the index on `source`: "0" comes after "/"
            where, values = f"{where} AND source >= ? AND source < ?", [*values, f"{under}/", f"{under}0"]
        rows = self._rows(
            "SELECT source, min(type), min(json_extract(record, '$.title')), count(*),"
            f" max(json_extract(record, '$.lines[1]')) FROM chunk {where} GROUP BY source ORDER BY source",
            values,
        )
        return [dict(zip(("source", "type", "title", "chunks", "lines"), row, strict=True)) for row in rows]

    def paths(self, type_: str | None = None) -> list[str]:
        """Return the paths of all files that have chunks, or chunks of a type."""
        where, values = ("", ()) if type_ is None else (" WHERE type = ?", (type_,))
        return [row[0] for row in self._rows(f"SELECT DISTINCT source FROM chunk{where}", values)]

    def types(self) -> dict[str, str]:
        """Return the type of every file that has chunks, by path."""
        return dict(self._rows("SELECT DISTINCT source, type FROM chunk"))  # type: ignore[arg-type]

    def tags_of(self, sources: Iterable[str]) -> dict[str, list[str]]:
        """Return the tags in the front matter of the given files that have chunks, by path."""
        found: dict[str, list[str]] = {}
        for marks, some in _portions(sources):
            sql = "SELECT source, max(json_extract(record, '$.tags')) FROM chunk"
            rows = self._rows(f"{sql} WHERE source IN ({marks}) GROUP BY source", some)
            found.update((source, json.loads(tags)) for source, tags in rows)
        return found

    def rows_of(self, sources: Iterable[str], type_: str | None = None) -> dict[str, str]:
        """Return the rows in the vector store of these files' chunks, by chunk id; only of a type, if given."""
        portions = (self._vector_rows(f"source IN ({marks})", some, type_) for marks, some in _portions(sources))
        return {id_: row for rows in portions for id_, row in rows.items()}

    def rows_below(self, folders: Sequence[str], type_: str | None = None) -> dict[str, str]:
        """Return the same as `rows_of` for all files below these folders."""
        ranges = " OR ".join(["source >= ? AND source < ?"] * len(folders))  # "0" comes after "/"
        return self._vector_rows(ranges, [end for folder in folders for end in (f"{folder}/", f"{folder}0")], type_)

    def _vector_rows(self, where: str, values: Sequence[str], type_: str | None) -> dict[str, str]:
        sql = f"SELECT id, content_hash FROM chunk WHERE ({where}) AND (? IS NULL OR type = ?)"
        rows = self._rows(sql, [*values, type_, type_])
        return {id_: row_id_of(id_, content_hash) for id_, content_hash in rows}

    def every_row(self) -> list[tuple[str, ...]]:
        """Return (source, type, chunk id, content hash) of all chunks, by source and line."""
        return self._rows("SELECT source, type, id, content_hash FROM chunk ORDER BY source, position")

    def dates(self) -> dict[str, str]:
        """Return the date of every chunk that has one, by id: when it was updated, or else created."""
        return dict(self._rows(_DATES))  # type: ignore[arg-type]

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the texts of the chunks with these ids that exist, by id."""
        return self._by_key("SELECT id, json_extract(record, '$.text') FROM chunk WHERE id", ids)

    def counts(self) -> dict[str, int]:
        """Return the number of chunks of each type."""
        rows = self._rows("SELECT type, count(*) FROM chunk GROUP BY type ORDER BY type")
        return {row[0]: int(row[1]) for row in rows}

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunks with these ids that exist, by id."""
        found = (
            self._chunks(f"SELECT record FROM chunk WHERE id IN ({marks})", some)
            for marks, some in _portions(dict.fromkeys(ids))
        )
        return {chunk.id: chunk for chunks in found for chunk in chunks}

    def of_source(self, source: str) -> list[Chunk]:
        """Return the chunks of a file in the order of its lines."""
        return self._chunks("SELECT record FROM chunk WHERE source = ? ORDER BY position, id", (source,))

    def _chunks(self, sql: str, values: Sequence[object]) -> list[Chunk]:
        with self._reporting():
            return [Chunk.model_validate_json(row[0]) for row in self._rows(sql, values)]

    def page(self, type_: str | None, source: str | None, limit: int, offset: int) -> tuple[int, list[Chunk]]:
        """Return the number of matching chunks, and one page of them, sorted by source and line."""
        where, values = "WHERE 1", list[object]()
        for column, value in (("type", type_), ("source", source)):
            if value is not None:
                where, values = f"{where} AND {column} = ?", [*values, value]
        total = int(self._rows(f"SELECT count(*) FROM chunk {where}", values)[0][0])
        sql = f"SELECT record FROM chunk {where} ORDER BY source, position, id LIMIT ? OFFSET ?"
        return total, self._chunks(sql, [*values, limit, offset])


def _values_of(chunk: Chunk, has_vector: bool) -> tuple[object, ...]:
    place, hashes = (chunk.source, chunk.type, position_of(chunk)), (chunk.content_hash, chunk.metadata_hash)
    return (chunk.id, *place, *hashes, int(has_vector), canonical_json(chunk.record()))


def _set(connection: sqlite3.Connection, values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


def _check_version(connection: sqlite3.Connection) -> None:
    """Raise an error for another schema version: a derived catalogue is not migrated, but rebuilt by the next sync."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, SCHEMA_VERSION):
        raise sqlite3.DatabaseError(f"it has version {found}; this version of Lore writes {SCHEMA_VERSION}")
    if not found:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _portions(values: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the values in portions that fit into a statement, each with its placeholders."""
    left = list(values)
    for start in range(0, len(left), VARIABLES):
        some = left[start : start + VARIABLES]
        yield ",".join("?" * len(some)), some
