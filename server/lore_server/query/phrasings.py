"""Fuse the outcomes of several phrasings of one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lore_server.query.query_service import SearchOutcome
from lore_server.query.ranking import Ranked

POINTS = 100.0  # of a file that is the best for all phrasings


def fused(outcomes: Sequence[SearchOutcome]) -> SearchOutcome:
    """Return the files by the mean of their shares of the best score, over all phrasings.

    A file shows the passage of the phrasing that it fits best.
    """
    first, *others = outcomes
    if not others:
        return first
    ranked: dict[str, Ranked] = {}
    fit: dict[str, float] = {}
    for number, outcome in enumerate(outcomes, start=1):
        best = outcome.ranked[0].score if outcome.ranked else 0.0
        for file in outcome.ranked:
            share = max(0.0, file.score / best) if best > 0 else 0.0
            have = ranked.setdefault(file.source, Ranked(file.source, 0.0, file.chunk))
            have.why.append((f"phrasing {number}", POINTS * share / len(outcomes)))
            if share > fit.get(file.source, -1.0):
                fit[file.source], have.chunk = share, file.chunk
    for file in ranked.values():
        file.score = sum(points for _, points in file.why)
    return replace(
        first,
        query=replace(
            first.query,
            text=" ".join(one.query.text for one in outcomes),
            words=tuple(dict.fromkeys(word for one in outcomes for word in one.query.words)),
        ),
        ranked=sorted(ranked.values(), key=lambda file: (-file.score, file.source)),
        passages=list({passage.chunk.id: passage for one in outcomes for passage in one.passages}.values()),
        candidates=list({found.chunk.id: found for one in outcomes for found in one.candidates}.values()),
        confidence=max(one.confidence for one in outcomes),
        relevance=max(one.relevance for one in outcomes),
        degraded=next((one.degraded for one in outcomes if one.degraded), None),
        similar={source: paths for one in outcomes for source, paths in one.similar.items()},
        is_foreign=all(one.is_foreign for one in outcomes),
        seconds={step: sum(one.seconds.get(step, 0.0) for one in outcomes) for step in first.seconds},
    )
