"""Group files with the same text, such as copies in several folders, and lower near-copies."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from zlib import crc32

import numpy as np

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query import reference
from lore_server.query.ranking import Ranked

TAIL = 24  # characters: passages with different ends are not compared
FIRST = 5  # results of which none is a near-copy of another
NEAR = 0.75  # the share of common words from which two passages are near-copies
FEWEST = 20  # different words of a passage; the words of shorter ones are often the same
_BAND = 4  # orders of all words, each by another factor of their hashes; there are twelve bands
_FACTORS = np.random.default_rng(0).integers(2**63, size=(12 * _BAND, 1), dtype=np.uint64) | np.uint64(1)
MEANT = frozenset({reference.TERM, "releaseExactMatch", "structureMatch"})  # asked for one by one
_EXACT = frozenset({KnowledgeType.RELEASE, KnowledgeType.TICKET})  # versions and numbers are their subject
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|\b\d+(?:\.\d+)+\b")
_TARGET = re.compile(r"\]\([^()\s]*\)")


def suspects(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the results whose passages are the same: a cheap test, so that few files are read whole."""
    likely = chain.from_iterable(_alike(ranked, lambda chunk: chunk.text.rstrip()[-TAIL:].casefold()))
    return [*chain.from_iterable(_alike(likely, lambda chunk: normalised(chunk.text, chunk.type)))]


def copies(some: Sequence[Ranked], texts: Mapping[str, str]) -> list[list[Ranked]]:
    """Return the groups of results with the same text, given the texts of their files by path."""
    return _alike(some, lambda chunk: normalised(texts[chunk.source], chunk.type))


def spread(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the results with the near-copies of the first ones behind these."""
    # near-copies remain results: in a changelog, a single word or number can be the essential difference
    first, near = _first(ranked)
    return [*first, *lowered(near, first), *ranked[len(first) + len(near) :]] if near else list(ranked)


def crowd(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the near-copies if they leave no room for others."""
    first, near = _first(ranked)
    return near if len(first) < FIRST else []


def lowered(near: Iterable[Ranked], below: Sequence[Ranked]) -> list[Ranked]:
    """Return the results with at most the score of the last of those that they are put below."""
    most = below[-1].score if below else 0.0
    return [result.at(most, "nearCopy") if result.score > most else result for result in near]


def _first(ranked: Sequence[Ranked]) -> tuple[list[Ranked], list[Ranked]]:
    """Return the first results that differ from each other, and the near-copies of these up to the last of them."""
    first: list[Ranked] = []
    near: list[Ranked] = []
    words: list[frozenset[str]] = []
    for result in ranked:
        if len(first) == FIRST:
            break
        own = _words(result.chunk.text)
        is_meant = any(term in MEANT for term, _ in result.why)
        if not is_meant and any(_is_near(own, others) for others in words):
            near.append(result)
        else:
            first.append(result)
            words.append(own)
    return first, near


def repeated(texts: Sequence[str]) -> list[list[int]]:
    """Return groups of the numbers of texts that nearly repeat their first one; those that repeat most come first."""
    # MinHash: texts are compared if their first words are the same in all orders of a band, as for 99 % of near-copies
    groups: dict[int, list[int]] = defaultdict(list)
    leaders: dict[bytes, int] = {}
    for number, text in enumerate(texts):
        if len(words := _words(text)) >= FEWEST:
            hashes = np.fromiter(map(crc32, map(str.encode, words)), np.uint64, len(words))
            keys = [band.tobytes() for band in (hashes * _FACTORS).min(axis=1).reshape(-1, _BAND)]
            known = dict.fromkeys(leaders[key] for key in keys if key in leaders)
            leader = next((one for one in known if _is_near(_words(texts[one]), words)), number)
            groups[leader].append(number)
            leaders |= dict.fromkeys(keys, leader)
    found = [group for group in groups.values() if group[1:]]
    return sorted(found, key=lambda group: -sum(len(texts[number]) for number in group[1:]))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def _is_near(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= NEAR * len(words | others)


def _alike(ranked: Iterable[Ranked], key: Callable[[Chunk], str]) -> list[list[Ranked]]:
    groups: dict[tuple[KnowledgeType, str], list[Ranked]] = defaultdict(list)
    for result in ranked:
        groups[result.chunk.type, key(result.chunk)].append(result)
    return [group for group in groups.values() if len(group) > 1]


def normalised(text: str, type_: KnowledgeType) -> str:
    """Return the text without the differences that copies of this type may have."""
    lines = [" ".join(line.split()).casefold() for line in text.splitlines() if line.strip()]
    if type_ not in _EXACT:
        lines = [_TARGET.sub("]()", line) for line in lines]
        lines[:1] = [_VERSION.sub("", line) for line in lines[:1]]
    return "\n".join(lines)


def _distance(path: str) -> tuple[int, int, str]:
    """Return the sort key that puts the path nearest to the root first, the shortest of several."""
    return path.count("/"), len(path), path


def joined(ranked: Sequence[Ranked], groups: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """Return the results with the original of each group in place of its best copy, and without the other copies."""
    place: dict[str, Ranked | None] = {}
    for group in groups:
        best = max(group, key=lambda result: result.score)
        chosen = min(group, key=lambda result: _distance(result.source))
        place |= dict.fromkeys(result.source for result in group)
        place[best.source] = chosen.at(best.score, "similarMatch") if best.score > chosen.score else chosen
    kept = (place.get(result.source, result) for result in ranked)
    return [result for result in kept if result is not None]


def members(group: Sequence[Ranked], files: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the paths of a group, with the files whose chunks all equal those of one of its files."""
    found = {result.source: None for result in group}
    wanted = {_contents(files[path].values()) for path in found}
    firsts = {contents[:1] for contents in wanted}
    for path, rows in files.items():
        if _contents(islice(rows.values(), 1)) in firsts and _contents(rows.values()) in wanted:
            found[path] = None
    return sorted(found, key=_distance)


def _contents(rows: Iterable[str]) -> tuple[str, ...]:
    return tuple(row.partition(".")[2] for row in rows)
