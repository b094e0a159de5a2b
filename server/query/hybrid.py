"""The hybrid ranking: fused score, then what is known of code, types, inheritance and age. Pure functions."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from etl.model import Chunk, KnowledgeType
from server.query.fuse import fuse
from server.query.parse import Query
from server.query.ranked import Ranked
from server.query.retrieve import Candidate
from server.query.weights import Weights

MAX_MATCHES = 3  # a path or a class counts for at most so many words
COHERENT = 3  # how many further chunks of a file count
HALF_LIFE_DAYS = 365.0
DATED = frozenset({KnowledgeType.TICKET, KnowledgeType.BLOG, KnowledgeType.MEMORY, KnowledgeType.RELEASE})
REASONED = frozenset({KnowledgeType.ADR, KnowledgeType.PRP, KnowledgeType.TICKET})
_TYPE_WEIGHTS = {
    KnowledgeType.GUIDE: "guideMatch",
    KnowledgeType.SRC: "sourceMatch",
    KnowledgeType.BLOG: "blogMatch",
    KnowledgeType.TICKET: "ticketPenalty",
    KnowledgeType.RELEASE: "releasePenalty",
    KnowledgeType.TEST: "testPenalty",
    KnowledgeType.EXAMPLE: "examplePenalty",
    KnowledgeType.MEMORY: "memoryPenalty",
}
_KIND_SURENESS = {"class": 1.0, "function": 1.0, "method": 0.8, "module": 0.7}
Terms = list[tuple[str, float]]


def rank(
    query: Query,
    candidates: Sequence[Candidate],
    type_: str | None,
    weights: Weights,
    parents: Mapping[str, Chunk],
) -> list[Ranked]:
    """Files by score, best first. `parents` are the class chunks of ancestors by class name."""
    parts = fuse(candidates, query.vector_weight)
    newest = max((_day(one.chunk) for one in candidates), default=0.0)
    scored = []
    for candidate, (vector, keyword) in zip(candidates, parts, strict=True):
        scale = weights["baseIncrement"]
        terms: Terms = [("vectors", scale * vector), ("keywords", scale * keyword)]
        terms += _name_terms(query, candidate.chunk, weights)
        terms += _type_terms(query, candidate.chunk, type_, weights)
        terms += _age_terms(candidate.chunk, newest, weights)
        scored.append((candidate.chunk, [term for term in terms if term[1]]))
    by_source = _grouped(scored, weights)
    if type_ is None or type_ == KnowledgeType.SRC:
        _lift_parents(query, by_source, weights, parents)
    return sorted(by_source.values(), key=lambda one: (-one.score, one.source))


def asked_classes(query: Query, candidates: Sequence[Candidate]) -> list[Chunk]:
    """Class chunks among the candidates whose class the question names: their parents are worth showing."""
    return [one.chunk for one in candidates if one.chunk.chain and _defines(query, one.chunk)]


def _defines(query: Query, chunk: Chunk) -> bool:
    asked = set(query.names) | set(query.words)
    return any(_last(symbol) in asked or symbol.casefold() in asked for symbol in chunk.symbols)


def _last(symbol: str) -> str:
    return symbol.rpartition(".")[2].casefold()


def _name_terms(query: Query, chunk: Chunk, weights: Weights) -> Terms:
    path = PurePosixPath(chunk.source)
    folders = {part.casefold() for part in path.parts[:-1]}
    stem = path.stem.casefold()
    class_words = (chunk.class_name or "").casefold()
    words = [_singular(word) for word in query.words]
    terms: Terms = [
        ("sourcePathMatch", weights["sourcePathMatch"] * min(MAX_MATCHES, _count(words, folders))),
        (
            "fileNameMatch",
            weights["fileNameMatch"] * min(MAX_MATCHES, sum(_in_name(word, stem) for word in words)),
        ),
    ]
    if class_words:
        hits = sum(len(word) > 2 and word in class_words for word in words)
        terms.append(("classNameMatch", weights["classNameMatch"] * min(1, hits)))
    terms.append(("namePartMatch", weights["namePartMatch"] * _definition(query, chunk)))
    if PurePosixPath(chunk.source).stem.casefold() == "base":
        terms.append(("baseFileBonus", weights["baseFileBonus"]))
    return terms


def _definition(query: Query, chunk: Chunk) -> float:
    """How surely the chunk defines a name that was asked for: 1 for its full name, less for its last part."""
    qualified = [f".{name.casefold()}" for name in _qualified(chunk)]
    last_parts = {_last(symbol) for symbol in chunk.symbols}
    is_dotted = any("." in name for name in query.names)
    best = 0.0
    for name in query.names:
        if "." in name or is_dotted:
            full = any(one.endswith(f".{name}") for one in qualified) and "." in name
            best = max(best, 1.0 if full else (0.3 if name in last_parts else 0.0))
        elif name in last_parts:
            best = max(best, _KIND_SURENESS.get(chunk.kind, 0.9))
    if not query.names and any(len(part) > 3 and part in query.words for part in last_parts):
        best = 0.25
    return best


def _qualified(chunk: Chunk) -> list[str]:
    """The full names of what a chunk defines."""
    owner = chunk.class_name or ""
    members = [f"{owner}.{_last(symbol)}" for symbol in chunk.symbols if owner and chunk.kind != "class"]
    return [*chunk.symbols, *members, *([owner] if owner and chunk.kind == "class" else [])]


def _type_terms(query: Query, chunk: Chunk, type_: str | None, weights: Weights) -> Terms:
    terms: Terms = []
    if type_ is None and chunk.type in _TYPE_WEIGHTS:
        name = _TYPE_WEIGHTS[chunk.type]
        terms.append((name, weights[name]))
    if query.asks_why and chunk.type in REASONED:
        terms.append(("reasonMatch", weights["reasonMatch"]))
    if chunk.type == KnowledgeType.RELEASE and query.versions and _version_of(chunk) & set(query.versions):
        terms.append(("releaseExactMatch", weights["releaseExactMatch"]))
    return terms


def _version_of(chunk: Chunk) -> set[str]:
    """Versions in the file's name and in the headings of the chunk."""
    words = " ".join((PurePosixPath(chunk.source).stem, *chunk.heading)).replace("[", " ").replace("]", " ")
    return {word.casefold().removeprefix("v") for word in words.split()}


