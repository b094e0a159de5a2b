"""Select the passages for a model: the best files' best chunks with their neighbours, within a budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lore_etl.core.model import Chunk
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Candidate
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.excerpt import whole_lines
from lore_server.replies.reply_text import span

CHUNKS_PER_FILE = 4


@dataclass(frozen=True)
class Passage:
    """A numbered part of a file, as the model or the reader sees it: a chunk, or adjacent chunks as one."""

    number: int
    chunk: Chunk

    def contains(self, chunk: Chunk) -> bool:
        first, last = self.chunk.lines
        return self.chunk.source == chunk.source and first <= chunk.lines[0] and chunk.lines[1] <= last

    @property
    def facts(self) -> dict[str, str]:
        """Return the origin of the passage, its headings, its library, its state and its day, for a prompt."""
        chunk = self.chunk
        known = {
            "from": f"{chunk.source}:{span(chunk.lines)}",
            "type": chunk.type.value,
            "heading": " > ".join(chunk.heading),
            "library": chunk.library,
            "state": chunk.state,
            "date": chunk.day,
            "valid_until": chunk.valid_until,
            "superseded_by": chunk.superseded_by,
        }
        return {name: value for name, value in known.items() if value}


def pack(
    ranked: Sequence[Ranked],
    candidates: Sequence[Candidate],
    chunks_of: Callable[[str], Sequence[Chunk]],
    files: int,
    tokens: int,
) -> list[Passage]:
    """Return passages of the best files, best file first, at most `tokens` (estimated) in total; at least one passage.

    The best chunk of each file comes before neighbours of the best chunks, and these before other chunks found.
    """
    found: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        found[candidate.chunk.source].append(candidate)
    best = [file.chunk for file in ranked[:files]]
    all_chunks = {chunk.source: chunks_of(chunk.source) for chunk in best}
    wishes = [
        best,
        [other for chunk in best for other in _neighbours(chunk, all_chunks[chunk.source])],
        [other for chunk in best for other in _others(chunk, found[chunk.source])],
    ]
    room = tokens * CHARACTERS_PER_TOKEN
    chosen: dict[str, Chunk] = {}
    for chunk in (chunk for wish in wishes for chunk in wish):
        if chunk.id not in chosen and (not chosen or len(chunk.text) <= room):
            chosen[chunk.id] = chunk
            room -= len(chunk.text)
    runs = [run for chunk in best for run in _runs(all_chunks[chunk.source], chosen)]
    return [Passage(number, merged(run, all_chunks[run[0].source])) for number, run in enumerate(runs, start=1)]


def _neighbours(chunk: Chunk, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunk after a chunk, and the one before it."""
    at = next((number for number, one in enumerate(chunks) if one.id == chunk.id), None)
    if at is not None:
        yield from chunks[at + 1 : at + 2]
        yield from chunks[max(0, at - 1) : at]


def _others(chunk: Chunk, found: Sequence[Candidate]) -> list[Chunk]:
    others = sorted(found, key=lambda candidate: (-(candidate.vector or 0), candidate.chunk.lines))
    return [other.chunk for other in others if other.chunk.id != chunk.id][: CHUNKS_PER_FILE - 1]


def _runs(chunks: Sequence[Chunk], chosen: dict[str, Chunk]) -> list[list[Chunk]]:
    """Return the chosen chunks of a file as runs of adjacent chunks."""
    return [list(run) for is_chosen, run in groupby(chunks, key=lambda chunk: chunk.id in chosen) if is_chosen]


def merged(run: Sequence[Chunk], chunks: Sequence[Chunk]) -> Chunk:
    """Return a run as one chunk, with the headings of its first chunk. A part of a long line is not extended."""
    if len(run) == 1:
        return run[0]
    first, last = run[0].lines[0], run[-1].lines[1]
    text = "\n".join(whole_lines(chunks)[first - 1 : last])
    return replace(run[0], lines=(first, last), columns=None, text=text)
