"""The ranking of Lore's predecessor, reproduced exactly and tested with its golden vectors."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.ranking import Weights

FOLDER_BONUS = 0.1
BEST_FOLDERS = 5
Terms = defaultdict[str, float]


def rank(query: str, type_: str, chunks: Sequence[Chunk], weights: Weights) -> list[tuple[str, Terms]]:
    """Return (source, score terms) pairs, best first, for chunks in the order of the vector result."""
    scores: dict[str, Terms] = {}
    words = _words(query)
    for position, chunk in enumerate(chunks):
        if chunk.source == "unknown":
            continue
        terms = scores.setdefault(chunk.source, defaultdict(float))
        terms["baseIncrement"] += (len(chunks) - position) * weights["baseIncrement"]
        name = " - ".join((chunk.title, *chunk.heading[-1:])).lower()
        if chunk.type in (KnowledgeType.TICKET, KnowledgeType.RELEASE):
            name = PurePosixPath(chunk.source).stem.lower()
        for term in _matches(words, query, type_, chunk, name):
            terms[term] += weights[term]
        boost = weights["inheritanceBoost"]
        for source in (ancestor.source for ancestor in chunk.chain if ancestor.source):
            scores.setdefault(source, defaultdict(float))["inheritanceBoost"] += boost
            boost = math.floor(boost * weights["inheritanceDecay"])
    best = sorted(scores.items(), key=lambda item: -sum(item[1].values()))
    folders = {str(PurePosixPath(source).parent) for source, _ in best[:BEST_FOLDERS]}
    for source, terms in best:
        if str(PurePosixPath(source).parent) in folders:
            terms["folderBonus"] = FOLDER_BONUS * sum(terms.values())
    return sorted(best, key=lambda item: -sum(item[1].values()))


def _words(query: str) -> list[str]:
    words = re.sub(r"[^a-zA-Z ]", "", query).lower().split(" ")
    return [word.removesuffix("s") if len(word) > 3 else word for word in words if len(word) > 2]


def _matches(words: Iterable[str], query: str, type_: str, chunk: Chunk, name: str) -> Iterator[str]:
    """Yield the weights that apply, those of words once per word."""
    source, class_name = chunk.source.lower(), (chunk.class_name or "").lower()
    for word in words:
        if f"/{word}/" in source:
            yield "sourcePathMatch"
        if word in source.rsplit("/", 1)[-1]:
            yield "fileNameMatch"
        if chunk.type == KnowledgeType.GUIDE or (chunk.type == KnowledgeType.BLOG and word in name):
            yield "guideMatch"
        if chunk.type == KnowledgeType.BLOG:
            yield "blogMatch"
        if word in class_name:
            yield "classNameMatch"
        if word in name.split("."):
            yield "namePartMatch"
    if chunk.type == KnowledgeType.TICKET and type_ == "all":
        yield "ticketPenalty"
    if chunk.type == KnowledgeType.LIBRARY and type_ == "all":
        yield "libraryPenalty"
    if chunk.type == KnowledgeType.RELEASE:
        yield "releasePenalty"
        if query.lower().startswith("v") and name == query.lower():
            yield "releaseExactMatch"
    if source.endswith("base.mjs"):
        yield "baseFileBonus"
