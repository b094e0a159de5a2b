"""Retrieve candidates from both legs. A chunk that only one leg finds is a candidate too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from lore_etl.core.errors import (
    ConfigError,
    DatabaseUnavailable,
    IndexDamaged,
    ModelMismatch,
    ProviderError,
    StorageError,
)
from lore_etl.core.model import Chunk, row_id
from lore_etl.index import Index
from lore_etl.models.embedder import Vectors
from lore_etl.pipeline.sync import require_chunks
from lore_etl.stores.snapshot import Derived
from lore_server.query.parse import Query
from lore_server.query.path_words import TOPIC_WORDS
from lore_server.query.ranking import Ranked
from lore_server.query.reference import definitions

REFUSED = "Keyword search only: shared vectors are not those of their texts. Run `lore sync` to compute them again."
BEST = 8  # best candidates of each leg
GLANCE = 3  # the same to choose among many indexes: eight do not choose better
LARGEST = 20_000  # chunks whose vectors are read into memory, to choose among many indexes; else it is searched
ROWS = Derived[tuple[dict[str, int], Vectors]]("vectors in memory")
LEGS = ("vectors", "keywords")  # each alone is a ranking: the baselines that the hybrid must beat


class Stopwatch:
    """The seconds of consecutive steps. A step lasts from the end of the step before it; equal names are added up."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._last = now()
        self.seconds: dict[str, float] = {}

    def end(self, step: str) -> None:
        moment = self._now()
        self.seconds[step] = self.seconds.get(step, 0.0) + moment - self._last
        self._last = moment


class Candidate(NamedTuple):
    """A chunk with its exact cosine similarity, if it has a vector, and BM25 of its text and of its path."""

    chunk: Chunk
    vector: float | None = None
    keyword: float = 0.0
    path: float = 0.0


@dataclass(frozen=True)
class Candidates:
    """The candidates; the hits of each leg as (chunk id, score), best first; and the error that occurred."""

    found: list[Candidate]
    by_meaning: list[tuple[str, float]] = field(default_factory=list)
    by_word: list[tuple[str, float]] = field(default_factory=list)
    degraded: str | None = None

    def joined(self, more: Candidates) -> Candidates:
        """Return these candidates plus new ones from `more`; each leg keeps these hits."""
        known = {candidate.chunk.id for candidate in self.found}
        return replace(self, found=[*self.found, *(other for other in more.found if other.chunk.id not in known)])

    @cached_property
    def best(self) -> list[Candidate]:
        by_meaning = sorted(self.found, key=lambda candidate: candidate.vector or 0.0, reverse=True)[:BEST]
        by_word = sorted(self.found, key=attrgetter("keyword"), reverse=True)[:BEST]
        return list({candidate.chunk.id: candidate for candidate in (*by_meaning, *by_word)}.values())


@dataclass(frozen=True)
class QueryVector:
    """The vector of a query, or the reason why there is none."""

    vector: Vectors | None = None
    degraded: str | None = None


def embedded(index: Index, text: str) -> QueryVector:
    """Embed a query without a gate, because a model can take seconds or fail. Raises ModelMismatch."""
    try:
        _check_model(index)
        if index.catalogue.meta("refused") is not None:
            return QueryVector(degraded=REFUSED)
        return QueryVector(index.embedder.embed_query(text))
    except (ProviderError, ConfigError) as error:
        return QueryVector(degraded=f"Keyword search only: {error.message}")


