"""Boosts that `knowledge_search` adds to the hybrid ranking: tags, titles and recent changes. Pure functions."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
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
    relevance: float,
    similar: Mapping[str, float],
    tags: Callable[[Chunk], Sequence[str]],
    recent: Collection[str],
    today: datetime.date,
    weights: DocsSettings,
) -> list[Ranked]:
    """Return files by `base * (1 + boosts)`, best first and at most 1.

    The base is the file's share of the best score, times `relevance`, that of the best result; or its similarity in
    `similar` if that is higher, so that a score has the same meaning in each reply.

    A boost for tags or title is weighted by the share of the question's significant words in them. `recent` are the
    recently changed files. A superseded document stays behind its replacement.
    """
    wanted = stems_of(question)
    best = max((result.score for result in ranked), default=0.0)
    found: dict[str, Ranked] = {}
    for result in ranked:
        scale = relevance / best if best > 0 else 0.0
        share = max(0.0, result.score * scale)
        base = max(share, similar.get(result.source, 0.0))
        why: Terms = [(term, value * scale) for term, value in result.why] if scale else []
        why += [("notBelowZero", -sum(value for _, value in why))] if not share else []
        why += [("similarity", base - share)] if base > share else []
        boosts = (
            ("tagMatch", weights.tag_weight * _share(wanted, " ".join(tags(result.chunk)))),
            ("titleMatch", weights.title_weight * _share(wanted, _title(result.chunk))),
            ("recentlyChanged", weights.recent_weight * (result.source in recent)),
        )
        why += [(term, base * value) for term, value in boosts if base * value]
        found[result.source] = Ranked(result.source, base * (1 + sum(value for _, value in boosts)), result.chunk, why)
    lower_outdated(found, {source: result.chunk for source, result in found.items()}, today, _STAYS)
    ordered = sorted(found.values(), key=lambda result: -result.score)
    return [_at_most_one(result) for result in ordered]


def _at_most_one(result: Ranked) -> Ranked:
    over = result.score - 1
    return result if over <= 0 else replace(result, score=1.0, why=[*result.why, ("notAboveOne", -over)])


def _share(wanted: frozenset[str], text: str) -> float:
    return len(wanted & stems_of(text)) / len(wanted) if wanted else 0.0


def _title(chunk: Chunk) -> str:
    """Return the title; for code, whose title is its path, only the file name, because folders match too often."""
    return PurePosixPath(chunk.source).stem if chunk.title == chunk.source else chunk.title
