"""Extract and transform: from files to chunks. Unchanged files are not read again."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from lore_etl.chunking import CHUNKER_VERSION, chunk
from lore_etl.core.dates import problem_of
from lore_etl.core.model import Chunk, Document, FileFacts, SyncReport, canonical_json, sha256
from lore_etl.core.progress import Announce, Progress, ignore
from lore_etl.digest import digest
from lore_etl.files.conversion.convert import CONVERSION_VERSION, Converter, Postponed, format_of, readable
from lore_etl.files.conversion.marked_text import cuts
from lore_etl.files.generated import ATTRIBUTES, MARKERS_VERSION, PATTERNS
from lore_etl.files.ignore import Included
from lore_etl.files.indexed import differing
from lore_etl.files.redaction import redact, redaction_version
from lore_etl.files.scan import FileEntry, NotText, Scan, Unreadable
from lore_etl.index import Index
from lore_etl.pipeline.chunked import Chunked, all_chunked
from lore_etl.pipeline.extraction import (
    LEFT_OUT,
    TIER,
    WAITING,
    Changes,
    Claim,
    Extraction,
    Relations,
    check_guard,
    claim_of,
    plan_of,
    report_files,
)
from lore_etl.relations.classes import Hierarchy
from lore_etl.sources.kinds import KINDS, SourceSet
from lore_etl.sources.source import PROGRAMS, SourceContext
from lore_etl.stores.catalogue import COUNT, TITLE, UNREAD, FileRow
from lore_etl.stores.catalogue_rows import ChunkRecord, pack, pack_uses, targets, unpack

Find = Callable[[Mapping[str, str]], Scan]
Show = Callable[[list[ChunkRecord]], None]  # makes chunks searchable while a first sync reads further files


def extract(
    index: Index,
    report: SyncReport,
    progress: Progress,
    allow_mass_delete: bool = False,
    find: Find | None = None,
    show: Show | None = None,
    announce: Announce = ignore,
) -> Changes | None:
    """Return the changes that make the index match the project's files; None if no chunk has changed.

    `find` is given the known stamps; without it, and in a new index, all files are looked for. Raises GuardTripped.
    """
    catalogue = index.catalogue
    layout = catalogue.meta("layout")
    known = catalogue.files_without_facts() if layout is not None else {}
    stamps = {path: row.stamp for path, row in known.items()}
    progress("looking for files", 0, 0)
    found = find(stamps) if find and known else index.files.scan()
    index.files.settle(found)
    now = _layout(index, found)
    changed = differing(found, stamps) | {path for path, entry in found.files.items() if not entry.stamp}
    if layout == now and not changed:
        report_files(index, found, known, report)
        return None
    known |= catalogue.files(changed if layout == now else None) if known else {}
    stored = {path for path, row in known.items() if row.recipe} if known else catalogue.of_sources(COUNT).keys()
    run = Extraction(index, report, found, known, stored, layout == now, Converter(index.limits.conversion))
    run.related = not run.same_layout
    claims = _claims(run, changed if run.same_layout else found.files.keys())
    announce(plan_of(run, claims))
    _read_changed(run, claims, progress, None if stored else show)
    _drop_deleted(run)
    if run.touched or run.related:
        check_guard(run, 1 if allow_mass_delete else index.settings.index.guard_share)
    changes = _changes(run, now)
    report_files(index, found, run.rows, report, run.described.get("circles"))
    return changes


def _layout(index: Index, found: Scan) -> str:
    """Return a hash of how files are read: a new version may claim unchanged ones, and an extra read more documents."""
    trees = [(path, entry.stamp) for path, entry in found.files.items() if path.endswith(("tree.json", ATTRIBUTES))]
    sources = [(kind.name, kind.patterns) for kind in KINDS.values()]
    patterns = [*sources, *PATTERNS.items(), ("scripts", tuple(sorted(PROGRAMS)))]
    settings = index.settings
    configured = [settings.sources, settings.index.include, settings.embedding.model_dump()]
    versions = [CHUNKER_VERSION, redaction_version(), CONVERSION_VERSION, *sorted(readable()), MARKERS_VERSION]
    return sha256(canonical_json([*versions, patterns, index.root.name, configured, trees]))


def _read_changed(run: Extraction, claims: Sequence[Claim], progress: Progress, show: Show | None) -> None:
    """Read and chunk these files in their order; `show` receives their chunks in growing portions."""
    documents = _documents(run, claims, progress)
    limits = run.index.limits
    waiting, chunks, shown, portion = list[str](), 0, 0, limits.first_words
    with closing(all_chunked(documents, run.index.tokens, len(claims))) as results:
        for document, found in results:
            _keep(run, document, found, *run.begun.pop(document.source))
            waiting.append(document.source)
            chunks += len(found.records)
            if show and chunks >= portion:
                _show(run, waiting, show)
                shown += chunks
                waiting, chunks, portion = [], 0, min(2 * portion, max(limits.more_words, shown // 4))
    if show and waiting and shown:  # before all chunks are written to their file, which takes a while
        _show(run, waiting, show)
    run.rows = dict(sorted(run.rows.items()))  # the report has the files in this order
    progress("reading", len(claims), len(claims))


def _show(run: Extraction, waiting: Collection[str], show: Show) -> None:
    """Make the chunks of these files searchable; few of their classes will change when other files are read."""
    relations = _relations(run, {}, run.scan.files)
    for path in waiting:
        run.chunks[path] = list(relations.related(run.chunks[path]))
    show([record for path in waiting for record in run.chunks[path]])


def _recipe(index: Index, claim: Claim) -> str:
    """Return `source:hash`, of scripts `source:hash:suffix`; the hash covers what determines chunks except the text."""
    source, embedding = claim.source, index.settings.embedding.model_dump(exclude={"cache_mb"})
    versions = CHUNKER_VERSION, redaction_version()
    hashed = sha256(canonical_json([*versions, source.fingerprint(claim.name), embedding]))[:16]
    return ":".join(filter(None, (source.kind.name, hashed, claim.name.removeprefix(claim.entry.path))))


def _documents(run: Extraction, claims: Sequence[Claim], progress: Progress) -> Iterator[Document]:
    """Yield the documents to chunk, and put their rows and remarks into `run.begun`."""
    for number, claim in enumerate(claims):
        progress("reading", number, len(claims))
        if found := _read(run, claim):
            run.begun[claim.entry.path] = found[1:]
            yield found[0]


def _claims(run: Extraction, to_read: Collection[str]) -> list[Claim]:
    """Return the claims of these files, the most useful ones first; keep the rows of the others."""
    settings = run.index.settings

    def read(path: str) -> str | None:
        try:
            return run.index.files.read(run.scan.files[path], settings.index.max_file_bytes)
        except (Unreadable, KeyError):
            return None

    include = Included(settings.index.include)
    sources = SourceSet(SourceContext(list(run.scan.files), read, include), settings.sources)
    found = list[Claim]()
    for path, entry in run.scan.files.items():
        if path not in to_read:
            run.rows[path] = run.known[path]
        elif claim := claim_of(run.index.files, sources, entry, run.known.get(path)):
            found.append(claim)
        else:
            _leave_out(run, entry, sources.left_out(path))

    def turn(claim: Claim) -> tuple[bool, int, bool]:
        known = run.known.get(claim.entry.path)
        has_waited = known is not None and known.stamp == UNREAD + claim.entry.stamp
        return format_of(claim.entry.path) is not None, TIER[claim.source.kind.type], not has_waited

    return sorted(found, key=turn)  # documents to convert come last, those first that have waited unchanged


def _leave_out(run: Extraction, entry: FileEntry, reason: str = "") -> None:
    """Record a file that no source owns, with the reason if it is not that of its name."""
    notes = canonical_json([[LEFT_OUT, reason]] if reason else [])
    run.rows[entry.path] = FileRow(entry.path, entry.stamp, "", "", "{}", notes)
    if entry.path in run.stored:
        run.drop(entry.path)


def _read(run: Extraction, claim: Claim) -> tuple[Document, FileRow, list[list[str]]] | None:
    """Return a file's document with its row, still without facts, and remarks; None if it need not be chunked."""
    entry, path, old = claim.entry, claim.entry.path, run.known.get(claim.entry.path)
    try:
        text = run.index.files.read(entry, run.index.settings.index.max_file_bytes, run.converter)
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
    if old and old.hash == seal and old.recipe == recipe:
        run.rows[path] = old._replace(stamp=entry.stamp)
        return None
    text, secrets = redact(text)
    if format_of(path) and (cut := cuts(text.split("\n"))):
        remarks.append(["warning", f"{path}: {cut}"])
    if secrets:
        remarks.append(["warning", f"{path}: secrets removed: {secrets}"])
    document, problem = _document(claim, text)
    if problem:
        remarks.append(["failed", f"{problem}; the text was indexed without it"])
    if wrong := problem_of(document.front.values.get("valid_until")):
        remarks.append(["warning", f"{path}: {wrong}"])
    return document, FileRow(path, entry.stamp, seal, recipe, "", ""), remarks


