"""Read and write knowledge documents and their chapters, and save answers as documents."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import cast

from lore_etl.core.dates import problem_of
from lore_etl.core.headings import outline
from lore_etl.core.json_types import JSON
from lore_etl.core.text import one_line
from lore_etl.relations.supersession import succession
from lore_server.answer.kept_answers import KeptAnswer, KeptAnswers
from lore_server.knowledge import chapter_edit
from lore_server.knowledge.document import Chapter, Metadata
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.reader import DocumentInfo, StoredDocument
from lore_server.query.outdated import no_longer
from lore_server.replies import paging, records
from lore_server.replies.reply_text import span
from lore_server.services.knowledge_library import Library

LONGEST_NAME = 200
DAY = 10  # characters of a date
ORIGINS = {
    "synthesized": "A model wrote it from the passages below, as they were on that day",
    "extractive": "It quotes the passages below, as they were on that day",
    "structural": "It was looked up in the class tree, the history or a document",
}
_FENCE = re.compile(r"`{3,}")


class ChapterService:
    """The operations on knowledge documents and on their chapters."""

    def __init__(self, library: Library, kept: KeptAnswers) -> None:
        self._library = library
        self._kept = kept

    def files(self, *, project_id: str | None = None) -> records.KnowledgeFileListRecord:
        name = self._library.named(project_id)
        found = self._library.store.listing.documents(name)
        outdated = outdated_among({info.filename: (info.title, info.metadata) for info in found})
        rows = [paging.with_fields(_file_row(info), outdated=outdated.get(info.filename)) for info in found]
        note = self._library.note() if name == self._library.current else None
        reply = records.KnowledgeFileListRecord(success=True, project_id=name, files=rows, count=len(rows))
        return paging.with_fields(reply, note=note)

    def file(
        self, *, filename: str, project_id: str | None = None, commit: str | None = None
    ) -> records.KnowledgeFileRecord:
        found = self._library.documents(commit).document(self._library.named(project_id), filename)
        whole: records.KnowledgeFileDocumentRecord = {
            "filename": found.info.filename,
            "metadata": metadata_of(found.info.title, found.info.metadata),
            "introduction": found.document.introduction,
            "chapters": [{**_row(chapter), "content": chapter.content} for chapter in found.document.chapters],
            "full_content": found.document.text,
        }
        project, version = found.info.project_id, found.info.version
        return {"success": True, "project_id": project, "version": version, "document": whole}

    def create(
        self,
        *,
        title: str,
        introduction: str,
        keywords: Sequence[str],
        chapters: Sequence[Mapping[str, str]],
        supersedes: Sequence[str],
        request: WriteRequest,
        valid_until: str | None = None,
    ) -> records.KnowledgeWrittenRecord:
        parts = [chapter_edit.NewChapter(**chapter) for chapter in chapters]
        now = self._library.store.now()
        text = chapter_edit.new_document(title, introduction, keywords, parts, now, supersedes, valid_until)
        name = self._library.named(request.project_id)
        return self._library.store.create_document(name, request.filename, text, request.by)

    def save_answer(self, *, answer: str, title: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Create a document from a kept answer. Raises AnswerNotFound, FileExists, InvalidContent."""
        filename, text = answer_document(self._kept.whole(answer), title, self._library.store.now())
        name = self._library.named(request.project_id)
        return self._library.store.create_document(name, filename, text, request.by)

    def write(self, *, content: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        return self._library.edit(request, chapter_edit.rewrite(content))

    def delete(self, *, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Delete a document; its history is kept."""
        store, name = self._library.store, self._library.named(request.project_id)
        return store.delete_document(name, request.filename, request.by, request.expected_version)

    def chapters(self, *, filename: str, project_id: str | None = None) -> records.ChapterListRecord:
        found = self._found(project_id, filename)
        rows = [_row(chapter) for chapter in found.document.chapters]
        return cast("records.ChapterListRecord", _reply(found, title=found.info.title, chapters=rows, count=len(rows)))

    def chapter(
        self,
        *,
        filename: str,
        project_id: str | None = None,
        chapter_title: str | None = None,
        chapter_index: int | None = None,
    ) -> records.OneChapterRecord:
        found = self._found(project_id, filename)
        chapter = found.document.chapter(chapter_title, chapter_index)
        whole = {**_row(chapter), "content": chapter.content}
        return cast("records.OneChapterRecord", _reply(found, chapter=whole, count=len(found.document.chapters)))

    def update(
        self, *, new_content: str, request: WriteRequest, new_summary: str | None = None
    ) -> records.KnowledgeWrittenRecord:
        return self._library.edit(request, chapter_edit.update_part(_name(request), new_content, new_summary or ""))

    def add(
        self,
        *,
        content: str,
        position: chapter_edit.Place,
        request: WriteRequest,
        summary: str | None = None,
        reference_chapter: str | None = None,
        reference_index: int | None = None,
    ) -> records.KnowledgeWrittenRecord:
        is_placed = reference_chapter is not None or reference_index is not None
        reference = chapter_edit.ChapterName(reference_chapter, reference_index) if is_placed else None
        new = chapter_edit.ChapterName(request.chapter_title or "")
        return self._library.edit(request, chapter_edit.add_part(new, content, position, reference, summary or ""))

    def remove(self, *, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        return self._library.edit(request, chapter_edit.remove_part(_name(request)))

    def _found(self, project_id: str | None, filename: str) -> StoredDocument:
        return self._library.store.reader.document(self._library.named(project_id), filename)


def _name(request: WriteRequest) -> chapter_edit.ChapterName:
    return chapter_edit.ChapterName(request.chapter_title, request.chapter_index)


def _reply(found: StoredDocument, **fields: object) -> JSON:
    info = found.info
    about = {"success": True, "project_id": info.project_id, "filename": info.filename, "version": info.version}
    return {**about, **fields}


def metadata_of(title: str, metadata: Metadata) -> records.KnowledgeMetadataRecord:
    record: records.KnowledgeMetadataRecord = {
        "title": title,
        "keywords": list(metadata.keywords),
        "created": metadata.created,
        "updated": metadata.updated,
    }
    problem = metadata.problem or problem_of(metadata.valid_until)
    return paging.with_fields(
        record, supersedes=list(metadata.supersedes), valid_until=metadata.valid_until, problem=problem
    )


def outdated_among(documents: Mapping[str, tuple[str, Metadata]]) -> dict[str, records.OutdatedRecord]:
    """Return which documents are outdated today, and why. They are given by file name, with title and front matter."""
    today = datetime.date.today()
    replaced = succession(
        {name: metadata.supersedes for name, (_, metadata) in documents.items() if metadata.supersedes},
        {name: title for name, (title, _) in documents.items()},
    )
    known = {
        name: no_longer(replaced.successor.get(name), metadata.valid_until, today)
        for name, (_, metadata) in documents.items()
    }
    return {name: outdated for name, outdated in known.items() if outdated}


def _file_row(info: DocumentInfo) -> records.KnowledgeFileListFilesRecord:
    known = {"chapters": info.chapters, "version": info.version, "bytes": info.bytes}
    row = {"filename": info.filename, **metadata_of(info.title, info.metadata), **known}
    return cast("records.KnowledgeFileListFilesRecord", row)


def _row(chapter: Chapter) -> records.ChapterRecord:
    return {"index": chapter.index, "title": chapter.title, "level": chapter.level, "summary": chapter.summary}


def answer_document(kept: KeptAnswer, title: str, now: str) -> tuple[str, str]:
    """Return the file name, which has no slashes because these would name a folder, and the text of the document."""
    followed = f" (searched: {kept.question})" if kept.question != kept.asked else ""
    start = f"Answer of {now[:DAY]} to the question: {one_line(kept.asked)}{followed}\n\n{ORIGINS[kept.reply['mode']]}."
    chapters = [chapter_edit.NewChapter("Answer", _without_headings(kept.reply["answer"]))]
    if sources := "\n\n".join(_source(citation) for citation in kept.reply["citations"]):
        chapters.append(chapter_edit.NewChapter(f"Sources as of {now[:DAY]}", sources))
    text = chapter_edit.new_document(title, start, [], chapters, now)
    return re.sub(r"[/\\]+", " ", title)[:LONGEST_NAME], text


def _source(citation: records.CitationRecord) -> str:
    """Return a citation: its number, file and lines, and the quote in a fence that the quote does not contain."""
    fence = "`" * (1 + max((len(run) for run in _FENCE.findall(citation["quote"])), default=2))
    heading = f" {citation['heading']}" if citation["heading"] else ""
    place = f"[{citation['n']}] `{one_line(citation['source'])}:{span(citation['lines'])}`{heading}"
    return f"{place}\n\n{fence}\n{citation['quote']}\n{fence}"


def _without_headings(text: str) -> str:
    """Return a text with its headings as bold lines, because a heading would begin another chapter."""
    found = outline(text)
    for heading in found.headings:
        found.lines[heading.line] = f"**{heading.title}**\n" if heading.title else "\n"
    return "".join(found.lines)
