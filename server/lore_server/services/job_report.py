"""Describe a job: its report within the limit of a reply, and its progress and speed."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from lore_etl.core.model import SyncReport
from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import SyncResultRecord

MAXIMUM_ROWS = 1000
ROWS = ("warnings", "failed", "skipped")
ROWS_CHARACTERS = 18_000  # of the 24,000 characters of a reply; the job's other values use the rest
LONGEST_REASON = 500


class Pace(TypedDict):
    """The stage of a running job, and its speed."""

    stage: str
    done: int
    total: int
    rate: NotRequired[float]
    eta_seconds: NotRequired[float]


def report_record(action: str, report: SyncReport) -> SyncResultRecord:
    """Return the report with as many files and warnings as fit, and a line that counts the omitted ones."""
    record = {"action": action, **asdict(report)}
    if record["inventory"] is None:
        del record["inventory"]
    left, cut = ROWS_CHARACTERS, []
    for number, name in enumerate(ROWS):
        rows = [_brief(row) for row in record[name][:MAXIMUM_ROWS]]
        kept = budget.fitting(rows, left // (len(ROWS) - number))
        left -= budget.size(kept)
        if len(kept) < len(record[name]):
            cut.append(f"{len(record[name]) - len(kept):,} {name}")
        record[name] = kept
    if cut:
        record["truncated"] = f"{' and '.join(cut)} omitted to stay within {budget.REPLY_TOKENS:,} tokens."
    return cast("SyncResultRecord", record)


def _brief(row: Any) -> Any:
    if isinstance(row, str):
        return budget.clipped(row, LONGEST_REASON)
    return {**row, "reason": budget.clipped(row["reason"], LONGEST_REASON)}


def pace(stage: str, done: int, total: int, since: float) -> Pace:
    """Return the progress of a stage and its estimated remaining seconds; `since` is its start (monotonic clock)."""
    record: Pace = {"stage": stage, "done": done, "total": total}
    elapsed = time.monotonic() - since
    if done and elapsed > 0:
        rate = done / elapsed
        record["rate"], record["eta_seconds"] = round(rate, 2), round(max(0, total - done) / rate, 1)
    return record
