"""Rank documents that were superseded or have expired below their successors, and saved answers below their sources."""

import datetime
import re
from collections.abc import Callable, Mapping, Sequence

from lore_etl.core.dates import day_or_none
from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.ranking import Ranked, Weights
from lore_server.replies.paging import without_gaps
from lore_server.replies.records import OutdatedRecord

JUST_BELOW = 0.01
LOOKED_AT = 20  # best files, for answers that cite one of them
_OPENING = re.compile(r"^Answer of \d{4}-\d\d-\d\d to the question: ", re.MULTILINE)
_QUOTED = re.compile(r"^\[\d+\] `([^`\n]+):\d+(?:-\d+)?`[^\n]*\n\n(`{3,})\n(.*?)\n\2$", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"^\[\d+\] `([^`\n]+):\d+(?:-\d+)?`", re.MULTILINE)


def outdated(chunk: Chunk, today: datetime.date) -> OutdatedRecord | None:
    """Return why a passage is outdated: its successor and its last valid day; None if it is current."""
    return no_longer(chunk.superseded_by, chunk.valid_until, today) or None


def no_longer(successor: str | None, last_day: str | None, today: datetime.date) -> OutdatedRecord:
    """Return why a document is outdated; empty if it is current. Text that is no date is no last day."""
    record: OutdatedRecord = {"superseded_by": successor} if successor else {}
    if last_day and (day := day_or_none(last_day)) and day < today:
        record["valid_until"] = day.isoformat()
    return record


def lower_outdated(
    by_source: dict[str, Ranked], heads: Mapping[str, Chunk], today: datetime.date, weights: Weights
) -> None:
    """Lower outdated documents below their successors; `heads` has the first chunks of these by source."""
    for result in by_source.values():
        if "valid_until" in no_longer(None, result.chunk.valid_until, today):
            result.add("expiredPenalty", weights["expiredPenalty"])
    replaced = [result for result in by_source.values() if result.chunk.superseded_by in heads]
    for result in sorted(replaced, key=lambda result: -result.score):
        chunk = heads[str(result.chunk.superseded_by)]
        new = by_source.setdefault(chunk.source, Ranked(chunk.source, 0.0, chunk))
        new.add("successorBoost", max(0.0, result.score - new.score))
        result.add("supersededPenalty", min(weights["supersededPenalty"], new.score - JUST_BELOW - result.score))


def below_sources(files: Sequence[Ranked], chunks_of: Callable[[str], Sequence[Chunk]]) -> list[Ranked]:
    """Return the files, best first, with each top saved answer below all top files that it cites."""
    best = list(files[:LOOKED_AT])
    by_source = {file.source: file for file in best}
    for file in best:
        if file.chunk.type != KnowledgeType.KNOWLEDGE:
            continue
        text = "\n".join(chunk.text for chunk in chunks_of(file.source))
        cited = [by_source[name] for name in _CITED.findall(text) if name in by_source and name != file.source]
        points = min((one.score for one in cited), default=file.score) - JUST_BELOW - file.score
        if cited and points < 0 and _OPENING.search(text):
            file.add("savedAnswer", points)
    return [*sorted(best, key=lambda file: (-file.score, file.source)), *files[LOOKED_AT:]]


def changed_sources(answer: str, text_of: Callable[[str], str]) -> list[str]:
    """Return the files that no longer have the lines that a saved answer quotes; none for any other text."""
    quotes = _QUOTED.findall(answer) if _OPENING.search(answer) else []
    gone = (name for name, _, quote in quotes if without_gaps(name, quote) not in without_gaps(name, text_of(name)))
    return list(dict.fromkeys(gone))
