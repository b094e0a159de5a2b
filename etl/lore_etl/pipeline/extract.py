"""Extract and transform: from files to `chunks.jsonl`. Unchanged files are not read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from lore_etl.chunking import CHUNKER_VERSION, chunk
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.dates import problem_of
from lore_etl.core.errors import IndexDamaged
from lore_etl.core.model import Chunk, FileFacts, Inventory, Problem, Progress, SyncReport, canonical_json, sha256
from lore_etl.digest import digest
from lore_etl.files.indexed import NOTHING_TO_INDEX, ProjectFiles, differing
from lore_etl.files.redaction import redact, redaction_version
from lore_etl.files.scan import FileEntry, Scan, Unreadable
from lore_etl.index import Index
from lore_etl.pipeline.diff import check_guard
from lore_etl.pipeline.resolve import assemble, completed
from lore_etl.relations.classes import Hierarchy
from lore_etl.relations.supersession import Succession
from lore_etl.sources import REGISTRY, SourceSet
from lore_etl.sources.agent_files import AgentFiles
from lore_etl.sources.inventory import inventory
from lore_etl.sources.source import Source, SourceContext
from lore_etl.stores import chunkfile
from lore_etl.stores.catalogue import UNREAD, FileRow
from lore_etl.stores.chunkfile import ChunkLine, Relations
from lore_etl.stores.file_facts import pack, unpack

Look = Callable[[ProjectFiles, Mapping[str, str]], Scan]
"""Find the files to process, given the stamps of the known files."""


def whole_project(files: ProjectFiles, known: Mapping[str, str]) -> Scan:
    """Find all files."""
    return files.scan()


def only_knowledge(files: ProjectFiles, known: Mapping[str, str]) -> Scan:
    """Find the documents written by agents, and take the project's own files as known; without any known, find all."""
    return files.scan_knowledge(known) if known else files.scan()


@dataclass
class _Run:
    """The state of a run: the known files and chunks, the found files, and the rows to record."""

    index: Index
    report: SyncReport
    scan: Scan
    known: dict[str, FileRow]
    lines: dict[str, list[ChunkLine]]
    """The chunks of each file as written before, or as complete without other files."""
    fresh: dict[str, list[Chunk]] = field(default_factory=dict)
    rows: dict[str, FileRow] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    changed: bool = False
    """Whether `chunks.jsonl` must be written."""
    related: bool = False
    """Whether the class tree or the superseded documents may have changed."""

    @property
    def chunks(self) -> dict[str, Sequence[Chunk | ChunkLine]]:
        """Return the chunks of each file."""
        return {**self.lines, **self.fresh}

    def keep(self, path: str, stamp: str) -> None:
        """Keep the recorded row of a file, under a new stamp."""
        old = self.known[path]
        self.rows[path] = FileRow(path, stamp, old.hash, old.recipe, old.facts, old.notes)


def create(
    index: Index,
    report: SyncReport,
    progress: Progress,
    allow_mass_delete: bool = False,
    look: Look = whole_project,
) -> list[ChunkLine] | None:
    """Update `chunks.jsonl` and the class tree to match the files that `look` finds.

    Return the written chunks; None if `chunks.jsonl` did not change.

    Raises:
        GuardTripped: too much would be deleted; nothing was written.
    """
    settings = index.settings
    is_current = index.catalogue.meta("chunks") == chunkfile.signature(index.folder) is not None
    known = index.catalogue.files() if is_current else {}
    found = look(index.files, {path: row.stamp for path, row in known.items()})
    index.files.settle(found)
    layout = _layout(index, found)
    same_layout = index.catalogue.meta("layout") == layout
    if same_layout and not _differs(found, known):
        _report_known(index, found, known, report)
        return None
    lines = _chunks_by_source(index, is_current, report)
    run = _Run(index, report, found, known, lines, related=not (same_layout and is_current))
    run.changed = run.related
    before = [source for source, group in run.lines.items() for _ in group]
    _read_changed(run, same_layout, progress)
    _drop_deleted(run)
    if run.changed and not allow_mass_delete:
        check_guard(before, {source for source, group in run.chunks.items() if group}, settings.index.guard_share)
    written = _write(run) if run.changed else None
    _remember(run, layout)
    _report_known(index, found, run.rows, report)
    return written


