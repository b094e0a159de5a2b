"""The ranking of Lore's predecessor, reproduced exactly and tested with its golden vectors.

The score of a chunk is its rank in the vector result plus points for each word; a file adds up its chunks and gets
points for ancestors; then files in the folders of the five best files get a tenth more.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lore_etl.core.model import Chunk
from lore_server.query.weights import Weights

FOLDER_BONUS = 0.1
BEST_FOLDERS = 5
Terms = defaultdict[str, float]


@dataclass(frozen=True)
class Row:
    """The fields of a chunk that the formula uses; `chain` lists the ancestors' sources, nearest first."""

    type: str
    source: str | None
    name: str = ""
    class_name: str = ""
    chain: tuple[str, ...] = ()


def row_of(chunk: Chunk) -> Row:
    stem = PurePosixPath(chunk.source).stem
    heading = " - ".join((chunk.title, *chunk.heading[-1:]))
    name = stem if chunk.type in ("ticket", "release") else heading
    sources = tuple(ancestor.source for ancestor in chunk.chain if ancestor.source)
    return Row(chunk.type.value, chunk.source, name, chunk.class_name or "", sources)


def rank(query: str, type_: str, rows: Sequence[Row], weights: Weights) -> list[tuple[str, Terms]]:
    """Return (source, score terms) pairs, best first, for rows in the order of the vector result."""
    scores: dict[str, Terms] = {}
    words = _words(query)
    for position, row in enumerate(rows):
        if not row.source or row.source == "unknown":
            continue
        terms = scores.setdefault(row.source, defaultdict(float))
        terms["baseIncrement"] += (len(rows) - position) * weights["baseIncrement"]
        for name in (*_word_matches(words, row), *_row_matches(query, type_, row)):
            terms[name] += weights[name]
        boost = weights["inheritanceBoost"]
        for source in row.chain:
            scores.setdefault(source, defaultdict(float))["inheritanceBoost"] += boost
            boost = math.floor(boost * weights["inheritanceDecay"])
    return _with_folders(scores)


def total(terms: Mapping[str, float]) -> float:
    return sum(terms.values())


def _words(query: str) -> list[str]:
    letters = re.sub(r"[^a-zA-Z ]", "", query).lower()
    found = []
    for word in letters.split(" "):
        if len(word) > 2:
            singular = word.removesuffix("s")
            found.append(singular if len(singular) > 2 else word)
    return found


def _word_matches(words: Iterable[str], row: Row) -> Iterator[str]:
    """Yield the weights that apply, once per word."""
    source, name, class_name = (row.source or "").lower(), row.name.lower(), row.class_name.lower()
    for word in words:
        if f"/{word}/" in source:
            yield "sourcePathMatch"
        if word in source.rsplit("/", 1)[-1]:
            yield "fileNameMatch"
        if row.type == "guide" or (row.type == "blog" and word in name):
            yield "guideMatch"
        if row.type == "blog":
            yield "blogMatch"
        if word in class_name:
            yield "classNameMatch"
        if word in name.split("."):
            yield "namePartMatch"


def _row_matches(query: str, type_: str, row: Row) -> Iterator[str]:
    if row.type == "ticket" and type_ == "all":
        yield "ticketPenalty"
    if row.type == "library" and type_ == "all":
        yield "libraryPenalty"
    if row.type == "release":
        yield "releasePenalty"
        wanted = query.lower()
        if wanted.startswith("v") and row.name.lower() == wanted:
            yield "releaseExactMatch"
    if (row.source or "").lower().rsplit("/", 1)[-1].endswith("base.mjs"):
        yield "baseFileBonus"


def _with_folders(scores: dict[str, Terms]) -> list[tuple[str, Terms]]:
    best = sorted(scores.items(), key=lambda item: -total(item[1]))
    folders = {str(PurePosixPath(source).parent) for source, _ in best[:BEST_FOLDERS]}
    for source, terms in best:
        if str(PurePosixPath(source).parent) in folders:
            terms["folderBonus"] = FOLDER_BONUS * total(terms)
    return sorted(best, key=lambda item: -total(item[1]))
