"""Hold the changes that a build has found, until a load stores them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.catalogue import FileRow
from lore_etl.stores.chunk_record import ChunkRecord


@dataclass
class Changes:
    """Chunks and records of files to store, and the values that describe them."""

    chunks: list[ChunkRecord] = field(default_factory=list)
    """All chunks of the `touched` files, and those of other files whose relations have changed."""
    touched: Collection[str] | None = ()
    """The files whose other chunks are deleted; None: all files."""
    files: Sequence[FileRow] = ()
    gone: Sequence[str] = ()
    """The files whose records are deleted."""
    classes: Hierarchy | None = None
    """The class tree; None if it is the same."""
    described: dict[str, str | None] = field(default_factory=dict)
    is_whole: bool = False
    """Whether all files were read, so that the exported files are written again."""
