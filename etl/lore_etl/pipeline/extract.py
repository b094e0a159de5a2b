"""Extract and transform: from files to `chunks.jsonl.gz`. Unchanged files are not read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from lore_etl.chunking import CHUNKER_VERSION
from lore_etl.core.dates import problem_of
from lore_etl.core.errors import CatalogueDamaged, IndexDamaged
from lore_etl.core.model import Chunk, Document, FileFacts, SyncReport, canonical_json, sha256
from lore_etl.core.progress import Announce, Progress, unannounced
from lore_etl.digest import digest
from lore_etl.files.conversion.convert import Postponed
from lore_etl.files.conversion.formats import CONVERSION_VERSION, format_of, readable
from lore_etl.files.conversion.marked_text import cuts
from lore_etl.files.generated import ATTRIBUTES, MARKERS_VERSION, PATTERNS
from lore_etl.files.indexed import differing
from lore_etl.files.redaction import redact, redaction_version
from lore_etl.files.scan import FileEntry, NotText, Scan, Unreadable
from lore_etl.index import Index
from lore_etl.pipeline.chunked import Chunked, all_chunked
from lore_etl.pipeline.edit_relations import edited
from lore_etl.pipeline.extraction import Extraction
from lore_etl.pipeline.file_claim import Claim, claim_of
from lore_etl.pipeline.guard import check_guard
from lore_etl.pipeline.resolve import assemble
from lore_etl.pipeline.summary import LEFT_OUT, WAITING, plan_of, report_files
from lore_etl.pipeline.usefulness import tier_of
from lore_etl.relations.classes import Hierarchy
from lore_etl.relations.supersession import Succession
from lore_etl.sources import REGISTRY, SourceSet
from lore_etl.sources.scripts import PROGRAMS
from lore_etl.sources.source import SourceContext
from lore_etl.stores import chunkfile
from lore_etl.stores.catalogue import UNREAD, FileRow
from lore_etl.stores.chunkfile import ChunkLine, Relations, WrittenChunks
from lore_etl.stores.file_facts import pack, unpack

PART = 0.5  # share of files up to which only the changed ones are compared

Find = Callable[[Mapping[str, str]], Scan]
Show = Callable[[list[ChunkLine]], None]
"""Make chunks searchable by keywords while a first sync reads further files."""


def create(
    index: Index,
    report: SyncReport,
    progress: Progress,
    allow_mass_delete: bool = False,
    find: Find | None = None,
    show: Show | None = None,
    announce: Announce = unannounced,
) -> WrittenChunks | None:
    """Update `chunks.jsonl.gz` and the class tree to match the project's files.

    `find` returns the present files and is given the known stamps; without it, and in a new index, all are looked for.
    Return the written chunks; None if `chunks.jsonl.gz` did not change.

    Raises:
        GuardTripped: too much would be deleted; nothing was written.
    """
    try:
        return _create(index, report, progress, allow_mass_delete, find, show, announce)
    except CatalogueDamaged:
        raise
    except IndexDamaged:  # damage that did not change the size and time of the file
        index.catalogue.set_meta(chunks=None)
        return _create(index, report, progress, allow_mass_delete, find, show, announce)


def _create(
    index: Index,
    report: SyncReport,
    progress: Progress,
    allow_mass_delete: bool,
    find: Find | None,
    show: Show | None,
    announce: Announce,
) -> WrittenChunks | None:
    catalogue, signature = index.catalogue, chunkfile.signature(index.folder)
    is_current = catalogue.meta("chunks") == signature is not None
    known = catalogue.files_without_facts() if is_current else {}
    stamps = {path: row.stamp for path, row in known.items()}
    progress("looking for files", 0, 0)
    found = find(stamps) if find and known else index.files.scan()
    index.files.settle(found)
    layout = _layout(index, found)
    same_layout = is_current and catalogue.meta("layout") == layout
    changed = _changed(found, known)
    if same_layout and not changed:
        report_files(index, found, known, report)
        return None
    if is_current:
        known |= catalogue.files(changed if same_layout else None)
    is_loaded = catalogue.metas("dirty", "loaded") == (None, signature)  # then the catalogue has the same chunks
    is_part = same_layout and is_loaded and len(changed) <= PART * len(known)
    lines = _recorded(index, changed) if is_part else _written(index, is_current, report)
    had = None if is_part else {path: len(group) for path, group in lines.items()}
    run = Extraction(index, report, found, known, lines, is_part, related=not same_layout, announce=announce)
    to_read = changed if same_layout else found.files.keys()
    _read_changed(run, to_read, progress, None if lines or known else show)
    _drop_deleted(run)
    written = None
    if run.touched or run.related:
        if not allow_mass_delete:
            check_guard(run, had)
        written = _write(run)
    _remember(run, layout)
    report_files(index, found, run.rows, report)
    return written


def _layout(index: Index, found: Scan) -> str:
    """Return a hash that changes whenever the same files would be read differently."""
    trees = [(path, entry.stamp) for path, entry in found.files.items() if path.endswith(("tree.json", ATTRIBUTES))]
    settings, embedding = index.settings, index.settings.embedding.model_dump()
    configured = [settings.sources, settings.index.include, embedding]
    return sha256(
        canonical_json([*_versions(), *_readers(), MARKERS_VERSION, _patterns(), index.root.name, configured, trees])
    )


def _versions() -> tuple[str, str]:
    """Return versions that change whenever the same text would produce different chunks."""
    return CHUNKER_VERSION, redaction_version()


def _readers() -> list[str]:
    """Return the document formats that can be read, which depend on the extras, and the version of their conversion."""
    return [CONVERSION_VERSION, *sorted(readable())]


def _patterns() -> list[tuple[str, tuple[str, ...]]]:
    """Return the patterns of the sources, because a new version of Lore may claim files that have not changed."""
    sources = ((kind.name, kind.patterns) for kind in REGISTRY)
    return [*sources, *PATTERNS.items(), ("scripts", tuple(sorted(PROGRAMS)))]


def _changed(found: Scan, known: Mapping[str, FileRow]) -> frozenset[str]:
    """Return the files to compare: those added, changed or deleted, even during the scan."""
    meanwhile = {path for path, entry in found.files.items() if not entry.stamp}
    return differing(found, {path: row.stamp for path, row in known.items()}) | meanwhile


def _recorded(index: Index, paths: Iterable[str]) -> dict[str, list[ChunkLine]]:
    """Return the chunks of these files that have any, from the catalogue."""
    groups = {path: [ChunkLine.of(chunk) for chunk in index.catalogue.of_source(path)] for path in paths}
    return {path: group for path, group in groups.items() if group}


def _written(index: Index, is_current: bool, report: SyncReport) -> dict[str, list[ChunkLine]]:
    """Return the chunks of all files, as written before."""
    try:
        chunks = chunkfile.read_lines(index.folder)
    except IndexDamaged as error:
        if is_current:
            raise
        report.warnings.append(f"{error.message} All files were read again.")
        return {}
    if not is_current and chunks:
        report.warnings.append("chunks.jsonl.gz changed since the last sync. All files were read again.")
    return chunkfile.by_source(chunks)


def _read_changed(run: Extraction, to_read: Collection[str], progress: Progress, show: Show | None) -> None:
    """Read and chunk these files, the most useful ones first; `show` receives their chunks in growing portions."""
    begun = dict[str, tuple[FileRow, list[list[str]]]]()
    documents = _documents(run, to_read, begun, progress)
    limits = run.index.limits
    waiting, chunks, shown, portion = list[str](), 0, 0, limits.first_words
    with closing(all_chunked(documents, run.index.tokens, len(to_read))) as results:
        for document, found in results:
            _keep(run, document, found, *begun.pop(document.source))
            waiting.append(document.source)
            chunks += len(found.lines)
            if show and chunks >= portion:
                _show(run, waiting, show)
                shown += chunks
                waiting, chunks, portion = [], 0, min(2 * portion, max(limits.more_words, shown // 4))
    if show and waiting and shown:  # before all chunks are written to their file, which takes a while
        _show(run, waiting, show)
    run.rows = dict(sorted(run.rows.items()))  # the report has the files in this order
    progress("reading", run.to_read, run.to_read)


def _show(run: Extraction, waiting: Collection[str], show: Show) -> None:
    """Make the chunks of these files searchable; few of their classes will change when other files are read."""
    run.lines |= chunkfile.by_source(_resolved(run, run.scan.files, waiting)[0])
    show([line for path in waiting for line in run.lines.get(path, ())])


def _recipe(index: Index, claim: Claim) -> str:
    """Return the name of the source, a hash of everything but the text that determines a file's chunks, and a script's
    suffix.

    They are separated by colons; only a script has a third part.
    """
    source, embedding = claim.source, index.settings.embedding.model_dump(exclude={"cache_mb"})
    hashed = sha256(canonical_json([*_versions(), source.fingerprint(claim.name), embedding]))[:16]
    return ":".join(filter(None, (source.name, hashed, claim.name.removeprefix(claim.entry.path))))


def _read_quietly(run: Extraction, path: str) -> str | None:
    try:
        return run.index.files.read(run.scan.files[path], run.index.settings.index.max_file_bytes)
    except (Unreadable, KeyError):
        return None


def _documents(
    run: Extraction,
    to_read: Collection[str],
    begun: dict[str, tuple[FileRow, list[list[str]]]],
    progress: Progress,
) -> Iterator[Document]:
    """Yield the documents to chunk, and put their rows and remarks into `begun`."""
    claims = _claims(run, to_read)
    run.to_read = len(claims)
    run.announce(plan_of(run, claims))
    for number, claim in enumerate(claims):
        progress("reading", number, len(claims))
        if found := _read(run, claim):
            begun[claim.entry.path] = found[1:]
            yield found[0]


def _claims(run: Extraction, to_read: Collection[str]) -> list[Claim]:
    """Return the claims of these files, the most useful ones first; keep the rows of the others."""
    settings = run.index.settings
    project = SourceContext(list(run.scan.files), lambda path: _read_quietly(run, path), settings.index.include)
    sources = SourceSet(project, settings.sources)
    found = list[Claim]()
    for path, entry in run.scan.files.items():
        if path not in to_read:
            run.rows[path] = run.known[path]
        elif claim := claim_of(run.index.files, sources, entry, run.known.get(path)):
            found.append(claim)
        else:
            _leave_out(run, entry, sources.left_out(path))
    return sorted(found, key=lambda claim: _turn(claim, run.known.get(claim.entry.path)))


def _turn(claim: Claim, known: FileRow | None) -> tuple[bool, int, bool]:
    """Return the sort key of a file: documents to convert come last, those first that have waited unchanged."""
    has_waited = known is not None and known.stamp == UNREAD + claim.entry.stamp
    return format_of(claim.entry.path) is not None, tier_of(claim.source.type), not has_waited


def _leave_out(run: Extraction, entry: FileEntry, reason: str = "") -> None:
    """Record a file that no source owns, with the reason if it is not that of its name."""
    notes = canonical_json([[LEFT_OUT, reason]] if reason else [])
    run.rows[entry.path] = FileRow(entry.path, entry.stamp, "", "", "{}", notes)
    if entry.path in run.lines:
        run.drop(entry.path)


def _read(run: Extraction, claim: Claim) -> tuple[Document, FileRow, list[list[str]]] | None:
    """Return a file's document with its row, still without facts, and remarks; None if it need not be chunked."""
    entry, path, old = claim.entry, claim.entry.path, run.known.get(claim.entry.path)
    try:
        text = run.index.files.read(entry, run.index.settings.index.max_file_bytes, run.converter.convert)
    except Unreadable as error:
        if isinstance(error, NotText) and claim.is_script:  # a program that only begins like a script
            _leave_out(run, entry)
            return None
        # its chunks are kept; the marked stamp and the missing hash make the next sync read it again
        row = old or FileRow(path, "", "", "", "{}", "[]")
        notes = canonical_json([[WAITING if isinstance(error, Postponed) else "failed", str(error)]])
        stamp = entry.stamp if error.is_final else UNREAD + entry.stamp
        run.rows[path] = FileRow(path, stamp, "", row.recipe, row.facts, notes)
        return None
    if reason := claim.source.left_out(path, text):
        _leave_out(run, entry, reason)
        return None
    seal, recipe = sha256(text), _recipe(run.index, claim)
    remarks: list[list[str]] = []
    if old and old.hash == seal and old.recipe == recipe and path in run.lines:
        run.keep(path, entry.stamp)
        return None
    text, secrets = redact(text)
    if format_of(path) and (cut := cuts(text.split("\n"))):
        remarks.append(["warning", f"{path}: {cut}"])
    if secrets:
        remarks.append(["warning", f"{path}: secrets removed: {secrets}"])
    document, problem = claim.source.read_leniently(claim.name, text)
    if claim.is_script:
        document = replace(document, source=path, title=path)
    if problem:
        remarks.append(["failed", f"{problem}; the text was indexed without it"])
    if wrong := problem_of(document.front.get("valid_until")):
        remarks.append(["warning", f"{path}: {wrong}"])
    return document, FileRow(path, entry.stamp, seal, recipe, "", ""), remarks


