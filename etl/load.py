"""Load: bring the stores to what `chunks.jsonl` says, embedding only what has no vector yet.

The order is what makes a kill at any point harmless: words and catalogue first (one commit each), then vectors by
`add`, then the deletes, then a search for each touched vector. `dirty` is set before and cleared after; a start that
finds it set compares the stores id by id.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from etl.chunking.recipe import embedding_input
from etl.diff import Plan, plan
from etl.errors import IndexDamaged, ProviderError
from etl.index import Index
from etl.model import Chunk, Problem, Progress, SyncReport
from etl.stores import chunkfile
from etl.stores.catalogue import Held
from etl.stores.vectors import VectorStore, is_sealed, remove, row_id

if TYPE_CHECKING:
    from etl.embedding.base import Vectors

EMBED_BATCH = 256  # an interruption costs the embedding of at most so many chunks
REBUILD_SHARE = 0.5  # replacing more in place loses vectors: up to 500 of 500 sampled
REBUILD_MINIMUM = 500  # below that, a lookup of every row is cheap and finds what is lost


@dataclass
class _Load:
    index: Index
    report: SyncReport
    progress: Progress
    wanted: list[Chunk]
    held: dict[str, Held]
    plan: Plan


def is_loaded(index: Index) -> bool:
    """Whether the stores already hold what `chunks.jsonl` says; opens neither of them."""
    catalogue = index.catalogue
    return (
        catalogue.meta("dirty") is None
        and catalogue.meta("loaded") == chunkfile.signature(index.folder)
        and catalogue.meta("model") == index.model
        and catalogue.waiting() == 0
        and is_sealed(index.generation_folder(index.generation))
        and (index.folder / "keywords" / "meta.json").exists()
    )


def load(index: Index, report: SyncReport, progress: Progress) -> None:
    """Load the wanted chunks into both stores and the catalogue.

    Raises:
        StorageError: the disk failed; the next load goes on from there.
    """
    wanted = chunkfile.read_chunks(index.folder)
    was_dirty = index.catalogue.meta("dirty") is not None
    index.catalogue.set_meta(dirty="1")
    held = index.catalogue.held()
    run = _Load(index, report, progress, wanted, held, plan(wanted, held))
    report.created, report.unchanged = len(run.plan.new), run.plan.unchanged
    report.updated, report.deleted = len(run.plan.changed) + len(run.plan.retagged), len(run.plan.gone)
    _load_words(run, was_dirty)
    reason = _rebuild_reason(run)
    stale = [] if reason else _stale_rows(run, was_dirty)
    _record(run)
    if reason:
        _rebuild(run, reason)
    else:
        _load_vectors(run, stale)
    _finish(run)


def _load_words(run: _Load, was_dirty: bool) -> None:
    """The keyword leg first: what it holds can be found while vectors are still being computed."""
    run.progress("indexing words", 0, len(run.wanted))
    wanted = {chunk.id for chunk in run.wanted}
    try:
        present = run.index.keywords.ids() if was_dirty else None
        count = run.index.keywords.count()
    except IndexDamaged:
        run.index.reset_keywords()
        run.report.warnings.append("The keyword index was damaged and was built anew.")
        present, count = set(), 0
    if present is None and count != len(run.held):
        present = run.index.keywords.ids()
    to_write = {run.wanted[n].id for n in run.plan.to_write}
    gone = set(run.plan.gone)
    if present is not None:
        to_write |= wanted - present
        gone |= present - wanted
    if to_write or gone:
        run.index.keywords.replace((chunk for chunk in run.wanted if chunk.id in to_write), gone)


def _rebuild_reason(run: _Load) -> str | None:
    """Why a new generation of vectors is needed, or None."""
    model = run.index.catalogue.meta("model")
    if model is not None and model != run.index.model:
        return "the embedding model or its input changed"
    try:
        count = run.index.vectors.count()
    except IndexDamaged as error:
        return f"damaged: {error.message}"
    with_vector = sum(one.has_vector for one in run.held.values())
    if count < with_vector:
        return f"{with_vector - count} vectors were lost"
    replaced = sum(run.held[chunk.id].has_vector for chunk in (run.wanted[n] for n in run.plan.changed))
    replaced += sum(run.held[one].has_vector for one in run.plan.gone)
    if with_vector >= REBUILD_MINIMUM and replaced > REBUILD_SHARE * with_vector:
        return "more than half of it is replaced"
    return None


def _stale_rows(run: _Load, was_dirty: bool) -> list[str]:
    """Rows of old contents. They are read from the store itself where an earlier load was cut short."""
    if was_dirty or run.index.vectors.count() != sum(one.has_vector for one in run.held.values()):
        wanted = {row_id(chunk) for chunk in run.wanted}
        present = run.index.vectors.row_ids()
        _trust_only(run, present)
        return [one for one in present if one not in wanted]
    changed = (run.wanted[n].id for n in run.plan.changed)
    return [
        f"{one}.{run.held[one].content_hash[:16]}" for one in (*changed, *run.plan.gone) if run.held[one].has_vector
    ]


def _trust_only(run: _Load, present: set[str]) -> None:
    """The catalogue may say that a vector is there which is not: correct it by what the store holds."""
    for one, held in list(run.held.items()):
        if held.has_vector and f"{one}.{held.content_hash[:16]}" not in present:
            run.held[one] = Held(held.content_hash, held.metadata_hash, has_vector=False)
            run.index.catalogue.mark_vectors([one], present=False)


def _record(run: _Load) -> None:
    """The one transaction that makes the new state visible; changed contents have no vector yet."""
    rows = []
    for position in run.plan.to_write:
        chunk = run.wanted[position]
        held = run.held.get(chunk.id)
        keeps = held is not None and held.has_vector and held.content_hash == chunk.content_hash
        rows.append((position, chunk, keeps))
    run.index.catalogue.apply(rows, run.plan.gone)


def _load_vectors(run: _Load, stale: Sequence[str]) -> None:
    """In place: add, update metadata, delete, look up."""
    store = run.index.vectors
    retagged = [run.wanted[n] for n in run.plan.retagged if run.held[run.wanted[n].id].has_vector]
    new = _fill(run, store, [chunk for chunk in run.wanted if _needs_vector(run, chunk)], mark=True)
    if retagged:
        store.update([_row(chunk) for chunk in retagged])
    store.delete(stale)
    if not _look_up(run, store, new):
        _rebuild(run, "vectors could not be found after two writes")
        return
    store.seal()


def _needs_vector(run: _Load, chunk: Chunk) -> bool:
    held = run.held.get(chunk.id)
    return held is None or not held.has_vector or held.content_hash != chunk.content_hash


def _rebuild(run: _Load, reason: str) -> None:
    """A new generation beside the old one, filled from cached vectors, then one pointer is moved."""
    index = run.index
    number = index.generation + 1
    remove(index.generation_folder(number))
    store = index.open_generation(number)
    done = _fill(run, store, run.wanted, mark=False)
    lost = set() if _look_up(run, store, done) else {chunk.id for chunk in done}
    index.catalogue.apply(
        ((position, chunk, False) for position, chunk in enumerate(run.wanted)), (), generation=str(number)
    )
    index.catalogue.mark_vectors([chunk.id for chunk in done if chunk.id not in lost], present=True)
    store.seal()
    index.use(store)
    run.report.rebuilt = reason


def _fill(run: _Load, store: VectorStore, chunks: list[Chunk], mark: bool) -> list[Chunk]:
    """Give the store a vector for each chunk; returns those that have one now."""
    done: list[Chunk] = []
    for start in range(0, len(chunks), EMBED_BATCH):
        run.progress("embedding", start, len(chunks))
        some = chunks[start : start + EMBED_BATCH]
        vectors = _vectors(run, some)
        some = [chunk for chunk in some if chunk.content_hash in vectors]
        if some:
            store.add([_row(chunk) for chunk in some], np.stack([vectors[chunk.content_hash] for chunk in some]))
            if mark:
                run.index.catalogue.mark_vectors([chunk.id for chunk in some], present=True)
            done += some
    if chunks:
        run.progress("embedding", len(chunks), len(chunks))
    return done


def _row(chunk: Chunk) -> tuple[str, str, str]:
    return row_id(chunk), chunk.type.value, chunk.source


def _vectors(run: _Load, chunks: Sequence[Chunk]) -> dict[str, Vectors]:
    """Content hash -> vector, cached or computed; without those that cannot be embedded."""
    cache = run.index.cache
    found = cache.get({chunk.content_hash for chunk in chunks})
    unknown = {chunk.content_hash: chunk for chunk in chunks if chunk.content_hash not in found}
    if unknown:
        computed = _embed(run, list(unknown.values()))
        if computed:
            cache.put(list(computed), np.stack(list(computed.values())))
        run.report.embedded += len(computed)
        found.update(computed)
    return found


def _embed(run: _Load, chunks: list[Chunk]) -> dict[str, Vectors]:
    """Embed together; where that fails, halves, until only those that cannot be embedded are left out."""
    try:
        vectors = run.index.embedder.embed([embedding_input(chunk) for chunk in chunks])
    except ProviderError as error:
        if len(chunks) == 1:
            run.report.failed.append(
                Problem(chunks[0].source, f"lines {chunks[0].lines}: not embedded: {error.message}")
            )
            return {}
        middle = len(chunks) // 2
        return {**_embed(run, chunks[:middle]), **_embed(run, chunks[middle:])}
    return {chunk.content_hash: vector for chunk, vector in zip(chunks, vectors, strict=True)}


def _look_up(run: _Load, store: VectorStore, chunks: list[Chunk]) -> bool:
    """Search for each chunk by its own vector and write again what is not found; False if that did not help."""
    for _ in range(2):
        cached = run.index.cache.get({chunk.content_hash for chunk in chunks})
        chunks = [chunk for chunk in chunks if chunk.content_hash in cached]
        if not chunks:
            return True
        vectors = np.stack([cached[chunk.content_hash] for chunk in chunks])
        lost = store.missing([row_id(chunk) for chunk in chunks], vectors)
        if not lost:
            return True
        chunks = [chunks[n] for n in lost]
        store.heal([_row(chunk) for chunk in chunks], vectors[lost])
    vectors = np.stack([run.index.cache.get([chunk.content_hash])[chunk.content_hash] for chunk in chunks])
    return not store.missing([row_id(chunk) for chunk in chunks], vectors)


def _finish(run: _Load) -> None:
    index = run.index
    generation = index.generation
    for folder in index.folder.glob("vectors-*"):
        if folder != index.generation_folder(generation):
            remove(folder)
    index.cache.keep_only({chunk.content_hash for chunk in run.wanted})
    synced_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    index.catalogue.set_meta(
        dirty=None, loaded=chunkfile.signature(index.folder), model=index.model, synced_at=synced_at
    )
