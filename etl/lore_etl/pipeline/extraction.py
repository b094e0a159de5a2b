"""Hold the state of an extraction: the known files with their sources, the chunks found, and their relations.

The guard protects an index from a sync that would delete much of it because files are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from lore_etl.core.errors import GuardTripped
from lore_etl.core.model import FileFacts, KnowledgeType, SyncReport
from lore_etl.core.progress import Announce, unannounced
from lore_etl.core.text import counted
from lore_etl.files.conversion.convert import Converter
from lore_etl.files.indexed import ProjectFiles, is_knowledge, is_library
from lore_etl.files.scan import FileEntry, Scan
from lore_etl.index import Index
from lore_etl.relations.classes import Hierarchy, Resolved, resolve
from lore_etl.relations.supersession import Succession, succession
from lore_etl.sources import SourceSet
from lore_etl.sources.source import Source, suffix_in, suffix_of
from lore_etl.stores.catalogue import ChunkKey, FileRow
from lore_etl.stores.chunk_record import ChunkRecord, relations_of
from lore_etl.stores.uses import Uses

GUARD_SOURCES = 2  # the loss of a single file is an edit, whatever its size
_T = KnowledgeType
_TIERS: tuple[frozenset[KnowledgeType], ...] = (
    frozenset({_T.GUIDE, _T.SRC, _T.RULE, _T.ADR, _T.KNOWLEDGE}),
    frozenset({_T.PRP, _T.EXAMPLE, _T.TEST}),
    frozenset({_T.TICKET, _T.MEMORY}),
    frozenset({_T.RELEASE, _T.BLOG, _T.LIBRARY}),
)
_TIER = {type_: tier for tier, types in enumerate(_TIERS) for type_ in types}
_HISTORY = len(_TIERS) - 1
_CLOSED = frozenset({"closed", "completed", "declined", "done", "duplicate", "fixed", "merged", "rejected", "resolved"})


class Claim(NamedTuple):
    """A file with its source and the path that decides how it is read; the path of a script has an extension."""

    entry: FileEntry
    source: Source
    name: str

    @property
    def is_script(self) -> bool:
        return self.name != self.entry.path


def claim_of(files: ProjectFiles, sources: SourceSet, entry: FileEntry, known: FileRow | None) -> Claim | None:
    """Return the claim of the owning source, if any; a script counts as if its name had its language's extension."""
    if source := sources.owner(entry.path):
        return Claim(entry, source, entry.path)
    try:
        suffix = suffix_of(entry.path, files.beginning)
    except OSError:
        suffix = suffix_in(known.recipe) if known else ""  # so that the chunks of a script are kept
    name = entry.path + suffix
    return Claim(entry, source, name) if suffix and (source := sources.owner(entry.path, name)) else None


@dataclass
class Extraction:
    """The state of a run: the known files, the chunks of those that were read, and the rows to record."""

    index: Index
    report: SyncReport
    scan: Scan
    known: dict[str, FileRow]
    """The recorded files; unchanged files have empty facts if the layout is the same."""
    stored: Collection[str]  # the files that may have chunks in the catalogue
    same_layout: bool
    converter: Converter
    chunks: dict[str, list[ChunkRecord]] = field(default_factory=dict)
    """The chunks of the files that were read."""
    rows: dict[str, FileRow] = field(default_factory=dict)
    begun: dict[str, tuple[FileRow, list[list[str]]]] = field(default_factory=dict)
    """The rows and remarks of files that are being chunked."""
    described: dict[str, str | None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)  # the files whose chunks were recreated or deleted
    uses: dict[str, Uses] = field(default_factory=dict)  # the names that the files use that were read
    related: bool = False  # whether the class tree or the superseded documents may have changed

    announce: Announce = unannounced
    to_read: int = 0  # the number of files that a source owns and that may have changed

    def drop(self, path: str) -> None:
        self.chunks.pop(path, None)
        self.touched.add(path)
        self.related = True


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


