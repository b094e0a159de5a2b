"""What a ranking returns: passages or files in order, each with the terms of its score."""

from __future__ import annotations

from dataclasses import dataclass, field

from lore_etl.core.model import Chunk

Terms = list[tuple[str, float]]


@dataclass
class Ranked:
    """A source in the result, or one passage of it: score, (best) chunk, and what the score is made of."""

    source: str
    score: float
    chunk: Chunk
    why: Terms = field(default_factory=list)
