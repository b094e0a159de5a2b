"""Load: update the stores to match `chunks.jsonl.gz`, embedding only chunks without a vector.

The order makes a kill at any point harmless: keyword index and catalogue first (one transaction each), then vectors by
`add`, then the deletions, then a search for each new vector. `dirty` is set before and cleared after; if a load finds
it set, it compares the stores id by id.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lore_etl.core.errors import CatalogueDamaged, IndexDamaged, StorageError
from lore_etl.core.model import SyncReport, row_id_of
from lore_etl.core.progress import Progress
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.diff import plan
from lore_etl.pipeline.embed import Filler
from lore_etl.pipeline.usefulness import most_useful_first
from lore_etl.stores import chunkfile
from lore_etl.stores.catalogue import ChunkKey, ChunkState
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_etl.stores.chunkfile import ChunkLine, WrittenChunks
from lore_etl.stores.integrity import is_sealed
from lore_etl.system.memory import release_unused_memory

MANY = 2_000  # chunks whose texts are worth returning to the operating system
REBUILD_SHARE = 0.25  # of rows deleted since the generation was built: Chroma never returns their space


@dataclass
class _Load:
    index: Index
    report: SyncReport
    progress: Progress
    wanted: list[ChunkLine]
    """The desired chunks, until the catalogue has them."""
    states: dict[str, ChunkState]
    """The chunks that the catalogue had before."""
    is_part: bool
    """Whether `wanted` and `states` have only the chunks of changed files, because the stores have the others."""
    filler: Filler
    replaced: int = 0

    def __post_init__(self) -> None:
        self.plan = plan(self.wanted, self.states)

    def widen(self) -> None:
        """Compare the chunks of all files."""
        if self.is_part:
            self.wanted, self.is_part = chunkfile.read_lines(self.index.folder), False
            self.states = self.index.catalogue.chunk_states()
            self.plan = plan(self.wanted, self.states)


def is_loaded(index: Index) -> bool:
    """Return whether the stores match `chunks.jsonl.gz`, without opening them."""
    catalogue = index.catalogue
    return (
        catalogue.meta("dirty") is None
        and catalogue.meta("loaded") == chunkfile.signature(index.folder)
        and catalogue.meta("model") == index.model
        and catalogue.meta("refused") is None
        and catalogue.waiting() == 0
        and is_sealed(index.folder / KEYWORDS)
        and index.generations.is_as_left(index.generation, catalogue.with_vector())
    )


def load(
    index: Index,
    report: SyncReport,
    progress: Progress,
    looked: Mapping[str, str | None],
    written: WrittenChunks | None = None,
) -> None:
    """Load the desired chunks into both stores and the catalogue, and record the values of `looked` in the catalogue.

    `written` are the chunks in `chunks.jsonl.gz`, if the caller has just written them; if it wrote only those of some
    files, the stores already have the chunks of all others.

    Raises:
        StorageError: the disk failed; the next load continues from there.
        ProviderUnavailable: the model does not respond; existing embeddings are kept.
    """
    catalogue = index.catalogue
    was_dirty, sources = catalogue.meta("dirty") is not None, written.sources if written else None
    is_part = sources is not None and not was_dirty and not catalogue.waiting()
    wanted = written.lines if written and (is_part or sources is None) else chunkfile.read_lines(index.folder)
    states = catalogue.chunk_states(sources if is_part else None)
    catalogue.set_meta(dirty="1")
    run = _Load(index, report, progress, wanted, states, is_part, Filler(index, report, progress))
    run.plan.write_counts(report)
    report.unchanged += catalogue.total() - len(states)
    _load_words(run, was_dirty)
    is_first = not run.is_part and not catalogue.with_vector()
    if is_first:  # the vectors cannot change what is recorded, and it takes a second to open them
        _publish(run)
    reason = _rebuild_reason(run)
    present = None if reason else _present_rows(run, was_dirty)
    if not is_first:
        _publish(run)
    if reason:
        _rebuild(run, reason)
    else:
        _load_vectors(run, present)
    _finish(run, looked)


def show_words(index: Index, lines: Sequence[ChunkLine]) -> None:
    """Make chunks of a first sync searchable by keywords before the others are known; `load` completes them."""
    index.catalogue.set_meta(dirty="1")
    try:
        index.keywords.replace((line.chunk for line in lines), ())
    except CatalogueDamaged:
        raise
    except IndexDamaged:
        index.reset_keywords()
        return
    with index.gate.switching():
        index.keywords.publish()
        index.catalogue.apply(((line, False) for line in lines), ())


def _load_words(run: _Load, was_dirty: bool) -> None:
    """Load the keyword index first, so that its chunks can be found while vectors are being computed."""
    run.progress("indexing words", 0, len(run.wanted))
    try:
        present = run.index.keywords.ids() if was_dirty else None
        count = run.index.keywords.count()
    except IndexDamaged:
        run.index.reset_keywords()
        run.report.warnings.append("The keyword index was damaged and has been rebuilt.")
        present, count = set(), 0
    if present is None and count != run.index.catalogue.total():
        present = run.index.keywords.ids()
    if present is not None:
        run.widen()
    wanted = {chunk.id for chunk in run.wanted}
    to_write, deleted = run.plan.to_write, set(run.plan.deleted)
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
    if run.index.catalogue.meta("refused") is not None:
        run.index.cache.drop_distrusted()
        return "imported vectors are not those of their texts"
    try:
        count = run.index.vectors.count()
    except CatalogueDamaged:
        raise
    except IndexDamaged as error:
        return f"damaged: {error.message}"
    if model is None and count:
        return "the model of its vectors is unknown"
    with_vector = run.index.catalogue.with_vector()
    if count < with_vector:
        return f"{with_vector - count} vectors were lost"
    gone = [*run.plan.changed, *run.plan.deleted]
    run.replaced = int(run.index.catalogue.meta("replaced") or 0) + sum(run.states[id_].has_vector for id_ in gone)
    if with_vector >= run.index.limits.rebuild_minimum and run.replaced > REBUILD_SHARE * with_vector:
        return "more than a quarter of it was replaced or deleted"
    return None


def _present_rows(run: _Load, was_dirty: bool) -> dict[str, tuple[str, str]] | None:
    """Return the rows of the vector store after an interrupted load, because the catalogue was written before it.

    None if the catalogue describes the store.
    """
    if not was_dirty and run.index.vectors.count() == run.index.catalogue.with_vector():
        return None
    run.widen()
    present = run.index.vectors.rows()
    _trust_only(run, present)
    return present


def _differing_rows(run: _Load, present: Mapping[str, tuple[str, str]] | None) -> tuple[list[ChunkKey], list[str]]:
    """Return the chunks whose rows need new metadata, and the row ids of old contents."""
    states, catalogue = run.states, run.index.catalogue
    if present is None:
        retagged = [chunk_id for chunk_id in run.plan.retagged if states[chunk_id].has_vector]
        old = [chunk_id for chunk_id in (*run.plan.changed, *run.plan.deleted) if states[chunk_id].has_vector]
        return catalogue.keys_of(retagged), [row_id_of(chunk_id, states[chunk_id].content_hash) for chunk_id in old]
    wanted = {key.row_id: key for key in catalogue.chunk_keys()}
    changed = [key for row, key in wanted.items() if row in present and present[row] != key.row[1:]]
    return changed, [row for row in present if row not in wanted]


def _trust_only(run: _Load, present: Container[str]) -> None:
    """Correct the catalogue where it records vectors that the store does not contain."""
    lost = [
        chunk_id
        for chunk_id, state in run.states.items()
        if state.has_vector and row_id_of(chunk_id, state.content_hash) not in present
    ]
    for chunk_id in lost:
        run.states[chunk_id] = run.states[chunk_id]._replace(has_vector=False)
    run.index.catalogue.mark_vectors(lost, present=False)


def _publish(run: _Load) -> None:
    """Make the new state visible: a search sees either all changes of a file or none of them.

    Changed contents have no vector yet. The catalogue now has the texts, so those in memory are dropped.
    """
    to_write = run.plan.to_write
    changed = ((line, not _needs_vector(run, line)) for line in run.wanted if line.id in to_write)
    with run.index.gate.switching():
        run.index.keywords.publish()
        run.index.catalogue.apply(changed, run.plan.deleted)
    run.wanted.clear()
    if len(to_write) > MANY:
        release_unused_memory()


def _load_vectors(run: _Load, present: Mapping[str, tuple[str, str]] | None) -> None:
    """Update the vectors in place: add, update metadata, delete, look up."""
    store = run.index.vectors
    run.index.catalogue.set_meta(model=run.index.model)  # before the first vector, so that its model is always known
    retagged, stale = _differing_rows(run, present)
    new = run.filler.fill(store, most_useful_first(run.index.catalogue.chunk_keys(waiting_only=True)), mark=True)
    if retagged:
        store.update([key.row for key in retagged])
    if stale:
        store.delete(stale)
    lost = run.filler.look_up(store, new)
    if lost and not _is_tolerable(run, store, lost):
        _rebuild(run, "vectors could not be found after two writes")
        return
    try:
        store.seal()
    except IndexDamaged as error:
        _rebuild(run, f"damaged: {error.message}")


def _is_tolerable(run: _Load, store: VectorStore, lost: Sequence[ChunkKey]) -> bool:
    """Return whether too few vectors are missing from searches to justify a new generation; if so, warn."""
    if len(lost) > run.index.limits.unreached * store.count():
        return False
    run.report.warnings.append(
        f"{len(lost)} vectors cannot be found by a search. Keyword search still finds these chunks."
    )
    return True


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
        filled = run.filler.fill(store, index.catalogue.chunk_keys(), mark=False)
        lost = run.filler.look_up(store, filled)
        found = {chunk.id for chunk in filled}
        if lost and not _is_tolerable(run, store, lost):
            found -= {chunk.id for chunk in lost}
            run.report.warnings.append(f"{len(lost)} vectors cannot be found by a search. The next sync tries again.")
        store.seal()
        with index.gate.switching():
            index.catalogue.switch_vectors(found, generation=str(number), model=index.model, refused=None)
            index.use(store)
    except BaseException:
        store.close()
        raise
    run.report.rebuilt, run.replaced = reason, 0


def _finish(run: _Load, looked: Mapping[str, str | None]) -> None:
    index = run.index
    if index.vectors.is_outgrown():
        with index.gate.switching():
            index.release_vectors()
    index.generations.keep_only(index.generation)
    index.catalogue.set_meta(
        dirty=None,
        loaded=chunkfile.signature(index.folder),
        model=index.model,
        replaced=str(run.replaced),
        **looked,
    )
    with suppress(StorageError):  # on a full disk, the space is returned later
        _return_space(run)


def _return_space(run: _Load) -> None:
    """Remove the remains of replaced and deleted chunks from the files, except Chroma's, which are new."""
    index, catalogue = run.index, run.index.catalogue
    index.cache.keep_only(catalogue.total(), catalogue.content_hashes)
    if not run.report.rebuilt:
        return
    if catalogue.meta("appended") not in (None, "0"):
        chunkfile.write_chunks(index.folder, chunkfile.read_lines(index.folder))
        signature = chunkfile.signature(index.folder)
        catalogue.set_meta(appended="0", chunks=signature, loaded=signature)
    catalogue.vacuum()
