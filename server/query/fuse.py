"""One score from two legs: each min-max normalised over its candidates, then mixed."""

from __future__ import annotations

from collections.abc import Sequence

from server.query.retrieve import Candidate


def fuse(candidates: Sequence[Candidate], vector_weight: float) -> list[tuple[float, float]]:
    """(vector part, keyword part) of each candidate; their sum is at most 1.

    Relative-score fusion: what a leg did not find counts as its worst. Reciprocal ranks would throw away what the
    scores say (docs/benchmarks.md).
    """
    vectors = _normalised([one.vector for one in candidates])
    keywords = _normalised([one.keyword for one in candidates])
    return [
        (vector_weight * vector, (1 - vector_weight) * keyword)
        for vector, keyword in zip(vectors, keywords, strict=True)
    ]


def _normalised(scores: Sequence[float | None]) -> list[float]:
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    if high == low:
        return [1.0 if score is not None else 0.0 for score in scores]
    return [(score - low) / (high - low) if score is not None else 0.0 for score in scores]