def _layout(index: Index, found: Scan) -> str:
    """Return a hash that changes when the same files would be read differently."""
    trees = [(path, entry.stamp) for path, entry in found.files.items() if path.endswith("tree.json")]
    embedding = index.settings.embedding.model_dump()
    return sha256(canonical_json([*_versions(), index.root.name, index.settings.sources, embedding, trees]))


def _versions() -> tuple[str, str]:
    """Return versions that change when the same text would give other chunks."""
    return CHUNKER_VERSION, redaction_version()


def _differs(found: Scan, known: Mapping[str, FileRow]) -> bool:
    is_deleted_meanwhile = any(not entry.stamp for entry in found.files.values())
    return is_deleted_meanwhile or bool(differing(found, {path: row.stamp for path, row in known.items()}))


def _chunks_by_source(index: Index, is_current: bool, report: SyncReport) -> dict[str, list[ChunkLine]]:
    try:
        chunks = chunkfile.read_lines(index.folder)
    except IndexDamaged as error:
        report.warnings.append(f"{error.message} All files were read again.")
        return {}
    if not is_current and chunks:
        report.warnings.append("chunks.jsonl changed since the last sync. All files were read again.")
    return {source: list(group) for source, group in groupby(chunks, key=lambda value: value.source)}


def _read_changed(run: _Run, same_layout: bool, progress: Progress) -> None:
    index = run.index
    project = SourceContext(list(run.scan.files), lambda path: _read_quietly(run, path))
    sources = SourceSet(project, index.settings.sources)
    tokens: TokenCounter | None = None
    for number, (path, entry) in enumerate(run.scan.files.items()):
        progress("reading", number, len(run.scan.files))
        old = run.known.get(path)
        if same_layout and old and entry.stamp and old.stamp == entry.stamp:
            run.rows[path] = old
            continue
        source = sources.owner(path)
        if source is None:
            run.rows[path] = FileRow(path, entry.stamp, "", "", "{}", "[]")
            if run.lines.pop(path, None) is not None:
                run.changed = run.related = True
            continue
        tokens = tokens or index.embedder.tokens()
        _read(run, entry, source, tokens)
    progress("reading", len(run.scan.files), len(run.scan.files))


def _recipe(index: Index, source: Source, path: str) -> str:
    """Return `<name of the source>:<hash>` of everything besides the text that determines a file's chunks."""
    rest = [*_versions(), source.fingerprint(path), index.settings.embedding.model_dump()]
    return f"{source.name}:{sha256(canonical_json(rest))[:16]}"


def _read_quietly(run: _Run, path: str) -> str | None:
    try:
        return run.index.files.read(run.scan.files[path], run.index.settings.index.max_file_bytes)
    except (Unreadable, KeyError):
        return None


def _read(run: _Run, entry: FileEntry, source: Source, tokens: TokenCounter) -> None:
    path, old = entry.path, run.known.get(entry.path)
    try:
        text = run.index.files.read(entry, run.index.settings.index.max_file_bytes)
    except Unreadable as error:
        # its chunks are kept; the marked stamp and the missing hash make the next sync read it again
        row = old or FileRow(path, "", "", "", "{}", "[]")
        notes = canonical_json([["failed", str(error)]])
        run.rows[path] = FileRow(path, UNREAD + entry.stamp, "", row.recipe, row.facts, notes)
        return
    seal, recipe = sha256(text), _recipe(run.index, source, path)
    remarks: list[list[str]] = []
    if old and old.hash == seal and old.recipe == recipe and path in run.lines:
        run.keep(path, entry.stamp)
        return
    text, secrets = redact(text)
    if secrets:
        remarks.append(["warning", f"{path}: secrets removed: {secrets}"])
    document, problem = source.forgiving(path, text)
    if problem:
        remarks.append(["failed", f"{problem}; the text was indexed without it"])
    if wrong := problem_of(document.front.get("valid_until")):
        remarks.append(["warning", f"{path}: {wrong}"])
    chunks, facts, warning = chunk(document, tokens)
    if warning:
        remarks.append(["warning", f"{path}: {warning}"])
    before = run.lines.pop(path, None)
    run.changed = True
    if old and before and _stands_alone(old, before[0].chunk, facts, chunks):
        relations = Relations(None, (), before[0].chunk.superseded_by)
        run.lines[path] = [completed(chunk, relations) for chunk in chunks]
    else:
        run.fresh[path] = chunks
        run.related = True
    members = {chunk.id: chunk.class_name for chunk in chunks if chunk.class_name}
    packed = pack(facts, members, digest(document))
    run.rows[path] = FileRow(path, entry.stamp, seal, recipe, packed, canonical_json(remarks))