class Relations:
    """The classes and superseded documents of a project.

    `paths` are all files that can be imported, `titles` the titles of documents, if any supersedes another.
    """

    def __init__(
        self, facts: Mapping[str, FileFacts], paths: Iterable[str], titles: Mapping[str, str], project: str
    ) -> None:
        self.tree: Resolved = resolve(facts, paths, project)
        supersedes = {source: file_facts.supersedes for source, file_facts in facts.items() if file_facts.supersedes}
        self.succession: Succession = succession(supersedes, titles)
        self._text = cache(self._text_of)

    def related(self, records: Iterable[ChunkRecord]) -> Iterator[ChunkRecord]:
        """Yield the chunks with their relations."""
        for record in records:
            name = self.tree.full_names.get((record.source, record.local_class)) if record.local_class else None
            yield record.related(self._text(name, self.succession.successor.get(record.source)))

    def affected(self, before: Relations) -> set[str]:
        """Return the files whose chunks may have other relations than before."""
        names, earlier = self.tree.full_names, before.tree.full_names
        files = set[str]()
        for path, local in names.keys() | earlier.keys():
            name = names.get((path, local))
            if name != earlier.get((path, local)) or self._text(name, None) != before._text(name, None):
                files.add(path)
        now, then = self.succession.successor, before.succession.successor
        return files | {path for path in now.keys() | then.keys() if now.get(path) != then.get(path)}

    def _text_of(self, name: str | None, successor: str | None) -> str:
        return relations_of(name, self.tree.hierarchy.chain(name) if name else (), successor)


def check_guard(run: Extraction) -> None:
    """Refuse to delete too many chunks. Raises GuardTripped.

    A file that the project's rules now leave out is still on disk: its chunks are deleted, and the report says why.
    """
    lost = [path for path in run.touched if not run.chunks.get(path)]
    if len(lost) < GUARD_SOURCES:
        return
    before = run.index.catalogue.chunks_by_source()
    empty = [path for path in lost if path in run.rows and run.rows[path].recipe]
    left_out = set[str]()
    for path in run.index.files.stamps(lost):  # it is on disk, and left out by a rule of the project
        row = run.rows.get(path)
        if path in before and (not row.recipe if row else run.index.files.is_skipped(path)):
            left_out.add(path)
    kept = {path: number for path, number in before.items() if path not in left_out}
    _refuse_loss(kept, empty, set(lost).difference(empty), run.index.settings.index.guard_share)
    if left_out:
        verb = "is" if len(left_out) == 1 else "are"
        run.report.warnings.append(
            f"{counted(len(left_out), 'file')} still on disk {verb} no longer indexed, because the configuration, an "
            f"ignore file or a rule about generated files excludes {'it' if verb == 'is' else 'them'}: "
            f"{some_of(sorted(left_out))}."
        )


def _refuse_loss(before: Mapping[str, int], empty: Collection[str], gone: Collection[str], share: float) -> None:
    """Refuse to delete more than `share` of the chunks, as after a moved folder or an unmounted disk.

    `before` has the number of chunks of each source that the project's rules do not leave out; the sources that lose
    all their chunks are `gone` or `empty`. Documents written by agents do not count: their history keeps them, and
    knowledge that no longer belongs to this folder must be deleted. Neither does documentation of libraries, which the
    user removes with a command.
    """
    had = {source: number for source, number in before.items() if not (is_knowledge(source) or is_library(source))}
    causes = {"disappeared": sorted(had.keys() & set(gone)), "became empty": sorted(had.keys() & set(empty))}
    files = [file for some in causes.values() for file in some]
    lost, total = sum(had[source] for source in files), sum(had.values())
    if len(files) < GUARD_SOURCES or lost <= share * total:
        return
    reasons = [f"{counted(len(some), 'file')} {cause} ({some_of(some)})" for cause, some in causes.items() if some]
    raise GuardTripped(
        f"This sync would delete {lost} of {total} chunks ({100 * lost // total} %), because {' and '.join(reasons)}."
    )


def some_of(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def tier_of(type_: KnowledgeType) -> int:
    return _TIER[type_]


def most_useful_first(chunks: Iterable[ChunkKey]) -> list[ChunkKey]:
    """Return guides and source code first, then specifications, open tickets, and finally history and libraries.

    Closed tickets and superseded documents are history. Equally useful chunks keep their order.
    """
    return sorted(chunks, key=_tier)


def _tier(chunk: ChunkKey) -> int:
    is_past = chunk.superseded_by is not None or chunk.state in _CLOSED
    return _HISTORY if is_past else tier_of(chunk.type)
