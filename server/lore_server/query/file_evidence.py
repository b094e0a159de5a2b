"""Add up the evidence of all passages of a file, because different chunks of it match by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lore_server.query.fuse import shares_of_best
from lore_server.query.ranking import Ranked, Terms
from lore_server.query.weights import Weights

MAX_PASSAGES = 8  # of one file
BEST = frozenset({"vectors", "namePartMatch", "proximity"})
"""Terms that a file takes from the passage that has most of it, whichever that is."""


def files(passages: Sequence[Ranked], weights: Weights) -> dict[str, Ranked]:
    """Return each file with its best passage and its own score, by source.

    Vectors, names and nearness of words count as in the passage where they are highest. For keywords every further
    passage adds `furtherPassages` times as much as the one before it. All other terms are those of the best passage.
    `folderCoherence` is the share that a file gets of the best file of its folder.
    `passages` are in order, best first.
    """
    grouped: dict[str, list[Ranked]] = {}
    for one in passages:
        grouped.setdefault(one.source, []).append(one)
    terms = {source: [dict(one.why) for one in those] for source, those in grouped.items()}
    words = _words(terms, weights["furtherPassages"])
    found = [_file(those[0], terms[source], words[source]) for source, those in grouped.items()]
    return {one.source: one for one in _beside(found, weights["folderCoherence"])}


def _words(terms: Mapping[str, Sequence[Mapping[str, float]]], decay: float) -> dict[str, float]:
    """Return the keyword term of each file; the best file has as much as the best passage."""
    found = {
        source: sorted((one.get("keywords", 0.0) for one in those), reverse=True) for source, those in terms.items()
    }
    highest = max((points[0] for points in found.values()), default=0.0)
    sums = [sum(one * decay**place for place, one in enumerate(points[:MAX_PASSAGES])) for points in found.values()]
    return {source: highest * share for source, share in zip(found, shares_of_best(sums), strict=True)}


def _file(best: Ranked, terms: Sequence[Mapping[str, float]], words: float) -> Ranked:
    names = dict.fromkeys(name for one in terms for name in one)
    points: Terms = []
    for name in names:
        if name == "keywords":
            value = words
        elif name in BEST:
            value = max(one.get(name, 0.0) for one in terms)
        else:
            value = terms[0].get(name, 0.0)
        if value:
            points.append((name, value))
    return Ranked(best.source, sum(value for _, value in points), best.chunk, points)


def _beside(found: Sequence[Ranked], share: float) -> list[Ranked]:
    best: dict[str, float] = {}
    for one in found:
        best[_folder(one.source)] = max(one.score, best.get(_folder(one.source), 0.0))
    points = [share * best[_folder(one.source)] for one in found]
    return [
        Ranked(one.source, one.score + more, one.chunk, [*one.why, ("folderCoherence", more)] if more else one.why)
        for one, more in zip(found, points, strict=True)
    ]


def _folder(source: str) -> str:
    return source.rpartition("/")[0] or source
