"""Retrieve candidates from both legs. A chunk that only one leg finds is a candidate too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lore_etl.core.errors import (
    ConfigError,
    DatabaseUnavailable,
    IndexDamaged,
    IndexMissing,
    ModelMismatch,
    ProviderError,
)
from lore_etl.core.model import Chunk, row_id
from lore_etl.files.indexed import NOTHING_TO_INDEX
from lore_etl.index import Index

if TYPE_CHECKING:
    from lore_etl.models.embedder import Vectors


@dataclass(frozen=True)
class Candidate:
    """A candidate chunk: cosine similarity, BM25 of its text, BM25 of its path.

    The scores are exact, whichever leg found the chunk. A chunk without a vector has no similarity.
    """

    chunk: Chunk
    vector: float | None = None
    keyword: float = 0.0
    path: float = 0.0


@dataclass(frozen=True)
class Candidates:
    """The candidates; the hits of each leg as (chunk id, score), best first; and the errors on the way."""

    found: list[Candidate]
    by_meaning: list[tuple[str, float]] = field(default_factory=list)
    by_word: list[tuple[str, float]] = field(default_factory=list)
    degraded: str | None = None

    def joined(self, more: Candidates) -> Candidates:
        """Return these candidates plus new ones from `more`; each leg keeps these hits."""
        known = {one.chunk.id for one in self.found}
        return replace(self, found=[*self.found, *(one for one in more.found if one.chunk.id not in known)])


@dataclass(frozen=True)
class QueryVector:
    """The vector of a query, or the reason why there is none."""

    vector: Vectors | None = None
    degraded: str | None = None


def embedded(index: Index, text: str) -> QueryVector:
    """Embed a query. A model can take seconds or fail, so this needs no gate and never compiles a model.

    Raises:
        ModelMismatch: the vectors were made with another model.
    """
    try:
        _check_model(index)
        return QueryVector(index.embedder.embed_query(text))
    except (ProviderError, ConfigError) as error:
        return QueryVector(degraded=f"Keyword search only: {error.message}")


def retrieve(
    index: Index,
    text: str,
    type_: str | None,
    limit: int,
    among: Mapping[str, str] | None = None,
    question: QueryVector | None = None,
) -> Candidates:
    """Return up to `limit` candidates from each leg, of all chunks of the type or of `among` (chunk id -> row id).

    `question` was embedded before, where a gate is held.

    Raises:
        IndexMissing: there is nothing to search.
        ModelMismatch: the vectors were made with another model.
        IndexDamaged: a store cannot be read.
    """
    _check(index)
    by_word = index.keywords.search(text, limit, type_, among)
    question = question or embedded(index, text)
    vector, degraded = question.vector, question.degraded
    if vector is not None and not _check_model(index):
        vector = None
    try:
        wanted = None if among is None else list(among.values())
        rows = dict(index.vectors.search(vector, limit, type_, wanted)) if vector is not None else {}
    except DatabaseUnavailable as error:  # it is another process: words are found without it
        vector, rows, degraded = None, {}, f"Keyword search only: {error.message}"
    hits = {row.partition(".")[0]: row for row in rows}
    known = index.catalogue.chunks([*(one for one, _ in by_word), *hits])
    known = {one: chunk for one, chunk in known.items() if type_ is None or chunk.type == type_}
    by_word = [(one, score) for one, score in by_word if one in known]
    # a row of an earlier content may still be there while a sync runs
    by_meaning = [(one, rows[row]) for one, row in hits.items() if one in known and row == row_id(known[one])]
    found = {one: known[one] for one, _ in (*by_word, *by_meaning)}
    return Candidates(_scored(index, text, vector, found, by_word, by_meaning), by_meaning, by_word, degraded)


def _check(index: Index) -> None:
    index.require()
    if not index.keywords.count():
        if index.catalogue.counts():
            raise IndexDamaged("The keyword index has lost its chunks.")
        if index.catalogue.meta("synced_at") is not None:
            raise IndexMissing(*NOTHING_TO_INDEX)
        raise IndexMissing("The index is empty.")


def _check_model(index: Index) -> bool:
    """Return whether there are vectors. Raises ModelMismatch if another model made them."""
    model = index.catalogue.meta("model")
    if model is not None and model != index.model:
        raise ModelMismatch(f"The index was built with `{model}`, but the configuration requires `{index.model}`.")
    return model is not None


def _scored(
    index: Index,
    text: str,
    vector: Vectors | None,
    found: dict[str, Chunk],
    by_word: Sequence[tuple[str, float]],
    by_meaning: Sequence[tuple[str, float]],
) -> list[Candidate]:
    """Compute both scores of each chunk: a chunk found by one leg is scored exactly by the other."""
    keywords, vectors = dict(by_word), dict(by_meaning)
    keywords |= index.keywords.scores(text, "words", [one for one in found if one not in keywords])
    paths = index.keywords.scores(text, "path", list(found))
    if vector is not None:
        missing = {row_id(chunk): one for one, chunk in found.items() if one not in vectors}
        exact = index.vectors.similarities(vector, list(missing))
        vectors |= {missing[row]: score for row, score in exact.items()}
    return [
        Candidate(chunk, vectors.get(one), keywords.get(one, 0.0), paths.get(one, 0.0)) for one, chunk in found.items()
    ]
