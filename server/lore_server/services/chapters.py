"""Read and write knowledge documents and their chapters, and return the results as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from lore_etl.core.dates import problem_of
from lore_server.knowledge.chapter_edit import (
    ChapterReference,
    NewChapter,
    Place,
    add_chapter,
    new_document,
    remove_chapter,
    rewrite,
    update_chapter,
)
from lore_server.knowledge.document import Chapter, Metadata
from lore_server.knowledge.reader import DocumentInfo, StoredDocument
from lore_server.knowledge.writer import WriteRequest
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import noted, written
from lore_server.services.superseded import Titled, outdated_among

if TYPE_CHECKING:
    from lore_server.replies import records


class ChapterService:
    """The operations on knowledge documents and on their chapters."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def files(self, *, project_id: str | None = None) -> records.KnowledgeFileListRecord:
        """Return the documents of a project."""
        name = self._library.named(project_id)
        found = self._library.store.listing.documents(name)
        outdated = outdated_among(Titled(document.filename, document.title, document.metadata) for document in found)
        rows = [_file_row(document, outdated.get(document.filename)) for document in found]
        note = noted(self._library.note() if name == self._library.current else None)
        return {"success": True, "project_id": name, "files": rows, "count": len(rows), **note}

    def file(
        self, *, filename: str, project_id: str | None = None, commit: str | None = None
    ) -> records.KnowledgeFileRecord:
        """Return a whole document, in its current state or as of a commit."""
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
        filename: str,
        title: str,
        introduction: str,
        keywords: Sequence[str],
        chapters: Sequence[Mapping[str, str]],
        supersedes: Sequence[str],
        request: WriteRequest,
        valid_until: str | None = None,
    ) -> records.KnowledgeWrittenRecord:
        store, name = self._library.store, self._library.named(request.project_id)
        parts = [NewChapter(chapter["title"], chapter["content"], chapter.get("summary", "")) for chapter in chapters]
        text = new_document(title, introduction, keywords, parts, store.now(), supersedes, valid_until)
        return written(store.create_document(name, filename, text, request.by))

    def write(self, *, filename: str, content: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Replace the text of a document."""
        return written(self._library.edit(request, filename, rewrite(content)))

    def delete(self, *, filename: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Delete a document; its history is kept."""
        name = self._library.named(request.project_id)
        return written(self._library.store.delete_document(name, filename, request.by, request.expected_version))

    def chapters(self, *, filename: str, project_id: str | None = None) -> records.ChapterListRecord:
        """Return the headings of a document."""
        found = self._found(project_id, filename)
        rows = [_row(chapter) for chapter in found.document.chapters]
        info = found.info
        return {
            "success": True,
            "project_id": info.project_id,
            "filename": info.filename,
            "version": info.version,
            "title": info.title,
            "chapters": rows,
            "count": len(rows),
        }

    def chapter(
        self,
        *,
        filename: str,
        project_id: str | None = None,
        chapter_title: str | None = None,
        chapter_index: int | None = None,
    ) -> records.OneChapterRecord:
        found = self._found(project_id, filename)
        chapter, info = found.document.chapter(chapter_title, chapter_index), found.info
        return {
            "success": True,
            "project_id": info.project_id,
            "filename": info.filename,
            "version": info.version,
            "chapter": {**_row(chapter), "content": chapter.content},
            "count": len(found.document.chapters),
        }

    def update(
        self,
        *,
        filename: str,
        new_content: str,
        request: WriteRequest,
        chapter_title: str | None = None,
        chapter_index: int | None = None,
        new_summary: str | None = None,
    ) -> records.KnowledgeWrittenRecord:
        """Replace the text of a chapter."""
        edit = update_chapter(ChapterReference(chapter_title, chapter_index), new_content, new_summary)
        return written(self._library.edit(request, filename, edit))

    def add(
        self,
        *,
        filename: str,
        chapter_title: str,
        content: str,
        position: Place,
        request: WriteRequest,
        summary: str | None = None,
        reference_chapter: str | None = None,
        reference_index: int | None = None,
    ) -> records.KnowledgeWrittenRecord:
        is_placed = reference_chapter is not None or reference_index is not None
        reference = ChapterReference(reference_chapter, reference_index) if is_placed else None
        edit = add_chapter(NewChapter(chapter_title, content, summary or ""), position, reference)
        return written(self._library.edit(request, filename, edit))

    def remove(
        self,
        *,
        filename: str,
        request: WriteRequest,
        chapter_title: str | None = None,
        chapter_index: int | None = None,
    ) -> records.KnowledgeWrittenRecord:
        """Remove a chapter with its sub-chapters."""
        edit = remove_chapter(ChapterReference(chapter_title, chapter_index))
        return written(self._library.edit(request, filename, edit))

    def _found(self, project_id: str | None, filename: str) -> StoredDocument:
        return self._library.store.reader.document(self._library.named(project_id), filename)


def metadata_of(title: str, metadata: Metadata) -> records.KnowledgeMetadataRecord:
    """Return the values of front matter."""
    record: records.KnowledgeMetadataRecord = {
        "title": title,
        "keywords": list(metadata.keywords),
        "created": metadata.created,
        "updated": metadata.updated,
    }
    if metadata.supersedes:
        record["supersedes"] = list(metadata.supersedes)
    if metadata.valid_until:
        record["valid_until"] = metadata.valid_until
    if problem := metadata.problem or problem_of(metadata.valid_until):
        record["problem"] = problem
    return record


def _file_row(info: DocumentInfo, outdated: records.OutdatedRecord | None) -> records.KnowledgeFileListFilesRecord:
    row = {
        "filename": info.filename,
        **metadata_of(info.title, info.metadata),
        **({"outdated": outdated} if outdated else {}),
        "chapters": info.chapters,
        "version": info.version,
        "bytes": info.bytes,
    }
    return cast("records.KnowledgeFileListFilesRecord", row)


def _row(chapter: Chapter) -> records.ChapterRecord:
    return {"index": chapter.index, "title": chapter.title, "level": chapter.level, "summary": chapter.summary}
