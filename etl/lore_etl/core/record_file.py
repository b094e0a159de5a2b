"""Open a SQLite file in which a command keeps records between runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lore_etl.core.errors import InvalidPath, StorageError
from lore_etl.system.nofollow import leads_elsewhere

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class Records(sqlite3.Connection):
    """A connection whose methods raise StorageError. `hint` explains how to replace a damaged file."""

    hint: str
    name: str

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        with self.reporting():
            return super().execute(*arguments)

    def executemany(self, sql: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
        with self.reporting():
            return super().executemany(sql, rows)

    def commit(self) -> None:
        with self.reporting():
            super().commit()

    def rollback(self) -> None:
        with self.reporting():
            super().rollback()

    @contextmanager
    def reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _DAMAGE:
                raise StorageError(f"{self.name} is damaged.", self.hint) from error
            raise StorageError(f"Cannot use {self.name}: {error}.") from error


def open_records(file: Path, tables: str, hint: str) -> Records:
    """Return a connection to a file that has these tables. Raises InvalidPath, StorageError."""
    if os.path.lexists(file) and leads_elsewhere(file.lstat()):
        raise InvalidPath(f"{file} is a symlink; it is left unchanged.")
    try:
        rows = sqlite3.connect(file, factory=Records)
    except sqlite3.OperationalError as error:
        raise StorageError(f"Cannot open {file}: {error}.") from error
    rows.hint, rows.name = hint, str(file)
    try:
        with rows.reporting():
            rows.executescript(tables)
    except StorageError:
        rows.close()
        raise
    return rows
