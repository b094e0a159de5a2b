"""A job's report within the limit of a reply."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lore_etl.core.model import SyncReport
from lore_server.replies import budget

MAXIMUM_ROWS = 1000
ROWS = ("warnings", "failed", "skipped")
ROWS_CHARACTERS = 18_000  # of the 24,000 of a reply; the rest is for the job's other values
LONGEST_REASON = 500


def report_record(action: str, report: SyncReport) -> dict[str, Any]:
    """As many files and warnings as fit, and a line that counts the others."""
    record = {"action": action, **asdict(report)}
    left, cut = ROWS_CHARACTERS, []
    for number, name in enumerate(ROWS):
        rows = [_brief(row) for row in record[name][:MAXIMUM_ROWS]]
        kept = budget.fitting(rows, left // (len(ROWS) - number))
        left -= budget.size(kept)
        if len(kept) < len(record[name]):
            cut.append(f"{len(record[name]) - len(kept):,} {name}")
        record[name] = kept
    if cut:
        record["truncated"] = f"{' and '.join(cut)} left out beyond {budget.REPLY_TOKENS:,} tokens."
    return record


def _brief(row: Any) -> Any:
    if isinstance(row, str):
        return budget.clipped(row, LONGEST_REASON)
    return {**row, "reason": budget.clipped(row["reason"], LONGEST_REASON)}
