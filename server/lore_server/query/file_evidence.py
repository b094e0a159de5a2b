"""Add up the evidence of all passages of a file, because keywords and vectors may match different chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import mul

from lore_server.query.fuse import shares_of_best
from lore_server.query.ranking import Ranked, Terms
from lore_server.query.weights import Weights

MAX_PASSAGES = 8  # of one file
BEST = frozenset({"vectors", "namePartMatch", "proximity", "symbolMatch"})
"""Terms that a file takes from the passage that has most of it, whichever that is."""


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
    terms = {source: [dict(passage.why) for passage in those] for source, those in grouped.items()}
    words = _words(terms, weights["furtherPassages"] * (1 - len(grouped) / max(1, len(passages))))
    return {source: _file(those[0], terms[source], words[source]) for source, those in grouped.items()}


def _words(terms: Mapping[str, Sequence[Mapping[str, float]]], decay: float) -> dict[str, float]:
    """Return the keyword term of each file; the best file has as much as the best passage."""
    found = {
        source: sorted([passage.get("keywords", 0.0) for passage in those], reverse=True)
        for source, those in terms.items()
    }
    highest = max([points[0] for points in found.values()], default=0.0)
    decays = [decay**place for place in range(MAX_PASSAGES)]
    sums = [points[0] if len(points) == 1 else sum(map(mul, points, decays)) for points in found.values()]
    return {source: highest * share for source, share in zip(found, shares_of_best(sums), strict=True)}


def _file(best: Ranked, terms: Sequence[dict[str, float]], words: float) -> Ranked:
    """Return a file with its best passage; the terms of that passage become those of the file."""
    values, *others = terms
    for passage in others:
        for name, value in passage.items():
            values[name] = max(values.get(name, 0.0), value) if name in BEST else values.get(name, 0.0)
    if "keywords" in values:
        values["keywords"] = words
    why: Terms = [term for term in values.items() if term[1]]
    return Ranked(best.source, sum(values.values()), best.chunk, why)