def _document(claim: Claim, text: str) -> tuple[Document, str | None]:
    document, problem = claim.source.read_leniently(claim.name, text)
    path = claim.entry.path
    return (replace(document, source=path, title=path) if claim.is_script else document), problem


def current_chunks(index: Index, path: str) -> list[Chunk]:
    """Return the chunks of an indexed file as it is now; none if a sync would not read it."""
    files, catalogue, settings = index.files, index.catalogue, index.settings
    stamp, known = files.stamps([path]).get(path), catalogue.files([path]).get(path)
    sources = SourceSet(SourceContext(catalogue.paths(), lambda path: None), settings.sources)
    entry = FileEntry(path, 0, stamp or "")
    claim = claim_of(files, sources, entry, known) if stamp and not files.is_skipped(path) else None
    if claim is None:
        return []
    try:
        text = redact(files.read(entry, settings.index.max_file_bytes))[0]
    except Unreadable:
        return []
    return chunk(_document(claim, text)[0], index.tokens())[0]


def _keep(run: Extraction, document: Document, found: Chunked, row: FileRow, remarks: list[list[str]]) -> None:
    path, old = document.source, run.known.get(document.source)
    if found.warning:
        remarks.append(["warning", f"{path}: {found.warning}"])
    run.touched.add(path)
    run.chunks[path], run.uses[path] = found.records, found.facts.uses
    if relations := _kept_relations(run, old, found, document.title):
        run.chunks[path] = [record.related(relations) for record in found.records]
    else:
        run.related = True
    run.rows[path] = row._replace(facts=pack(found.facts, digest(document)), notes=canonical_json(remarks))


