"""Choose passages: for a model the best chunks with their neighbours, for a reader sections without near-duplicates."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, islice

from lore_etl.chunking.markdown import block_parser
from lore_etl.core.model import Chunk
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.query.query_service import SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Candidate
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.paging import whole_lines

CHUNKS_PER_FILE = 4
SHOWN = 4
PER_FILE = 2
OVERHEAD = 300  # characters of a citation beside its text
SAME = 0.8  # share of the words of a passage above which it adds nothing to another one
LEADING = 3  # files whose best passage comes before any second passage
FAR_BELOW = 0.5  # share of the score of the first file
AHEAD = 0.8  # share of the score of the first file below which all others leave it three passages
PART = 1_800  # characters of a part of a document that the question names
WIDE = 1_000  # characters up to which a passage of prose is widened within its section
WHOLE = 1_900  # characters up to which prose gets whole blocks, and code its whole function
_FREE = frozenset({"paragraph_open", "heading_open", "html_block", "hr"})
_CODE = frozenset({"fence", "code_block", "table_open"})
# targets of links, and images
_TARGETS = re.compile(r"^(?:\.\. _|\[[^\]\n]+\]:).*|!\[[^\]\n]*\]\([^()\s]*\)|(?<=\])\([^()\s]*\)", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
ChunksOf = Callable[[str], Sequence[Chunk]]


@dataclass(frozen=True)
class Passage:
    """A numbered part of a file, as the model or the reader sees it: a chunk, or adjacent chunks as one."""

    number: int
    chunk: Chunk

    def contains(self, chunk: Chunk) -> bool:
        first, last = self.chunk.lines
        return self.chunk.source == chunk.source and first <= chunk.lines[0] and chunk.lines[1] <= last


def pack(
    ranked: Sequence[Ranked], candidates: Sequence[Candidate], chunks_of: ChunksOf, files: int, tokens: int
) -> list[Passage]:
    """Return at least one passage of the best files, at most `tokens` in total: best chunks, then their neighbours."""
    best = [file.chunk for file in ranked[:files]]
    all_chunks = {chunk.source: chunks_of(chunk.source) for chunk in best}
    nearest = sorted(candidates, key=lambda other: (-(other.vector or 0), other.chunk.lines))
    neighbours, others = list[Chunk](), list[Chunk]()
    for chunk in best:
        whole = all_chunks[chunk.source]
        for at in [number for number, one in enumerate(whole) if one.id == chunk.id]:
            neighbours += [*whole[at + 1 : at + 2], *whole[max(0, at - 1) : at]]
        own = (other.chunk for other in nearest if other.chunk.source == chunk.source and other.chunk.id != chunk.id)
        others += islice(own, CHUNKS_PER_FILE - 1)
    room = tokens * CHARACTERS_PER_TOKEN
    chosen: dict[str, Chunk] = {}
    for chunk in (*best, *neighbours, *others):
        if chunk.id not in chosen and (not chosen or len(chunk.text) <= room):
            chosen[chunk.id] = chunk
            room -= len(chunk.text)
    runs = []
    for whole in all_chunks.values():
        adjacent = groupby(whole, key=lambda one: one.id in chosen)
        runs += [merged(list(run), whole) for is_chosen, run in adjacent if is_chosen]
    return [Passage(number, run) for number, run in enumerate(runs, start=1)]


def merged(run: Sequence[Chunk], chunks: Sequence[Chunk]) -> Chunk:
    """Return a run as one chunk, with the headings of its first chunk. A part of a long line is not extended."""
    if len(run) == 1:
        return run[0]
    first, last = run[0].lines[0], run[-1].lines[1]
    text = "\n".join(whole_lines(chunks)[first - 1 : last])
    return replace(run[0], lines=(first, last), columns=None, text=text)


def choose(found: SearchOutcome, first: Sequence[Chunk], files: int, characters: int) -> list[Passage]:
    """Return `first` and others of the best `files` files: one passage to four, together at most `characters` long."""
    # the best section of each of the first three files precedes any second one, and files far below are left out
    leading = [file for file in found.ranked[:files] if file.score >= FAR_BELOW * found.ranked[0].score]
    sources = {file.source for file in leading}
    is_ahead = all(file.score < AHEAD * found.ranked[0].score for file in found.ranked[1:])
    passages = [*first, *(file.chunk for file in leading[: PER_FILE if is_ahead else LEADING])]
    passages += [passage.chunk for passage in found.passages if passage.source in sources]
    chosen = fitting(passages, characters, PER_FILE + is_ahead)
    sections = {one.id: (one.source, one.heading if syntax_of(one.source) in PROSE else one.id) for one in chosen}
    order = [*dict.fromkeys(sections.values())]
    chosen.sort(key=lambda one: order.index(sections[one.id]))
    return [Passage(number, chunk) for number, chunk in enumerate(chosen, start=1)]


def fitting(chunks: Iterable[Chunk], characters: int, per_file: int = PER_FILE) -> list[Chunk]:
    """Return the first four of these chunks that fit and add something, at least one; not too many of one file."""
    chosen: list[Chunk] = []
    count: Counter[str] = Counter()
    for chunk in chunks:
        size = len(chunk.text) + OVERHEAD
        if len(chosen) == SHOWN or (chosen and size > characters) or count[chunk.source] == per_file:
            continue
        if not any(adds_little(chunk.text, other.text) for other in chosen):
            chosen.append(chunk)
            characters -= size
            count[chunk.source] += 1
    return chosen


def in_parts(chunks: Sequence[Chunk], whole: Sequence[Chunk]) -> list[Chunk]:
    """Return adjacent chunks of a file as parts that are not too long; `whole` are all its chunks."""
    parts: list[list[Chunk]] = []
    for chunk in chunks:
        last = parts[-1] if parts else []
        if last and chunk.columns is None and sum(len(one.text) + 1 for one in (*last, chunk)) <= PART:
            last.append(chunk)
        else:
            parts.append([chunk])
    return [merged(part, whole) for part in parts]


def widened(passages: Sequence[Passage], characters: int, chunks_of: ChunksOf) -> list[Passage]:
    """Extend passages to whole short sections and functions or whole blocks, by so many characters, without overlap."""
    taken = {passage.chunk.id for passage in passages}
    found, chunks_of = [], cache(chunks_of)
    for passage in passages:
        wide = _widened(passage.chunk, characters, taken, chunks_of)
        characters -= len(wide.text) - len(passage.chunk.text)
        found.append(wide)
    some = [chunk for chunk in found if _TARGETS.sub("", chunk.text).strip()] or found
    return [Passage(number, chunk) for number, chunk in enumerate(some, start=1)]


def _widened(chunk: Chunk, characters: int, taken: set[str], chunks_of: ChunksOf) -> Chunk:
    """Return a chunk with its neighbours in the section, following ones first; adds their ids to `taken`."""
    chunks = chunks_of(chunk.source)
    place = next((number for number, other in enumerate(chunks) if other.id == chunk.id), None)
    if chunk.columns is not None or place is None:  # or else the index has changed since
        return chunk
    lines, is_prose = whole_lines(chunks), syntax_of(chunk.source) in PROSE
    limit, most = WIDE if is_prose else WHOLE, len(chunk.text) + characters
    first = last = place

    def text(first: int, last: int) -> str:
        return "\n".join(lines[first - 1 : last])

    def lines_of(first: int, last: int) -> tuple[int, int]:
        return chunks[first].lines[0], chunks[last].lines[1]

    def is_free(number: int) -> bool:
        if not 0 <= number < len(chunks) or chunks[number].id in taken or chunks[number].columns is not None:
            return False
        is_within = chunks[number].heading[: len(chunk.heading)] == chunk.heading
        return is_within and (is_prose or chunks[number].symbols == chunk.symbols)

    def fits(number: int) -> bool:
        if not is_free(number):
            return False
        wide = text(*lines_of(min(first, number), max(last, number)))
        return len(wide) <= most and len(_TARGETS.sub("", wide)) <= limit

    while (beside := last + 1 if fits(last + 1) else first - 1) >= 0 and fits(beside):
        taken.add(chunks[beside].id)
        first, last = min(first, beside), max(last, beside)
    span = lines_of(first, last)
    begin, end = first - is_free(first - 1), last + is_free(last + 1)
    if is_prose and (begin, end) != (first, last):
        wider = whole_blocks(lines, span, lines_of(begin, end))
        if len(text(*wider)) <= min(WHOLE, most):
            taken |= {chunks[begin].id} if wider[0] < span[0] else set()
            taken |= {chunks[end].id} if wider[1] > span[1] else set()
            span = wider
    return replace(chunk, lines=span, text=text(*span))


def whole_blocks(lines: Sequence[str], span: tuple[int, int], within: tuple[int, int]) -> tuple[int, int]:
    """Return the lines of a passage with all of its first and last block, and with what belongs to these."""
    # Code, a table and a list have the paragraph before them, and a paragraph that ends with a colon has what follows
    tokens = block_parser().parse("\n".join(lines[within[0] - 1 : within[1]]))
    maps = [(token.type, token.map) for token in tokens if token.level == 0 and token.map]
    blocks = [(kind, begin + within[0], end + within[0] - 1) for kind, (begin, end) in maps]
    first = next((n for n, (_, _, end) in enumerate(blocks) if end >= span[0]), None)
    last = next((n for n in reversed(range(len(blocks))) if blocks[n][1] <= span[1]), None)
    if first is None or last is None or first > last:
        return span
    if first and blocks[first][0] not in _FREE and blocks[first - 1][0] == "paragraph_open":
        first -= 1
    if last + 1 < len(blocks) and blocks[last][0] == "paragraph_open":
        opens = "\n".join(lines[: blocks[last][2]]).rstrip("*_ \n").endswith(":")
        last += blocks[last + 1][0] in _CODE or (opens and blocks[last + 1][0] != "heading_open")
    end = blocks[last][2]
    while end > span[1] and not lines[end - 1].strip():
        end -= 1
    return min(span[0], blocks[first][1]), max(span[1], end)


def adds_little(text: str, other: str) -> bool:
    own, known = ({word.casefold() for word in _WORD.findall(one)} for one in (text, other))
    return len(own & known) > SAME * max(1, len(own))
