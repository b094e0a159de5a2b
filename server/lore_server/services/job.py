"""A build of the index: progress, passes, end and report. The last job is stored, for other processes to resume."""

import json
import secrets
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from lore_etl.core.atomic import write_atomically
from lore_etl.core.dates import timestamp
from lore_etl.core.errors import Cancelled
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport, canonical_json, sha256
from lore_etl.core.progress import Plan
from lore_server.replies import budget, render_index
from lore_server.replies.records import ErrorRecord, JobRecord, ProblemsRecord, SyncResultRecord

JOB = "job.json"
LONGEST = 1_000_000
RESUMPTIONS = 3  # a build that kills its owner would kill the next owner too
ACTIONS = frozenset({"sync", "create", "embed", "delete"})
MAXIMUM_ROWS = 1000
ROWS = ("warnings", "failed", "skipped")
ROWS_CHARACTERS = 18_000  # of the 24,000 characters of a reply; the job's other values use the rest
STATUS_CHARACTERS = 12_000  # the same for the status, which also has the inventory
LONGEST_REASON = 500
LOST: ErrorRecord = {
    "error": True,
    "code": "UNAVAILABLE",
    "message": "The process that ran this build exited before it finished.",
    "hint": "Run `lore sync` to continue the build.",
    "trace_id": "",
}


@dataclass
class Job:
    """One build. Its lock guards every field; `changed` wakes the threads that wait for its end or its next step.

    A running pass may have read a file before it was edited, so requests that join are served by one more pass.
    """

    action: str
    id: str = field(default_factory=lambda: secrets.token_hex(4))
    state: str = "running"
    started: float = field(default_factory=time.time)
    ended: float | None = None
    step: tuple[str, int, int, float] = ("starting", 0, 0, 0.0)
    found: str = ""  # the found files and the plan, as text for the clients that follow the job
    report: SyncReport | None = None
    known: frozenset[str] = frozenset()
    """The digests of the problems that an earlier reply named; this job's replies only count them."""
    problem: ErrorRecord | None = None
    begun: int = 0
    passes: int = 0
    wanted: int = 1
    must_scan: bool = True  # the next pass looks at all files, instead of those that the watcher reports
    is_scan: bool = True  # the present pass does
    knowledge: bool = False  # a short pass over the documents of agents is requested, unless one over all begins before
    allow_mass_delete: bool = False
    resumed: int = 0
    cancelled: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def record_progress(self, stage: str, done: int, total: int) -> None:
        """Record the progress that the pipeline reports. Raises Cancelled at the next step after `cancel`."""
        if self.cancelled.is_set():
            raise Cancelled("The build was cancelled.", "Finished work is kept; the next sync continues from there.")
        with self.changed:
            since = self.step[3] if self.step[0] == stage else time.monotonic()
            self.step = (stage, done, total, since)
            self.changed.notify_all()

    def announce(self, plan: Plan) -> None:
        with self.changed:
            self.found = render_index.plan(self.action, plan)
            self.changed.notify_all()

    def record(self, state: str = "") -> JobRecord:
        """Return the job for the contract; `state` is that of a request whose pass is done although the job runs on."""
        with self.changed:
            base: JobRecord = {
                "id": self.id,
                "action": self.action,
                "state": state or self.state,
                "started_at": timestamp(self.started),
                "seconds": round(max(0.0, (self.ended or time.time()) - self.started), 3),
            }
            if base["state"] == "running":
                base["stage"], base["done"], base["total"], since = self.step
                if self.cancelled.is_set():
                    base["cancelling"] = True
                elapsed = time.monotonic() - since
                if base["done"] and elapsed > 0:
                    rate = base["done"] / elapsed
                    base["rate"] = round(rate, 2)
                    base["eta_seconds"] = round(max(0, base["total"] - base["done"]) / rate, 1)
                return base
            if self.problem is not None and not state:
                base["problem"] = self.problem
            if self.report is not None:
                base["report"] = report_record(self.action, self.report, self.known)
            return base

    def brief(self) -> JSON:
        """Return the ended job for the list of the last builds."""
        report = self.report or SyncReport()
        cause = ("a request" if self.is_scan else "changed files") if self.begun else "written knowledge"
        record = self.record()
        shown = {name: record[name] for name in ("id", "action", "state", "started_at", "seconds")}
        figures = {name: getattr(report, name) for name in ("files", "created", "updated", "deleted")}
        return {**shown, **figures, "cause": cause}


