"""Select the passages for an answer: the best files' best chunks with their neighbours, within a budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lore_etl.core.model import Chunk
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Candidate
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.reply_text import span

CHUNKS_PER_FILE = 4


@dataclass(frozen=True)
class Passage:
    """A numbered part of a file, as the model or the reader sees it."""

    number: int
    chunk: Chunk

    @property
    def label(self) -> str:
        """Return the origin of the passage, for a prompt."""
        until = f", valid until {self.chunk.valid_until}" if self.chunk.valid_until else ""
        replaced = f", superseded by {self.chunk.superseded_by}" if self.chunk.superseded_by else ""
        return f"{self.chunk.source}:{span(self.chunk.lines)} ({self.chunk.type.value}{until}{replaced})"


def pack(ranked: Sequence[Ranked], candidates: Sequence[Candidate], files: int, tokens: int) -> list[Passage]:
    """Return passages of the best files, best first, at most `tokens` (estimated) in total; at least one passage."""
    found: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        found[candidate.chunk.source].append(candidate)
    room = tokens * CHARACTERS_PER_TOKEN
    passages: list[Passage] = []
    for ranked_file in ranked[:files]:
        others = sorted(
            found[ranked_file.source], key=lambda candidate: (-(candidate.vector or 0), candidate.chunk.lines)
        )
        chunks = [ranked_file.chunk, *(other.chunk for other in others if other.chunk.id != ranked_file.chunk.id)]
        for chunk in chunks[:CHUNKS_PER_FILE]:
            if passages and len(chunk.text) > room:
                continue
            room -= len(chunk.text)
            passages.append(Passage(len(passages) + 1, chunk))
    return passages
