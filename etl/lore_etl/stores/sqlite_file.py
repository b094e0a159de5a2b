"""Open, check and change SQLite files: log, damage, unchanged files, statements with many values, and records."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from lore_etl.core.errors import InvalidPath, StorageError
from lore_etl.system.nofollow import leads_elsewhere

BUSY_SECONDS = 30  # for another writer
VARIABLES = 500  # older versions of SQLite allow at most 999 variables in a statement
LOG_BYTES = 4_000_000  # of a log that has been copied into the file; a large transaction leaves one of its own size
LOG_PAGES = 16, 1_000  # the least and the most pages of a log before it is copied; between them, those of the file
Isolation = Literal["DEFERRED"] | None
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
    found = ["-", "-"]
    for n, file in enumerate((path, path.with_name(f"{path.name}-wal"))):
        with suppress(OSError):
            info = file.stat()
            if info.st_size:
                found[n] = f"{info.st_size}:{info.st_mtime_ns}"
    return " ".join(found)


def connect(
    path: Path, page_bytes: int, auto_vacuum: str = "NONE", isolation_level: Isolation = "DEFERRED"
) -> sqlite3.Connection:
    """Connect to a file that is written through a small log: readers see whole transactions, no commit syncs a file."""
    if path.is_dir():  # SQLite's error could also mean that the disk failed
        raise sqlite3.DatabaseError("a folder is in its place")
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=isolation_level, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA page_size = {page_bytes}")  # of a new file, as the next value
        connection.execute(f"PRAGMA auto_vacuum = {auto_vacuum}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        least, most = LOG_PAGES
        connection.execute(f"PRAGMA wal_autocheckpoint = {min(max(pages, least), most)}")
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_link(file: Path) -> None:
    if os.path.lexists(file) and leads_elsewhere(file.lstat()):
        raise InvalidPath(f"{file} is a symlink; it is left unchanged.")


def in_portions(values: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the values in portions that fit into a statement, each with its placeholders."""
    left = list(values)
    for start in range(0, len(left), VARIABLES):
        some = left[start : start + VARIABLES]
        yield ",".join("?" * len(some)), some


def vacuum(connection: sqlite3.Connection) -> None:
    """Rewrite the file without the space of deleted rows, outside any transaction."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def row_seal(*values: str) -> str:
    return hashlib.blake2b("\0".join(values).encode(), digest_size=8).hexdigest()


def unsealed(row: Sequence[str], name: str) -> list[str]:
    *values, seal = row
    if row_seal(*values) != seal:
        raise sqlite3.DatabaseError(f"{name} differs from its hash")
    return values


class Records:
    """A file with tables. Its methods raise StorageError; `hint` explains how to replace a damaged file."""

    def __init__(self, file: Path, tables: str, hint: str) -> None:
        """Open the file, and create missing tables. Raises InvalidPath, StorageError."""
        refuse_link(file)
        self._file, self._hint = file, hint
        with self._reporting():
            self._connection = sqlite3.connect(file)
        try:
            with self._reporting():
                self._connection.executescript(tables)
        except StorageError:
            self.close()
            raise

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, and return all its rows: damage may be found in any of them."""
        with self._reporting():
            return self._connection.execute(sql, values).fetchall()

    def executemany(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        with self._reporting():
            self._connection.executemany(sql, values)

    def commit(self) -> None:
        with self._reporting():
            self._connection.commit()

    def rollback(self) -> None:
        with self._reporting():
            self._connection.rollback()

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise StorageError(f"{self._file} is damaged.", self._hint) from error
            raise StorageError(f"Cannot use {self._file}: {error}.") from error