@dataclass(frozen=True)
class StoredJob:
    """A job's record, the values needed to run it again, and the builds until then."""

    record: JobRecord
    allow_mass_delete: bool = False
    resumed: int = 0
    builds: list[JSON] = field(default_factory=list)

    @property
    def is_interrupted(self) -> bool:
        return self.record["state"] == "running"

    @property
    def may_resume(self) -> bool:
        return self.is_interrupted and self.resumed < RESUMPTIONS

    def shown(self) -> JobRecord:
        """Return the record as the contract defines it: an interrupted job has failed."""
        if not self.is_interrupted:
            return self.record
        known = {name: self.record[name] for name in ("id", "action", "started_at", "seconds")}
        return cast("JobRecord", {**known, "state": "failed", "problem": LOST})


def write_job(folder: Path, job: StoredJob) -> None:
    write_atomically(folder / JOB, (json.dumps(asdict(job)),))


def read_job(folder: Path) -> StoredJob | None:
    """Return the last job; None if there is no file or it was not written by `write_job`."""
    try:
        with open(folder / JOB, encoding="utf-8") as file:
            job = StoredJob(**json.loads(file.read(LONGEST)))
        is_known = job.record["action"] in ACTIONS and {"id", "state", "started_at", "seconds"} <= job.record.keys()
        is_whole = isinstance(job.resumed, int) and isinstance(job.builds, list)
        return job if is_known and is_whole else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def report_record(action: str, report: SyncReport, known: Collection[str]) -> SyncResultRecord:
    """Return the report with as many new problems as fit, and the number of the others, whose digests are `known`."""
    record = {"action": action, **asdict(report)}
    if record["inventory"] is None:
        del record["inventory"]
    new = {name: [row for row in record[name] if _digest(row) not in known] for name in ROWS}
    if repeated := sum(len(record[name]) - len(new[name]) for name in ROWS):
        record["known"] = repeated
    return cast("SyncResultRecord", {**record, **_fitting(new, ROWS_CHARACTERS)})


def digests(report: SyncReport) -> frozenset[str]:
    return frozenset(_digest(row) for rows in _problems(report).values() for row in rows)


def problems_record(report: SyncReport) -> ProblemsRecord:
    return cast("ProblemsRecord", _fitting(_problems(report), STATUS_CHARACTERS))


def _problems(report: SyncReport) -> dict[str, list[Any]]:
    record = asdict(report)
    return {name: record[name] for name in ROWS}


def _digest(row: Any) -> str:
    return sha256(canonical_json(row))[:16]


def _fitting(problems: Mapping[str, list[Any]], left: int) -> dict[str, Any]:
    """Return as many rows of each kind as fit, and a line that counts the omitted ones."""
    shown, cut = dict[str, Any](), []
    for number, name in enumerate(ROWS):
        rows = [_brief(row) for row in problems[name][:MAXIMUM_ROWS]]
        kept = budget.fitting(rows, left // (len(ROWS) - number))
        left -= budget.size(kept)
        if len(kept) < len(problems[name]):
            cut.append(f"{len(problems[name]) - len(kept):,} {name}")
        shown[name] = kept
    if cut:
        shown["truncated"] = f"{' and '.join(cut)} omitted to stay within {budget.REPLY_TOKENS:,} tokens."
    return shown


def _brief(row: Any) -> Any:
    if isinstance(row, str):
        return budget.clipped(row, LONGEST_REASON)
    return {**row, "reason": budget.clipped(row["reason"], LONGEST_REASON)}
