"""Store the last job of an index in a file, so that another process can show it or resume an interrupted job."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lore_etl.core.atomic import write_atomically

if TYPE_CHECKING:
    from lore_server.replies.records import ErrorRecord, JobRecord

JOB = "job.json"
LONGEST = 1_000_000
RESUMPTIONS = 3  # a build that kills its owner would kill the next owner too
ACTIONS = frozenset({"sync", "create", "embed", "delete"})
LOST: ErrorRecord = {
    "error": True,
    "code": "UNAVAILABLE",
    "message": "The process that ran this build exited before it finished.",
    "hint": "Run `lore sync` to continue the build.",
    "trace_id": "",
}


@dataclass(frozen=True)
class StoredJob:
    """A job's record, and the values needed to run it again."""

    record: JobRecord
    allow_mass_delete: bool = False
    resumed: int = 0

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def action(self) -> str:
        return str(self.record["action"])

    @property
    def is_interrupted(self) -> bool:
        """Return whether its process ended during the job."""
        return bool(self.record["state"] == "running")

    @property
    def may_resume(self) -> bool:
        """Return whether the job was interrupted, and not resumed too often."""
        return self.is_interrupted and self.resumed < RESUMPTIONS

    def shown(self) -> JobRecord:
        """Return the record as the contract defines it: an interrupted job has failed."""
        if not self.is_interrupted:
            return self.record
        return {
            "id": self.record["id"],
            "action": self.record["action"],
            "started_at": self.record["started_at"],
            "seconds": self.record["seconds"],
            "state": "failed",
            "problem": LOST,
        }

    def cancelled(self) -> StoredJob:
        """Return an interrupted job as cancelled, so that it is not resumed."""
        return StoredJob({**self.shown(), "state": "cancelled"}) if self.is_interrupted else self


def write_job(folder: Path, job: StoredJob) -> None:
    """Replace the file. Raises StorageError."""
    write_atomically(folder / JOB, (json.dumps(asdict(job)),))


def read_job(folder: Path) -> StoredJob | None:
    """Return the last job; None if there is no file or it was not written by `write_job`."""
    try:
        with open(folder / JOB, encoding="utf-8") as file:
            job = StoredJob(**json.loads(file.read(LONGEST)))
        is_known = job.action in ACTIONS and {"state", "started_at", "seconds"} <= job.record.keys()
        return job if is_known and isinstance(job.resumed, int) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
