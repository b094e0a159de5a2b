"""The hybrid ranking: the fused score, adjusted for code, types, inheritance and age. Pure functions."""

import datetime
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import mul
from pathlib import PurePosixPath
from statistics import fmean

from lore_etl.chunking.section import CLASS_KINDS, IMPORTS
from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.lineage import add_ancestors
from lore_server.query.outdated import lower_outdated
from lore_server.query.parse import MAX_WORDS, Query
from lore_server.query.path_words import file_name_matches, name_words, path_sureness, set_aside, topic_matches
from lore_server.query.proximity import proximities
from lore_server.query.ranking import Ranked, Terms, Weights
from lore_server.query.reference import is_version, lead, lead_with_named, titles
from lore_server.query.retrieve import Candidate, Candidates

FLATNESS_DEPTH = 100
MIN_FLATNESS = 0.3
MIN_SIMILARITY = 0.5
FEW_WORDS = 4
MAX_SHARE = 0.95
REPEATED = 0.25
MAX_PASSAGES = 8  # of one file
BEST = frozenset({"vectors", "namePartMatch", "proximity", "symbolMatch"})  # of a file: those of the passage with most
READ = 60  # passages whose text is examined
OTHER_CASE = 0.5  # a variable `settings` is not the class `Settings`
BARE_NAME = 2.0  # a query that is only a name asks for its definition, so it counts double
LONG_NAME = 3  # words
NAMED_PLACE = 0.8  # topic match of a file that a question names by its file and folder
NAMED_AFTER_SUBJECT = (KnowledgeType.SRC, KnowledgeType.GUIDE)
DATA = frozenset("css csv htm html json jsonl less lock scss svg toml txt xml yaml yml".split())
"""Endings of files that are data, styles or a frame for a script, not code that answers a question."""
HALF_LIFE_DAYS = 365.0
DATED = frozenset({KnowledgeType.TICKET, KnowledgeType.BLOG, KnowledgeType.MEMORY, KnowledgeType.RELEASE})
_TYPE_WEIGHTS = {
    KnowledgeType.GUIDE: "guideMatch",
    KnowledgeType.SRC: "sourceMatch",
    KnowledgeType.TEST: "testPenalty",
    KnowledgeType.TICKET: "ticketPenalty",
    KnowledgeType.RELEASE: "releasePenalty",
    KnowledgeType.LIBRARY: "libraryPenalty",
}
_KIND_SURENESS = {
    **dict.fromkeys(CLASS_KINDS, 1.0), "impl": 0.8, "extension": 0.8, "function": 1.0, "method": 0.8, "module": 0.7
}  # fmt: skip
_BETWEEN_WORDS = re.compile(r"[-_. ]+")


