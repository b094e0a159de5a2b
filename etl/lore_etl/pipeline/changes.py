"""Hold the changes that a build has found, and compare them with the index, by ids and hashes, never by times."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.catalogue import ChunkState, FileRow
from lore_etl.stores.chunk_record import ChunkRecord


@dataclass
class Changes:
    """Chunks and records of files to store, and the values that describe them."""

    chunks: list[ChunkRecord] = field(default_factory=list)
    """All chunks of the `touched` files, and those of other files whose relations have changed."""
    touched: Collection[str] | None = ()  # the files whose other chunks are deleted; None: all files
    files: Sequence[FileRow] = ()
    gone: Sequence[str] = ()  # the files whose records are deleted
    classes: Hierarchy | None = None  # the class tree; None if it is the same
    used: Mapping[str, str] = field(default_factory=dict)  # the changed uses of files, by path
    described: dict[str, str | None] = field(default_factory=dict)
    is_whole: bool = False  # whether all files were read, so that the exported files are written again


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
        return {*self.new, *self.changed, *self.retagged}


def plan(wanted: Sequence[ChunkRecord], stored: Mapping[str, ChunkState]) -> SyncPlan:
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
