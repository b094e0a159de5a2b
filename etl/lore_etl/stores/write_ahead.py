"""Write an SQLite file through a log, and return the space of both to the disk."""

from __future__ import annotations

import sqlite3

LOG_BYTES = 4_000_000  # of a log that has been copied into the file; a large transaction leaves one of its own size


def use_log(connection: sqlite3.Connection) -> None:
    """Write through a log, so that readers see whole transactions and a commit syncs no file."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")


def vacuum(connection: sqlite3.Connection) -> None:
    """Write the file again without the space of deleted rows, outside any transaction."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
