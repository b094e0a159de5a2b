"""Candidates from both legs. A chunk that only one of them finds is in the running all the same."""

from __future__ import annotations

from dataclasses import dataclass

from etl.errors import IndexDamaged, IndexMissing, ModelMismatch, ProviderError
from etl.index import Index
from etl.model import Chunk


@dataclass(frozen=True)
class Candidate:
    """A chunk in the running, with the raw score of each leg that found it."""

    chunk: Chunk
    vector: float | None
    keyword: float | None


@dataclass(frozen=True)
class Candidates:
    """What was found, and what did not work on the way."""

    found: list[Candidate]
    degraded: str | None = None


def retrieve(index: Index, text: str, type_: str | None, limit: int) -> Candidates:
    """Up to `limit` candidates from each leg.

    Raises:
        IndexMissing: there is nothing to search.
        ModelMismatch: the vectors were made with another model.
        IndexDamaged: a store cannot be read.
    """
    index.require()
    if not index.keywords.count():
        if index.catalogue.counts():
            raise IndexDamaged("The keyword index lost its chunks.")
        raise IndexMissing("The index is empty.")
    model = index.catalogue.meta("model")
    if model is not None and model != index.model:
        raise ModelMismatch(f"The index was built with `{model}`, the configuration says `{index.model}`.")
    by_word = dict(index.keywords.search(text, limit, type_))
    by_meaning, degraded = _by_meaning(index, text, type_, limit) if model is not None else ({}, None)
    chunks = index.catalogue.chunks([*by_word, *(row.partition(".")[0] for row in by_meaning)])
    similarities: dict[str, float] = {}
    for row, similarity in by_meaning.items():
        id_, _, digest = row.partition(".")
        if id_ in chunks and chunks[id_].content_hash.startswith(digest):  # else it is of an earlier content
            similarities[id_] = similarity
    return Candidates(
        [
            Candidate(chunk, similarities.get(id_), by_word.get(id_))
            for id_, chunk in chunks.items()
            if (id_ in similarities or id_ in by_word) and (type_ is None or chunk.type == type_)
        ],
        degraded,
    )


def _by_meaning(index: Index, text: str, type_: str | None, limit: int) -> tuple[dict[str, float], str | None]:
    try:
        vector = index.embedder.embed_query(text)
    except ProviderError as error:
        return {}, f"Searched by words only: {error.message}"
    return dict(index.vectors.search(vector, limit, type_)), None
