"""Find the best passages of each leg without a search, for the choice among many indexes: their vectors in memory."""

from __future__ import annotations

from functools import partial

import numpy as np

from lore_etl.index import Index
from lore_etl.models.embedder import Vectors
from lore_etl.stores.snapshot import Derived
from lore_server.query.retrieve import BEST, Candidate, Candidates

LARGEST = 20_000  # chunks; a larger index is searched
ROWS = Derived[tuple[dict[str, int], Vectors]]("vectors in memory")


def best_passages(index: Index, text: str, vector: Vectors | None) -> Candidates | None:
    """Return the best passages by meaning and by words; None if the index must be searched for them."""
    if vector is None or index.catalogue.total() > LARGEST:
        return None
    rows, vectors = index.snapshot.read(ROWS, None, partial(_rows, index))
    scores = vectors @ vector
    ids = list(rows)
    close = [ids[row] for row in np.argsort(-scores, kind="stable")[:BEST]]
    words = dict(index.keywords.search(text, BEST))
    found = index.catalogue.kept_chunks([*close, *words])
    similar = {id_: float(scores[rows[id_]]) if id_ in rows else None for id_ in found}
    return Candidates([Candidate(chunk, similar[id_], words.get(id_, 0.0)) for id_, chunk in found.items()])


def _rows(index: Index) -> tuple[dict[str, int], Vectors]:
    """Return the rows of the chunks that have a vector, in the matrix of their vectors."""
    keys = index.catalogue.chunk_keys()
    known = index.cache.get({key.content_hash for key in keys})
    keys = [key for key in keys if key.content_hash in known]
    matrix = np.empty((len(keys), index.embedder.dimension), dtype=np.float32)
    for row, key in enumerate(keys):
        matrix[row] = known[key.content_hash]
    return {key.id: row for row, key in enumerate(keys)}, matrix
