"""Projects and their main documents, as results."""

from __future__ import annotations

from typing import Any

from lore_etl.core.errors import AccessDenied, GitError, InvalidPath, ProjectDeleteFailed, StorageError
from lore_server.knowledge.chapter_edit import Place
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.writer import Written
from lore_server.services.knowledge_library import Library

JSON = dict[str, Any]


class ProjectService:
    """Reads and writes main documents, by whole or by section."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def all(self) -> JSON:
        """The result of `list_projects`; looking opens nothing."""
        store = self._library.listed
        rows = [{"project_id": one.id, "has_main": store.files.exists(one.main_path)} for one in store.projects()]
        found = {"success": True, "current": self._library.current, "projects": rows, "count": len(rows)}
        return found | noted(self._library.note())

    def main(self, project_id: str | None, commit: str | None) -> JSON:
        """The result of `get_project_main`."""
        documents = self._library.documents(commit)
        main = documents.main(self._library.named(project_id))
        found = {
            "success": True,
            "project_id": main.project_id,
            "exists": main.exists,
            "content": main.content,
            "version": main.version,
        }
        return found | noted(self._library.note() if main.project_id == self._library.current else None)

    def write(self, project_id: str | None, content: str, expected: str | None, author: Author) -> JSON:
        """The result of `update_project_main`."""
        return written(self._library.store.write_main(self._library.named(project_id), content, author, expected))

    def update_section(
        self, project_id: str | None, header: str, content: str, expected: str | None, author: Author
    ) -> JSON:
        """The result of `update_project_section`."""
        name = self._library.named(project_id)
        return written(self._library.store.update_section(name, header, content, author, expected))

    def add_section(
        self,
        project_id: str | None,
        header: str,
        content: str,
        place: Place,
        reference: str | None,
        expected: str | None,
        author: Author,
    ) -> JSON:
        """The result of `add_project_section`."""
        name = self._library.named(project_id)
        return written(self._library.store.add_section(name, header, content, author, place, reference, expected))

    def remove_section(self, project_id: str | None, header: str, expected: str | None, author: Author) -> JSON:
        """The result of `remove_project_section`."""
        name = self._library.named(project_id)
        return written(self._library.store.remove_section(name, header, author, expected))

    def delete(self, project_id: str, author: Author) -> JSON:
        """The result of `delete_project`. Raises ProjectDeleteFailed where files cannot be removed."""
        try:
            done = written(self._library.store.delete_project(self._library.named(project_id), author))
        except (GitError, InvalidPath, AccessDenied):
            raise
        except StorageError as error:
            raise ProjectDeleteFailed(error.message) from error
        return {**done, "message": f"Project '{done['project_id']}' successfully deleted"}


def noted(note: str | None) -> JSON:
    """The field `note` of a result, if there is something to say."""
    return {"note": note} if note else {}


def written(done: Written) -> JSON:
    """The result of a write."""
    result = {
        "success": True,
        "project_id": done.project_id,
        "version": done.version,
        "commit": done.commit,
        "message": done.message,
    }
    return {**result, "filename": done.filename, "filepath": done.path} if done.filename else result
