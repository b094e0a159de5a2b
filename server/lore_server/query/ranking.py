"""The result of a ranking: ordered passages or files with their score terms."""

from __future__ import annotations

from dataclasses import dataclass, field

from lore_etl.core.model import Chunk

Terms = list[tuple[str, float]]


@dataclass(slots=True)
class Ranked:
    """A file or passage in the result: its score, its (best) chunk and its score terms."""

    source: str
    score: float
    chunk: Chunk
    why: Terms = field(default_factory=list)