def _keep(run: Extraction, document: Document, found: Chunked, row: FileRow, remarks: list[list[str]]) -> None:
    path, old = document.source, run.known.get(document.source)
    if found.warning:
        remarks.append(["warning", f"{path}: {found.warning}"])
    before = run.lines.pop(path, None)
    run.touched.add(path)
    if before:
        run.before[path] = before
    lines, first = found.lines, before[0].chunk if before else None
    if old and first and lines and _stands_alone(old, first, found.facts, document.title):
        relations = Relations(None, (), first.superseded_by)
        lines = [line.related(relations) for line in lines]
    else:
        run.related = True
    run.lines[path] = lines
    packed = pack(found.facts, found.members, digest(document))
    run.rows[path] = replace(row, facts=packed, notes=canonical_json(remarks))


def _stands_alone(old: FileRow, first: Chunk, facts: FileFacts, title: str) -> bool:
    """Return whether an edit cannot affect other files: no classes, and the same names and title as before."""
    was, _ = unpack(old.facts)
    if facts.classes or was.classes or not old.recipe:
        return False
    return (was, first.title) == (replace(facts, members={}), title)


def _drop_deleted(run: Extraction) -> None:
    for path in {*run.lines, *(path for path, row in run.known.items() if row.recipe)}:
        if path not in run.scan.files and not run.scan.hides(path):
            run.drop(path)  # also an empty `__init__.py`: it has no chunks, and yet names a package
    for path, row in run.known.items():
        if path not in run.scan.files and run.scan.hides(path):
            run.rows[path] = row


