"""Each leg alone as a ranking: the baselines that the hybrid must beat."""

from __future__ import annotations

from collections.abc import Sequence

from lore_etl.core.model import Chunk
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Candidates

LEGS = ("vectors", "keywords")


def passages(candidates: Candidates, leg: str) -> list[Ranked]:
    """Return the chunks that one leg found, in its order."""
    chunks: dict[str, Chunk] = {candidate.chunk.id: candidate.chunk for candidate in candidates.found}
    hits = candidates.by_meaning if leg == "vectors" else candidates.by_word
    return [Ranked(chunks[id_].source, score, chunks[id_], [(leg, score)]) for id_, score in hits]


def files(passages: Sequence[Ranked]) -> list[Ranked]:
    """Return each file with its best passage."""
    best: dict[str, Ranked] = {}
    for passage in passages:
        best.setdefault(passage.source, passage)
    return list(best.values())
