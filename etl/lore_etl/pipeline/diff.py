"""Compare the desired chunks with those in the index, by ids and hashes, never by times."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lore_etl.core.errors import GuardTripped
from lore_etl.core.model import SyncReport
from lore_etl.core.text import counted
from lore_etl.files.indexed import is_knowledge, is_library
from lore_etl.stores.catalogue import ChunkState
from lore_etl.stores.chunkfile import ChunkLine

GUARD_SOURCES = 2  # the loss of a single file is an edit, whatever its size


@dataclass(frozen=True)
class SyncPlan:
    """The work of a sync: the ids of the chunks to write and to delete."""

    new: list[str]
    changed: list[str]
    retagged: list[str]
    unchanged: int
    deleted: list[str]

    @property
    def to_write(self) -> set[str]:
        """Return the ids of all chunks whose record differs."""
        return {*self.new, *self.changed, *self.retagged}

    def write_counts(self, report: SyncReport) -> None:
        report.created, report.unchanged, report.deleted = len(self.new), self.unchanged, len(self.deleted)
        report.updated = len(self.changed) + len(self.retagged)


def plan(wanted: Sequence[ChunkLine], stored: Mapping[str, ChunkState]) -> SyncPlan:
    """Compare chunks; `changed` chunks have a new content hash, `retagged` chunks only a new metadata hash."""
    new, changed, retagged, unchanged = list[str](), list[str](), list[str](), 0
    for chunk in wanted:
        have = stored.get(chunk.id)
        if have is None:
            new.append(chunk.id)
        elif have.content_hash != chunk.content_hash:
            changed.append(chunk.id)
        elif have.metadata_hash != chunk.metadata_hash:
            retagged.append(chunk.id)
        else:
            unchanged += 1
    ids = {chunk.id for chunk in wanted}
    return SyncPlan(new, changed, retagged, unchanged, [chunk_id for chunk_id in stored if chunk_id not in ids])


def check_guard(before: Mapping[str, int], empty: Collection[str], gone: Collection[str], share: float) -> None:
    """Refuse to delete more than `share` of the chunks, as after a moved folder or an unmounted disk.

    `before` has the number of chunks of each source that the project's rules do not leave out; the sources that lose
    all their chunks are `gone` or `empty`. Documents written by agents do not count: their history keeps them, and
    knowledge that no longer belongs to this folder must be deleted. Neither does documentation of libraries, which the
    user removes with a command.

    Raises:
        GuardTripped: too much would be deleted; the message has the share, the reason and some of the files.
    """
    had = {source: number for source, number in before.items() if not (is_knowledge(source) or is_library(source))}
    causes = {"disappeared": sorted(had.keys() & set(gone)), "became empty": sorted(had.keys() & set(empty))}
    files = [file for some in causes.values() for file in some]
    lost, total = sum(had[source] for source in files), sum(had.values())
    if len(files) < GUARD_SOURCES or lost <= share * total:
        return
    reasons = [f"{counted(len(some), 'file')} {cause} ({first_of(some)})" for cause, some in causes.items() if some]
    raise GuardTripped(
        f"This sync would delete {lost} of {total} chunks ({100 * lost // total} %), because {' and '.join(reasons)}."
    )


def first_of(files: Sequence[str]) -> str:
    """Return the first three files as text."""
    return ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