def _kept_relations(run: Extraction, old: FileRow | None, found: Chunked, title: str) -> str | None:
    """Return the relations of the chunks before, if an edit without classes keeps names and title; else None."""
    if run.related or old is None or not old.recipe or not found.records:
        return None
    was = unpack(old.facts)
    if found.facts.classes or was != replace(found.facts, members={}, uses={}):
        return None
    if found.facts.uses.keys() != targets(run.index.catalogue.uses([old.path]).get(old.path, "{}")).keys():
        return None
    first = next(run.index.catalogue.records([old.path], "source"), None)
    return first.relations if first and first.chunk.title == title else None


def _drop_deleted(run: Extraction) -> None:
    for path in run.stored:
        if path not in run.scan.files and not run.scan.hides(path):
            run.drop(path)  # also an empty `__init__.py`: it has no chunks, and yet names a package
    for path, row in run.known.items():
        if path not in run.scan.files and run.scan.hides(path):
            run.rows[path] = row


def _changes(run: Extraction, layout: str) -> Changes | None:
    """Return the changes, with the relations of all chunks; if no chunk has changed, only record the files."""
    known = run.known or run.index.catalogue.stamps()
    files = [row for path, row in run.rows.items() if row is not run.known.get(path)]
    gone = [path for path in known if path not in run.rows]
    run.described["layout"] = layout
    if not run.touched and not run.related:
        run.index.catalogue.apply((), (), files, gone, None, {}, **run.described)
        return None
    if run.related:
        others, classes, used = _relate(run)
    else:  # no name of a definition or a use has changed
        others, classes, stored = [], None, run.index.catalogue.uses(run.uses)
        used = {path: pack_uses(names, targets(stored[path]).get) for path, names in run.uses.items() if names}
    chunks = [record for path in sorted(run.chunks) for record in run.chunks[path]] + others
    is_whole = run.touched >= {path for path, row in run.rows.items() if row.recipe}
    return Changes(chunks, run.touched, files, gone, classes, used, run.described, is_whole)


