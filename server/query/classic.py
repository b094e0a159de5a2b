"""The ranking of the system that Lore follows, reproduced to the point (its golden vectors are our test).

Rank in the vector result, plus points for each word and chunk, summed by file, plus points for ancestors; then the
folders of the five best files count a tenth more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from etl.model import Chunk
from server.query.weights import Weights

FOLDER_FACTOR = 1.1
BEST_FOLDERS = 5


@dataclass(frozen=True)
class Row:
    """What the formula looks at of a chunk; `chain` are the sources of the ancestors, nearest first."""

    type: str
    source: str | None
    name: str = ""
    class_name: str = ""
    chain: tuple[str, ...] = ()


def row_of(chunk: Chunk) -> Row:
    """A chunk in the terms of the formula."""
    stem = PurePosixPath(chunk.source).stem
    heading = " - ".join((chunk.title, *chunk.heading[-1:]))
    name = stem if chunk.type in ("ticket", "release") else heading
    sources = tuple(one.source for one in chunk.chain if one.source)
    return Row(chunk.type.value, chunk.source, name, chunk.class_name or "", sources)


def rank(query: str, type_: str, rows: Sequence[Row], weights: Weights) -> list[tuple[str, float]]:
    """(source, score) best first; rows in the order of the vector result."""
    scores: dict[str, float] = {}
    words = _words(query)
    for position, row in enumerate(rows):
        if not row.source or row.source == "unknown":
            continue
        points = (len(rows) - position) * weights["baseIncrement"]
        points += sum(_word_points(word, row, weights) for word in words)
        points += _row_points(query, type_, row, weights)
        scores[row.source] = scores.get(row.source, 0.0) + points
        for source, boost in _boosts(row.chain, weights):
            scores[source] = scores.get(source, 0.0) + boost
    return _with_folders(scores)


def rounded(score: float) -> int:
    """As JavaScript's toFixed(0): halves away from zero."""
    return int(math.copysign(math.floor(abs(score) + 0.5), score))


def _words(query: str) -> list[str]:
    letters = re.sub(r"[^a-zA-Z ]", "", query).lower()
    found = []
    for word in letters.split(" "):
        if len(word) > 2:
            singular = word.removesuffix("s")
            found.append(singular if len(singular) > 2 else word)
    return found


def _word_points(word: str, row: Row, weights: Weights) -> float:
    source = (row.source or "").lower()
    name = row.name.lower()
    points = 0.0
    if f"/{word}/" in source:
        points += weights["sourcePathMatch"]
    if word in source.rsplit("/", 1)[-1]:
        points += weights["fileNameMatch"]
    if row.type == "guide":
        points += weights["guideMatch"]
    if row.type == "blog":
        points += weights["blogMatch"] + (weights["guideMatch"] if word in name else 0)
    if word in row.class_name.lower():
        points += weights["classNameMatch"]
    if word in name.split("."):
        points += weights["namePartMatch"]
    return points


def _row_points(query: str, type_: str, row: Row, weights: Weights) -> float:
    points = 0.0
    if row.type == "ticket" and type_ == "all":
        points += weights["ticketPenalty"]
    if row.type == "release":
        points += weights["releasePenalty"]
        wanted = query.lower()
        if wanted.startswith("v") and row.name.lower() == wanted:
            points += weights["releaseExactMatch"]
    if (row.source or "").lower().rsplit("/", 1)[-1].endswith("base.mjs"):
        points += weights["baseFileBonus"]
    return points


def _boosts(chain: Iterable[str], weights: Weights) -> Iterable[tuple[str, float]]:
    boost = weights["inheritanceBoost"]
    for source in chain:
        yield source, boost
        boost = math.floor(boost * weights["inheritanceDecay"])


def _with_folders(scores: dict[str, float]) -> list[tuple[str, float]]:
    best = sorted(scores.items(), key=lambda item: -item[1])
    folders = {str(PurePosixPath(source).parent) for source, _ in best[:BEST_FOLDERS]}
    lifted = [
        (source, score * FOLDER_FACTOR if str(PurePosixPath(source).parent) in folders else score)
        for source, score in best
    ]
    return sorted(lifted, key=lambda item: -item[1])
