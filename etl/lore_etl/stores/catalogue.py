"""The catalogue: what the index holds now, in SQLite. One transaction here is what makes a sync visible.

It is derived: without it, a sync reads every file again and builds the stores from cached vectors.
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
SUSPECT = "catalogue.suspect"  # marks damage that a reader met; the next sync rebuilds the catalogue
SEAL = "catalogue.seal"  # the stamp of the file as Lore left it; a file with another stamp is checked
VARIABLES = 500  # SQLite's limit on variables in a statement was 999 for long
SCHEMA_VERSION = 1
IDLE_CONNECTIONS = 4  # each holds two file descriptors; calls that overlap more open their own
UNREAD = "unread "  # before the stamp of a file that could not be read: to be tried again, but not changed since
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


@dataclass(frozen=True)
class FileRow:
    """What is known of a file from when it was last read."""

    path: str
    stamp: str
    hash: str
    recipe: str
    facts: str
    notes: str


class Held(NamedTuple):
    """What the index holds of a chunk, enough to compare."""

    content_hash: str
    metadata_hash: str
    has_vector: bool


class Catalogue:
    """Connections are shared by all threads, one call at a time: readers see whole transactions while a sync writes.

    Raises:
        CatalogueDamaged: from any method. It is remembered, so that the next sync knows.
        StorageError: from any method. The disk or the system failed, not the file.
        Busy: from any method after `close`.
    """

    def __init__(self, folder: Path, busy_seconds: float = 30) -> None:
        self._path = folder / CATALOGUE
        self._busy_seconds = busy_seconds
        self._suspect = folder / SUSPECT
        self._idle: list[sqlite3.Connection] = []
        self._is_closed = False
        self._guard = threading.Lock()
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
        """Check the content if anybody else wrote to the file, or a reader met damage, since it was opened."""
        with self._reporting():
            if self._suspect.exists():
                raise sqlite3.DatabaseError("an earlier call could not read it")
            if not self._is_as_left():
                found = stamp(self._path)
                with closing(self._opened()) as connection:  # the others hold pages in memory
                    check_catalogue(connection)
                self._left = found

    def _sealed(self) -> str | None:
        with suppress(OSError, UnicodeDecodeError):
            return self._seal.read_text(encoding="utf-8")
        return None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one call. A few wait for the next call; a connection of its own for each thread leaked."""
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
                is_kept = has_room and not connection.in_transaction  # a commit that failed leaves one open
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
        """Close the connections; one that is in use closes when its call ends. Seal the file if only we wrote to it."""
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
            raise  # our mistake, not the file's
        except (sqlite3.DatabaseError, ValidationError) as error:
            if isinstance(error, sqlite3.Error) and not is_damage(error):
                raise StorageError(f"The catalogue is not usable: {error}.") from error
            with suppress(OSError):
                self._suspect.touch()
            reason = "a record is damaged" if isinstance(error, ValidationError) else error
            raise CatalogueDamaged(f"The catalogue is damaged: {reason}.") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
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
        """A value that describes the index as a whole."""
        return self.metas(key)[0]

    def metas(self, *keys: str) -> tuple[str | None, ...]:
        """Return several values of one moment, in the order of the keys."""
        found = {key: value for key, value in self._rows("SELECT key, value FROM meta")}
        return tuple(found.get(key) for key in keys)

    def set_meta(self, **values: str | None) -> None:
        """Set or, with None, remove values."""
        with self._reporting(), self.transaction() as connection:
            _set(connection, values)

    def files(self) -> dict[str, FileRow]:
        """Every file that was read."""
        rows = self._rows("SELECT path, stamp, hash, recipe, facts, notes FROM file")
        return {row[0]: FileRow(*row) for row in rows}

    def stamps(self) -> dict[str, str]:
        """Path -> stamp of every file that was read: enough to see whether anything changed."""
        return dict(self._rows("SELECT path, stamp FROM file"))  # type: ignore[arg-type]

    def stamps_of(self, paths: Iterable[str]) -> dict[str, str]:
        """Path -> stamp of those of these files that were read."""
        return self._of_files("stamp", paths)

    def files_of(self, recipes: Sequence[str]) -> dict[str, FileRow]:
        """Every file that one of these sources owns, without its facts and notes: to see what changed."""
        marks = " OR ".join(["recipe LIKE ?"] * len(recipes))
        sql = f"SELECT path, stamp, hash, recipe, '', '' FROM file WHERE {marks} ORDER BY path"
        return {row[0]: FileRow(*row) for row in self._rows(sql, [f"{one}:%" for one in recipes])}

    def facts_of(self, paths: Iterable[str]) -> dict[str, str]:
        """Path -> facts of those of these files that were read."""
        return self._of_files("facts", paths)

    def _of_files(self, column: str, paths: Iterable[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for marks, some in _portions(dict.fromkeys(paths)):
            found.update(self._rows(f"SELECT path, {column} FROM file WHERE path IN ({marks})", some))  # type: ignore[arg-type]
        return found

    def replace_files(self, changed: Iterable[FileRow], gone: Iterable[str], **meta: str | None) -> None:
        """Remember what was read, in one transaction with `meta`."""
        with self._reporting(), self.transaction() as connection:
            connection.executemany("DELETE FROM file WHERE path = ?", ((path,) for path in gone))
            rows = ((f.path, f.stamp, f.hash, f.recipe, f.facts, f.notes) for f in changed)
            connection.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)", rows)
            _set(connection, meta)

    def held(self) -> dict[str, Held]:
        """Id -> what is held, of every chunk."""
        rows = self._rows("SELECT id, content_hash, metadata_hash, has_vector FROM chunk")
        return {id_: Held(content, metadata, bool(vector)) for id_, content, metadata, vector in rows}

    def apply(self, changed: Iterable[tuple[Chunk, bool]], gone: Iterable[str], **meta: str | None) -> None:
        """Put (chunk, has_vector) in and take ids out, in one transaction with `meta`."""
        with self._reporting(), self.transaction() as connection:
            connection.executemany("DELETE FROM chunk WHERE id = ?", ((one,) for one in gone))
            rows = (
                (
                    c.id,
                    c.source,
                    c.type,
                    position_of(c),
                    c.content_hash,
                    c.metadata_hash,
                    int(vector),
                    canonical_json(c.record()),
                )
                for c, vector in changed
            )
            connection.executemany("INSERT OR REPLACE INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            _set(connection, meta)

    def mark_vectors(self, ids: Iterable[str], present: bool) -> None:
        """Note which chunks have a vector in the store."""
        with self._reporting(), self.transaction() as connection:
            rows = ((int(present), one) for one in ids)
            connection.executemany("UPDATE chunk SET has_vector = ? WHERE id = ?", rows)

    def with_vector(self) -> int:
        """How many chunks have a vector."""
        return int(self._rows("SELECT count(*) FROM chunk WHERE has_vector = 1")[0][0])

    def waiting(self) -> int:
        """How many chunks have no vector yet."""
        return int(self._rows("SELECT count(*) FROM chunk WHERE has_vector = 0")[0][0])

    def total(self) -> int:
        """How many chunks there are."""
        return int(self._rows("SELECT count(*) FROM chunk")[0][0])

    def files_with_chunks(self) -> int:
        """How many files have chunks."""
        return int(self._rows("SELECT count(DISTINCT source) FROM chunk")[0][0])

    def sources(self, type_: str | None, under: str | None) -> list[JSON]:
        """Files that have chunks, by path: type, title, number of chunks, last line."""
        where, values = "WHERE 1", list[object]()
        if type_ is not None:
            where, values = f"{where} AND type = ?", [type_]
        if under is not None:  # a range, so that the index on `source` serves it: "0" comes after "/"
            where, values = f"{where} AND source >= ? AND source < ?", [*values, f"{under}/", f"{under}0"]
        rows = self._rows(
            "SELECT source, min(type), min(json_extract(record, '$.title')), count(*),"
            f" max(json_extract(record, '$.lines[1]')) FROM chunk {where} GROUP BY source ORDER BY source",
            values,
        )
        names = ("source", "type", "title", "chunks", "lines")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def paths(self, type_: str | None = None) -> list[str]:
        """Every file that has chunks, or that has some of a type."""
        where, values = ("", ()) if type_ is None else (" WHERE type = ?", (type_,))
        return [row[0] for row in self._rows(f"SELECT DISTINCT source FROM chunk{where}", values)]

    def types(self) -> dict[str, str]:
        """Type of every file that has chunks."""
        return dict(self._rows("SELECT DISTINCT source, type FROM chunk"))  # type: ignore[arg-type]

    def tags_of(self, sources: Iterable[str]) -> dict[str, list[str]]:
        """The tags in the front matter of those of these files that have chunks."""
        found: dict[str, list[str]] = {}
        for marks, some in _portions(sources):
            sql = "SELECT source, max(json_extract(record, '$.tags')) FROM chunk"
            rows = self._rows(f"{sql} WHERE source IN ({marks}) GROUP BY source", some)
            found.update((source, json.loads(tags)) for source, tags in rows)
        return found

    def rows_of(self, sources: Iterable[str], type_: str | None = None) -> dict[str, str]:
        """Id of each chunk of these files, if it is of the type -> its row in the vectors."""
        portions = (self._vector_rows(f"source IN ({marks})", some, type_) for marks, some in _portions(sources))
        return {id_: row for rows in portions for id_, row in rows.items()}

    def rows_below(self, folders: Sequence[str], type_: str | None = None) -> dict[str, str]:
        """The same of all files below any of these folders."""
        ranges = " OR ".join(["source >= ? AND source < ?"] * len(folders))  # "0" comes after "/"
        return self._vector_rows(ranges, [end for folder in folders for end in (f"{folder}/", f"{folder}0")], type_)

    def _vector_rows(self, where: str, values: Sequence[str], type_: str | None) -> dict[str, str]:
        sql = f"SELECT id, content_hash FROM chunk WHERE ({where}) AND (? IS NULL OR type = ?)"
        rows = self._rows(sql, [*values, type_, type_])
        return {id_: row_id_of(id_, content_hash) for id_, content_hash in rows}

    def counts(self) -> dict[str, int]:
        """Chunks per type."""
        rows = self._rows("SELECT type, count(*) FROM chunk GROUP BY type ORDER BY type")
        return {row[0]: int(row[1]) for row in rows}

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Id -> chunk, of those that exist."""
        return {chunk.id: chunk for chunk in self._fetch(dict.fromkeys(ids))}

    def of_source(self, source: str) -> list[Chunk]:
        """The chunks of a file in the order of its lines."""
        return self._chunks("SELECT record FROM chunk WHERE source = ? ORDER BY position, id", (source,))

    def _chunks(self, sql: str, values: Sequence[object]) -> list[Chunk]:
        with self._reporting():
            return [Chunk.model_validate_json(row[0]) for row in self._rows(sql, values)]

    def _fetch(self, values: Iterable[str]) -> Iterator[Chunk]:
        for marks, some in _portions(values):
            yield from self._chunks(f"SELECT record FROM chunk WHERE id IN ({marks})", some)

    def page(self, type_: str | None, source: str | None, limit: int, offset: int) -> tuple[int, list[Chunk]]:
        """How many chunks match, and one page of them, by source and line."""
        where, values = "WHERE 1", list[object]()
        for column, value in (("type", type_), ("source", source)):
            if value is not None:
                where, values = f"{where} AND {column} = ?", [*values, value]
        total = int(self._rows(f"SELECT count(*) FROM chunk {where}", values)[0][0])
        sql = f"SELECT record FROM chunk {where} ORDER BY source, position, id LIMIT ? OFFSET ?"
        return total, self._chunks(sql, [*values, limit, offset])


def _set(connection: sqlite3.Connection, values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        if value is not None:
            connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


def _check_version(connection: sqlite3.Connection) -> None:
    """A catalogue of another version is not migrated: it is derived, so the next sync builds it anew."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, SCHEMA_VERSION):
        raise sqlite3.DatabaseError(f"it has version {found}; this version of Lore writes {SCHEMA_VERSION}")
    if not found:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _portions(values: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The values as many as a statement takes at once, with a mark for each."""
    left = list(values)
    for start in range(0, len(left), VARIABLES):
        some = left[start : start + VARIABLES]
        yield ",".join("?" * len(some)), some
