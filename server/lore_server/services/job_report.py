"""Describe a job: its report within the limit of a reply, and its progress and speed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from lore_etl.core.model import SyncReport, canonical_json, sha256
from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import ProblemsRecord, SyncResultRecord

MAXIMUM_ROWS = 1000
ROWS = ("warnings", "failed", "skipped")
ROWS_CHARACTERS = 18_000  # of the 24,000 characters of a reply; the job's other values use the rest
STATUS_CHARACTERS = 12_000  # the same for the status, which also has the inventory
LONGEST_REASON = 500


class Pace(TypedDict):
    """The stage of a running job, and its speed."""

    stage: str
    done: int
    total: int
    rate: NotRequired[float]
    eta_seconds: NotRequired[float]


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
    """Return a digest of each problem of the report."""
    record = asdict(report)
    return frozenset(_digest(row) for name in ROWS for row in record[name])


def problems_record(report: SyncReport) -> ProblemsRecord:
    """Return all problems of the report for the status, as many as fit."""
    record = asdict(report)
    return cast("ProblemsRecord", _fitting({name: record[name] for name in ROWS}, STATUS_CHARACTERS))


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


def pace(stage: str, done: int, total: int, since: float) -> Pace:
    """Return the progress of a stage and its estimated remaining seconds; `since` is its start (monotonic clock)."""
    record: Pace = {"stage": stage, "done": done, "total": total}
    elapsed = time.monotonic() - since
    if done and elapsed > 0:
        rate = done / elapsed
        record["rate"], record["eta_seconds"] = round(rate, 2), round(max(0, total - done) / rate, 1)
    return record
