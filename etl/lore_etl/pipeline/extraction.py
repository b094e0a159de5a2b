"""Hold the state of an extraction: files, chunks, relations, and report, and guard an index against mass deletion."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Self

from lore_etl.core.errors import GuardTripped
from lore_etl.core.extras import install_advice
from lore_etl.core.json_types import JSON
from lore_etl.core.model import FileFacts, KnowledgeType, Problem, SyncReport, canonical_json
from lore_etl.core.progress import Plan
from lore_etl.core.text import counted
from lore_etl.files.conversion.convert import EXTRA, Converter, format_of
from lore_etl.files.indexed import NOTHING_TO_INDEX, ProjectFiles, origin_of_file
from lore_etl.files.scan import FileEntry, Scan
from lore_etl.index import Index
from lore_etl.relations.classes import Hierarchy, resolve
from lore_etl.relations.supersession import succession
from lore_etl.sources.inventory import inventory
from lore_etl.sources.kinds import KINDS, WRITTEN, SourceSet
from lore_etl.sources.source import Source, suffix_in, suffix_of
from lore_etl.stores.catalogue import COUNT, ChunkKey, FileRow
from lore_etl.stores.catalogue_rows import ChunkRecord, Uses, relations_of

LEFT_OUT, WAITING = "left_out", "waiting"
"""The kinds of the notes that say why a file is not read; the others are `failed` and `warning`."""
Begun = tuple[FileRow, list[list[str]]]  # a row that still lacks its facts, and remarks
Notes = Mapping[str, Sequence[tuple[str, str]]]  # of files that have any, by path: (kind, text)
GUARD_SOURCES = 2  # the loss of a single file is an edit, whatever its size
_T = KnowledgeType
_TIERS = (
    (_T.GUIDE, _T.RULE, _T.ADR, _T.KNOWLEDGE),
    (_T.SRC,),
    (_T.PRP, _T.EXAMPLE, _T.TEST),
    (_T.TICKET, _T.MEMORY),
    (_T.RELEASE, _T.BLOG, _T.LIBRARY),
)
TIER = {type_: tier for tier, types in enumerate(_TIERS) for type_ in types}
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
    name, source = entry.path, sources.owner(entry.path)
    if source is None:
        try:
            name += suffix_of(entry.path, files.beginning)
        except OSError:
            name += suffix_in(known.recipe) if known else ""  # so that the chunks of a script are kept
        source = sources.owner(entry.path, name) if name != entry.path else None
    return Claim(entry, source, name) if source else None


@dataclass
class Extraction:
    """The state of a run: the known files, the chunks of those that were read, and the rows to record."""

    index: Index
    report: SyncReport
    scan: Scan
    known: dict[str, FileRow]  # the recorded files; unchanged files have empty facts if the layout is the same
    stored: Collection[str]  # the files that may have chunks in the catalogue
    same_layout: bool
    converter: Converter
    chunks: dict[str, list[ChunkRecord]] = field(default_factory=dict)  # those of the files that were read
    rows: dict[str, FileRow] = field(default_factory=dict)
    begun: dict[str, Begun] = field(default_factory=dict)  # the files that are being chunked
    described: dict[str, str | None] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)  # the files whose chunks were recreated or deleted
    uses: dict[str, Uses] = field(default_factory=dict)  # the names that the files use that were read
    related: bool = False  # whether the class tree or the superseded documents may have changed

    def drop(self, path: str) -> None:
        self.chunks.pop(path, None)
        self.touched.add(path)
        self.related = True


@dataclass
class Changes:
    """Chunks and records of files to store, and the values that describe them."""

    chunks: list[ChunkRecord] = field(default_factory=list)
    """All chunks of the `touched` files, and those of other files whose relations have changed."""
    touched: Collection[str] = ()  # the files whose other chunks are deleted
    files: Sequence[FileRow] = ()
    gone: Sequence[str] = ()  # the files whose records are deleted
    classes: Hierarchy | None = None  # the class tree; None if it is the same
    used: Mapping[str, str] = field(default_factory=dict)  # the changed uses of files, by path
    described: dict[str, str | None] = field(default_factory=dict)
    is_whole: bool = False  # whether all files were read, so that the exported files are written again


class Relations:
    """The classes and superseded documents of a project; `paths` are importable, `titles` loads titles if needed."""

    def __init__(
        self, facts: Mapping[str, FileFacts], paths: Iterable[str], titles: Callable[[], dict[str, str]], project: str
    ) -> None:
        self.tree = resolve(facts, paths, project)
        supersedes = {source: file_facts.supersedes for source, file_facts in facts.items() if file_facts.supersedes}
        self.succession = succession(supersedes, titles() if supersedes else {})
        self._text = cache(self._text_of)

    def related(self, records: Iterable[ChunkRecord]) -> Iterator[ChunkRecord]:
        for record in records:
            name = self.tree.full_names.get((record.source, record.local_class)) if record.local_class else None
            yield record.related(self._text(name, self.succession.successor.get(record.source)))

    def affected(self, before: Self) -> set[str]:
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


def check_guard(run: Extraction, share: float) -> None:
    """Refuse to delete more than a share of the chunks; report files that rules now leave out. Raises GuardTripped."""
    lost = [path for path in run.touched if not run.chunks.get(path)]
    if not lost:
        return
    before = run.index.catalogue.of_sources(COUNT)
    empty = [path for path in lost if path in run.rows and run.rows[path].recipe]
    left_out = set[str]()
    for path in before.keys() & run.index.files.stamps(lost):  # it is on disk, and left out by a rule of the project
        row = run.rows.get(path)
        if not row.recipe if row else run.index.files.is_skipped(path):
            left_out.add(path)
    kept = {path: number for path, number in before.items() if path not in left_out}
    _refuse_loss(kept, empty, set(lost).difference(empty), share)
    if left_out:
        run.report.warnings.append(
            f"{counted(len(left_out), 'file')} still on disk left the index, because of the configuration, an ignore "
            f"file or another rule: {some_of(sorted(left_out))}."
        )


def _refuse_loss(before: Mapping[str, int], empty: Collection[str], gone: Collection[str], share: float) -> None:
    """Refuse to delete more than `share` of the chunks, as after a moved folder or an unmounted disk.

    `before` counts chunks by source; sources that lose all are `gone` or `empty`. Agents' documents do not count: their
    history keeps them, and they must leave with their folder. Nor do libraries, which the user removes with a command.
    """
    had = {source: number for source, number in before.items() if origin_of_file(source) in ("project", "tracker")}
    causes = {"disappeared": sorted(had.keys() & set(gone)), "became empty": sorted(had.keys() & set(empty))}
    files = [file for some in causes.values() for file in some]
    lost, total = sum(had[source] for source in files), sum(had.values())
    if len(files) < GUARD_SOURCES or lost <= share * total:
        return
    reasons = [f"{counted(len(some), 'file')} {cause} ({some_of(some)})" for cause, some in causes.items() if some]
    share_lost = f"{lost} of {total} chunks ({100 * lost // total} %)"
    raise GuardTripped(f"This sync would delete {share_lost}, because {' and '.join(reasons)}.")


def some_of(names: Sequence[str], limit: int = 3) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def most_useful_first(chunks: Iterable[ChunkKey], users: Mapping[str, int]) -> list[ChunkKey]:
    """Return guides, code by its users, specifications, open tickets, then history (closed, outdated) and libraries."""

    def place(chunk: ChunkKey) -> tuple[int, int]:
        is_past = chunk.superseded_by is not None or chunk.state in _CLOSED
        return len(_TIERS) - 1 if is_past else TIER[chunk.type], -users.get(chunk.source, 0)

    return sorted(chunks, key=place)


def report_files(
    index: Index, found: Scan, rows: Mapping[str, FileRow], report: SyncReport, circles: str | None = None
) -> None:
    """Report counts and all problems that still exist; `circles` supersede each other, as JSON, if determined again."""
    report.files = sum(1 for row in rows.values() if row.recipe)
    report.failed += found.unreadable
    report.skipped += found.refused
    notes = _notes(rows)
    report.failed += [Problem(path, text) for path, said in notes.items() for kind, text in said if kind == "failed"]
    report.warnings += [text for said in notes.values() for kind, text in said if kind == "warning"]
    report.inventory = _counted({path: row.recipe for path, row in rows.items()}, notes)
    inventory_ = canonical_json(report.inventory)
    if index.catalogue.meta("inventory") != inventory_:
        index.catalogue.set_meta(inventory=inventory_)
    if not report.files:
        report.warnings.append(" ".join(NOTHING_TO_INDEX))
    report.warnings += _advice(rows, notes)
    if some := json.loads(circles or index.catalogue.meta("circles") or "[]"):
        report.warnings.append(f"These supersede each other, so they do not count as outdated: {some_of(some, 10)}.")
    owners = {row.recipe.partition(":")[0] for row in rows.values()}
    for name, patterns in index.settings.sources.items():
        if patterns and name not in owners:
            report.warnings.append(f"The configured source `sources.{name}` does not match any file.")


def _notes(rows: Mapping[str, FileRow]) -> Notes:
    return {path: json.loads(row.notes) for path, row in rows.items() if row.notes != "[]"}


def _advice(rows: Mapping[str, FileRow], notes: Notes) -> Iterator[str]:
    """Yield warnings about documents that an extra would read, and those for which the budget was too small."""
    if count := sum(1 for path, row in rows.items() if not row.recipe and format_of(path) and row.notes == "[]"):
        files = counted(count, "document needs", "documents need")
        yield f"{files} the extra `{EXTRA}`. {install_advice(EXTRA)}, then sync again."
    if paths := [path for path, said in notes.items() if any(kind == WAITING for kind, _ in said)]:
        files = counted(len(paths), "document waits", "documents wait")
        yield (
            f"{files} for the next sync, because converting others took all the time "
            f"or memory of this one: {some_of(paths, 10)}. Run `lore sync` again."
        )


def _counted(recipes: Mapping[str, str], notes: Notes) -> JSON:
    """Return the files by type and language, and those without a source by extension."""
    types = {kind.name: str(kind.type) for kind in (WRITTEN, *KINDS.values())}
    owners = {path: recipe.partition(":")[0] for path, recipe in recipes.items()}
    owners |= {path: "memories" for path in recipes if origin_of_file(path) == "memory"}
    owned = {path + suffix_in(recipes[path]): types[owner] for path, owner in owners.items() if owner in types}
    unread = {path: dict(notes.get(path, ())) for path, recipe in recipes.items() if not recipe}
    left_out = {
        path: said.get(LEFT_OUT) or said.get(WAITING, "") for path, said in unread.items() if "failed" not in said
    }
    return inventory(owned, left_out)


def plan_of(run: Extraction, claims: Sequence[Claim]) -> Plan:
    """Return what was found; the inventory takes a while in a large project, so not for the sync of an edit."""
    recipes = {path: row.recipe for path, row in run.rows.items()}
    for claim in claims:  # so that they are counted, though they have not been read yet
        recipes[claim.entry.path] = f"{claim.source.kind.name}::{claim.name.removeprefix(claim.entry.path)}"
    removed = sum(1 for path in run.stored if path not in run.scan.files and not run.scan.hides(path))
    files = sum(map(bool, recipes.values()))
    return Plan(len(claims), files, removed, _counted(recipes, _notes(run.rows)) if len(claims) == files else None)
