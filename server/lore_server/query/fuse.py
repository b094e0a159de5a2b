"""Fuse the two legs and the path into one score of a passage, and the passages of a file into one score of the file.

Each part of a score is a share of its best. All passages of a file count, because keywords and vectors may match
different ones.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import mul
from statistics import fmean

from lore_etl.core.model import Chunk
from lore_server.query.parse import Query
from lore_server.query.ranking import Ranked, Terms, Weights
from lore_server.query.retrieve import Candidate, Candidates

FLATNESS_DEPTH = 100
MIN_FLATNESS = 0.3
MIN_SIMILARITY = 0.5
FEW_WORDS = 4
MAX_SHARE = 0.95
REPEATED = 0.25
MAX_PASSAGES = 8  # of one file
BEST = frozenset({"vectors", "namePartMatch", "proximity", "symbolMatch"})
"""Terms that a file takes from the passage that has most of it, whichever that is."""


def flatness(scores: Sequence[float]) -> float:
    """Return the mean of the best keyword scores as a share of the best: near 0, only one chunk has the words."""
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
    hits = {id_ for id_, _ in candidates.by_word}
    has_vector = [candidate.vector is not None for candidate in candidates.found if candidate.chunk.id in hits]
    return min(MAX_SHARE, max(0.0, share)) * (fmean(has_vector) if has_vector else 1.0)


def fuse(found: Sequence[Candidate], share: float) -> list[tuple[float, float, float]]:
    """Return (vector, keyword, path) parts per candidate; the first two sum to at most 1, the third is at most 1.

    Each part is a share of the best score, neither a rank nor a position between best and worst: ranks discard the
    distances between scores, and the worst candidate depends on the number of candidates (docs/adr/0003). A chunk
    without a vector counts as the average keyword hit, because nothing is known about it. A text that many files
    repeat, such as a banner, says little about each of them.
    """
    known = [(candidate.vector, candidate.keyword) for candidate in found if candidate.vector is not None]
    hits = [vector for vector, keyword in known if keyword > 0]
    typical = fmean(hits or [vector for vector, _ in known] or [0.0])
    similar = [max(0.0, typical if candidate.vector is None else candidate.vector) for candidate in found]
    own = _distinctness([candidate.chunk for candidate in found])
    vectors = shares_of_best([value * factor for value, factor in zip(similar, own, strict=True)])
    keywords = shares_of_best([candidate.keyword * factor for candidate, factor in zip(found, own, strict=True)])
    paths = shares_of_best([candidate.path for candidate in found])
    return [(share * v, (1 - share) * k, p) for v, k, p in zip(vectors, keywords, paths, strict=True)]


def _distinctness(chunks: Sequence[Chunk]) -> list[float]:
    """Return 1 for a text in one file, .8 for one in two of the files found, .5 for one in sixteen."""
    texts = [chunk.text.strip() for chunk in chunks]
    sources: dict[str, set[str]] = defaultdict(set)
    for chunk, text in zip(chunks, texts, strict=True):
        sources[text].add(chunk.source)
    return [1 / (1 + REPEATED * math.log2(len(sources[text]))) for text in texts]


def shares_of_best(scores: Sequence[float]) -> list[float]:
    """Return each score as a share of the highest; zeros if none is above zero."""
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]


def files(passages: Sequence[Ranked], weights: Weights) -> dict[str, Ranked]:
    """Return each file with its best passage and its own score, by source.

    Vectors, names and proximity count as in the passage where they are highest. For keywords, every further
    passage adds a share of the one before it: `furtherPassages` times the share of passages that are not the first of
    their file. In short files, a second passage is only the rest of the same text. All other terms come from the best
    passage. `passages` are in order, best first.
    """
    grouped: dict[str, list[Ranked]] = {}
    for passage in passages:
        grouped.setdefault(passage.source, []).append(passage)
    decay = weights["furtherPassages"] * (1 - len(grouped) / max(1, len(passages)))
    decays = [decay**place for place in range(MAX_PASSAGES)]
    words = [
        sorted([dict(passage.why).get("keywords", 0.0) for passage in those], reverse=True)
        for those in grouped.values()
    ]
    highest = max([points[0] for points in words], default=0.0)
    sums = [points[0] if len(points) == 1 else sum(map(mul, points, decays)) for points in words]
    found = {}
    for (source, those), share in zip(grouped.items(), shares_of_best(sums), strict=True):
        best, *others = those
        values = dict(best.why)  # its terms become those of the file
        for passage in others:
            for name, value in passage.why:
                values[name] = max(values.get(name, 0.0), value) if name in BEST else values.get(name, 0.0)
        if "keywords" in values:
            values["keywords"] = highest * share  # the best file has as much as the best passage
        why: Terms = [term for term in values.items() if term[1]]
        found[source] = Ranked(source, sum(values.values()), best.chunk, why)
    return found
