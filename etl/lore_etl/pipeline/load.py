"""Load: update the stores to match `chunks.jsonl`, embedding only chunks without a vector.

The order makes a kill at any point harmless: words and catalogue first (one transaction each), then vectors by `add`,
then the deletions, then a search for each new vector. `dirty` is set before and cleared after; if a load finds it set,
it compares the stores id by id.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from lore_etl.core.errors import CatalogueDamaged, IndexDamaged
from lore_etl.core.model import Chunk, Progress, SyncReport, row_id
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.diff import SyncPlan, plan
from lore_etl.pipeline.embed import Filler, row_of
from lore_etl.stores import chunkfile
from lore_etl.stores.catalogue import ChunkState
from lore_etl.stores.chunkfile import ChunkLine
from lore_etl.stores.integrity import is_sealed

REBUILD_SHARE = 0.5  # replacing a larger share in place loses vectors: in a sample up to 500 of 500


@dataclass
class _Load:
    index: Index
    report: SyncReport
    progress: Progress
    wanted: list[ChunkLine]
    states: dict[str, ChunkState]
    plan: SyncPlan
    filler: Filler
    retagged: list[Chunk] = field(default_factory=list)
    replaced: int = 0


def is_loaded(index: Index) -> bool:
    """Return whether the stores match `chunks.jsonl`, without opening them."""
    catalogue = index.catalogue
    return (
        catalogue.meta("dirty") is None
        and catalogue.meta("loaded") == chunkfile.signature(index.folder)
        and catalogue.meta("model") == index.model
        and catalogue.waiting() == 0
        and is_sealed(index.folder / KEYWORDS)
        and index.generations.is_as_left(index.generation, catalogue.with_vector())
    )


def load(
    index: Index,
    report: SyncReport,
    progress: Progress,
    looked: Mapping[str, str | None],
    written: list[ChunkLine] | None = None,
) -> None:
    """Load the desired chunks into both stores and the catalogue, and record the values of `looked` in the catalogue.

    `written` are the chunks in `chunks.jsonl`, if the caller has just written them.

    Raises:
        StorageError: the disk failed; the next load continues from there.
        ProviderUnavailable: the model does not answer; existing embeddings are kept.
    """
    wanted = chunkfile.read_lines(index.folder) if written is None else written
    was_dirty = index.catalogue.meta("dirty") is not None
    index.catalogue.set_meta(dirty="1")
    states = index.catalogue.chunk_states()
    run = _Load(index, report, progress, wanted, states, plan(wanted, states), Filler(index, report, progress))
    run.plan.write_counts(report)
    _load_words(run, was_dirty)
    reason = _rebuild_reason(run)
    stale = [] if reason else _compare(run, was_dirty)
    with index.gate.switching():  # a search sees either all changes of a file or none of them
        index.keywords.publish()
        _record(run)
    if reason:
        _rebuild(run, reason)
    else:
        _load_vectors(run, stale)
    _finish(run, looked)


def _load_words(run: _Load, was_dirty: bool) -> None:
    """Load the keyword index first, so that its chunks can be found while vectors are being computed."""
    run.progress("indexing words", 0, len(run.wanted))
    wanted = {chunk.id for chunk in run.wanted}
    try:
        present = run.index.keywords.ids() if was_dirty else None
        count = run.index.keywords.count()
    except IndexDamaged:
        run.index.reset_keywords()
        run.report.warnings.append("The keyword index was damaged and has been rebuilt.")
        present, count = set(), 0
    if present is None and count != len(run.states):
        present = run.index.keywords.ids()
    to_write = {run.wanted[n].id for n in run.plan.to_write}
    deleted = set(run.plan.deleted)
    if present is not None:
        to_write |= wanted - present
        deleted |= present - wanted
    if to_write or deleted:
        run.index.keywords.replace((line.chunk for line in run.wanted if line.id in to_write), deleted)


def _rebuild_reason(run: _Load) -> str | None:
    """Return the reason why a new generation of vectors is needed, or None."""
    model = run.index.catalogue.meta("model")
    if model is not None and model != run.index.model:
        return "the embedding model or its input has changed"
    try:
        count = run.index.vectors.count()
    except CatalogueDamaged:
        raise
    except IndexDamaged as error:
        return f"damaged: {error.message}"
    if model is None and count:
        return "the model of its vectors is unknown"
    with_vector = sum(stored.has_vector for stored in run.states.values())
    if count < with_vector:
        return f"{with_vector - count} vectors were lost"
    replaced = sum(run.states[chunk.id].has_vector for chunk in (run.wanted[n] for n in run.plan.changed))
    replaced += sum(run.states[chunk_id].has_vector for chunk_id in run.plan.deleted)
    run.replaced = replaced + int(run.index.catalogue.meta("replaced") or 0)
    if with_vector < run.index.limits.rebuild_minimum:
        return None
    if replaced > REBUILD_SHARE * with_vector:
        return "more than half of it is replaced"
    if run.replaced >= with_vector:  # Chroma does not release space: replacing half the rows 20 times tripled its files
        return "gradual changes have replaced as many vectors as it contains"
    return None


def _compare(run: _Load, was_dirty: bool) -> list[str]:
    """Return the row ids of old contents, and set `run.retagged` to the chunks whose rows need other metadata.

    After an interrupted load the store itself is read, because the catalogue was written before it.
    """
    states = run.states
    if not was_dirty and run.index.vectors.count() == sum(stored.has_vector for stored in states.values()):
        run.retagged = [run.wanted[n].chunk for n in run.plan.retagged if states[run.wanted[n].id].has_vector]
        old = [*(run.wanted[n].id for n in run.plan.changed), *run.plan.deleted]
        return [_stored_row(chunk_id, states[chunk_id]) for chunk_id in old if states[chunk_id].has_vector]
    present = run.index.vectors.rows()
    _trust_only(run, present)
    wanted = {row_id(chunk): chunk for chunk in (line.chunk for line in run.wanted)}
    run.retagged = [chunk for row, chunk in wanted.items() if row in present and present[row] != row_of(chunk)[1:]]
    return [row for row in present if row not in wanted]


def _trust_only(run: _Load, present: Container[str]) -> None:
    """Correct the catalogue for vectors that it records but that the store does not contain."""
    lost = [
        chunk_id
        for chunk_id, states in run.states.items()
        if states.has_vector and _stored_row(chunk_id, states) not in present
    ]
    for chunk_id in lost:
        run.states[chunk_id] = run.states[chunk_id]._replace(has_vector=False)
    run.index.catalogue.mark_vectors(lost, present=False)


def _stored_row(chunk_id: str, states: ChunkState) -> str:
    return f"{chunk_id}.{states.content_hash[:16]}"


def _record(run: _Load) -> None:
    """Make the new state visible in one transaction; changed contents have no vector yet."""
    changed = (run.wanted[position] for position in run.plan.to_write)
    run.index.catalogue.apply(((line.chunk, not _needs_vector(run, line)) for line in changed), run.plan.deleted)


def _load_vectors(run: _Load, stale: Sequence[str]) -> None:
    """Update the vectors in place: add, update metadata, delete, look up."""
    store = run.index.vectors
    run.index.catalogue.set_meta(model=run.index.model)  # before the first vector, so that its model is always known
    new = run.filler.fill(store, [line.chunk for line in run.wanted if _needs_vector(run, line)], mark=True)
    if run.retagged:
        store.update([row_of(chunk) for chunk in run.retagged])
    if stale:
        store.delete(stale)
    if run.filler.look_up(store, new):
        _rebuild(run, "vectors could not be found after two writes")
        return
    store.seal()


def _needs_vector(run: _Load, chunk: ChunkLine) -> bool:
    states = run.states.get(chunk.id)
    return states is None or not states.has_vector or states.content_hash != chunk.content_hash


def _rebuild(run: _Load, reason: str) -> None:
    """Fill a new generation beside the old one, from cached vectors if possible, then switch to it."""
    index = run.index
    number = index.generation + 1
    index.generations.remove(number)
    store = index.generations.open(number)
    try:
        chunks = [line.chunk for line in run.wanted]
        filled = run.filler.fill(store, chunks, mark=False)
        lost = {chunk.id for chunk in run.filler.look_up(store, filled)}
        found = {chunk.id for chunk in filled} - lost
        store.seal()
        rows = ((chunk, chunk.id in found) for chunk in chunks)
        with index.gate.switching():
            index.catalogue.apply(rows, (), generation=str(number), model=index.model)
            index.use(store)
    except BaseException:
        store.close()
        raise
    run.report.rebuilt, run.replaced = reason, 0
    if lost:
        run.report.warnings.append(f"{len(lost)} vectors cannot be found by a search. The next sync tries again.")


def _finish(run: _Load, looked: Mapping[str, str | None]) -> None:
    index = run.index
    index.generations.keep_only(index.generation)
    index.cache.keep_only({chunk.content_hash for chunk in run.wanted})
    index.catalogue.set_meta(
        dirty=None,
        loaded=chunkfile.signature(index.folder),
        model=index.model,
        replaced=str(run.replaced),
        **looked,
    )
