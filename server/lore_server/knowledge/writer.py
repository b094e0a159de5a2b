"""How a write to the knowledge folder goes: under the lock, on what is there now, one commit, then the remote."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.clock import precise_timestamp
from lore_etl.core.errors import AccessDenied, Busy, Conflict, InvalidPath, LoreError, ProjectNotFound
from lore_server.knowledge.git.commits import Author, blob_id
from lore_server.knowledge.git.history import FOREIGN, LOCK, Changes, History
from lore_server.knowledge.identity import Identity
from lore_server.knowledge.lock import StoreLock
from lore_server.knowledge.names import project_slug
from lore_server.knowledge.reader import Project, Shelf, exact, missing
from lore_server.knowledge.registry import INDEX, index_with, index_with_use, read_index, read_registry
from lore_server.knowledge.remote import Remote

WAIT_SECONDS = 20.0
TIDY_EVERY = 500  # commits; after as many the history of a document took 350 ms instead of 12
_PAUSE_SECONDS = 0.01
_GITIGNORE = ".gitignore"
_IGNORED = b"activity.log*\n.DS_Store\n"
_INDEX_LOCK = "Wait for it. If no git process is running there, remove `.git/index.lock` in the knowledge folder."


@dataclass(frozen=True)
class Written:
    """What a write did. `version` is None after a deletion, `commit` if nothing had to be changed."""

    project_id: str
    path: str
    filename: str | None
    version: str | None
    commit: str | None
    message: str


class Writer(Shelf):
    """A shelf that can be written.

    `changed` is called after every write, merge and recovery; `identity` says which folder writes, if any does.
    """

    def __init__(
        self,
        home: Path,
        wait_seconds: float = WAIT_SECONDS,
        now: Callable[[], str] = precise_timestamp,
        changed: Callable[[], None] = lambda: None,
        identity: Callable[[], Identity | None] = lambda: None,
    ) -> None:
        super().__init__(home.expanduser().absolute())
        self.identity = identity
        self.now = now
        self._changed = changed
        self._commits = 0
        self._tidying: threading.Thread | None = None
        self._wait_seconds = wait_seconds
        self._lock = StoreLock(self.home / ".git" / LOCK, wait_seconds)
        self.history = History(self.home, self._lock)
        self.remote = Remote(self.history, self.writing)

    @contextlib.contextmanager
    def writing(self) -> Iterator[int]:
        """Hold the folder, in order; how many files of a killed writer had to be committed for that."""
        if (self.home / ".git").is_symlink():
            raise InvalidPath("`.git` of the knowledge folder is a symlink.")
        try:
            (self.home / ".git").mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise InvalidPath("`.git` of the knowledge folder is not a folder.") from error
        except OSError as error:
            raise AccessDenied(f"Cannot write to the knowledge folder: {error.strerror}.") from error
        with self._lock.held():
            count = self.history.recover() if self._lock.left_off() else 0
            self._wait_for_others()
            self.history.refresh_index()
            before = self.history.tip
            yield count
            has_changed = self.history.tip != before
        if has_changed or count:
            self._changed()

    def _wait_for_others(self) -> None:
        """Somebody's own git in the folder goes first; what dead writers of ours left is gone by now."""
        deadline = time.monotonic() + self._wait_seconds
        while (self.home / ".git" / "index.lock").exists():
            if time.monotonic() > deadline:
                raise Busy("Git is running in the knowledge folder, or was killed there.", _INDEX_LOCK)
            time.sleep(_PAUSE_SECONDS)

    def edit(
        self,
        project_id: str,
        filename: str,
        author: Author,
        expected_version: str | None,
        what: str,
        change: Callable[[str], str],
    ) -> Written:
        """Change a document as a text; what comes of it is one commit."""
        with self.writing():
            project, path, data = self.found(project_id, filename, expected_version)
            new = change(exact(data)).encode("utf-8", "surrogateescape")
            return self.save(project, {path: new}, what + file_name(path), author, path)

    def edit_main(
        self,
        project_id: str,
        author: Author,
        expected_version: str | None,
        what: str,
        change: Callable[[str], str],
        begins: bool = False,
    ) -> Written:
        """Change a main document as a text; with `begins` the project need not be known."""
        with self.writing():
            more: Changes = {}
            project = self.project(project_id) if begins else self.known(project_id)
            if begins:
                project, more = self.begun(project)
            path = project.main_path
            data = self.files.read(path)
            _expect(expected_version, data)
            new = change(exact(data or b"")).encode("utf-8", "surrogateescape")
            return self.save(project, more | {path: new}, what, author, path)

    def save(self, project: Project, changes: Changes, what: str, author: Author, path: str) -> Written:
        """Write and commit files for a project; `path` is the one that it is about. The lock is held."""
        message = f"Update knowledge for {project.id}: {what}"
        found = {name: self._before(name, new) for name, new in changes.items()}
        self.keep_foreign({name: data for name, data in found.items() if data is not None})
        data = changes.get(path)
        filename = file_name(path) if path.endswith(".md") else None
        version = None if data is None else blob_id(data)
        wanted = {name: new for name, new in changes.items() if new is None or new != found[name]}
        commit = self.commit(wanted, message, author) if wanted else None
        return Written(project.id, path, filename, version, commit, message)

    def _before(self, path: str, new: bytes | None) -> bytes | None:
        try:
            return self.files.read(path)
        except InvalidPath:
            if new is None:
                return None  # a link, which is deleted itself
            raise

    def commit(self, changes: Changes, message: str, author: Author) -> str:
        """Commit, and push in the background if there is a remote. The lock is held."""
        if self.history.tip is None and not self.files.exists(_GITIGNORE):
            changes = changes | {_GITIGNORE: _IGNORED}
        commit = self.history.commit(changes, message, author)
        self.remote.push_soon()
        self._commits += 1
        if self._commits % TIDY_EVERY == 0:
            self._tidy_soon()
        return commit

    def _tidy_soon(self) -> None:
        if self._tidying is None or not self._tidying.is_alive():
            self._tidying = threading.Thread(target=self.history.tidy, name="knowledge tidy")
            self._tidying.start()

    def keep_foreign(self, found: Mapping[str, bytes]) -> None:
        """What somebody wrote past Lore gets into the history before it is changed."""
        if foreign := self.history.foreign(found):
            self.history.commit(foreign, FOREIGN, Author())

    def existing(self, project_id: str) -> Project:
        """A project that exists, whoever uses it. Raises ProjectNotFound."""
        project = self.project(project_id)
        if not project.exists:
            raise ProjectNotFound(f"There is no project `{project.id}`.")
        return project

    def known(self, project_id: str) -> Project:
        """A project that exists and may be changed from this folder. Raises ProjectNotFound, Conflict."""
        return self._allowed(self.existing(project_id))

    def _allowed(self, project: Project) -> Project:
        """The project, unless another folder began one of this folder's name since the name was resolved."""
        identity = self.identity()
        if identity is not None and project.id == identity.name:
            current = read_registry(self.files.read(INDEX)).project_of(identity)
            if current != project.id:
                raise Conflict(
                    f"Another folder created a project `{project.id}` just now; this folder's project is `{current}`."
                )
        return project

    def begun(self, project: Project) -> tuple[Project, Changes]:
        """The project with its folder, and the index that knows it, if it is new. Raises Conflict."""
        if project.exists:
            return self._allowed(project), {}
        data = self.files.read(INDEX)
        taken = {*read_index(data).values(), *self.files.folders("projects")}
        slug = project_slug(project.id, taken)
        if self.history.log([f"projects/{slug}"], limit=1):  # a folder that had an owner is only his again
            slug = self._free_slug(project.id, taken)
        index = index_with(data, project.id, slug)
        identity = self.identity()
        if identity is not None and read_registry(data).project_of(identity) == project.id:
            index = index_with_use(index, project.id, identity)
        return Project(project.id, slug), {INDEX: index}

    def _free_slug(self, project_id: str, taken: set[str]) -> str:
        former = self.former_slug(project_id)
        if former and former not in taken:
            return former
        while True:
            slug = project_slug(project_id, taken)
            if not self.history.log([f"projects/{slug}"], limit=1):
                return slug
            taken.add(slug)

    def former_slug(self, project_id: str) -> str | None:
        """The folder of a project that was deleted."""
        for commit in self.history.log([INDEX], limit=200):
            for tip in (commit.id, *commit.parents):
                with contextlib.suppress(LoreError):
                    if slug := read_index(self.at_commit(tip, INDEX)).get(project_id):
                        return slug
        return None

    def at_commit(self, commit: str, path: str) -> bytes | None:
        """The content of a path as a commit has it."""
        name = self.history.blobs_of(commit, [path]).get(path)
        return self.history.contents([name])[name] if name else None

    def found(self, project_id: str, filename: str, expected: str | None) -> tuple[Project, str, bytes]:
        """A document that exists and has the expected version: its path and content."""
        project = self._allowed(self.project(project_id))
        name = self.existing_name(project, filename)
        path = f"{project.knowledge_path}/{name}"
        data = self.files.read(path) if name else None
        if data is None:
            raise missing(project, filename)
        _expect(expected, data)
        return project, path, data


def _expect(version: str | None, data: bytes | None) -> None:
    """None expects nothing; an empty version, that there is no document yet."""
    now = "" if data is None else blob_id(data)
    if version is not None and version != now:
        raise Conflict(f"It has changed since: its version is {now or 'none'}, not {version[:64] or 'none'}.")


def file_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]
