"""Choose the passages that an answer shows: whole chunks of the best files, without near-duplicates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.pack import Passage, merged
from lore_server.query.confidence import Rarity, share_of
from lore_server.query.proximity import stems
from lore_server.query.query_service import SearchOutcome
from lore_server.replies.excerpt import whole_lines

ChunksOf = Callable[[str], Sequence[Chunk]]

SHOWN = 4
PER_FILE = 2
OVERHEAD = 300  # characters of a citation beside its text
SAME = 0.8  # share of the words of the shorter passage above which two passages count as equal
LEADING = 3  # files whose best passage comes before any second passage
FAR_BELOW = 0.5  # share of the score of the first file
PART = 1_800  # characters of a part of a document that the question names
WIDE = 1_000  # characters up to which a passage of prose is widened within its section
PAST = frozenset({KnowledgeType.TICKET, KnowledgeType.RELEASE, KnowledgeType.BLOG, KnowledgeType.MEMORY})
_WORD = re.compile(r"[^\W_]+")


def choose(found: SearchOutcome, files: int, characters: int) -> list[Passage]:
    """Return up to four passages of the best `files` files, at most `characters` long; at least one passage.

    Files come in the order of the search: the best passage of each of the first three, then further passages. A file
    far below the first is left out.
    """
    leading = [file for file in found.ranked[:files] if file.score >= FAR_BELOW * found.ranked[0].score]
    position = {file.source: number for number, file in enumerate(leading)}
    passages = [file.chunk for file in leading[:LEADING]]
    passages += [passage.chunk for passage in found.passages if passage.source in position]
    chosen = fitting(passages, characters)
    chosen.sort(key=lambda chunk: position[chunk.source])
    return [Passage(number, chunk) for number, chunk in enumerate(chosen, start=1)]


def fitting(chunks: Iterable[Chunk], characters: int, per_file: int = PER_FILE) -> list[Chunk]:
    """Return the first four of these chunks that fit and add something, at least one; not too many of one file."""
    chosen: list[Chunk] = []
    count: Counter[str] = Counter()
    for chunk in chunks:
        size = len(chunk.text) + OVERHEAD
        if len(chosen) == SHOWN or (chosen and size > characters) or count[chunk.source] == per_file:
            continue
        if not any(is_same(chunk.text, other.text) for other in chosen):
            chosen.append(chunk)
            characters -= size
            count[chunk.source] += 1
    return chosen


def in_parts(chunks: Sequence[Chunk], whole: Sequence[Chunk]) -> list[Chunk]:
    """Return adjacent chunks of a file as parts that are not too long; `whole` are all its chunks."""
    parts: list[list[Chunk]] = []
    for chunk in chunks:
        last = parts[-1] if parts else []
        if last and chunk.columns is None and _size([*last, chunk]) <= PART:
            last.append(chunk)
        else:
            parts.append([chunk])
    return [merged(part, whole) for part in parts]


def _size(chunks: Sequence[Chunk]) -> int:
    return sum(len(chunk.text) + 1 for chunk in chunks)


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


def coverage(question: str, rarity: Rarity) -> Callable[[Chunk | str], float]:
    """Return a function that measures which share of the question's words a passage contains, weighted by rarity."""
    share = share_of(stems(question), rarity)
    return lambda passage: share(
        passage if isinstance(passage, str) else " ".join((passage.text, passage.title, *passage.heading))
    )


def is_same(text: str, other: str) -> bool:
    first, second = _words(text), _words(other)
    return len(first & second) > SAME * max(1, min(len(first), len(second)))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
