"""The result of a ranking: ordered passages or files with their score terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lore_etl.core.model import Chunk

Terms = list[tuple[str, float]]


@dataclass(slots=True)
class Ranked:
    """A file or passage in the result: its score, its (best) chunk and its score terms."""

    source: str
    score: float
    chunk: Chunk
    why: Terms = field(default_factory=list)

    def add(self, term: str, points: float) -> None:
        """Add points to the score, if there are any, with their reason."""
        if points:
            self.score += points
            self.why = [*self.why, (term, points)]

    def at(self, score: float, term: str) -> Ranked:
        """Return the same result with exactly this score, and the reason for the difference."""
        return replace(self, score=score, why=[*self.why, (term, score - self.score)])
