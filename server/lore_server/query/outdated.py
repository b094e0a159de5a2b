"""Rank documents that were superseded or have expired below their successors, and mark them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from lore_etl.core.dates import day_or_none
from lore_etl.core.model import Chunk
from lore_server.query.ranking import Ranked
from lore_server.query.weights import Weights

if TYPE_CHECKING:
    from lore_server.replies.records import OutdatedRecord

JUST_BELOW = 0.01


def outdated(chunk: Chunk, today: datetime.date) -> OutdatedRecord | None:
    """Return why a passage is outdated: its successor and its last valid day; None if it is current."""
    return no_longer(chunk.superseded_by, chunk.valid_until, today) or None


def no_longer(successor: str | None, last_day: str | None, today: datetime.date) -> OutdatedRecord:
    """Return why a document is outdated; empty if it is current."""
    record: OutdatedRecord = {"superseded_by": successor} if successor else {}
    if last_day and is_over(last_day, today):
        record["valid_until"] = last_day
    return record


def is_over(last_day: str, today: datetime.date) -> bool:
    """Return whether a day (ISO 8601) is before today; False for anything that is not a date."""
    day = day_or_none(last_day)
    return day is not None and day < today


def successors(passages: Iterable[Ranked]) -> list[str]:
    """Return the documents that replaced some of these."""
    return list(dict.fromkeys(passage.chunk.superseded_by for passage in passages if passage.chunk.superseded_by))


def lower_outdated(
    by_source: dict[str, Ranked], heads: Mapping[str, Chunk], today: datetime.date, weights: Weights
) -> None:
    """Lower the score of outdated documents; a successor scores at least as high and ranks above.

    `heads` has the first chunks of successors by source; a successor that was not found is added.
    """
    for result in by_source.values():
        if result.chunk.valid_until and is_over(result.chunk.valid_until, today):
            _add(result, "expiredPenalty", weights["expiredPenalty"])
    replaced = [result for result in by_source.values() if result.chunk.superseded_by in heads]
    for result in sorted(replaced, key=lambda result: -result.score):
        chunk = heads[str(result.chunk.superseded_by)]
        new = by_source.setdefault(chunk.source, Ranked(chunk.source, 0.0, chunk))
        _add(new, "successorBoost", max(0.0, result.score - new.score))
        _add(result, "supersededPenalty", min(weights["supersededPenalty"], new.score - JUST_BELOW - result.score))


def _add(result: Ranked, term: str, points: float) -> None:
    if points:
        result.score += points
        result.why = [*result.why, (term, points)]
