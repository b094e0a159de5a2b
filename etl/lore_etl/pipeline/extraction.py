"""Hold the state of an extraction: the known files, and the files and chunks found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from lore_etl.core.model import SyncReport
from lore_etl.core.progress import Announce, unannounced
from lore_etl.files.conversion.convert import Converter
from lore_etl.files.scan import Scan
from lore_etl.index import Index
from lore_etl.stores.catalogue import FileRow
from lore_etl.stores.chunk_record import ChunkRecord
from lore_etl.stores.uses import Uses


@dataclass
class Extraction:
    """The state of a run: the known files, the chunks of those that were read, and the rows to record."""

    index: Index
    report: SyncReport
    scan: Scan
    known: dict[str, FileRow]
    """The recorded files; unchanged files have empty facts if the layout is the same."""
    stored: Collection[str]
    """The files that may have chunks in the catalogue."""
    same_layout: bool
    chunks: dict[str, list[ChunkRecord]] = field(default_factory=dict)
    """The chunks of the files that were read."""
    rows: dict[str, FileRow] = field(default_factory=dict)
    described: dict[str, str | None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """The files whose chunks were recreated or deleted."""
    converter: Converter = field(init=False)
    uses: dict[str, Uses] = field(default_factory=dict)
    """The names that the files use that were read."""
    related: bool = False
    """Whether the class tree or the superseded documents may have changed."""

    announce: Announce = unannounced
    to_read: int = 0
    """The number of files that a source owns and that may have changed."""

    def __post_init__(self) -> None:
        self.converter = Converter(self.index.limits.conversion)
        self.related = not self.same_layout

    def keep(self, path: str, stamp: str) -> None:
        """Keep the recorded row of a file, under a new stamp."""
        self.rows[path] = replace(self.known[path], stamp=stamp)

    def drop(self, path: str) -> None:
        """Delete the chunks of a file."""
        self.chunks.pop(path, None)
        self.touched.add(path)
        self.related = True