def score(query: Query, candidates: Candidates, type_: str | None, weights: Weights) -> list[Ranked]:
    """Return all candidates with their scores and score terms, best first."""
    symbols = (symbol for candidate in candidates.found for symbol in candidate.chunk.symbols)
    if query.asks_definition and any(symbol.rpartition(".")[2].casefold() in query.names for symbol in symbols):
        share = 0.0  # the spelling of a name that is defined says more than its meaning
    else:
        share = vector_share(query, candidates, weights)
    asked, sources = name_words(query.text), {candidate.chunk.source for candidate in candidates.found}
    spelled, aside = file_name_matches(asked, sources), set_aside(query.text, sources)
    found = candidates.found if query.names else _explaining(candidates.found, spelled) or candidates.found
    days = [_ordinal(candidate.chunk.day) for candidate in found]
    newest, scale = max(days, default=0.0), weights["baseIncrement"]
    of_type = {type_of: _type_terms(query, type_of, type_, weights) for type_of in KnowledgeType}
    sure = path_sureness(query.text, {candidate.chunk.source for candidate in found if candidate.path})
    topics = topic_matches(query.text, sources)
    code_points = 0.0 if type_ or query.wanted_types else weights["codeMatch"]
    is_question = len(query.text.split()) <= MAX_WORDS
    asks_code = is_question and (not query.wanted_types or KnowledgeType.SRC in query.wanted_types)
    scored = []
    for candidate, (vector, keyword, path), day in zip(found, fuse(found, share), days, strict=True):
        chunk = candidate.chunk
        is_data = chunk.source.rpartition(".")[2].casefold() in DATA
        may_be_named = not is_data and chunk.type in (NAMED_AFTER_SUBJECT if asks_code else (KnowledgeType.RELEASE,))
        terms: Terms = [
            ("vectors", scale * vector),
            ("keywords", scale * keyword),
            ("sourcePathMatch", weights["sourcePathMatch"] * path * sure.get(chunk.source, 0.0)),
            ("fileNameMatch", weights["fileNameMatch"] * may_be_named * spelled[chunk.source]),
            ("topicMatch", weights["topicMatch"] * may_be_named * topics.get(chunk.source, 0.0)),
            ("formerPenalty", weights["formerPenalty"] * (chunk.source in aside)),
            ("symbolMatch", weights["symbolMatch"] * _spelled_symbol(asked, chunk)),
            ("codeMatch", code_points * (chunk.type == KnowledgeType.SRC and not is_data)),
        ]
        if query.names:
            sureness = _definition(query, chunk) * (BARE_NAME if query.asks_definition else 1.0)
            terms.append(("namePartMatch", weights["namePartMatch"] * sureness))
        is_named = chunk.type == KnowledgeType.LIBRARY and names_library(query.text, chunk)
        terms += _type_terms(query, chunk.type, type_, weights, is_named) if is_named else of_type[chunk.type]
        if chunk.type == KnowledgeType.RELEASE and _is_asked_for(query, chunk):
            terms.append(("releaseExactMatch", weights["releaseExactMatch"]))
        if day and chunk.type in DATED:
            age_in_half_lives = (newest - day) / HALF_LIFE_DAYS  # not relative to today, so that results stay the same
            terms.append(("recency", weights["recency"] * 0.5**age_in_half_lives))
        why = [term for term in terms if term[1]]
        scored.append(Ranked(chunk.source, sum([value for _, value in why]), chunk, why))
    scored.sort(key=lambda passage: (-passage.score, passage.source, passage.chunk.lines))
    texts = [passage.chunk.text for passage in scored[:READ]]
    for passage, near in zip(scored, proximities(query.text, texts), strict=False):
        passage.add("proximity", (1 - share) * weights["proximity"] * near)
    scored.sort(key=lambda passage: -passage.score)
    return scored


def rank(
    query: Query,
    passages: Sequence[Ranked],
    type_: str | None,
    weights: Weights,
    today: datetime.date = datetime.date.min,
    *,
    parents: Mapping[str, Chunk] | None = None,  # classes of ancestors by name
    relatives: Sequence[Chunk] = (),  # classes that answer a question about inheritance, nearest first
    heads: Mapping[str, Chunk] | None = None,  # first chunks of documents that replaced others, by source
    named: Mapping[str, Chunk] | None = None,  # those of documents that the question names, by source
    changed: Mapping[str, float] | None = None,  # how well the commits of a file match, by source
    used: Mapping[str, int] | None = None,  # how many files use what a file defines by the name in the query
) -> list[Ranked]:
    """Return the files by score, best first, with further files that may be added by their chunks."""

    def of_type(chunks: Mapping[str, Chunk] | None) -> dict[str, Chunk]:
        return {name: chunk for name, chunk in (chunks or {}).items() if type_ in (None, chunk.type)}

    by_source = files(passages, weights)
    _add_history(query, by_source, changed or {}, weights["historyMatch"])
    sought = [result for result in by_source.values() if _is_sought(query, result.chunk)]
    lead(by_source, "soughtMatch", sought)
    lead_with_named(query, by_source, of_type(named))
    _lead_with_most_used(by_source, used or {})
    add_ancestors(query, passages, by_source, of_type(parents), weights)
    _lift_relatives(by_source, [chunk for chunk in relatives if type_ in (None, chunk.type)], weights)
    lower_outdated(by_source, of_type(heads), today, weights)
    return sorted(by_source.values(), key=lambda result: (-result.score, result.source))


