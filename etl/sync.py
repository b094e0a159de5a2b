"""The pipeline in one call: files to chunks, chunks to stores."""

from __future__ import annotations

import time

from etl.create import create
from etl.errors import IndexDamaged
from etl.index import Index
from etl.load import is_loaded, load
from etl.model import Progress, SyncReport, silent
from etl.stores import chunkfile
from etl.stores.vectors import remove


def sync(index: Index, progress: Progress = silent, allow_mass_delete: bool = False) -> SyncReport:
    """Bring the index up to date with the project's files.

    Raises:
        Busy: another process owns the index.
        GuardTripped: too much would be deleted; nothing was changed.
        StorageError: the disk failed; the next sync goes on from there.
    """
    started = time.monotonic()
    report = SyncReport()
    _open_or_reset(index, report)
    create(index, report, progress, allow_mass_delete)
    _load_if_needed(index, report, progress)
    report.duration = round(time.monotonic() - started, 3)
    return report


def create_only(index: Index, progress: Progress = silent, allow_mass_delete: bool = False) -> SyncReport:
    """Write `chunks.jsonl` and the class tree, and leave the stores as they are."""
    started = time.monotonic()
    report = SyncReport()
    _open_or_reset(index, report)
    create(index, report, progress, allow_mass_delete)
    report.duration = round(time.monotonic() - started, 3)
    return report


def embed_only(index: Index, progress: Progress = silent) -> SyncReport:
    """Bring the stores to what `chunks.jsonl` says, without looking at the files."""
    started = time.monotonic()
    report = SyncReport()
    _open_or_reset(index, report)
    _load_if_needed(index, report, progress)
    report.duration = round(time.monotonic() - started, 3)
    return report


def delete_all(index: Index) -> SyncReport:
    """Empty the index: chunks, words and vectors. Cached vectors stay, so a sync brings it back quickly."""
    started = time.monotonic()
    report = SyncReport()
    _open_or_reset(index, report)
    report.deleted = sum(index.catalogue.counts().values())
    index.release_vectors()
    generation = index.generation
    index.catalogue.apply((), list(index.catalogue.held()), dirty="1", chunks=None, layout=None, loaded=None)
    index.catalogue.replace_files((), list(index.catalogue.stamps()))
    index.reset_keywords()
    for name in (chunkfile.CHUNKS, chunkfile.HIERARCHY):
        (index.folder / name).unlink(missing_ok=True)
    remove(index.generation_folder(generation))
    report.duration = round(time.monotonic() - started, 3)
    return report


def _open_or_reset(index: Index, report: SyncReport) -> None:
    index.own()
    try:
        index.catalogue.meta("generation")
        index.catalogue.stamps()
    except IndexDamaged as error:
        index.reset_catalogue()
        index.reset_keywords()
        report.warnings.append(f"{error.message} It was built anew.")


def _load_if_needed(index: Index, report: SyncReport, progress: Progress) -> None:
    if is_loaded(index):
        report.unchanged = sum(index.catalogue.counts().values())
    else:
        load(index, report, progress)