def _write(run: Extraction) -> WrittenChunks:
    """Write the desired state and return its chunks; write the class tree only if it may have changed."""
    folder = run.index.folder
    if run.is_part:
        groups = edited(run) if run.related else {path: run.lines.get(path, []) for path in run.touched}
        if groups is not None:
            appended = chunkfile.update_chunks(folder, groups, int(run.index.catalogue.meta("appended") or 0))
            run.described["appended"] = str(appended)
            return WrittenChunks([line for path in sorted(groups) for line in groups[path]], frozenset(groups))
        run.widen()
    if run.related:
        lines, hierarchy, replaced = _resolved(run)
        chunkfile.write_hierarchy(folder, hierarchy)
        run.described["circles"] = json.dumps(replaced.circles)
    else:
        lines = [line for source in sorted(run.lines) for line in run.lines[source]]
    chunkfile.write_chunks(folder, lines)
    run.described["appended"] = "0"
    return WrittenChunks(lines)


def _resolved(
    run: Extraction, paths: Iterable[str] = (), only: Collection[str] | None = None
) -> tuple[list[ChunkLine], Hierarchy, Succession]:
    """Return all chunks, or only those of some files, with their relations to other files.

    `paths` are further files that can be imported.
    """
    known = run.index.catalogue.facts()  # rows of unchanged files have empty facts
    rows = {path: row for path, row in sorted(run.rows.items()) if row.recipe}
    unpacked = {path: unpack(row.facts or known[path]) for path, row in rows.items()}
    facts = {path: part for path, (part, _) in unpacked.items()}
    members = {path: part for path, (_, part) in unpacked.items()}
    return assemble(run.lines, facts, members, rows.keys() | paths, run.index.root.name, only)


def _remember(run: Extraction, layout: str) -> None:
    """Record the files that were read. It is the last step: after a crash before it, the next sync reads them again."""
    known = run.known or run.index.catalogue.stamps()
    changed = [row for path, row in run.rows.items() if row is not run.known.get(path)]
    deleted = [path for path in known if path not in run.rows]
    signature = chunkfile.signature(run.index.folder)
    run.index.catalogue.replace_files(changed, deleted, chunks=signature, layout=layout, **run.described)
