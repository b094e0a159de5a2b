"""Check whether an SQLite file is unchanged since Lore closed it and, if not, whether its content is valid."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import suppress
from pathlib import Path

from lore_etl.core.errors import CatalogueDamaged
from lore_etl.core.model import position_of
from lore_etl.stores import uses
from lore_etl.stores.chunk_record import Values
from lore_etl.stores.file_facts import check

_NOT_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN,
    }
)  # fmt: skip


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file caused the error, not the disk; errors for invalid UTF-8 have no code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NOT_DAMAGE


def stamp(path: Path) -> str:
    """Return size and time of the database and its log, which every write changes. An empty log counts as absent."""
    return " ".join(_size_and_time(path.with_name(path.name + suffix)) for suffix in ("", "-wal"))


def _size_and_time(path: Path) -> str:
    with suppress(FileNotFoundError):
        info = path.stat()
        if info.st_size:
            return f"{info.st_size}:{info.st_mtime_ns}"
    return "-"


def check_version(connection: sqlite3.Connection, written: int) -> None:
    """Raise CatalogueDamaged for another version: a derived catalogue is not migrated, but rebuilt by the next sync."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, written):
        message = f"The index is of another version of Lore (layout {found}; this version writes {written})."
        raise CatalogueDamaged(message, "Run `lore sync` to rebuild it from the files and cached vectors.")
    if not found:
        connection.execute(f"PRAGMA user_version = {written}")


def check_catalogue(connection: sqlite3.Connection) -> int:
    """Check pages, indexes and rows (0.35 s for 40,000 chunks); return their number. Raises sqlite3.DatabaseError."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    rows = 0
    try:
        columns = "id, source, type, position, content_hash, class, own, relations, metadata_hash"
        for row in connection.execute(f"SELECT {columns} FROM chunk"):
            _check_chunk(row[:4], Values(*row[4:]))
            rows += 1
        for row in connection.execute("SELECT path, stamp, hash, recipe, facts, notes, seal FROM file"):
            _check_row(row)
            check(row[4])
            rows += 1
        used = set(connection.execute("SELECT last, name, path, places, line FROM used"))
        for path, names in connection.execute("SELECT path, names FROM uses"):
            used ^= uses.rows(path, names)
        if used:
            raise ValueError("uses")
        for table in ("class", "meta", "uses"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                _check_row(row)
                rows += 1
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise sqlite3.DatabaseError("a row is damaged") from error
    return rows


def row_seal(*values: str) -> str:
    """Return the hash of a row's values, which is stored with them."""
    return hashlib.blake2b("\0".join(values).encode(), digest_size=8).hexdigest()


def _check_chunk(keys: tuple[object, ...], values: Values) -> None:
    chunk = values.chunk()
    if keys != (chunk.id, chunk.source, chunk.type, position_of(chunk)):
        raise ValueError(chunk.id)


def _check_row(row: tuple[str, ...]) -> None:
    *values, seal = row
    if row_seal(*values) != seal:
        raise ValueError(values[0])
