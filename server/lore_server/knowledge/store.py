"""The interface of the knowledge folder. Every write is one commit."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.dates import precise_timestamp
from lore_etl.core.errors import AccessDenied, Conflict, FileExists, InvalidPath, LoreError, ProjectNotFound
from lore_server.knowledge.chapter_edit import Edit
from lore_server.knowledge.document import DOCUMENT_BYTES, checked_text
from lore_server.knowledge.git.commits import Author, Commit, blob_id
from lore_server.knowledge.git.history import LOCK, Changes, History, by_hand
from lore_server.knowledge.names import document_name, project_slug
from lore_server.knowledge.reader import MAIN, DocumentReader, Listing, Project, described, exact, possible_names
from lore_server.knowledge.registry import INDEX, Identity, Registry, index_with, read_index, read_registry
from lore_server.knowledge.remote import Clash, Remote, RemoteState, merge_all
from lore_server.knowledge.safe_files import Files, StoreLock, reporting
from lore_server.replies.records import KnowledgeHistoryRecord, KnowledgeRevertedRecord
from lore_server.replies.records import KnowledgeWrittenRecord as Written

RECORD = "lore-folders.json"  # which project each folder of this machine uses
TIDY_EVERY = 500  # commits; after so many, reading a document's history took 350 ms instead of 12 ms
_GITIGNORE = ".gitignore"
_IGNORED = b"activity.log*\n.DS_Store\n"
_LATER = "Revert the later commits first, or edit the document."
_BY_HAND = "Read the commit, then write again the parts you need."


class Synced(NamedTuple):
    """The result of a sync; without a remote, `pushed` is False."""

    files_committed: int
    pulled: bool
    pushed: bool
    remote: RemoteState


class KnowledgeStore:
    """The projects and their documents in a git repository that threads and processes may share.

    Every write may raise InvalidProjectId, InvalidFilename, InvalidContent, Conflict (the version differs), Busy,
    InvalidPath, StorageError or GitError, besides the errors that its own docstring names.
    """

    def __init__(
        self,
        home: Path,
        wait_seconds: float = 20.0,
        changed: Callable[[], None] = lambda: None,  # called after every write, merge and recovery
        identity: Callable[[], Identity | None] = lambda: None,
    ) -> None:
        self.home = home.expanduser().absolute()
        self.now = precise_timestamp
        self.history = History(self.home, StoreLock(self.home / ".git" / LOCK, wait_seconds))
        self.files = self.history.files
        self.reader = DocumentReader(self.files.read)
        self.listing = Listing(lambda: self.files, lambda project, name, data: described(project, name, data).info)
        self.remote = Remote(self.history, self.writing)
        self._identity = identity
        self._local = Files(self.home / ".git")  # no pull, merge or checkout can write here
        self._changed = changed
        self._commits = 0
        self._tidying: threading.Thread | None = None

    @property
    def is_unfetched(self) -> bool:
        """Return whether the folder has a remote but no commit yet, for example on a new machine."""
        return self.history.exists and self.history.tip is None and self.remote.look()

    def open(self, wait_for_remote: bool = True) -> bool:
        """Recover a killed process's writes, commit foreign changes, and pull; return whether that changed files."""
        # waiting may take a minute if the remote does not respond; otherwise, `changed` is called if files change
        if not self.history.exists and not self.files.exists(INDEX):
            return False
        try:
            with self.writing():
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
        if self._tidying is not None:
            self._tidying.join()
        return self.remote.wait(wait_seconds)

    def sync(self, author: Author) -> Synced:
        """Commit changes made outside Lore; fetch, merge and push if there is a remote. Raises GitError, Busy."""
        with self.writing():
            count = self.history.commit_all(author)
        pulled = pushed = False
        if self.remote.look():
            pulled, pushed = self.remote.exchange()
        return Synced(count, pulled, pushed, self.remote.state())

    # --- projects ----------------------------------------------------------------------------------------------------

    def registry(self) -> Registry:
        """Return the projects of the index, and the folders that use them. Raises StorageError."""
        return read_registry(self.files.read(INDEX), self._local.read(RECORD))

    def existing(self, project_id: str) -> Project:
        """Return an existing project, whichever folder uses it. Raises ProjectNotFound."""
        project = self.reader.project(project_id)
        if not project.exists:
            raise ProjectNotFound(f"There is no project `{project.id}`.")
        return project

    def _allowed(self, project: Project) -> Project:
        """Return the project. Raises Conflict if another folder has created one of this folder's name meanwhile."""
        identity = self._identity()
        if identity is not None and project.id == identity.name:
            current = self.registry().project_of(identity)
            if current != project.id:
                message = f"Another folder created a project `{project.id}` just now"
                raise Conflict(f"{message}; this folder's project is `{current}`.")
        return project

    def begun(self, project: Project) -> tuple[Project, Changes]:
        """Return the project with its folder, and for a new one the changed index; record its user. Raises Conflict."""
        if project.exists:
            return self._allowed(project), {}
        data = self.files.read(INDEX)
        taken = {*read_index(data).values(), *self.files.folders("projects")}
        slug = self._free_slug(project.id, taken)
        identity = self._identity()
        if identity is not None and self.registry().project_of(identity) == project.id:
            self._use(project.id)
        return Project(project.id, slug), {INDEX: index_with(data, project.id, slug)}

    def _free_slug(self, project_id: str, taken: set[str]) -> str:
        """Return a folder without a history, or the former one: only the former project may use a folder again."""
        slug, former = project_slug(project_id, taken), None
        while self.history.log([f"projects/{slug}"], limit=1):
            if former is None:
                former = self._former_slug(project_id) or ""
            if former and former not in taken:
                return former
            taken.add(slug)
            slug = project_slug(project_id, taken)
        return slug

    def _former_slug(self, project_id: str) -> str | None:
        """Return the folder of a deleted project; None if it is not in the last 200 changes of the index."""
        for commit in self.history.log([INDEX], limit=200):
            for tip in (commit.id, *commit.parents):
                with contextlib.suppress(LoreError):
                    if slug := read_index(self.history.content_at(tip, INDEX)).get(project_id):
                        return slug
        return None

    def _use(self, project_id: str, all_clones: bool = False) -> None:
        identity = self._identity()
        assert identity is not None, "a store that adopts belongs to a folder"
        self._local.write(RECORD, self.registry().using(project_id, identity, all_clones).record())

    def paths(self, project_id: str, filename: str | None = None, main: bool = False) -> list[str]:
        """Return the paths of a project, its document or the `main` one, even if deleted. Raises ProjectNotFound."""
        project = self.reader.project(project_id)
        slug = project.slug or self._former_slug(project.id)
        if slug is None:
            raise ProjectNotFound(f"Nothing has ever been written for project `{project.id}`.")
        project = Project(project.id, slug)
        if main:
            return [project.main_path]
        if filename is None:
            return [f"projects/{slug}"]
        return [f"{project.knowledge_path}/{name}" for name in possible_names(filename)]

    def show(self, commit: str) -> KnowledgeHistoryRecord:
        """Return a commit with its changes as a patch. Raises CommitNotFound."""
        entry = self.history.entry(commit)
        parent = next(iter(entry.parents), None)
        paths, patch = list(self.history.changed_between(parent, entry.id)), self.history.diff(parent, entry.id)
        return {"success": True, "commits": [entry.record()], "paths": paths, "patch": patch}

    def at(self, commit: str) -> DocumentReader:
        """Return a reader of the documents in a commit. Raises CommitNotFound."""
        blobs = self.history.blobs_of(self.history.resolve(commit))

        def read(path: str) -> bytes | None:
            name = blobs.get(path)
            return self.history.contents([name])[name] if name else None

        return DocumentReader(read)

    # --- writing -----------------------------------------------------------------------------------------------------

    def edit(
        self, project_id: str, filename: str | None, edit: Edit, author: Author, expected_version: str | None = None
    ) -> Written:
        """Change an existing document or, without a file name, the main document. May raise the errors of the edit."""
        with self.writing():
            project, path, data = self._found(project_id, filename, expected_version)
            old = exact(data)
            new = edit.change(old, self.now()).encode("utf-8", "surrogateescape")
            return self.save(project, {path: new}, f"{edit.what(old)} {file_name(path)}", author, path)

    def write_main(self, project_id: str, content: str, author: Author, expected_version: str | None = None) -> Written:
        """Replace a project's main document, and create the project if it does not exist."""
        checked_text(content, DOCUMENT_BYTES, "main document")
        with self.writing():
            project, more = self.begun(self.reader.project(project_id))
            path = project.main_path
            _expect(expected_version, self.files.read(path))
            return self.save(project, more | {path: content.encode()}, f"Updated {MAIN}", author, path)

    def create_document(self, project_id: str, filename: str, text: str, author: Author) -> Written:
        """Create a document. Raises FileExists."""
        name = document_name(filename)
        with self.writing():
            project = self.reader.project(project_id)
            if self.reader.find(project, filename):
                raise FileExists(f"Project `{project.id}` already has a document `{name}`.")
            project, more = self.begun(project)
            path = f"{project.knowledge_path}/{name}"
            return self.save(project, more | {path: text.encode()}, f"Created {name}", author, path)

    def delete_document(
        self, project_id: str, filename: str, author: Author, expected_version: str | None = None
    ) -> Written:
        """Delete a document; its history stays. Raises DocumentNotFound."""
        with self.writing():
            project, path, _ = self._found(project_id, filename, expected_version)
            return self.save(project, {path: None}, f"Deleted {file_name(path)}", author, path)

    def adopt(self, project_id: str, all_clones: bool) -> None:
        """Record that the current folder, or each clone of its remote, uses a project. Raises ProjectNotFound."""
        with self.writing():
            self._use(self.existing(project_id).id, all_clones)

    def delete_project(self, project_id: str, author: Author) -> Written:
        """Delete a project with its documents; their history stays. Raises ProjectNotFound."""
        with self.writing():
            project = self._allowed(self.existing(project_id))
            folder = f"projects/{project.slug}"
            changes: Changes = dict.fromkeys(self.files.below(folder))
            changes[INDEX] = index_with(self.files.read(INDEX), project.id, None)
            return self.save(project, changes, "Deleted project", author, folder)

    def revert(self, commit: str, author: Author) -> KnowledgeRevertedRecord:
        """Revert a commit; later changes to other lines stay. Raises CommitNotFound, Conflict if lines changed."""
        with self.writing():
            entry = self.history.entry(commit)
            wanted = self._with_projects(entry, self._reverted_files(entry))
            subject = entry.message.partition("\n")[0]
            message = f'Revert "{subject}"\n\nThis reverts commit {entry.id}.'
            done = self.commit(wanted, message, author) if wanted else None
            return {"success": True, "commit": done, "paths": list(wanted), "message": message}

    def _reverted_files(self, entry: Commit) -> Changes:
        changed = self.history.changed_between(next(iter(entry.parents), None), entry.id)
        ours = {path: self.files.read(path) for path in changed}
        self._keep_foreign(ours)
        try:
            return merge_all(self.history, {path: (after, before) for path, (before, after) in changed.items()}, ours)
        except Clash as clash:
            raise Conflict(f"Changed since: {clash}.", _LATER) from clash

    def _with_projects(self, entry: Commit, wanted: Changes) -> Changes:
        """Return the changes with an index of all projects with files. Raises Conflict if a folder changed hands."""
        now = read_index(self.files.read(INDEX))
        data = wanted.get(INDEX, self.files.read(INDEX))
        touched = {path.split("/")[1] for path in wanted if path.startswith("projects/")}
        ends = [read_index(self.history.content_at(tip, INDEX)) for tip in (*entry.parents[:1], entry.id)]
        owners = {name: slug for index in ends for name, slug in index.items() if slug in touched}
        for name, slug in owners.items():
            if now.get(name, slug) != slug:
                raise Conflict(f"Project `{name}` now has another folder.", _BY_HAND)
        for name, slug in now.items():
            if slug in touched and owners.get(name) != slug:
                raise Conflict(f"The folder {slug} is project `{name}`'s now.", _BY_HAND)
        gone = {path for path, new in wanted.items() if new is None}
        for name, slug in (now | owners).items():
            if name in read_index(data):
                continue
            folder = f"projects/{slug}"
            files = {*self.files.below(folder), *(path for path in wanted if path.startswith(f"{folder}/"))}
            if files - gone:
                data = index_with(data, name, slug)
        rest = {path: new for path, new in wanted.items() if path != INDEX}
        return rest if data == self.files.read(INDEX) else rest | {INDEX: data}

    def _found(self, project_id: str, filename: str | None, expected: str | None) -> tuple[Project, str, bytes]:
        """Return the project, path and content of an existing document, or of the main document, which may be empty."""
        if filename is None:
            project = self._allowed(self.existing(project_id))
            path, data = project.main_path, self.files.read(project.main_path)
        else:
            project = self._allowed(self.reader.project(project_id))
            name, data = self.reader.required(project, filename)
            path = f"{project.knowledge_path}/{name}"
        _expect(expected, data)
        return project, path, data or b""

    # --- committing --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the folder, and recover a killed writer's changes."""
        folder = self.history.home / ".git"
        if folder.is_symlink():
            raise InvalidPath("`.git` of the knowledge folder is a symlink.")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise InvalidPath("`.git` of the knowledge folder is not a folder.") from error
        except OSError as error:
            raise AccessDenied(f"Cannot write to the knowledge folder: {error.strerror}.") from error
        with reporting("the knowledge folder"), self.history.lock.hold():
            count = self.history.recover() if self.history.lock.read_note() else 0
            self.history.wait_for_others()
            self.history.refresh_index()
            before = self.history.tip
            yield
            has_changed = self.history.tip != before
        if has_changed or count:
            self._changed()

    def save(self, project: Project, changes: Changes, what: str, author: Author, path: str) -> Written:
        """Write and commit files for a project; `path` is the main file of the change. The caller holds the lock."""
        message = f"Update knowledge for {project.id}: {what}"
        found = dict[str, bytes | None]()
        for name, new in changes.items():
            try:
                found[name] = self.files.read(name)
            except InvalidPath:
                if new is not None:
                    raise
                found[name] = None  # a symlink, which is deleted itself
        self._keep_foreign(found)
        data = changes.get(path)
        wanted = {name: new for name, new in changes.items() if new is None or new != found[name]}
        commit = self.commit(wanted, message, author) if wanted else None
        written: Written = {
            "success": True,
            "project_id": project.id,
            "version": None if data is None else blob_id(data),
            "commit": commit,
            "message": message,
        }
        return {**written, "filename": file_name(path), "filepath": path} if path.endswith(".md") else written

    def commit(self, changes: Changes, message: str, author: Author) -> str:
        """Commit changes and return the commit's id. The caller holds the lock."""
        if self.history.tip is None and not self.files.exists(_GITIGNORE):
            changes = changes | {_GITIGNORE: _IGNORED}
        commit = self.history.commit(changes, message, author)
        self.remote.push_soon()
        self._commits += 1
        if self._commits % TIDY_EVERY == 0 and (self._tidying is None or not self._tidying.is_alive()):
            self._tidying = threading.Thread(target=self.history.tidy, name="knowledge tidy")
            self._tidying.start()
        return commit

    def _keep_foreign(self, files: Mapping[str, bytes | None]) -> None:
        """Commit changes made outside Lore, so that the history has them before they are overwritten."""
        tip, found = self.history.tip, {path: data for path, data in files.items() if data is not None}
        known = self.history.blobs_of(tip, list(found)) if tip and found else {}
        algorithm = "sha256" if tip and len(tip) == 64 else "sha1"
        foreign: Changes = {path: data for path, data in found.items() if known.get(path) != blob_id(data, algorithm)}
        if foreign:
            self.history.commit(foreign, by_hand(len(foreign)), Author())


def _expect(version: str | None, data: bytes | None) -> None:
    """Raise Conflict if the document has another version; None accepts any, "" only a document that does not exist."""
    now = "" if data is None else blob_id(data)
    if version is not None and version != now:
        raise Conflict(f"It has changed since: its version is {now or 'none'}, not {version[:64] or 'none'}.")


def file_name(path: str) -> str:
    return path.rpartition("/")[2]