def _stands_alone(old: FileRow, first: Chunk, facts: FileFacts, chunks: Sequence[Chunk]) -> bool:
    """Return whether an edit cannot affect other files: no classes, and the same names and title as before."""
    was, _ = unpack(old.facts)
    if facts.classes or was.classes or not old.recipe or not chunks:
        return False
    before = was.imports, was.exports, was.supersedes, first.title
    return before == (facts.imports, facts.exports, facts.supersedes, chunks[0].title)


def _drop_deleted(run: _Run) -> None:
    for path in {*run.lines, *(path for path, row in run.known.items() if row.recipe)}:
        if path not in run.scan.files and not run.scan.hides(path):
            run.lines.pop(path, None)  # an empty `__init__.py` has no chunks, and yet names a package
            run.changed = run.related = True
    for path, row in run.known.items():
        if path not in run.scan.files and run.scan.hides(path):
            run.rows[path] = row


def _write(run: _Run) -> list[ChunkLine]:
    """Write the desired state and return its chunks; write the class tree only if it may have changed."""
    if run.related:
        lines, hierarchy, replaced = _resolved(run)
        chunkfile.write_hierarchy(run.index.folder, hierarchy)
        run.described["circles"] = json.dumps(replaced.circles)
    else:
        lines = [line for source in sorted(run.lines) for line in run.lines[source]]
    chunkfile.write_chunks(run.index.folder, lines)
    return lines


def _resolved(run: _Run) -> tuple[list[ChunkLine], Hierarchy, Succession]:
    chunks = run.chunks
    unpacked = {path: unpack(row.facts) for path, row in run.rows.items() if path in chunks}
    facts = {path: part for path, (part, _) in unpacked.items()}
    members = {path: part for path, (_, part) in unpacked.items()}
    owned = [path for path, row in run.rows.items() if row.recipe]
    return assemble(chunks, facts, members, owned, run.index.root.name)


def _remember(run: _Run, layout: str) -> None:
    """Record the files that were read. This comes last: after a crash before it, the next sync reads them again."""
    known = run.known or run.index.catalogue.stamps()
    changed = [row for path, row in run.rows.items() if row is not run.known.get(path)]
    deleted = [path for path in known if path not in run.rows]
    signature = chunkfile.signature(run.index.folder)
    run.index.catalogue.replace_files(changed, deleted, chunks=signature, layout=layout, **run.described)


def _report_known(index: Index, found: Scan, rows: Mapping[str, FileRow], report: SyncReport) -> None:
    """Report the counts, and again the problems of files that were read earlier, because they still exist."""
    report.files = sum(1 for row in rows.values() if row.recipe)
    report.failed += found.unreadable
    report.skipped += found.refused
    for path, row in rows.items():
        for kind, text in json.loads(row.notes):
            if kind == "failed":
                report.failed.append(Problem(path, text))
            else:
                report.warnings.append(text)
    report.inventory = _counted(rows).record()
    counted = canonical_json(report.inventory)
    if index.catalogue.meta("inventory") != counted:
        index.catalogue.set_meta(inventory=counted)
    if not report.files:
        report.warnings.append(" ".join(NOTHING_TO_INDEX))
    circles = json.loads(index.catalogue.meta("circles") or "[]")
    if circles:
        report.warnings.append(f"These supersede each other, so they do not count as outdated: {_some(circles)}.")
    owners = {row.recipe.partition(":")[0] for row in rows.values()}
    for name, patterns in index.settings.sources.items():
        if patterns and name not in owners:
            report.warnings.append(f"The configured source `sources.{name}` does not match any file.")


def _counted(rows: Mapping[str, FileRow]) -> Inventory:
    """Return the files by type and language, and those without a source by extension."""
    types = {AgentFiles.name: str(AgentFiles.type), **{kind.name: str(kind.type) for kind in REGISTRY}}
    owners = {path: row.recipe.partition(":")[0] for path, row in rows.items()}
    owned = {path: types[owner] for path, owner in owners.items() if owner in types}
    return inventory(owned, [path for path, row in rows.items() if not row.recipe and not json.loads(row.notes)])


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
