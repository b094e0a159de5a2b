"""Run the pipeline: files to chunks, chunks to stores."""

import json
import time
from collections.abc import Callable
from contextlib import suppress

from lore_etl.core.dates import timestamp
from lore_etl.core.errors import CatalogueDamaged, IndexMissing, LoreError
from lore_etl.core.model import SyncReport, canonical_json
from lore_etl.core.progress import Announce, Progress, ignore, silent
from lore_etl.files.git_folder import head
from lore_etl.files.indexed import NOTHING_TO_INDEX
from lore_etl.index import Index
from lore_etl.pipeline.embed import share
from lore_etl.pipeline.extract import extract
from lore_etl.pipeline.extraction import Changes
from lore_etl.pipeline.load import is_loaded, load, load_words, show_words
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.export import CHUNKS, HIERARCHY, write_export


def sync(
    index: Index,
    progress: Progress = silent,
    allow_mass_delete: bool = False,
    announce: Announce = ignore,
    must_scan: bool = True,
) -> SyncReport:
    """Update the index to match the project's files; without `must_scan`, those that the watcher reported.

    Raises Busy, StorageError, ProviderUnavailable; GuardTripped if too much would be deleted. The next sync continues.
    """

    def steps(report: SyncReport) -> None:
        index.prepare_model(progress)
        is_first = not index.catalogue.total()
        show = (lambda records: show_words(index, records)) if is_first else None
        find = None if must_scan else (lambda known: index.files.look())
        changes = extract(index, report, progress, allow_mass_delete, find, show, announce)
        load_if_needed(index, report, progress, changes)
        if is_first:  # the load finds the chunks that were shown before it
            report.created, report.updated, report.unchanged = index.catalogue.total(), 0, 0

    return run_steps(index, steps)


def sync_knowledge(index: Index, progress: Progress = silent) -> SyncReport:
    """Update the documents written by agents, not the project's files. Raises as `sync`, but never GuardTripped."""

    def steps(report: SyncReport) -> None:
        index.prepare_model(progress, may_download=False)
        changes = extract(index, report, progress, allow_mass_delete=True, find=index.files.scan_knowledge)
        if changes or not is_loaded(index):
            load(index, report, progress, {}, changes or Changes())

    return run_steps(index, steps, is_whole=False)


def create_only(
    index: Index, progress: Progress = silent, allow_mass_delete: bool = False, announce: Announce = ignore
) -> SyncReport:
    """Store the chunks and classes of all files, and export them; the vectors of new texts wait for `embed_only`."""

    def steps(report: SyncReport) -> None:
        index.prepare_model(progress)
        changes = extract(index, report, progress, allow_mass_delete, announce=announce)
        if changes:
            load_words(index, report, progress, changes)
        else:
            report.unchanged = index.catalogue.total()
        write_export(index.folder, index.catalogue)

    return run_steps(index, steps)


def embed_only(index: Index, progress: Progress = silent) -> SyncReport:
    """Complete the vectors of the chunks in the catalogue, without reading the files."""

    def steps(report: SyncReport) -> None:
        index.prepare_model(progress)
        load_if_needed(index, report, progress, None)

    return run_steps(index, steps)


def delete_all(index: Index) -> SyncReport:
    """Empty the index: chunks, words and vectors. Cached vectors stay, so that a sync restores it quickly."""

    def steps(report: SyncReport) -> None:
        with index.gate.switching():
            catalogue, generation = index.catalogue, index.generation
            report.deleted = catalogue.total()
            index.release_vectors()
            gone = ("layout", "loaded", "synced_at", "inventory", "problems", "reported")
            catalogue.set_meta(dirty="1", **dict.fromkeys(gone))
            index.reset_keywords()  # first: without keywords the index counts as empty, so no search finds a part of it
            catalogue.apply((), catalogue.ids(), (), catalogue.stamps(), Hierarchy(()), model=None)
            for name in (CHUNKS, HIERARCHY):
                (index.folder / name).unlink(missing_ok=True)
            index.generations.remove(generation)

    return run_steps(index, steps)


def run_steps(index: Index, steps: Callable[[SyncReport], object], is_whole: bool = True) -> SyncReport:
    """Run and time the steps, again if the catalogue was damaged; record whether those of a whole sync failed."""
    started, report = time.monotonic(), SyncReport()
    index.own_for_writing()
    try:
        try:
            index.catalogue.verify()  # before the first write: damage in data that a sync does not read would remain
            index.mark_exchanged_stores()
            steps(report)
        except CatalogueDamaged as error:
            with index.gate.switching():
                index.reset_catalogue()
                index.reset_keywords()
            report = SyncReport(warnings=[f"{error.message} It was rebuilt."])
            steps(report)
    except LoreError as error:
        with suppress(LoreError):
            if is_whole:
                index.catalogue.set_meta(failed_sync=canonical_json([error.message, error.hint]))
        raise
    if is_whole and index.catalogue.meta("failed_sync") is not None:
        index.catalogue.set_meta(failed_sync=None)
    report.duration = round(time.monotonic() - started, 3)
    return report


def load_if_needed(index: Index, report: SyncReport, progress: Progress, changes: Changes | None) -> None:
    """Store the changes and complete the vectors, unless the stores match the catalogue."""
    commit = head(index.root).commit
    if changes or not is_loaded(index):
        looked = {"synced_at": timestamp(), "synced_commit": commit}
        load(index, report, progress, looked, changes or Changes())
        share(index, report)
        return
    report.unchanged = index.catalogue.total()
    if index.catalogue.meta("synced_commit") != commit:  # `synced_at` stays: caches depend on it
        index.catalogue.set_meta(synced_commit=commit)


def require_chunks(index: Index) -> None:
    """Own an index that is not empty. Raises IndexMissing, Busy."""
    index.require()
    if not index.catalogue.total():
        raise emptiness(index)


def emptiness(index: Index) -> IndexMissing:
    """Return the error for an index without chunks, with the reason why it has none."""
    synced_at, failed = index.catalogue.metas("synced_at", "failed_sync")
    if failed is not None:
        message, hint = json.loads(failed)
        return IndexMissing(f"The index is empty, because the last sync failed: {message}", f"{hint} Then sync again.")
    return IndexMissing(*NOTHING_TO_INDEX) if synced_at is not None else IndexMissing("The index is empty.")
