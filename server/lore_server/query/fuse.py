"""Fuse the two legs and the path into one score: each as a share of its best, mixed depending on the query."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from lore_etl.core.model import Chunk
from lore_server.query.parse import Query
from lore_server.query.retrieve import Candidate, Candidates
from lore_server.query.weights import Weights

FLATNESS_DEPTH = 100
MIN_FLATNESS = 0.3
MIN_SIMILARITY = 0.5
FEW_WORDS = 4
MAX_SHARE = 0.95
REPEATED = 0.25


def flatness(scores: Sequence[float]) -> float:
    """Return how little the keywords discriminate: the mean of the best 100 keyword scores as a share of the best.

    Near 0, only one chunk contains the words; near 1, a hundred chunks match as well as the best.
    """
    best = scores[:FLATNESS_DEPTH]
    return sum(best) / (best[0] * FLATNESS_DEPTH) if best and best[0] > 0 else 0.0


def vector_share(query: Query, candidates: Candidates, weights: Weights) -> float:
    """Return the vector leg's share of the fused score, from 0 to 1.

    It rises if the query has few words that fit many chunks alike and a passage is close in meaning; many words are
    reliable even if each is common. While the index is being filled, it falls in proportion to the keyword hits without
    a vector, so that keywords decide until there are vectors.
    """
    flat = flatness([score for _, score in candidates.by_word])
    closest = max((score for _, score in candidates.by_meaning), default=0.0)
    few = min(1.0, FEW_WORDS / max(1, len(query.words)))
    adapted = few * max(0.0, flat - MIN_FLATNESS) * max(0.0, closest - MIN_SIMILARITY)
    share = weights["vectorShare"] + weights["adaptedShare"] * adapted
    return min(MAX_SHARE, max(0.0, share)) * _embedded(candidates)


def fuse(found: Sequence[Candidate], share: float) -> list[tuple[float, float, float]]:
    """Return (vector, keyword, path) parts per candidate; the first two sum to at most 1, the third is at most 1.

    Each part is a share of the best score, neither a rank nor a position between best and worst: ranks discard the
    distances between scores, and the worst candidate depends on the number of candidates (docs/adr/0003). A chunk
    without a vector counts as average, because nothing is known about it. A text that many files repeat, such as a
    banner, says little about each of them.
    """
    typical, own = _typical(found), _distinctness([candidate.chunk for candidate in found])
    vectors = shares_of_best(
        [
            max(0.0, typical if candidate.vector is None else candidate.vector) * factor
            for candidate, factor in zip(found, own, strict=True)
        ]
    )
    keywords = shares_of_best([candidate.keyword * factor for candidate, factor in zip(found, own, strict=True)])
    paths = shares_of_best([candidate.path for candidate in found])
    return [(share * v, (1 - share) * k, p) for v, k, p in zip(vectors, keywords, paths, strict=True)]


def _distinctness(chunks: Sequence[Chunk]) -> list[float]:
    """Return 1 for a text in one file, .8 for one in two of the files found, .5 for one in sixteen."""
    texts = [chunk.text.strip() for chunk in chunks]
    files: dict[str, set[str]] = defaultdict(set)
    for chunk, text in zip(chunks, texts, strict=True):
        files[text].add(chunk.source)
    return [1 / (1 + REPEATED * math.log2(len(files[text]))) for text in texts]


def shares_of_best(scores: Sequence[float]) -> list[float]:
    """Return each score as a share of the highest; zeros if none is above zero."""
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]


def _embedded(candidates: Candidates) -> float:
    """Return the share of the keyword hits that have a vector."""
    hits = {id_ for id_, _ in candidates.by_word}
    known = [candidate.vector is not None for candidate in candidates.found if candidate.chunk.id in hits]
    return fmean(known) if known else 1.0


def _typical(found: Sequence[Candidate]) -> float:
    """Return the mean similarity of the keyword hits that have a vector, or of all candidates that have one."""
    known = [(candidate.vector, candidate.keyword) for candidate in found if candidate.vector is not None]
    hits = [vector for vector, keyword in known if keyword > 0]
    return fmean(hits or [vector for vector, _ in known] or [0.0])
