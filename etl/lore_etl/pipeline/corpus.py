"""Chunk, embed and load documents that are records instead of files."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from lore_etl.chunking import CHUNKER_VERSION
from lore_etl.core.model import Document, FileFacts, KnowledgeType, SyncReport, canonical_json, sha256
from lore_etl.core.progress import Progress, silent
from lore_etl.core.text import storable
from lore_etl.files.redaction import redact, redaction_version
from lore_etl.index import Index
from lore_etl.pipeline.chunked import chunked
from lore_etl.pipeline.extraction import Changes, Relations
from lore_etl.pipeline.sync import load_if_needed, run_steps
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext, syntax_of
from lore_etl.stores.catalogue_rows import ChunkRecord

_SUFFIXES = {"python": ".py", "javascript": ".js", "typescript": ".ts", "markdown": ".md"}


@dataclass(frozen=True)
class CorpusRecord:
    """A document of a corpus. With a `path` it is parsed like that file, with a `language` like such code."""

    id: str
    text: str
    title: str = ""
    path: str | None = None
    language: str | None = None


def load_records(
    index: Index, records: Sequence[CorpusRecord], progress: Progress = silent
) -> tuple[dict[str, str], SyncReport]:
    """Make the index contain exactly these records; return record id -> source in the index, and the report."""
    documents = _documents(records)
    sources = {record.id: document.source for record, document in zip(records, documents, strict=True)}

    def steps(report: SyncReport) -> None:
        index.prepare_model(progress)
        rows = [[found.source, found.type, found.title, found.syntax, found.text] for found in documents]
        stamp = sha256(canonical_json([CHUNKER_VERSION, redaction_version(), index.model, rows]))
        changes = None
        if index.catalogue.meta("corpus") != stamp:
            changes = _changes(index, documents, progress)
            changes.described["corpus"] = stamp
        load_if_needed(index, report, progress, changes)

    return sources, run_steps(index, steps)


def _changes(index: Index, documents: Sequence[Document], progress: Progress) -> Changes:
    """Return the chunks of these documents, in place of all others."""
    chunks, facts, tokens = list[ChunkRecord](), dict[str, FileFacts](), index.tokens()
    for number, document in enumerate(documents):
        progress("reading", number, len(documents))
        found = chunked(document, tokens)
        chunks += found.records
        facts[document.source] = found.facts
    progress("reading", len(documents), len(documents))
    relations = Relations(facts, facts.keys(), lambda: {found.source: found.title for found in documents}, "")
    return Changes(list(relations.related(chunks)), index.catalogue.paths(), classes=relations.tree.hierarchy)


def _documents(records: Sequence[CorpusRecord]) -> list[Document]:
    """Return the documents, each with a unique source, because several records may be parts of one file."""
    known = SourceSet(SourceContext([record.path or record.id for record in records], lambda path: None), {})
    documents: dict[str, Document] = {}
    numbers = defaultdict[str, Iterator[int]](lambda: count(1))  # a file may have thousands of records
    for record in records:
        document = _document(record, known)
        named = document.source
        names = (named if number == 1 else f"{named}#{number}" for number in numbers[named])
        source = next(name for name in names if name not in documents)
        title = source if document.title == document.source else document.title  # the title of code is its path
        documents[source] = replace(document, source=source, title=title)
    return list(documents.values())


def _document(record: CorpusRecord, known: SourceSet) -> Document:
    text = redact(record.text.replace("\r\n", "\n").replace("\r", "\n"))[0]
    title = storable(redact(record.title)[0])
    path = record.path
    owner = known.owner(path) if path else None
    if path and owner:
        return owner.read_leniently(path, text)[0]
    is_guess = path == record.id and title not in ("", path)  # an id with a dot or a slash, not a file name
    if path and not is_guess:
        return Document(path, KnowledgeType.SRC, text, path, syntax_of(path))
    if record.language:
        syntax = syntax_of(f"x{_SUFFIXES.get(record.language.casefold(), '')}")
        return Document(record.id, KnowledgeType.SRC, text, title, syntax)
    return Document(record.id, KnowledgeType.GUIDE, text, title, "plain")