def _explaining(found: Sequence[Candidate], spelled: Mapping[str, float]) -> list[Candidate]:
    """Return the candidates without imports, which mention many names and explain none.

    Those remain that are all that was found of a file whose name the query spells out: it passes on what it imports.
    """
    others = {candidate.chunk.source for candidate in found if candidate.chunk.kind != IMPORTS}
    return [
        candidate
        for candidate in found
        if candidate.chunk.kind != IMPORTS or (spelled[candidate.chunk.source] and candidate.chunk.source not in others)
    ]


def _is_sought(query: Query, chunk: Chunk) -> bool:
    """Return whether a chunk has the type that a query seeks; who asks how to test seeks a guide to testing."""
    is_sought = chunk.type in query.sought_types
    if is_sought and chunk.type == KnowledgeType.GUIDE:
        names = (PurePosixPath(chunk.source).stem, chunk.title, *chunk.heading, *titles(f"{chunk.text}\n\n"))
        return "test" in name_words(" ".join(names))
    return is_sought


def _add_history(query: Query, by_source: dict[str, Ranked], changed: Mapping[str, float], weight: float) -> None:
    """Raise the files by their commits, unless the question names a place: then it asks for the place itself."""
    if max(topic_matches(query.text, by_source).values(), default=0.0) >= NAMED_PLACE:
        return
    types = query.wanted_types or NAMED_AFTER_SUBJECT
    found = [file for file in by_source.values() if file.source in changed and file.chunk.type in types]
    for file, share in zip(found, shares_of_best([changed[file.source] for file in found]), strict=True):
        file.add("historyMatch", weight * share)


def _lead_with_most_used(by_source: Mapping[str, Ranked], used: Mapping[str, int]) -> None:
    """Put the file whose definition is used most before the others that define the name, if it is not set aside."""
    terms = {source: dict(file.why) for source, file in by_source.items()}
    defining = {source: by_source[source] for source, own in terms.items() if own.get("namePartMatch")}
    defining = {source: file for source, file in defining.items() if "formerPenalty" not in terms[source]} or defining
    most = max((used.get(source, 0) for source in defining), default=0)
    lead(defining, "usedMatch", [file for source, file in defining.items() if most and used.get(source) == most])


def _definition(query: Query, chunk: Chunk) -> float:
    """Return how well the chunk's definitions match a queried name: 1 for a full name, less for its last part."""
    if chunk.source.rpartition("/")[2].casefold() in query.names:
        return 1.0
    written = {symbol.rpartition(".")[2] for symbol in chunk.symbols}
    qualified = [f".{symbol.casefold()}" for symbol in chunk.symbols]
    if owner := (chunk.class_name or "").casefold():
        own = [""] if chunk.kind in CLASS_KINDS else [f".{part.casefold()}" for part in written]
        qualified += [f".{owner}{part}" for part in own]
    last_parts = {part.casefold() for part in written}
    as_written = {part.casefold() for part in written if part in query.text}
    is_dotted = any("." in name for name in query.names)
    best = 0.0
    for name in query.names:
        case = 1.0 if name.rpartition(".")[2] in as_written else OTHER_CASE
        if is_dotted:  # in small letters as a whole, `gallery.canvas` may be a class
            full = any(defined.endswith(f".{name}") for defined in qualified) and "." in name
            best = max(best, (1.0 if name in query.text else case) * (1.0 if full else 0.3 * (name in last_parts)))
        elif name in last_parts:
            best = max(best, case * _KIND_SURENESS.get(chunk.kind, 0.9))
    return best


