"""The knowledge folder as its callers see it: reading, writing, history, remote. Every write is one commit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from etl.errors import AccessDenied, Busy, Conflict, FileExists, InvalidPath, ProjectNotFound
from etl.knowledge import edit, limits, sections
from etl.knowledge.edit import NewChapter, Place, Which
from etl.knowledge.history import LOCK, Author, History
from etl.knowledge.lock import StoreLock
from etl.knowledge.names import document_name, project_slug
from etl.knowledge.objects import blob_id
from etl.knowledge.registry import INDEX, index_with, read_index
from etl.knowledge.shelf import Project, Shelf, exact, missing

WAIT_SECONDS = 20.0


@dataclass(frozen=True)
class Written:
    """What a write did. `version` is None after a deletion, `commit` if nothing had to be changed."""

    project_id: str
    path: str
    filename: str | None
    version: str | None
    commit: str | None
    message: str


def knowledge_home(environment: Mapping[str, str]) -> Path:
    """Where knowledge is kept: `LORE_HOME`, else the seed's `KNOWLEDGE_MCP_HOME`, else `~/.lore`."""
    named = environment.get("LORE_HOME") or environment.get("KNOWLEDGE_MCP_HOME")
    return Path(named).expanduser() if named else Path.home() / ".lore"


def utc_now() -> str:
    """The time as front matter has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class KnowledgeStore(Shelf):
    """Projects with their documents in a folder under git. Threads and processes may share the folder.

    Every write may raise Conflict (`expected_version` is not what is there), Busy, InvalidContent, InvalidPath,
    StorageError or GitError; what each raises besides stands there.
    """

    def __init__(self, home: Path, wait_seconds: float = WAIT_SECONDS, now: Callable[[], str] = utc_now) -> None:
        super().__init__(home.expanduser().absolute())
        self._lock = StoreLock(self.home / ".git" / LOCK, wait_seconds)
        self._now = now
        self.history = History(self.home, self._lock)

    # --- main documents ----------------------------------------------------------------------------------------------

    def write_main(self, project_id: str, content: str, author: Author, expected_version: str | None = None) -> Written:
        """Replace a project's main document; the project begins with it if it is new."""
        limits.checked_text(content, limits.DOCUMENT_BYTES, "main document")
        return self._edit_main(project_id, author, expected_version, "Updated main.md", lambda _: content, begins=True)

    def update_section(
        self, project_id: str, header: str, content: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Replace what stands below a `## Header`. Raises ProjectNotFound, SectionNotFound."""
        what = f"Updated section '{header.strip()}' in main.md"
        return self._edit_main(
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
        return self._edit_main(
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
        return self._edit_main(
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
        text = edit.new_document(title, introduction, keywords, chapters, self._now(), supersedes, valid_until)
        name = document_name(filename)
        with self._writing():
            project = self.project(project_id)
            if self.existing_name(project, filename):
                raise FileExists(f"Project `{project.id}` has a document `{name}` already.")
            project, more = self._begun(project)
            path = f"{project.knowledge_path}/{name}"
            return self._save(project, more | {path: text.encode()}, f"Created {name}", author, path)

    def write_document(
        self, project_id: str, filename: str, text: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Replace the whole text of a document. Raises DocumentNotFound."""
        limits.checked_text(text, limits.DOCUMENT_BYTES, "document")
        return self._edit(project_id, filename, author, expected_version, "Updated ", lambda _: text)

    def rename_document(
        self, project_id: str, filename: str, new_filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Give a document another name. Raises DocumentNotFound, InvalidFilename, FileExists."""
        name = document_name(new_filename)
        with self._writing():
            project, old, data = self._found(project_id, filename, expected_version)
            path = f"{project.knowledge_path}/{name}"
            if path != old and self.files.exists(path):
                raise FileExists(f"Project `{project.id}` has a document `{name}` already.")
            changes: dict[str, bytes | None] = {path: data} if path == old else {path: data, old: None}
            return self._save(project, changes, f"Renamed {_name(old)} to {name}", author, path)

    def delete_document(
        self, project_id: str, filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Delete a document; its history stays. Raises DocumentNotFound."""
        with self._writing():
            project, path, _ = self._found(project_id, filename, expected_version)
            return self._save(project, {path: None}, f"Deleted {_name(path)}", author, path)

    def delete_project(self, project_id: str, author: Author) -> Written:
        """Delete a project with its documents; their history stays. Raises ProjectNotFound."""
        with self._writing():
            project = self._known(project_id)
            folder = f"projects/{project.slug}"
            changes: dict[str, bytes | None] = dict.fromkeys(self.files.below(folder))
            changes[INDEX] = index_with(self.files.read(INDEX), project.id, None)
            return self._save(project, changes, "Deleted project", author, folder)

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
            return edit.update_chapter(text, which, content, summary, self._now())

        return self._edit(project_id, filename, author, expected_version, what, change)

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
            return edit.add_chapter(text, chapter, self._now(), place, reference)

        return self._edit(project_id, filename, author, expected_version, what, change)

    def remove_chapter(
        self, project_id: str, filename: str, which: Which, author: Author, expected_version: str | None = None
    ) -> Written:
        """Remove a chapter with its sub-chapters. Raises DocumentNotFound, ChapterNotFound."""
        what = f"Removed chapter {_which(which)} from "

        def change(text: str) -> str:
            return edit.remove_chapter(text, which, self._now())

        return self._edit(project_id, filename, author, expected_version, what, change)

    # --- how a write goes --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the folder, in order."""
        try:
            (self.home / ".git").mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise InvalidPath("`.git` of the knowledge folder is no folder.") from error
        except OSError as error:
            raise AccessDenied(f"The knowledge folder cannot be written: {error.strerror}.") from error
        with self._lock.held():
            if self.history.was_interrupted:
                self.history.recover()
            if (self.home / ".git" / "index.lock").exists():
                raise Busy("Git is at work in the knowledge folder, or was killed there.", _INDEX_LOCK)
            self.history.refresh_index()
            yield

    def _edit(
        self,
        project_id: str,
        filename: str,
        author: Author,
        expected_version: str | None,
        what: str,
        change: Callable[[str], str],
    ) -> Written:
        with self._writing():
            project, path, data = self._found(project_id, filename, expected_version)
            new = change(exact(data)).encode("utf-8", "surrogateescape")
            return self._save(project, {path: new}, what + _name(path), author, path)

    def _edit_main(
        self,
        project_id: str,
        author: Author,
        expected_version: str | None,
        what: str,
        change: Callable[[str], str],
        begins: bool = False,
    ) -> Written:
        with self._writing():
            more: dict[str, bytes | None] = {}
            project = self.project(project_id) if begins else self._known(project_id)
            if begins:
                project, more = self._begun(project)
            path = project.main_path
            data = self.files.read(path)
            _expect(expected_version, data)
            new = change(exact(data or b"")).encode("utf-8", "surrogateescape")
            return self._save(project, more | {path: new}, what, author, path)

    def _save(
        self, project: Project, changes: Mapping[str, bytes | None], what: str, author: Author, path: str
    ) -> Written:
        message = f"Update knowledge for {project.id}: {what}"
        found = {name: self.files.read(name) for name in changes}
        self._keep_foreign({name: data for name, data in found.items() if data is not None})
        data = changes.get(path)
        filename = _name(path) if path.endswith(".md") else None
        version = None if data is None else blob_id(data)
        wanted = {name: data for name, data in changes.items() if data != found[name]}
        commit = self.history.commit(wanted, message, author) if wanted else None
        return Written(project.id, path, filename, version, commit, message)

    def _keep_foreign(self, found: Mapping[str, bytes]) -> None:
        """What somebody wrote past Lore gets into the history before it is changed."""
        foreign = {name: data for name, data in found.items() if not self.history.holds(name, data)}
        if foreign:
            self.history.commit(foreign, "Changes made outside of Lore", Author())

    def _known(self, project_id: str) -> Project:
        project = self.project(project_id)
        if not project.exists:
            raise ProjectNotFound(f"There is no project `{project.id}`.")
        return project

    def _begun(self, project: Project) -> tuple[Project, dict[str, bytes | None]]:
        """The project with its folder, and the index that knows it, if it is new."""
        if project.exists:
            return project, {}
        data = self.files.read(INDEX)
        taken = {*read_index(data).values(), *self.files.folders("projects")}
        slug = project_slug(project.id, taken)
        return Project(project.id, slug), {INDEX: index_with(data, project.id, slug)}

    def _found(self, project_id: str, filename: str, expected: str | None) -> tuple[Project, str, bytes]:
        project = self.project(project_id)
        name = self.existing_name(project, filename)
        path = f"{project.knowledge_path}/{name}"
        data = self.files.read(path) if name else None
        if data is None:
            raise missing(project, filename)
        _expect(expected, data)
        return project, path, data


_INDEX_LOCK = "Wait for it; if no git runs there, remove `.git/index.lock` in the knowledge folder."


def _expect(version: str | None, data: bytes | None) -> None:
    now = None if data is None else blob_id(data)
    if version is not None and version != now:
        raise Conflict(f"It was changed meanwhile: its version is {now}, not {version[:64]}.")


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _which(which: Which) -> str:
    return f"'{which.title}'" if which.title is not None else f"{which.index}"
