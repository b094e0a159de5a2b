"""The knowledge folder as its callers see it: reading, writing, history, remote. Every write is one commit."""

from __future__ import annotations

from lore_etl.core.errors import FileExists
from lore_server.knowledge import chapter_edit, limits, sections
from lore_server.knowledge.chapter_edit import NewChapter, Place, Which
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.history import Changes
from lore_server.knowledge.maintenance import Upkeep
from lore_server.knowledge.names import document_name
from lore_server.knowledge.registry import INDEX, index_with, index_with_use
from lore_server.knowledge.writer import Written, file_name


class KnowledgeStore(Upkeep):
    """Projects with their documents in a folder under git. Threads and processes may share the folder.

    Reading is in `Shelf`, history and remote in `Upkeep`. Every write may raise InvalidProjectId, InvalidFilename,
    InvalidContent, Conflict (`expected_version` is not what is there), Busy, InvalidPath, StorageError or GitError;
    what each raises besides stands there.
    """

    # --- main documents ----------------------------------------------------------------------------------------------

    def write_main(self, project_id: str, content: str, author: Author, expected_version: str | None = None) -> Written:
        """Replace a project's main document; the project begins with it if it is new."""
        limits.checked_text(content, limits.DOCUMENT_BYTES, "main document")
        return self.edit_main(project_id, author, expected_version, "Updated main.md", lambda _: content, begins=True)

    def update_section(
        self, project_id: str, header: str, content: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Replace what stands below a `## Header`. Raises ProjectNotFound, SectionNotFound."""
        what = f"Updated section '{header.strip()}' in main.md"
        return self.edit_main(
            project_id, author, expected_version, what, lambda text: sections.update_section(text, header, content)
        )

    def add_section(
        self,
        project_id: str,
        header: str,
        content: str,
        author: Author,
        place: Place = "end",
        reference: str | None = None,
        expected_version: str | None = None,
    ) -> Written:
        """Add a section. Raises ProjectNotFound, SectionExists, SectionNotFound."""
        what = f"Added section '{header.strip()}' to main.md"
        return self.edit_main(
            project_id,
            author,
            expected_version,
            what,
            lambda text: sections.add_section(text, header, content, place, reference),
        )

    def remove_section(
        self, project_id: str, header: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Remove a section. Raises ProjectNotFound, SectionNotFound."""
        what = f"Removed section '{header.strip()}' from main.md"
        return self.edit_main(
            project_id, author, expected_version, what, lambda text: sections.remove_section(text, header)
        )

    # --- documents ---------------------------------------------------------------------------------------------------

    def create_document(
        self,
        project_id: str,
        filename: str,
        title: str,
        introduction: str,
        keywords: tuple[str, ...],
        chapters: tuple[NewChapter, ...],
        author: Author,
        supersedes: tuple[str, ...] = (),
        valid_until: str | None = None,
    ) -> Written:
        """A new document. Raises InvalidProjectId, InvalidFilename, FileExists."""
        text = chapter_edit.new_document(title, introduction, keywords, chapters, self.now(), supersedes, valid_until)
        name = document_name(filename)
        with self.writing():
            project = self.project(project_id)
            if self.existing_name(project, filename):
                raise FileExists(f"Project `{project.id}` already has a document `{name}`.")
            project, more = self.begun(project)
            path = f"{project.knowledge_path}/{name}"
            return self.save(project, more | {path: text.encode()}, f"Created {name}", author, path)

    def write_document(
        self, project_id: str, filename: str, text: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Replace the whole text of a document. Raises DocumentNotFound."""

        def change(old: str) -> str:
            return chapter_edit.rewritten(old, text, self.now())

        return self.edit(project_id, filename, author, expected_version, "Updated ", change)

    def rename_document(
        self, project_id: str, filename: str, new_filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Give a document another name. Raises DocumentNotFound, InvalidFilename, FileExists."""
        name = document_name(new_filename)
        with self.writing():
            project, old, data = self.found(project_id, filename, expected_version)
            path = f"{project.knowledge_path}/{name}"
            if path != old and self.files.exists(path):
                raise FileExists(f"Project `{project.id}` already has a document `{name}`.")
            changes: Changes = {path: data} if path == old else {path: data, old: None}
            return self.save(project, changes, f"Renamed {file_name(old)} to {name}", author, path)

    def delete_document(
        self, project_id: str, filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Delete a document; its history stays. Raises DocumentNotFound."""
        with self.writing():
            project, path, _ = self.found(project_id, filename, expected_version)
            return self.save(project, {path: None}, f"Deleted {file_name(path)}", author, path)

    def adopt(self, project_id: str, author: Author) -> Written:
        """Let the folder that writes use a project from now on. Raises ProjectNotFound."""
        with self.writing():
            project, identity = self.existing(project_id), self.identity()
            assert identity is not None, "a store that adopts belongs to a folder"
            index = index_with_use(self.files.read(INDEX), project.id, identity)
            return self.save(project, {INDEX: index}, f"Used by {identity.folder}", author, INDEX)

    def delete_project(self, project_id: str, author: Author) -> Written:
        """Delete a project with its documents; their history stays. Raises ProjectNotFound."""
        with self.writing():
            project = self.known(project_id)
            folder = f"projects/{project.slug}"
            changes: Changes = dict.fromkeys(self.files.below(folder))
            changes[INDEX] = index_with(self.files.read(INDEX), project.id, None)
            return self.save(project, changes, "Deleted project", author, folder)

    # --- chapters ----------------------------------------------------------------------------------------------------

    def update_chapter(
        self,
        project_id: str,
        filename: str,
        which: Which,
        content: str,
        author: Author,
        summary: str | None = None,
        expected_version: str | None = None,
    ) -> Written:
        """Replace what a chapter says. Raises DocumentNotFound, ChapterNotFound, SectionExists."""
        what = f"Updated chapter {_which(which)} in "

        def change(text: str) -> str:
            return chapter_edit.update_chapter(text, which, content, summary, self.now())

        return self.edit(project_id, filename, author, expected_version, what, change)

    def add_chapter(
        self,
        project_id: str,
        filename: str,
        chapter: NewChapter,
        author: Author,
        place: Place = "end",
        reference: Which | None = None,
        expected_version: str | None = None,
    ) -> Written:
        """Add a chapter. Raises DocumentNotFound, SectionExists, ChapterNotFound (of the reference)."""
        what = f"Added chapter '{chapter.title}' to "

        def change(text: str) -> str:
            return chapter_edit.add_chapter(text, chapter, self.now(), place, reference)

        return self.edit(project_id, filename, author, expected_version, what, change)

    def remove_chapter(
        self, project_id: str, filename: str, which: Which, author: Author, expected_version: str | None = None
    ) -> Written:
        """Remove a chapter with its sub-chapters. Raises DocumentNotFound, ChapterNotFound."""
        what = f"Removed chapter {_which(which)} from "

        def change(text: str) -> str:
            return chapter_edit.remove_chapter(text, which, self.now())

        return self.edit(project_id, filename, author, expected_version, what, change)


def _which(which: Which) -> str:
    return f"'{which.title}'" if which.title is not None else f"{which.index}"
