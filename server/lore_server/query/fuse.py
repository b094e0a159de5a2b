"""Fuse the two legs and the path into one score: each as a share of its best, mixed depending on the query."""

from __future__ import annotations

from collections.abc import Sequence

from lore_server.query.parse import Query
from lore_server.query.retrieve import Candidate, Candidates
from lore_server.query.weights import Weights

FLATNESS_DEPTH = 100
TYPICAL_FLATNESS = 0.43
LEAST_SHARE, MOST_SHARE = 0.5, 0.95


def flatness(scores: Sequence[float]) -> float:
    """Return how little the keywords discriminate: the mean of the best 100 keyword scores as a share of the best.

    Near 0 one chunk holds the words and the others do not; near 1 a hundred chunks match as well as the best.
    """
    best = scores[:FLATNESS_DEPTH]
    return sum(best) / (best[0] * FLATNESS_DEPTH) if best and best[0] > 0 else 0.0


def vector_share(query: Query, candidates: Candidates, weights: Weights) -> float:
    """Return the vector leg's share of the fused score, from 0 to 1; higher if keywords do not discriminate."""
    flat = flatness([score for _, score in candidates.by_word]) - TYPICAL_FLATNESS
    share = weights["vectorShare"] + weights["flatnessShare"] * flat + weights["nameShare"] * bool(query.names)
    return min(MOST_SHARE, max(LEAST_SHARE, share))


def fuse(found: Sequence[Candidate], share: float) -> list[tuple[float, float, float]]:
    """Return (vector, keyword, path) parts per candidate; the first two sum to at most 1, the third is at most 1.

    A share of the best score, not a rank and not a place between best and worst: ranks throw away what the scores
    say, and the worst candidate depends on how many were asked for (docs/adr/0003).
    """
    known = [one.vector for one in found if one.vector is not None]
    lowest = min(known, default=0.0)
    vectors = _of_best([max(0.0, lowest if one.vector is None else one.vector) for one in found])
    keywords = _of_best([one.keyword for one in found])
    paths = _of_best([one.path for one in found])
    return [(share * v, (1 - share) * k, p) for v, k, p in zip(vectors, keywords, paths, strict=True)]


def _of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]
