"""Compare vectors from elsewhere with those of the model: some at once, the others when a search finds them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from lore_etl.chunking.recipe import embedding_input
from lore_etl.core.errors import ProviderError
from lore_etl.core.model import Chunk
from lore_etl.index import Index

if TYPE_CHECKING:
    from lore_etl.models.embedder import Vectors

SIMILARITY = 0.98  # of a vector to one computed here; other processors and versions differ by less than 0.001
chosen_by_chance = random.SystemRandom().sample


def refuse_wrong(index: Index, chunks: Sequence[Chunk]) -> bool:
    """Recompute the shared vectors of these chunks, each once; if one is wrong, refuse all of them.

    Return whether they were refused: searches then use words only, until the next sync has replaced them.
    """
    texts = {chunk.content_hash: chunk for chunk in chunks}
    unverified = {name: texts[name] for name in index.cache.distrusted(texts)}
    if not unverified:
        return False

    def stored(name: str, vector: Vectors) -> float:
        return index.cache.similarities(vector, [name]).get(name, 1.0)  # a missing one is not used either

    try:
        is_wrong = differ(index, unverified, stored)
    except ProviderError:  # the next search compares them
        return False
    if is_wrong:
        index.catalogue.set_meta(refused="1")
    else:
        index.cache.trust(unverified)
    return is_wrong


def differ(index: Index, chunks: Mapping[str, Chunk], similarity: Callable[[str, Vectors], float]) -> bool:
    """Return whether a vector of these chunks, by content hash, differs from the one that the model computes here."""
    expected = index.embedder.embed([embedding_input(chunk) for chunk in chunks.values()])
    return any(similarity(name, vector) < SIMILARITY for name, vector in zip(chunks, expected, strict=True))
