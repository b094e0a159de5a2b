"""Hold the state of an extraction: known files and chunks, found files and chunks, and those to write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lore_etl.core.model import SyncReport
from lore_etl.core.progress import Announce, unannounced
from lore_etl.files.conversion.convert import Converter
from lore_etl.files.scan import Scan
from lore_etl.index import Index
from lore_etl.stores import chunkfile
from lore_etl.stores.catalogue import FileRow
from lore_etl.stores.chunkfile import ChunkLine


@dataclass
class Extraction:
    """The state of a run: the known files and chunks, the found files, and the rows to record."""

    index: Index
    report: SyncReport
    scan: Scan
    known: dict[str, FileRow]
    """The recorded files; unchanged files have empty facts if the layout is the same."""
    lines: dict[str, list[ChunkLine]]
    """The chunks of each file as written before; those of touched files without relations to other files."""
    is_part: bool = False
    """Whether `lines` has only the changed files, because the lines of the others are unchanged."""
    rows: dict[str, FileRow] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """The files whose chunks were recreated or deleted."""
    before: dict[str, list[ChunkLine]] = field(default_factory=dict)
    """The chunks that these files had before."""
    converter: Converter = field(init=False)
    related: bool = False
    """Whether the class tree or the superseded documents may have changed."""

    announce: Announce = unannounced
    to_read: int = 0
    """The number of files that a source owns and that may have changed."""

    def __post_init__(self) -> None:
        self.converter = Converter(self.index.limits.conversion)

    def keep(self, path: str, stamp: str) -> None:
        """Keep the recorded row of a file, under a new stamp."""
        self.rows[path] = replace(self.known[path], stamp=stamp)

    def drop(self, path: str) -> None:
        """Delete the chunks of a file."""
        self.lines.pop(path, None)
        self.touched.add(path)
        self.related = True

    def widen(self) -> None:
        """Add the chunks of all other files."""
        everything = chunkfile.by_source(chunkfile.read_lines(self.index.folder))
        self.lines = {path: group for path, group in everything.items() if path not in self.touched} | self.lines
        self.is_part = False