def _spelled_symbol(asked: frozenset[str], chunk: Chunk) -> float:
    """Return how long the longest name of several words is that the chunk defines and the query spells out, 0 to 1."""
    words = (name_words(symbol.rpartition(".")[2]) for symbol in chunk.symbols)
    return max((min(len(own), LONG_NAME) / LONG_NAME for own in words if len(own) > 1 and own <= asked), default=0.0)


def _type_terms(
    query: Query, have: KnowledgeType, type_: str | None, weights: Weights, is_named: bool = False
) -> Terms:
    """Return the terms of a passage for its type; `is_named` means that the query names its library."""
    if type_ is not None:
        return []
    terms: Terms = []
    is_wanted = is_named or have in query.wanted_types
    name = _TYPE_WEIGHTS.get(have)
    if name and not (is_wanted and name.endswith("Penalty")):
        terms.append((name, weights[name]))
    if is_wanted:
        terms.append(("intentMatch", weights["intentMatch"]))
    return terms


def _is_asked_for(query: Query, chunk: Chunk) -> bool:
    """Return whether the file name or headings have the queried version or, for a release, one of its series."""
    if not query.versions:
        return False
    words = " ".join((PurePosixPath(chunk.source).stem, *chunk.heading)).replace("[", " ").replace("]", " ")
    have = {word.casefold().removeprefix("v") for word in words.split()}
    series = (is_version(asked, version) for asked in query.releases for version in have)
    return bool(have & set(query.versions)) or any(series)


@lru_cache
def _ordinal(day: str) -> float:
    try:
        return float(datetime.date.fromisoformat(day).toordinal())
    except ValueError:
        return 0.0


def _lift_relatives(by_source: dict[str, Ranked], relatives: Sequence[Chunk], weights: Weights) -> None:
    """Put the files that the class tree gives as the answer first, in tree order, those of tests last."""
    best = max((result.score for result in by_source.values()), default=0.0)
    for number, chunk in enumerate(sorted(relatives, key=lambda one: one.type == KnowledgeType.TEST)):
        have = by_source.setdefault(chunk.source, Ranked(chunk.source, 0.0, chunk))
        lifted = weights["structureMatch"] * (best - 0.01 * number) + (1 - weights["structureMatch"]) * have.score
        if lifted > have.score:
            by_source[chunk.source] = replace(have.at(lifted, "structureMatch"), chunk=chunk)


def names_library(text: str, chunk: Chunk) -> bool:
    """Return whether a query names the library of a passage, in any case and with any separator between its words."""
    return chunk.library is not None and _pattern(chunk.library.partition(" ")[0]).search(text) is not None


def are_mostly_libraries(candidates: Candidates) -> bool:
    """Return whether most candidates document libraries, so that passages of the project may be missing."""
    count = sum(candidate.chunk.type == KnowledgeType.LIBRARY for candidate in candidates.found)
    return 2 * count > len(candidates.found)


@lru_cache(256)
def _pattern(name: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in _BETWEEN_WORDS.split(name) if word]
    return re.compile(rf"(?<![\w-]){'[-_. ]?'.join(words)}(?![\w-])" if words else r"(?!)", re.IGNORECASE)


def flatness(scores: Sequence[float]) -> float:
    """Return the mean of the best keyword scores as a share of the best: near 0, only one chunk has the words."""
    best = scores[:FLATNESS_DEPTH]
    return sum(best) / (best[0] * FLATNESS_DEPTH) if best and best[0] > 0 else 0.0