def retrieve(
    index: Index,
    query: Query,
    type_: str | None,
    limit: int,
    among: Mapping[str, str] | None = None,
    question: QueryVector | None = None,
    watch: Stopwatch | None = None,
) -> Candidates:
    """Return up to `limit` candidates from each leg, of all chunks of the type or of `among` (chunk id -> row id).

    `question` was embedded earlier if the caller holds a gate. Raises IndexMissing, ModelMismatch, IndexDamaged.
    """
    watch = watch or Stopwatch()
    require_chunks(index)
    index.keywords.verify()
    if not index.keywords.count():
        raise IndexDamaged("The keyword index has lost its chunks.")
    text = query.text if len(query.words) > TOPIC_WORDS else f"{query.text} {''.join(query.words)}"  # `change log`
    by_word = index.keywords.search(text, limit, type_, among)
    by_name = [id_ for id_ in definitions(query, index.keywords) if among is None or id_ in among]
    watch.end("keywords")
    question = question or embedded(index, query.text)
    vector, degraded = question.vector, question.degraded
    rows = dict[str, float]()
    if vector is not None and not _check_model(index):
        vector = None
    elif vector is not None:
        try:
            wanted = None if among is None else list(among.values())
            with index.patience.limited():
                rows = dict(index.vectors.search(vector, limit, wanted, type_))
        except DatabaseUnavailable as error:  # it is another process, and keyword search works without it
            vector, degraded = None, f"Keyword search only: {error.message}"
    watch.end("vectors")
    hits = {row.partition(".")[0]: row for row in rows}
    known = index.catalogue.kept_chunks([*(id_ for id_, _ in by_word), *hits, *by_name])
    known = {id_: chunk for id_, chunk in known.items() if type_ is None or chunk.type == type_}
    by_word = [(id_, score) for id_, score in by_word if id_ in known]
    own = {chunk.id: row_id(chunk) for chunk in known.values()}
    # during a sync, a row of earlier content may still exist
    by_meaning = [(id_, rows[row]) for id_, row in hits.items() if own.get(id_) == row]
    found = {id_: known[id_] for id_ in (*dict(by_word), *dict(by_meaning), *by_name) if id_ in known}
    watch.end("passages")
    keywords, similar = dict(by_word), dict(by_meaning)  # a chunk found by one leg is scored exactly by the other
    keywords |= index.keywords.scores(text, "words", [id_ for id_ in found if id_ not in keywords])
    paths = index.keywords.scores(text, "path", list(found))
    if vector is not None:
        try:
            similar |= _similarities(index, vector, [chunk for id_, chunk in found.items() if id_ not in similar])
        except DatabaseUnavailable as error:
            degraded = f"Keyword search only: {error.message}"
    scored = [
        Candidate(chunk, similar.get(id_), keywords.get(id_, 0.0), paths.get(id_, 0.0)) for id_, chunk in found.items()
    ]
    watch.end("scores")
    return Candidates(scored, by_meaning, by_word, degraded)


def _check_model(index: Index) -> bool:
    """Return whether there are vectors. Raises ModelMismatch if another model made them."""
    model = index.catalogue.meta("model")
    if model is not None and model != index.model:
        raise ModelMismatch(f"The index was built with `{model}`, but the configuration requires `{index.model}`.")
    return model is not None


def _similarities(index: Index, vector: Vectors, chunks: Sequence[Chunk]) -> dict[str, float]:
    """Return chunk id -> cosine similarity for those of these chunks that have a vector."""
    cached: dict[str, float] = {}
    if not index.catalogue.waiting():  # else the cache may have vectors that the store does not have yet
        with suppress(StorageError):  # the store has the same vectors, but takes ten times as long
            cached = index.cache.similarities(vector, [chunk.content_hash for chunk in chunks])
    found = {chunk.id: cached[chunk.content_hash] for chunk in chunks if chunk.content_hash in cached}
    others = {row_id(chunk): chunk.id for chunk in chunks if chunk.id not in found}
    with index.patience.limited():
        return found | {others[row]: score for row, score in index.vectors.similarities(vector, list(others)).items()}


def best_passages(index: Index, text: str, vector: Vectors | None) -> Candidates | None:
    """Return the best passages by meaning and by words; None if the index must be searched for them."""
    if vector is None or index.catalogue.total() > LARGEST:
        return None
    rows, vectors = index.snapshot.read(ROWS, None, partial(_rows, index))
    scores = vectors @ vector
    ids = list(rows)
    close = [ids[row] for row in np.argsort(-scores, kind="stable")[:GLANCE]]
    words = dict(index.keywords.search(text, GLANCE))
    found = index.catalogue.kept_chunks([*close, *words])
    similar = {id_: float(scores[rows[id_]]) if id_ in rows else None for id_ in found}
    return Candidates([Candidate(chunk, similar[id_], words.get(id_, 0.0)) for id_, chunk in found.items()])


def _rows(index: Index) -> tuple[dict[str, int], Vectors]:
    """Return the rows of the chunks that have a vector, in the matrix of their vectors."""
    keys = index.catalogue.chunk_keys()
    known = index.cache.get({key.content_hash for key in keys})
    keys = [key for key in keys if key.content_hash in known]
    matrix = np.array([known[key.content_hash] for key in keys], np.float32).reshape(-1, index.embedder.dimension)
    return {key.id: row for row, key in enumerate(keys)}, matrix


def passages_of(candidates: Candidates, leg: str) -> list[Ranked]:
    chunks = {candidate.chunk.id: candidate.chunk for candidate in candidates.found}
    hits = candidates.by_meaning if leg == "vectors" else candidates.by_word
    return [Ranked(chunks[id_].source, score, chunks[id_], [(leg, score)]) for id_, score in hits]


def best_of_files(passages: Sequence[Ranked]) -> list[Ranked]:
    best: dict[str, Ranked] = {}
    for passage in passages:
        best.setdefault(passage.source, passage)
    return list(best.values())
