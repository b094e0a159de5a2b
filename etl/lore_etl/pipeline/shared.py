"""Take the vectors of a sync from those that machines share, and share those that were computed here.

A target that is away, or lies, costs a warning and time: the vectors are computed. What it returned is not trusted:
some vectors are recomputed at once, and each that reaches the first results of a search (`refuse_wrong`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from lore_etl.chunking.recipe import embedding_input
from lore_etl.core.errors import ProviderError
from lore_etl.core.model import Chunk, SyncReport
from lore_etl.index import Index
from lore_etl.stores.catalogue import ChunkKey
from lore_etl.stores.target import TargetFailed

if TYPE_CHECKING:
    from lore_etl.models.embedder import Vectors

COMPARED = 8  # vectors of a sync that are recomputed
SIMILARITY = 0.98  # of a vector to one computed here; other processors and versions differ by less than 0.001


def take_shared(index: Index, chunks: list[ChunkKey], report: SyncReport) -> None:
    """Put the shared vectors of these chunks into the cache of the index."""
    ids = {chunk.content_hash: chunk.id for chunk in chunks}
    missing = ids.keys() - index.cache.get(ids).keys()
    packs = index.vector_packs() if missing else None
    if packs is None:
        return
    try:
        found = packs.get(missing)
    except TargetFailed as error:
        report.warnings.append(f"embedding.shared is not usable: {error}.")
        return
    some = random.SystemRandom().sample(sorted(found), min(COMPARED, len(found)))
    texts = index.catalogue.chunks(ids[name] for name in some)
    if _differ(index, {name: texts[ids[name]] for name in some}, lambda name, vector: float(found[name] @ vector)):
        report.warnings.append("embedding.shared is not usable: its vectors are not those of their texts.")
        return
    index.cache.add(list(found), list(found.values()))
    index.cache.distrust(found.keys() - set(some))


def share(index: Index, report: SyncReport) -> None:
    """Share the vectors of the index that were computed on this machine, if the user wants that."""
    packs = index.vector_packs() if index.settings.embedding.shared_writes else None
    if packs is None:
        return
    hashes = index.catalogue.content_hashes()
    own = hashes - set(index.cache.distrusted(hashes))
    try:
        packs.put(index.cache.get(own))
    except TargetFailed as error:
        report.warnings.append(f"Vectors were not shared: {error}.")


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
        is_wrong = _differ(index, unverified, stored)
    except ProviderError:  # the next search compares them
        return False
    if is_wrong:
        index.catalogue.set_meta(refused="1")
    else:
        index.cache.trust(unverified)
    return is_wrong


def _differ(index: Index, chunks: Mapping[str, Chunk], similarity: Callable[[str, Vectors], float]) -> bool:
    """Return whether a vector of these chunks, by content hash, differs from the one that the model computes here."""
    expected = index.embedder.embed([embedding_input(chunk) for chunk in chunks.values()])
    return any(similarity(name, vector) < SIMILARITY for name, vector in zip(chunks, expected, strict=True))