def vector_share(query: Query, candidates: Candidates, weights: Weights) -> float:
    """Return the vector leg's share of the fused score, from 0 to 1."""
    flat = flatness([score for _, score in candidates.by_word])
    closest = max((score for _, score in candidates.by_meaning), default=0.0)
    # it rises if few words fit many chunks alike and a passage is close; many are reliable even if each is common
    few = min(1.0, FEW_WORDS / max(1, len(query.words)))
    adapted = few * max(0.0, flat - MIN_FLATNESS) * max(0.0, closest - MIN_SIMILARITY)
    share = weights["vectorShare"] + weights["adaptedShare"] * adapted
    # while the index is being filled, keywords decide until there are vectors
    hits = {id_ for id_, _ in candidates.by_word}
    has_vector = [candidate.vector is not None for candidate in candidates.found if candidate.chunk.id in hits]
    return min(MAX_SHARE, max(0.0, share)) * (fmean(has_vector) if has_vector else 1.0)


def fuse(found: Sequence[Candidate], share: float) -> list[tuple[float, float, float]]:
    """Return (vector, keyword, path) parts per candidate; the first two sum to at most 1, the third is at most 1."""
    # shares of the best score: ranks discard distances, and the worst depends on the number found (docs/adr/0003)
    known = [(candidate.vector, candidate.keyword) for candidate in found if candidate.vector is not None]
    hits = [vector for vector, keyword in known if keyword > 0]
    typical = fmean(hits or [vector for vector, _ in known] or [0.0])  # nothing is known about a chunk without a vector
    similar = [max(0.0, typical if candidate.vector is None else candidate.vector) for candidate in found]
    own = _distinctness([candidate.chunk for candidate in found])  # a text of many files says little
    vectors = shares_of_best([value * factor for value, factor in zip(similar, own, strict=True)])
    keywords = shares_of_best([candidate.keyword * factor for candidate, factor in zip(found, own, strict=True)])
    paths = shares_of_best([candidate.path for candidate in found])
    return [(share * v, (1 - share) * k, p) for v, k, p in zip(vectors, keywords, paths, strict=True)]


def _distinctness(chunks: Sequence[Chunk]) -> list[float]:
    """Return 1 for a text in one file, .8 for one in two of the files found, .5 for one in sixteen."""
    texts = [chunk.text.strip() for chunk in chunks]
    files_with = Counter(text for text, _ in {(text, chunk.source) for text, chunk in zip(texts, chunks, strict=True)})
    return [1 / (1 + REPEATED * math.log2(files_with[text])) for text in texts]


def shares_of_best(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]


def files(passages: Sequence[Ranked], weights: Weights) -> dict[str, Ranked]:
    """Return each file with its best passage and its own score, by source; `passages` are in order, best first."""
    # all passages count, because keywords and vectors may match different ones
    grouped: dict[str, list[Ranked]] = {}
    for passage in passages:
        grouped.setdefault(passage.source, []).append(passage)
    # code explains a subject in many places, a page in one; in short files, a second passage is only the rest of it
    is_about_code = bool(passages) and "codeMatch" in dict(passages[0].why)
    decay = weights["furtherCode" if is_about_code else "furtherPassages"] * (1 - len(grouped) / max(1, len(passages)))
    decays = [decay**place for place in range(MAX_PASSAGES)]
    words = [
        sorted([dict(passage.why).get("keywords", 0.0) for passage in those], reverse=True)
        for those in grouped.values()
    ]
    highest = max([points[0] for points in words], default=0.0)
    sums = [points[0] if len(points) == 1 else sum(map(mul, points, decays)) for points in words]
    found = {}
    for (source, those), share in zip(grouped.items(), shares_of_best(sums), strict=True):
        best, *others = those
        values = dict(best.why)  # its terms become those of the file
        for passage in others:
            for name, value in passage.why:
                values[name] = max(values.get(name, 0.0), value) if name in BEST else values.get(name, 0.0)
        if "keywords" in values:
            values["keywords"] = highest * share  # the best file has as much as the best passage
        why: Terms = [term for term in values.items() if term[1]]
        found[source] = Ranked(source, sum(values.values()), best.chunk, why)
    return found
