"""Boosts that `knowledge_search` adds to the hybrid ranking: tags, titles and recent changes. Pure functions."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Sequence
from pathlib import PurePosixPath

from lore_etl.config.settings import DocsSettings
from lore_etl.core.model import Chunk
from lore_server.query.outdated import lower_outdated
from lore_server.query.proximity import stems_of
from lore_server.query.ranking import Ranked, Terms

_STAYS = {"expiredPenalty": 0.0, "supersededPenalty": 0.0}  # the ranking has already subtracted these points


def boosted(
    question: str,
    ranked: Sequence[Ranked],
    tags: Callable[[Chunk], Sequence[str]],
    recent: Collection[str],
    today: datetime.date,
    weights: DocsSettings,
) -> list[Ranked]:
    """Return files by `base * (1 + boosts)`, best first; the base is the share of the best score, 0 to 1.

    A boost for tags or title is weighted by the share of the question's significant words in them. `recent` are the
    recently changed files. A superseded document stays behind its replacement.
    """
    wanted = stems_of(question)
    best = max((result.score for result in ranked), default=0.0)
    found: dict[str, Ranked] = {}
    for result in ranked:
        why: Terms = [(term, value / best) for term, value in result.why] if best > 0 else []
        base = max(0.0, result.score / best) if best > 0 else 0.0
        boosts = (
            ("tagMatch", weights.tag_weight * _share(wanted, " ".join(tags(result.chunk)))),
            ("titleMatch", weights.title_weight * _share(wanted, _title(result.chunk))),
            ("recentlyChanged", weights.recent_weight * (result.source in recent)),
        )
        why += [("notBelowZero", base - sum(value for _, value in why))] if not base else []
        why += [(term, base * value) for term, value in boosts if base * value]
        found[result.source] = Ranked(result.source, base * (1 + sum(value for _, value in boosts)), result.chunk, why)
    lower_outdated(found, {source: result.chunk for source, result in found.items()}, today, _STAYS)
    return sorted(found.values(), key=lambda result: -result.score)


def _share(wanted: frozenset[str], text: str) -> float:
    return len(wanted & stems_of(text)) / len(wanted) if wanted else 0.0


def _title(chunk: Chunk) -> str:
    """Return the title; for code, whose title is its path, only the file name, because folders match too often."""
    return PurePosixPath(chunk.source).stem if chunk.title == chunk.source else chunk.title
