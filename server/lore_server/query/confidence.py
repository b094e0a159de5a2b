"""Estimate whether the index answers a query at all, from its best passage by meaning and by keywords."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

from lore_server.query.proximity import stems
from lore_server.query.retrieve import Candidate, Candidates

LOOKED_AT = 8  # best candidates of each leg
DOUBTFUL = 0.37  # 95 % of answered questions lie above it, and next to no unanswerable one (docs/benchmarks.md)
DOUBT = "No passage is close to this question, so the index may not answer it. Try other words, or look elsewhere."


def confidence(question: str, candidates: Candidates, rarity: Callable[[Iterable[str]], Mapping[str, float]]) -> float:
    """Return a value from 0 to 1: half the passage's similarity, half the share of the query's words in it.

    Words count by `rarity`, their inverse document frequency; the best passage decides.
    """
    weights: dict[str, float] = {}
    words = stems(question)
    rare = rarity(word for word, _ in words)
    for word, stem in words:
        weights[stem] = max(weights.get(stem, 0.0), rare[word])
    whole = sum(weights.values())
    return max((_match(one, weights, whole) for one in _best(candidates.found)), default=0.0)


def _best(found: Iterable[Candidate]) -> list[Candidate]:
    rows = list(found)
    by_meaning = heapq.nlargest(LOOKED_AT, rows, key=lambda one: one.vector or 0.0)
    by_word = heapq.nlargest(LOOKED_AT, rows, key=lambda one: one.keyword)
    return list({one.chunk.id: one for one in (*by_meaning, *by_word)}.values())


def _match(one: Candidate, weights: Mapping[str, float], whole: float) -> float:
    chunk = one.chunk
    held = {stem for _, stem in stems(" ".join((chunk.text, chunk.source, chunk.title, *chunk.heading)))}
    covered = sum(weight for stem, weight in weights.items() if stem in held) / whole if whole else 0.0
    similar = covered if one.vector is None else max(0.0, one.vector)
    return min(1.0, (similar + covered) / 2)
