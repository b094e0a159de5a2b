"""Load: update the stores to match the chunks of an extraction, embedding only chunks without a vector.

The order makes a kill at any point harmless:

1. `dirty` is set, and the keyword index is committed, but not published.
2. The gate closes for a moment: the keyword commit is published, and one transaction of the catalogue stores chunks,
   stamps and classes. From here on, searches see the new state, and find changed chunks by keywords only.
3. Rows are added under *chunk id + content hash*, first those with a cached vector; then old vectors are deleted.
4. Every new row is searched for by its own vector, and rewritten once if it is not found; if that does not help, the
   generation is rebuilt.
5. `dirty` is cleared, with the gate closed for a moment.

If a load finds `dirty` set, or other numbers than it expects, it compares the stores id by id. A new generation is
built beside the old one if the model or its input changed, if files are damaged, or if more than a quarter of the
rows, and at least 125, were replaced; then one value in the catalogue switches to it.

The first sync shows chunks as `dirty` words before (`show_words`): 500, then portions that double up to 4,000 chunks or
a quarter of those before. The load finds them in the stores and completes them.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from lore_etl.core.errors import CatalogueDamaged, IndexDamaged, StorageError
from lore_etl.core.model import SyncReport
from lore_etl.core.progress import Progress
from lore_etl.core.text import counted
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.embed import Filler, take_shared
from lore_etl.pipeline.extraction import Changes, most_useful_first
from lore_etl.stores.catalogue import ChunkKey
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_etl.stores.embedding_cache import CACHE
from lore_etl.stores.export import write_export
from lore_etl.stores.integrity import is_sealed, is_suspect
from lore_etl.stores.keywords import words_version
from lore_etl.system.processes import release_unused_memory

MANY = 2_000  # chunks whose texts are worth returning to the operating system
REBUILD_SHARE = 0.25  # of rows deleted since the generation was built: Chroma never returns their space


@dataclass
class _LoadPlan(Filler):
    was_dirty: bool  # whether the last load was interrupted, so that the stores are compared id by id
    before: dict[str, ChunkKey]  # the chunks of the changed files that the catalogue had before
    new: set[str] = field(default_factory=set)  # ids of chunks, as those below
    changed: set[str] = field(default_factory=set)  # with a new content hash
    retagged: set[str] = field(default_factory=set)  # only with a new metadata hash
    deleted: set[str] = field(default_factory=set)
    replaced: int = 0

    def old_rows(self) -> list[str]:
        gone = (self.before[chunk_id] for chunk_id in (*self.changed, *self.deleted))
        return [key.row_id for key in gone if key.has_vector]

    def has_vector(self, record: ChunkRecord) -> bool:
        key = self.before.get(record.id)
        return key is not None and key.has_vector and key.content_hash == record.content_hash


def is_loaded(index: Index) -> bool:
    """Return whether the stores match the catalogue, without opening them."""
    catalogue = index.catalogue
    dirty, refused, loaded, model, words = catalogue.metas("dirty", "refused", "loaded", "model", "words")
    return (
        dirty is None
        and refused is None
        and loaded is not None
        and model == index.model
        and words == words_version()
        and catalogue.waiting() == 0
        and not is_suspect(index.folder / CACHE)
        and is_sealed(index.folder / KEYWORDS)
        and index.generations.is_as_left(index.generation, catalogue.with_vector())
    )


def load(
    index: Index, report: SyncReport, progress: Progress, looked: Mapping[str, str | None], changes: Changes
) -> None:
    """Store the changes and `looked`, then complete the vectors. Raises StorageError, ProviderUnavailable."""
    run = load_words(index, report, progress, changes)
    reason = _rebuild_reason(run)
    if index.catalogue.meta("refused") is None:  # else these vectors may be the wrong ones again
        take_shared(index, index.catalogue.chunk_keys(waiting_only=not reason), report)
    if reason:
        _rebuild(run, reason)
    else:
        _load_vectors(run)
    _finish(run, looked)


def show_words(index: Index, records: Sequence[ChunkRecord]) -> None:
    """Make chunks of a first sync searchable by keywords before the others are known; `load` completes them."""
    index.catalogue.set_meta(dirty="1")
    try:
        index.keywords.replace((record.chunk for record in records), ())
    except CatalogueDamaged:
        raise
    except IndexDamaged:
        index.reset_keywords()
        return
    with index.gate.switching():
        index.keywords.publish()
        index.catalogue.apply(((record, False) for record in records), ())


def _begin(index: Index, report: SyncReport, progress: Progress, changes: Changes) -> _LoadPlan:
    catalogue = index.catalogue
    ids = (record.id for record in changes.chunks)
    before = {key.id: key for key in catalogue.chunk_keys(ids, changes.touched)}
    run = _LoadPlan(index, report, progress, catalogue.meta("dirty") is not None, before)
    for record in changes.chunks:
        have = before.get(record.id)
        if have is None:
            run.new.add(record.id)
        elif have.content_hash != record.content_hash:
            run.changed.add(record.id)
        elif have.metadata_hash != record.metadata_hash:
            run.retagged.add(record.id)
    run.deleted = before.keys() - {record.id for record in changes.chunks}
    report.created, report.deleted = len(run.new), len(run.deleted)
    report.updated = len(run.changed) + len(run.retagged)
    report.unchanged = catalogue.total() - report.updated - report.deleted
    catalogue.set_meta(dirty="1")
    return run


def load_words(index: Index, report: SyncReport, progress: Progress, changes: Changes) -> _LoadPlan:
    """Show all changes of each file at once, at first to keyword searches, and drop the chunks in memory."""
    run = _begin(index, report, progress, changes)
    loaded, words = index.catalogue.metas("loaded", "words")
    if loaded is not None and words != words_version():
        index.reset_keywords()
    progress("indexing words", 0, len(changes.chunks))
    to_write = run.new | run.changed | run.retagged
    changed = [record for record in changes.chunks if record.id in to_write]
    try:
        _write_words(run, changes, changed)
    except IndexDamaged:
        if not is_suspect(index.folder / KEYWORDS):  # other data is damaged
            raise
        index.reset_keywords()
        _write_words(run, changes, changed)
        report.warnings.append("The keyword index was damaged and has been rebuilt.")
    stored = ((record, run.has_vector(record)) for record in changed)
    files, gone, described = changes.files, changes.gone, {**changes.described, "dirty": "1"}
    with index.gate.switching():
        index.keywords.publish()
        index.catalogue.apply(stored, run.deleted, files, gone, changes.classes, changes.used, **described)
    changes.chunks.clear()
    if len(to_write) > MANY:
        release_unused_memory()
    if changes.is_whole:
        write_export(index.folder, index.catalogue)
    return run


def _write_words(run: _LoadPlan, changes: Changes, changed: Sequence[ChunkRecord]) -> None:
    """Write the changed chunks, and correct the others if the keyword index does not match the catalogue."""
    keywords, catalogue = run.index.keywords, run.index.catalogue
    keywords.check_files(by_content=False)  # the owner may have opened them before
    more, deleted = list[str](), run.deleted
    if run.was_dirty or keywords.count() != catalogue.total():
        present = keywords.versions()
        wanted = {key.id: key.metadata_hash for key in catalogue.chunk_keys()}
        wanted |= {record.id: record.metadata_hash for record in changes.chunks}
        wanted = {chunk_id: version for chunk_id, version in wanted.items() if chunk_id not in deleted}
        known = {record.id for record in changed}
        more = [name for name, version in wanted.items() if present.get(name) != version and name not in known]
        deleted = deleted | (present.keys() - wanted.keys())
    if changed or more or deleted:
        keywords.replace((record.chunk for record in chain(changed, catalogue.records(more))), deleted)


def _rebuild_reason(run: _LoadPlan) -> str | None:
    model = run.index.catalogue.meta("model")
    if model is not None and model != run.index.model:
        return "the embedding model or its input has changed"
    if run.index.catalogue.meta("refused") is not None:
        run.index.cache.drop_distrusted()
        return "shared vectors are not those of their texts"
    try:
        count = run.index.vectors.count()
    except CatalogueDamaged:
        raise
    except IndexDamaged as error:
        return f"damaged: {error.message}"
    if model is None and count:
        return "their model is unknown"
    old = len(run.old_rows())
    had_vector = run.index.catalogue.with_vector() + old
    if count < (had_vector - old if run.was_dirty else had_vector):
        return f"{had_vector - count} vectors were lost"
    run.replaced = int(run.index.catalogue.meta("replaced") or 0) + old
    if run.replaced > REBUILD_SHARE * max(had_vector, run.index.limits.rebuild_minimum):
        return "more than a quarter of it was replaced or deleted"
    return None


def _differing_rows(run: _LoadPlan) -> tuple[list[ChunkKey], list[str]]:
    """Return chunks whose rows need new metadata, and old row ids; correct marks of vectors that the store lacks."""
    catalogue, store = run.index.catalogue, run.index.vectors
    if not run.was_dirty and store.count() == catalogue.with_vector() + len(run.old_rows()):
        retagged = [chunk_id for chunk_id in run.retagged if run.before[chunk_id].has_vector]
        return catalogue.chunk_keys(retagged), run.old_rows()
    present, wanted = store.rows(), {key.row_id: key for key in catalogue.chunk_keys()}
    catalogue.mark_vectors([key.id for row, key in wanted.items() if row not in present], present=False)
    changed = [key for row, key in wanted.items() if row in present and present[row] != key.row[1:]]
    return changed, [row for row in present if row not in wanted]


def _load_vectors(run: _LoadPlan) -> None:
    """Update the vectors in place: add, update metadata, delete, look up."""
    catalogue, store = run.index.catalogue, run.index.vectors
    retagged, stale = _differing_rows(run)
    catalogue.set_meta(model=run.index.model)  # before the first vector, so that its model is always known
    waiting = catalogue.chunk_keys(waiting_only=True)
    new = run.fill(store, most_useful_first(waiting, catalogue.users_by_file()), mark=True)
    if retagged:
        store.update([key.row for key in retagged])
    if stale:
        store.delete(stale)
    lost = run.look_up(store, new)
    if lost and not _is_tolerable(run, store, lost):
        _rebuild(run, "vectors could not be found after two writes")
        return
    try:
        store.seal()
    except IndexDamaged as error:
        _rebuild(run, f"damaged: {error.message}")


def _is_tolerable(run: _LoadPlan, store: VectorStore, lost: Sequence[ChunkKey]) -> bool:
    """Return whether too few vectors are missing from searches to justify a new generation; if so, warn."""
    is_tolerable = len(lost) <= run.index.limits.unreached * store.count()
    if is_tolerable:
        warning = f"{len(lost)} vectors cannot be found by a search. Keyword search still finds these chunks."
        run.report.warnings.append(warning)
    return is_tolerable


def _rebuild(run: _LoadPlan, reason: str) -> None:
    """Fill a new generation beside the old one, from cached vectors if possible, then switch to it."""
    index = run.index
    number = index.generation + 1
    index.generations.remove(number)
    store = index.generations.open(number)
    try:
        filled = run.fill(store, index.catalogue.chunk_keys(), mark=False)
        lost = run.look_up(store, filled)
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


def _finish(run: _LoadPlan, looked: Mapping[str, str | None]) -> None:
    index, catalogue = run.index, run.index.catalogue
    if damaged := set(index.cache.repair()):
        run.recompute([key for key in catalogue.chunk_keys() if key.content_hash in damaged])
        run.report.warnings.append(f"{counted(len(damaged), 'cached vector')} damaged: deleted, or computed again.")
    if index.vectors.is_outgrown():
        with index.gate.switching():
            index.release_vectors()
    index.generations.keep_only(index.generation)
    with index.gate.switching():  # so that a reply does not call a search fresh that ran before this
        loaded, replaced = str(time.time_ns()), str(run.replaced)
        known = {"model": index.model, "words": words_version(), "bound": loaded}
        index.bind_stores(loaded)
        catalogue.set_meta(dirty=None, loaded=loaded, replaced=replaced, **known, **looked)
    with suppress(StorageError):  # on a full disk, the space of replaced and deleted chunks is returned later
        index.cache.keep_only(catalogue.total(), catalogue.content_hashes)
        if run.report.rebuilt:
            catalogue.vacuum()  # Chroma's files are new
