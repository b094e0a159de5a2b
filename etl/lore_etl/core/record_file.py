"""Open a SQLite file in which a command keeps records between runs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from lore_etl.core.errors import InvalidPath, StorageError
from lore_etl.system.nofollow import leads_elsewhere


def open_records(file: Path, tables: str, hint: str) -> sqlite3.Connection:
    """Return a connection to a file that has these tables. `hint` explains how to replace a damaged file.

    Raises:
        InvalidPath: the file is a symlink.
        StorageError: the file is damaged.
    """
    if os.path.lexists(file) and leads_elsewhere(file.lstat()):
        raise InvalidPath(f"{file} is a symlink; it is left unchanged.")
    rows = sqlite3.connect(file)
    try:
        rows.executescript(tables)
    except sqlite3.DatabaseError as error:
        rows.close()
        raise StorageError(f"{file} is damaged.", hint) from error
    return rows
