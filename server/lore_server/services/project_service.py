"""Read and write projects and their main documents, and return the results as records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from lore_etl.core.errors import AccessDenied, GitError, InvalidPath, ProjectDeleteFailed, StorageError
from lore_server.knowledge import chapter_edit
from lore_server.knowledge.chapter_edit import Place
from lore_server.knowledge.writer import WriteRequest, Written
from lore_server.services.knowledge_library import Library

if TYPE_CHECKING:
    from lore_server.replies import records


class ProjectService:
    """The operations on projects, their main documents and the sections of main documents."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def all(self) -> records.ProjectListRecord:
        """Return all projects, without opening any of them."""
        store = self._library.listed
        rows: list[records.ProjectListProjectsRecord] = [
            {"project_id": project.id, "has_main": store.files.exists(project.main_path)}
            for project in store.reader.projects()
        ]
        current, note = self._library.current, noted(self._library.note())
        return {"success": True, "current": current, "projects": rows, "count": len(rows), **note}

    def main(self, *, project_id: str | None = None, commit: str | None = None) -> records.MainDocumentRecord:
        """Return a main document, in its current state or as of a commit."""
        documents = self._library.documents(commit)
        main = documents.main(self._library.named(project_id))
        return {
            "success": True,
            "project_id": main.project_id,
            "exists": main.exists,
            "content": main.content,
            "version": main.version,
            **noted(self._library.note() if main.project_id == self._library.current else None),
        }

    def write(self, *, content: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Replace or create a main document."""
        name = self._library.named(request.project_id)
        return written(self._library.store.write_main(name, content, request.by, request.expected_version))

    def update_section(
        self, *, section_header: str, new_content: str, request: WriteRequest
    ) -> records.KnowledgeWrittenRecord:
        """Replace the text of a section."""
        return written(self._library.edit(request, None, chapter_edit.update_section(section_header, new_content)))

    def add_section(
        self,
        *,
        section_header: str,
        content: str,
        position: Place,
        request: WriteRequest,
        reference_header: str | None = None,
    ) -> records.KnowledgeWrittenRecord:
        edit = chapter_edit.add_section(section_header, content, position, reference_header)
        return written(self._library.edit(request, None, edit))

    def remove_section(self, *, section_header: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        return written(self._library.edit(request, None, chapter_edit.remove_section(section_header)))

    def delete(self, *, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Delete a project. Raises ProjectDeleteFailed if files cannot be removed."""
        name = self._library.named(request.project_id)
        try:
            done = written(self._library.store.delete_project(name, request.by))
        except (GitError, InvalidPath, AccessDenied):
            raise
        except StorageError as error:
            raise ProjectDeleteFailed(error.message) from error
        return {**done, "message": f"Project '{done['project_id']}' successfully deleted"}


class Noted(TypedDict):
    """The field `note` of a reply."""

    note: NotRequired[str]


def noted(note: str | None) -> Noted:
    """Return the field `note` of a reply, if there is a note."""
    return {"note": note} if note else {}


def written(done: Written) -> records.KnowledgeWrittenRecord:
    record: records.KnowledgeWrittenRecord = {
        "success": True,
        "project_id": done.project_id,
        "version": done.version,
        "commit": done.commit,
        "message": done.message,
    }
    return {**record, "filename": done.filename, "filepath": done.path} if done.filename else record
