"""The default store: one SQLite file in WAL mode (ADR 0001)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

from ferry.errors import ConfigError, StoreError, StoreLocked
from ferry.stores.sql import SQLStore

CREATE = """
CREATE TABLE IF NOT EXISTS jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    task TEXT NOT NULL,
    payload TEXT NOT NULL,
    queue TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    timeout REAL,
    run_at REAL NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    lease_until REAL NOT NULL,
    worker_id TEXT,
    unique_key TEXT,
    last_error TEXT
)
"""
INDEX = "CREATE INDEX IF NOT EXISTS jobs_due ON jobs (state, queue, run_at)"


class SQLiteStore(SQLStore):
    """Jobs in a local file that any number of processes on one machine may share.

    Args:
        path: the database file; it and its folder are created.
        synchronous: FULL survives a power cut without losing the last commits, NORMAL is two
            to three times faster and survives a crash of the program.
    """

    BUSY_TIMEOUT_MS: ClassVar[int] = 5_000
    SCHEMA_VERSION: ClassVar[int] = 2

    def __init__(self, path: str | Path, *, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> None:
        if str(path) == ":memory:":
            raise ConfigError("every thread would see its own :memory: database; use MemoryStore")
        if synchronous not in ("NORMAL", "FULL"):
            raise ConfigError("synchronous must be NORMAL or FULL")
        self.path = Path(path)
        self.synchronous = synchronous
        self.path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__()

    def connect(self) -> sqlite3.Connection:
        """A connection in WAL mode that waits up to five seconds for a lock (issue #9)."""
        connection = sqlite3.connect(
            self.path,
            timeout=self.BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,  # close() runs in whichever thread shuts down
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self.synchronous}")
        return connection

    def begin(self, connection: sqlite3.Connection) -> None:
        """Take the write lock at once: a deferred lock let two workers claim one job (issue #7)."""
        connection.execute("BEGIN IMMEDIATE")

    def migrate(self, connection: sqlite3.Connection) -> None:
        """Create the table, or upgrade one that Ferry 1.x wrote."""
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > self.SCHEMA_VERSION:
            raise StoreError(f"{self.path} was written by a newer Ferry (schema {version})")
        if version == 1:
            connection.execute("ALTER TABLE jobs ADD COLUMN unique_key TEXT")
            failed = "WHERE state = 'failed'"  # 1.x used one state for both, see issue #41
            connection.execute(f"UPDATE jobs SET state = 'dead' {failed} AND attempts >= max_attempts")
            connection.execute(f"UPDATE jobs SET state = 'queued' {failed}")
        connection.execute(CREATE)
        connection.execute(INDEX)
        connection.execute(f"PRAGMA user_version = {self.SCHEMA_VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """As in SQLStore, with SQLite's errors in Ferry's words."""
        try:
            with super().transaction() as connection:
                yield connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise StoreLocked(f"{self.path} stayed locked for {self.BUSY_TIMEOUT_MS} ms") from error
            raise StoreError(f"{self.path}: {error}") from error
