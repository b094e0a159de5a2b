"""Knowledge documents and their chapters, as results."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lore_etl.core.dates import problem_of
from lore_server.knowledge.chapter_edit import NewChapter, Place, Which
from lore_server.knowledge.document import Chapter
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.metadata import Metadata
from lore_server.knowledge.reader import StoredDocument
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import written
from lore_server.services.superseded import Titled, outdated_among

JSON = dict[str, Any]


class ChapterService:
    """Reads and writes documents, by whole or by chapter."""

    def __init__(self, library: Library, today: Callable[[], datetime.date] = datetime.date.today) -> None:
        self._library = library
        self._today = today

    def files(self, project_id: str | None) -> JSON:
        """The result of `list_knowledge_files`."""
        name = self._library.named(project_id)
        found = self._library.store.documents(name)
        outdated = outdated_among((Titled(one.filename, one.title, one.metadata) for one in found), self._today())
        rows = [
            {
                "filename": one.filename,
                **metadata_of(one.title, one.metadata),
                **({"outdated": outdated[one.filename]} if one.filename in outdated else {}),
                "chapters": one.chapters,
                "version": one.version,
                "bytes": one.bytes,
            }
            for one in found
        ]
        return {"success": True, "project_id": name, "files": rows, "count": len(rows)}

    def file(self, project_id: str | None, filename: str, commit: str | None) -> JSON:
        """The result of `get_knowledge_file`."""
        found = self._library.documents(commit).document(self._library.named(project_id), filename)
        whole = {
            "filename": found.info.filename,
            "metadata": metadata_of(found.info.title, found.info.metadata),
            "introduction": found.document.introduction,
            "chapters": [{**_row(one), "content": one.content} for one in found.document.chapters],
            "full_content": found.document.text,
        }
        project, version = found.info.project_id, found.info.version
        return {"success": True, "project_id": project, "version": version, "document": whole}

    def create(
        self,
        project_id: str | None,
        filename: str,
        title: str,
        introduction: str,
        keywords: Sequence[str],
        chapters: Sequence[Mapping[str, str]],
        supersedes: Sequence[str],
        valid_until: str | None,
        author: Author,
    ) -> JSON:
        """The result of `create_knowledge_file`."""
        parts = tuple(NewChapter(one["title"], one["content"], one.get("summary", "")) for one in chapters)
        done = self._library.store.create_document(
            self._library.named(project_id), filename, title, introduction, tuple(keywords), parts, author,
            tuple(supersedes), valid_until,
        )  # fmt: skip
        return written(done)

    def write(self, project_id: str | None, filename: str, content: str, expected: str | None, author: Author) -> JSON:
        """The result of `write_knowledge_file`."""
        name = self._library.named(project_id)
        return written(self._library.store.write_document(name, filename, content, author, expected))

    def delete(self, project_id: str | None, filename: str, expected: str | None, author: Author) -> JSON:
        """The result of `delete_knowledge_file`."""
        name = self._library.named(project_id)
        return written(self._library.store.delete_document(name, filename, author, expected))

    def chapters(self, project_id: str | None, filename: str) -> JSON:
        """The result of `list_chapters`."""
        found = self._found(project_id, filename)
        rows = [_row(one) for one in found.document.chapters]
        return {**_head(found), "title": found.info.title, "chapters": rows, "count": len(rows)}

    def chapter(self, project_id: str | None, filename: str, which: Which) -> JSON:
        """The result of `get_chapter`."""
        found = self._found(project_id, filename)
        one = found.document.chapter(which.title, which.index)
        return {**_head(found), "chapter": {**_row(one), "content": one.content}, "count": len(found.document.chapters)}

    def update(
        self,
        project_id: str | None,
        filename: str,
        which: Which,
        content: str,
        summary: str | None,
        expected: str | None,
        author: Author,
    ) -> JSON:
        """The result of `update_chapter`."""
        name = self._library.named(project_id)
        return written(self._library.store.update_chapter(name, filename, which, content, author, summary, expected))

    def add(
        self,
        project_id: str | None,
        filename: str,
        chapter: NewChapter,
        place: Place,
        reference: Which | None,
        expected: str | None,
        author: Author,
    ) -> JSON:
        """The result of `add_chapter`."""
        name = self._library.named(project_id)
        return written(self._library.store.add_chapter(name, filename, chapter, author, place, reference, expected))

    def remove(self, project_id: str | None, filename: str, which: Which, expected: str | None, author: Author) -> JSON:
        """The result of `remove_chapter`."""
        name = self._library.named(project_id)
        return written(self._library.store.remove_chapter(name, filename, which, author, expected))

    def _found(self, project_id: str | None, filename: str) -> StoredDocument:
        return self._library.store.document(self._library.named(project_id), filename)


def metadata_of(title: str, metadata: Metadata) -> JSON:
    """What front matter says, in the seed's fields and ours."""
    more: JSON = {"supersedes": list(metadata.supersedes)} if metadata.supersedes else {}
    more |= {"valid_until": metadata.valid_until} if metadata.valid_until else {}
    problem = metadata.problem or problem_of(metadata.valid_until)
    more |= {"problem": problem} if problem else {}
    return {
        "title": title,
        "keywords": list(metadata.keywords),
        "created": metadata.created,
        "updated": metadata.updated,
        **more,
    }


def _head(found: StoredDocument) -> JSON:
    info = found.info
    return {"success": True, "project_id": info.project_id, "filename": info.filename, "version": info.version}


def _row(chapter: Chapter) -> JSON:
    return {
        "index": chapter.index,
        "title": chapter.title,
        "level": chapter.level,
        "summary": chapter.summary,
    }
