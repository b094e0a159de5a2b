"""Take the vectors of a sync from those that machines share, and share those that were computed here.

A target that is away, or lies, costs a warning and time: the vectors are computed. What it returned is not trusted:
some vectors are recomputed at once, and each that reaches the first results of a search (`pipeline.distrust`).
"""

from __future__ import annotations

from lore_etl.core.model import SyncReport
from lore_etl.index import Index
from lore_etl.pipeline.distrust import chosen_by_chance, differ
from lore_etl.stores.catalogue import ChunkKey
from lore_etl.stores.target import TargetFailed

COMPARED = 8  # vectors of a sync that are recomputed


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
    some = chosen_by_chance(sorted(found), min(COMPARED, len(found)))
    texts = index.catalogue.chunks(ids[name] for name in some)
    if differ(index, {name: texts[ids[name]] for name in some}, lambda name, vector: float(found[name] @ vector)):
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