def _relate(run: Extraction) -> tuple[list[ChunkRecord], Hierarchy | None, dict[str, str]]:
    """Relate the touched files' chunks; return others whose relations changed, and the tree and uses if changed."""
    catalogue = run.index.catalogue
    recorded = {path: unpack(facts) for path, facts in catalogue.facts().items()}
    relations = _relations(run, recorded)
    for path, records in run.chunks.items():
        run.chunks[path] = list(relations.related(records))
    run.described["circles"] = json.dumps(relations.succession.circles)
    others = {path for path, row in run.rows.items() if row.recipe} - run.touched
    is_moved = run.same_layout and _only_lines_differ(run, recorded)
    if is_moved and not any(facts.supersedes for facts in recorded.values()):
        others = set()
    elif run.same_layout and others:
        then = {path: recorded[path] for path, row in sorted(run.known.items()) if row.recipe}
        titles = partial(catalogue.of_sources, TITLE)
        others &= relations.affected(Relations(then, then.keys(), titles, run.index.root.name))
    before = list(catalogue.records(sorted(others), "source"))
    after = list(relations.related(before))
    tree = relations.tree.hierarchy
    is_same = run.same_layout and run.index.hierarchy.nodes == tree.nodes
    used = {path: pack_uses(names, partial(relations.tree.target, path)) for path, names in run.uses.items()}
    for path, packed in catalogue.uses().items() if not is_moved else ():
        if path not in run.touched and path in run.rows:
            now = pack_uses(json.loads(packed), partial(relations.tree.target, path))
            used |= {path: now} if now != packed else {}
    return [new for new, old in zip(after, before, strict=True) if new is not old], None if is_same else tree, used


def _only_lines_differ(run: Extraction, recorded: Mapping[str, FileFacts]) -> bool:
    """Return whether the touched files have the same facts as before, except for the lines of classes."""
    if not run.touched <= recorded.keys() & run.rows.keys():
        return False
    now = {path: unpack(run.rows[path].facts) for path in run.touched}
    return all(_without_lines(recorded[path]) == _without_lines(facts) for path, facts in now.items())


def _without_lines(facts: FileFacts) -> FileFacts:
    return replace(facts, classes=tuple(replace(class_, lines=(0, 0)) for class_ in facts.classes))


def _relations(run: Extraction, recorded: Mapping[str, FileFacts], paths: Iterable[str] = ()) -> Relations:
    """Resolve classes and supersession; `recorded` has facts of unchanged files, `paths` more files to import from."""
    rows = {path: row for path, row in sorted(run.rows.items()) if row.recipe}
    facts = {path: unpack(row.facts) if row.facts else recorded[path] for path, row in rows.items()}

    def titles() -> dict[str, str]:
        stored = run.index.catalogue.of_sources(TITLE).items()
        kept = {path: title for path, title in stored if path in rows and path not in run.touched}
        return kept | {path: records[0].chunk.title for path, records in run.chunks.items() if records}

    return Relations(facts, rows.keys() | paths, titles, run.index.root.name)
