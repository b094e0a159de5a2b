"""Write an SQLite file through a log, pass many values to a statement, and return unused space to the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

VARIABLES = 500  # older versions of SQLite allow at most 999 variables in a statement
LOG_BYTES = 4_000_000  # of a log that has been copied into the file; a large transaction leaves one of its own size
LOG_PAGES = 16, 1_000  # the least and the most pages of a log before it is copied; between them, those of the file


def use_log(connection: sqlite3.Connection) -> None:
    """Write through a log, so that readers see whole transactions and a commit syncs no file.

    The log is copied into the file when it has grown as large, so that the log of a small index stays small.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    least, most = LOG_PAGES
    connection.execute(f"PRAGMA wal_autocheckpoint = {min(max(pages, least), most)}")


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
