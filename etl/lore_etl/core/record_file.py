"""Open a SQLite file in which a command keeps records between runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from lore_etl.core.errors import InvalidPath, StorageError
from lore_etl.system.nofollow import leads_elsewhere

Value = TypeVar("Value")
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _reporting(method: Callable[..., Value]) -> Callable[..., Value]:
    @wraps(method)
    def call(rows: Records, *arguments: Any) -> Value:
        try:
            return method(rows, *arguments)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _DAMAGE:
                raise StorageError(f"{rows.name} is damaged.", rows.hint) from error
            raise StorageError(f"Cannot use {rows.name}: {error}.") from error

    return call


class Records(sqlite3.Connection):
    """A connection whose methods raise StorageError. `hint` explains how to replace a damaged file."""

    hint: str
    name: str
    execute = _reporting(sqlite3.Connection.execute)
    executemany = _reporting(sqlite3.Connection.executemany)
    executescript = _reporting(sqlite3.Connection.executescript)
    commit = _reporting(sqlite3.Connection.commit)
    rollback = _reporting(sqlite3.Connection.rollback)


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
        rows.executescript(tables)
    except StorageError:
        rows.close()
        raise
    return rows
