"""Everything about a job table that is plain SQL; a subclass adds the database."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields
from typing import Any, ClassVar

from ferry.job import Job, JobState
from ferry.stores.base import Store

COLUMNS = tuple(item.name for item in fields(Job))


def marks(count: int) -> str:
    """Placeholders for `count` values: `marks(3)` is `?,?,?`."""
    return ",".join("?" * count)


class SQLStore(Store):
    """A store in one table named `jobs`, with one connection per thread.

    A subclass says how to connect, how to start a transaction that locks out other claims, and how
    to create or upgrade the table.
    """

    TABLE: ClassVar[str] = "jobs"
    CLAIM: ClassVar[str] = (
        "SELECT * FROM jobs WHERE state = 'queued' AND run_at <= ? AND queue IN ({queues})"
        " ORDER BY run_at, seq LIMIT 1"
    )

    def __init__(self) -> None:
        self._local = threading.local()
        self._opened: list[Any] = []
        self._guard = threading.Lock()
        with self.transaction() as connection:
            self.migrate(connection)

    @abstractmethod
    def connect(self) -> Any:
        """A new DB-API connection in autocommit mode whose rows can be read by column name."""

    @abstractmethod
    def begin(self, connection: Any) -> None:
        """Start a transaction that no other claim can overlap."""

    @abstractmethod
    def migrate(self, connection: Any) -> None:
        """Create the table or bring it to the current version."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """The connection of this thread, inside a transaction that is rolled back on any error."""
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
            with self._guard:
                self._opened.append(connection)
        self.begin(connection)
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _select(self, connection: Any, where: str, values: Sequence[Any]) -> list[Job]:
        return [_job(row) for row in connection.execute(f"SELECT * FROM {self.TABLE} {where}", values)]

    def add(self, job: Job) -> Job:
        same = "WHERE id = ? OR (unique_key = ? AND state IN ('queued', 'running'))"
        with self.transaction() as connection:
            existing = self._select(connection, same, (job.id, job.unique_key))
            if existing:
                return existing[0]
            insert = f"INSERT INTO {self.TABLE} ({','.join(COLUMNS)}) VALUES ({marks(len(COLUMNS))})"
            connection.execute(insert, astuple(job))
        return job

    def claim(self, queues: Sequence[str], worker_id: str, now: float, lease_seconds: float) -> Job | None:
        """Choosing and marking happen in one transaction (issue #7)."""
        with self.transaction() as connection:
            query = self.CLAIM.format(queues=marks(len(queues)))
            row = connection.execute(query, (now, *queues)).fetchone()
            if row is None:
                return None
            claimed = _job(row).claimed(worker_id, now, lease_seconds)
            self._write(connection, claimed, "id = ?", (claimed.id,))
        return claimed

    def _write(self, connection: Any, job: Job, where: str, values: Sequence[Any]) -> int:
        assignments = ",".join(f"{name} = ?" for name in COLUMNS)
        statement = f"UPDATE {self.TABLE} SET {assignments} WHERE {where}"
        return connection.execute(statement, (*astuple(job), *values)).rowcount

    def update(self, job: Job, *, expect: JobState, owner: str | None = None) -> bool:
        where = "id = ? AND state = ? AND COALESCE(worker_id, '') = ?"
        with self.transaction() as connection:
            return self._write(connection, job, where, (job.id, expect, owner or "")) == 1

    def extend(self, job_ids: Sequence[str], worker_id: str, lease_until: float) -> int:
        statement = (
            f"UPDATE {self.TABLE} SET lease_until = ?"
            f" WHERE state = 'running' AND worker_id = ? AND id IN ({marks(len(job_ids))})"
        )
        with self.transaction() as connection:
            return connection.execute(statement, (lease_until, worker_id, *job_ids)).rowcount

    def reclaim(self, now: float) -> int:
        statement = (
            f"UPDATE {self.TABLE} SET lease_until = 0, worker_id = NULL, last_error = 'lease expired',"
            " updated_at = ?, state = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'queued' END"
            " WHERE state = 'running' AND lease_until < ?"
        )
        with self.transaction() as connection:
            return connection.execute(statement, (now, now)).rowcount

    def get(self, job_id: str) -> Job | None:
        with self.transaction() as connection:
            return next(iter(self._select(connection, "WHERE id = ?", (job_id,))), None)

    def list_jobs(self, state: JobState | None = None, limit: int = 50, offset: int = 0) -> list[Job]:
        where = "WHERE (? IS NULL OR state = ?) ORDER BY seq DESC LIMIT ? OFFSET ?"
        with self.transaction() as connection:
            return self._select(connection, where, (state, state, limit, offset))

    def counts(self) -> dict[JobState, int]:
        with self.transaction() as connection:
            rows = connection.execute(f"SELECT state, COUNT(*) FROM {self.TABLE} GROUP BY state")
            return {state: 0 for state in JobState} | {JobState(row[0]): row[1] for row in rows}

    def purge(self, before: float) -> int:
        statement = f"DELETE FROM {self.TABLE} WHERE state IN ('done', 'cancelled') AND updated_at < ?"
        with self.transaction() as connection:
            return connection.execute(statement, (before,)).rowcount

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._guard:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._local = threading.local()


def _job(row: Any) -> Job:
    values = {name: row[name] for name in COLUMNS}
    return Job(**values | {"state": JobState(values["state"])})
