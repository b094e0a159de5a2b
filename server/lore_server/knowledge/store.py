"""The interface of the knowledge folder. Every write is one commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lore_etl.core.dates import precise_timestamp
from lore_etl.core.errors import Conflict, FileExists, LoreError
from lore_server.knowledge.chapter_edit import Edit
from lore_server.knowledge.document import DOCUMENT_BYTES, checked_text
from lore_server.knowledge.git.commits import Author, blob_id
from lore_server.knowledge.git.history import LOCK, Changes, History
from lore_server.knowledge.lock import StoreLock
from lore_server.knowledge.names import document_name
from lore_server.knowledge.projects import Past, Projects
from lore_server.knowledge.reader import MAIN, DocumentReader, Listing, Project, described, exact
from lore_server.knowledge.registry import INDEX, Identity, index_with
from lore_server.knowledge.remote import Remote, RemoteState
from lore_server.knowledge.writer import Writer, file_name

if TYPE_CHECKING:
    from lore_server.replies.records import KnowledgeWrittenRecord as Written


class Synced(NamedTuple):
    """The result of a sync; without a remote, `pushed` is False."""

    files_committed: int
    pulled: bool
    pushed: bool
    remote: RemoteState


class KnowledgeStore:
    """The projects and their documents in a git repository that threads and processes may share.

    `reader` and `listing` read, `past` has the history, `writer` commits, `remote` pulls and pushes. Every write may
    raise InvalidProjectId, InvalidFilename, InvalidContent, Conflict (`expected_version` is not the current version),
    Busy, InvalidPath, StorageError or GitError, besides the errors that its own docstring names. `changed` is called
    after every write, merge and recovery; `identity` returns the identity of the current folder, if there is one.
    """

    def __init__(
        self,
        home: Path,
        wait_seconds: float = 20.0,
        now: Callable[[], str] = precise_timestamp,
        changed: Callable[[], None] = lambda: None,
        identity: Callable[[], Identity | None] = lambda: None,
    ) -> None:
        self.home = home.expanduser().absolute()
        self.now = now
        self.history = History(self.home, StoreLock(self.home / ".git" / LOCK, wait_seconds))
        self.files = self.history.files
        self.reader = DocumentReader(self.files.read)
        self.listing = Listing(lambda: self.files, lambda project, name, data: described(project, name, data).info)
        self.writer = Writer(self.history, changed, lambda: self.remote.push_soon())  # noqa: PLW0108 - made below
        self.remote = Remote(self.history, self.writer.writing)
        self.projects = Projects(self.history, identity)
        self.past = Past(self.history, self.writer, self.projects)

    @property
    def is_unfetched(self) -> bool:
        """Return whether the folder has a remote but no commit yet, for example on a new machine."""
        return self.history.exists and self.history.tip is None and self.remote.look()

    def open(self, wait_for_remote: bool = True) -> bool:
        """Recover the writes of a killed process, commit changes made outside Lore, and pull from the remote.

        This may take a minute if the remote does not respond; without waiting, the remote is contacted in the
        background, and `changed` is called if files change. An empty folder stays empty, and no error is raised.
        Return whether the remote changed files.
        """
        if not self.history.exists and not self.files.exists(INDEX):
            return False
        try:
            with self.writer.writing():
                self.history.recover()
            self.history.tidy()
        except LoreError:
            return False  # the next call reports it
        has_remote = self.remote.look()
        pulled = has_remote and wait_for_remote and self.remote.pull()
        if has_remote and (not wait_for_remote or self.remote.state().ahead):
            self.remote.push_soon()  # it pulls if the remote is ahead
        return pulled

    def close(self, wait_seconds: float = 5.0) -> bool:
        """Wait for the background push; return False if it has not finished, so that the next start repeats it."""
        self.writer.close()
        return self.remote.wait(wait_seconds)

    def sync(self, author: Author) -> Synced:
        """Commit changes made outside Lore; fetch, merge and push if there is a remote. Raises GitError, Busy."""
        with self.writer.writing():
            count = self.history.commit_all(author)
        pulled = pushed = False
        if self.remote.look():
            pulled, pushed = self.remote.exchange()
        return Synced(count, pulled, pushed, self.remote.state())

    # --- writing -----------------------------------------------------------------------------------------------------

    def edit(
        self, project_id: str, filename: str | None, edit: Edit, author: Author, expected_version: str | None = None
    ) -> Written:
        """Change an existing document or, without a file name, the main document. May raise the errors of the edit."""
        with self.writer.writing():
            project, path, data = self._found(project_id, filename, expected_version)
            new = edit.change(exact(data), self.now()).encode("utf-8", "surrogateescape")
            return self.writer.save(project, {path: new}, f"{edit.what} {file_name(path)}", author, path)

    def write_main(self, project_id: str, content: str, author: Author, expected_version: str | None = None) -> Written:
        """Replace a project's main document, and create the project if it does not exist."""
        checked_text(content, DOCUMENT_BYTES, "main document")
        with self.writer.writing():
            project, more = self.projects.begun(self.reader.project(project_id))
            path = project.main_path
            _expect(expected_version, self.files.read(path))
            return self.writer.save(project, more | {path: content.encode()}, f"Updated {MAIN}", author, path)

    def create_document(self, project_id: str, filename: str, text: str, author: Author) -> Written:
        """Create a document. Raises FileExists."""
        name = document_name(filename)
        with self.writer.writing():
            project = self.reader.project(project_id)
            if self.reader.find(project, filename):
                raise FileExists(f"Project `{project.id}` already has a document `{name}`.")
            project, more = self.projects.begun(project)
            path = f"{project.knowledge_path}/{name}"
            return self.writer.save(project, more | {path: text.encode()}, f"Created {name}", author, path)

    def delete_document(
        self, project_id: str, filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Delete a document; its history stays. Raises DocumentNotFound."""
        with self.writer.writing():
            project, path, _ = self._found(project_id, filename, expected_version)
            return self.writer.save(project, {path: None}, f"Deleted {file_name(path)}", author, path)

    def adopt(self, project_id: str, all_clones: bool) -> None:
        """Record that the current folder, or each clone of its remote, uses a project. Raises ProjectNotFound."""
        with self.writer.writing():
            self.projects.use(self.projects.existing(project_id).id, all_clones)

    def delete_project(self, project_id: str, author: Author) -> Written:
        """Delete a project with its documents; their history stays. Raises ProjectNotFound."""
        with self.writer.writing():
            project = self.projects.known(project_id)
            folder = f"projects/{project.slug}"
            changes: Changes = dict.fromkeys(self.files.below(folder))
            changes[INDEX] = index_with(self.files.read(INDEX), project.id, None)
            return self.writer.save(project, changes, "Deleted project", author, folder)

    def _found(self, project_id: str, filename: str | None, expected: str | None) -> tuple[Project, str, bytes]:
        """Return the project, path and content of an existing document, or of the main document, which may be empty."""
        if filename is None:
            project = self.projects.known(project_id)
            path, data = project.main_path, self.files.read(project.main_path)
        else:
            project = self.projects.allowed(self.reader.project(project_id))
            name, data = self.reader.required(project, filename)
            path = f"{project.knowledge_path}/{name}"
        _expect(expected, data)
        return project, path, data or b""


def _expect(version: str | None, data: bytes | None) -> None:
    """Raise Conflict if the document has another version; None accepts any, "" only a document that does not exist."""
    now = "" if data is None else blob_id(data)
    if version is not None and version != now:
        raise Conflict(f"It has changed since: its version is {now or 'none'}, not {version[:64] or 'none'}.")
