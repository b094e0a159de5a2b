"""Choose the passages that an answer shows: whole chunks of the best files, without near-duplicates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.pack import Passage
from lore_server.query.confidence import DOUBTFUL, Rarity, share_of
from lore_server.query.outdated import outdated
from lore_server.query.proximity import stems
from lore_server.query.query_service import SearchOutcome
from lore_server.replies.excerpt import whole_lines

ChunksOf = Callable[[str], Sequence[Chunk]]

SHOWN = 4
PER_FILE = 2
OVERHEAD = 300  # characters of a citation beside its text
SAME = 0.8  # share of the words of the shorter passage above which two passages count as equal
LEADING = 3  # files whose best passage comes before any second passage
RANK_SHARE = 0.15
WIDE = 1_000  # characters up to which a passage of prose is widened within its section
PAST = frozenset({KnowledgeType.TICKET, KnowledgeType.RELEASE, KnowledgeType.BLOG, KnowledgeType.MEMORY})
_WORD = re.compile(r"[^\W_]+")


def choose(found: SearchOutcome, files: int, characters: int, rarity: Rarity) -> list[Passage]:
    """Return up to four passages of the best `files` files, at most `characters` long; at least one passage.

    The best passages of the best three files come before others. Outdated passages come last, and passages about the
    past come after those about the present, unless the question asks for the past.
    """
    ranked = found.ranked[:files]
    if not ranked:
        return []
    share = coverage(found.query.text, rarity)
    position = {file.source: number for number, file in enumerate(ranked)}
    similar = {candidate.chunk.id: max(0.0, candidate.vector or 0.0) for candidate in found.candidates}
    best = {file.chunk.id for file in ranked}
    both = [*(file.chunk for file in ranked), *(candidate.chunk for candidate in found.candidates)]
    chunks = {chunk.id: chunk for chunk in both if chunk.source in position}

    def score(chunk: Chunk) -> float:
        rank = 1 / (1 + position[chunk.source]) + (0.3 if chunk.id in best else 0.0)
        return RANK_SHARE * rank + share(chunk) + similar.get(chunk.id, 0.0)

    leading = {file.chunk.id for file in ranked[:LEADING]}
    ordered = sorted(chunks.values(), key=lambda chunk: (chunk.id not in leading, -score(chunk), chunk.id))
    chosen: list[Chunk] = []
    count: Counter[str] = Counter()
    for chunk in ordered:
        if len(chosen) == SHOWN:
            break
        size = len(chunk.text) + OVERHEAD
        if chosen and size > characters:
            continue
        if count[chunk.source] < PER_FILE and not any(_is_same(chunk.text, other.text) for other in chosen):
            chosen.append(chunk)
            characters -= size
            count[chunk.source] += 1
    chosen.sort(key=lambda chunk: _standing(chunk, found))
    return [Passage(number, chunk) for number, chunk in enumerate(chosen, start=1)]


def widened(passages: Sequence[Passage], characters: int, chunks_of: ChunksOf) -> list[Passage]:
    """Extend passages of prose to their whole sections if these are short; return the others unchanged.

    Together they grow by at most `characters` characters. No two of them overlap.
    """
    taken = {passage.chunk.id for passage in passages}
    found = []
    for passage in passages:
        wide = _widened(passage.chunk, characters, taken, chunks_of)
        characters -= len(wide.text) - len(passage.chunk.text)
        found.append(Passage(passage.number, wide))
    return found


def _widened(chunk: Chunk, characters: int, taken: set[str], chunks_of: ChunksOf) -> Chunk:
    """Return a chunk with its neighbours in the section, following ones first; adds their ids to `taken`."""
    if chunk.columns is not None or syntax_of(chunk.source) not in PROSE:
        return chunk
    chunks, most = chunks_of(chunk.source), min(WIDE, len(chunk.text) + characters)
    lines = whole_lines(chunks)
    place = next((number for number, other in enumerate(chunks) if other.id == chunk.id), None)
    if place is None:  # the index has changed since
        return chunk
    first = last = place

    def text(first: int, last: int) -> str:
        return "\n".join(lines[chunks[first].lines[0] - 1 : chunks[last].lines[1]])

    def fits(number: int) -> bool:
        if not 0 <= number < len(chunks) or chunks[number].id in taken or chunks[number].columns is not None:
            return False
        is_within = chunks[number].heading[: len(chunk.heading)] == chunk.heading
        return is_within and len(text(min(first, number), max(last, number))) <= most

    while (beside := last + 1 if fits(last + 1) else first - 1) >= 0 and fits(beside):
        taken.add(chunks[beside].id)
        first, last = min(first, beside), max(last, beside)
    whole = text(first, last)
    return replace(chunk, lines=(chunks[first].lines[0], chunks[last].lines[1]), text=whole)


def is_answered(found: SearchOutcome) -> bool:
    """Return whether the index seems to answer a question: a passage is close to it, or it names an indexed release."""
    asks_release = any(
        file.chunk.type == KnowledgeType.RELEASE and any(version in file.source for version in found.query.versions)
        for file in found.ranked
    )
    return asks_release or found.confidence >= DOUBTFUL


def coverage(question: str, rarity: Rarity) -> Callable[[Chunk | str], float]:
    """Return a function that measures which share of the question's words a passage contains, weighted by rarity."""
    share = share_of(stems(question), rarity)
    return lambda passage: share(
        passage if isinstance(passage, str) else " ".join((passage.text, passage.title, *passage.heading))
    )


def _standing(chunk: Chunk, found: SearchOutcome) -> tuple[bool, bool]:
    """Return a sort key that puts current passages before outdated ones, and the present before the past."""
    asked = found.query.wanted_types | found.query.sought_types
    is_past = chunk.type in PAST and chunk.type not in asked and not found.query.versions
    return outdated(chunk, found.today) is not None, is_past


def _is_same(text: str, other: str) -> bool:
    first, second = _words(text), _words(other)
    return len(first & second) > SAME * max(1, min(len(first), len(second)))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
