"""What both rankings return: files in order, each with its best passage and the terms of its score."""

from __future__ import annotations

from dataclasses import dataclass, field

from etl.model import Chunk


@dataclass
class Ranked:
    """A source in the result: score, best chunk, and what the score is made of."""

    source: str
    score: float
    chunk: Chunk
    why: list[tuple[str, float]] = field(default_factory=list)