def _age_terms(chunk: Chunk, newest: float, weights: Weights) -> Terms:
    """Newer beats older among dated documents, measured from the newest of them: no clock is asked."""
    day = _day(chunk)
    if chunk.type not in DATED or not day:
        return []
    return [("recency", weights["recency"] * 0.5 ** ((newest - day) / HALF_LIFE_DAYS))]


def _day(chunk: Chunk) -> float:
    text = (chunk.updated or chunk.created or "")[:10]
    try:
        return float(datetime.date.fromisoformat(text).toordinal())
    except ValueError:
        return 0.0


def _grouped(scored: Sequence[tuple[Chunk, Terms]], weights: Weights) -> dict[str, Ranked]:
    """The best chunk of each file stands for it; others of the file add a little."""
    files: dict[str, list[tuple[float, Chunk, Terms]]] = defaultdict(list)
    for chunk, terms in scored:
        files[chunk.source].append((sum(value for _, value in terms), chunk, terms))
    ranked = {}
    for source, rows in files.items():
        rows.sort(key=lambda row: (-row[0], row[1].lines))
        total, chunk, terms = rows[0]
        others = weights["fileCoherence"] * sum(max(0.0, row[0]) for row in rows[1 : 1 + COHERENT])
        why = [*terms, ("fileCoherence", others)] if others else terms
        ranked[source] = Ranked(source, total + others, chunk, why)
    return ranked


def _lift_parents(query: Query, by_source: dict[str, Ranked], weights: Weights, parents: Mapping[str, Chunk]) -> None:
    """Ancestors of a class that was asked for come along, each less than the one below, never above the class."""
    for found in sorted(by_source.values(), key=lambda one: -one.score):
        if not found.chunk.chain or not _defines(query, found.chunk):
            continue
        boost, ceiling = weights["inheritanceBoost"], found.score
        for ancestor in found.chunk.chain:
            chunk = parents.get(ancestor.class_name)
            if chunk is None or chunk.source == found.source:
                continue
            have = by_source.setdefault(chunk.source, Ranked(chunk.source, 0.0, chunk))
            lifted = min(have.score + boost, ceiling - 0.01)
            if lifted > have.score:
                have.why = [*have.why, ("inheritanceBoost", lifted - have.score)]
                have.score = lifted
            ceiling = min(ceiling, max(have.score, lifted))
            boost *= weights["inheritanceDecay"]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _count(words: Sequence[str], names: set[str]) -> int:
    return sum(any(_in_name(word, name) for name in names) for word in words)


def _in_name(word: str, name: str) -> bool:
    return len(word) > 2 and (word == _singular(name) or word in name.replace("-", "_").split("_") or name == word)
