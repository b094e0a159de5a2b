"""Care of the knowledge folder: opening it after whatever happened, its history, its state, its remote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.errors import Conflict, LoreError, ProjectNotFound
from lore_server.knowledge.git.commits import Author, Commit
from lore_server.knowledge.git.history import FOREIGN, Changes, TreeEntry
from lore_server.knowledge.merge import Clash, merged
from lore_server.knowledge.reader import Documents, Project
from lore_server.knowledge.registry import INDEX, index_with, read_index
from lore_server.knowledge.remote import RemoteState
from lore_server.knowledge.writer import Writer

CLOSE_SECONDS = 5.0
_BY_HAND = "Read the commit, then write again the parts you need."


class Opened(NamedTuple):
    """What opening found: files that were not committed yet, and whether files came from the remote."""

    recovered: int
    pulled: bool
    problem: str | None = None


@dataclass(frozen=True)
class StoreStatus:
    """The state of the folder and of its repository; `problem` says why git cannot tell."""

    storage_path: str
    exists: bool
    current_branch: str
    last_commit: Commit | None
    uncommitted: tuple[str, ...]
    remote: RemoteState
    problem: str | None = None


class Synced(NamedTuple):
    """What a sync did; `pushed` is False also without a remote."""

    files_committed: int
    pulled: bool
    pushed: bool
    remote: RemoteState


class Reverted(NamedTuple):
    """What a revert did; `commit` is None if there was nothing to take back any more."""

    commit: str | None
    paths: tuple[str, ...]
    message: str


class Shown(NamedTuple):
    """A commit with its changes as a patch."""

    commit: Commit
    paths: tuple[str, ...]
    patch: str


@dataclass(frozen=True)
class Past:
    """The files of a commit."""

    read: Callable[[str], bytes | None]

    def exists(self, path: str) -> bool:
        """Whether the commit has such a file."""
        return self.read(path) is not None


class Upkeep(Writer):
    """A folder that is written, with its history."""

    @property
    def is_unfetched(self) -> bool:
        """Whether the folder has a remote and no commit yet, as on a new machine."""
        return self.history.exists and self.history.tip is None and self.remote.look()

    def open(self, wait_for_remote: bool = True) -> Opened:
        """Finish what a killed process began, commit what was written past Lore, bring in the remote.

        That may take a minute if the remote does not answer; without waiting it happens in the background, and
        `changed` is told if files came. Nothing is made where there is nothing, and nothing is raised.
        """
        if not self.history.exists and not self.files.exists(INDEX):
            return Opened(0, False)
        try:
            with self.writing() as before:
                count = before + self.history.recover()
            self.history.tidy()
        except LoreError as error:
            return Opened(0, False, error.message)
        has_remote = self.remote.look()
        pulled = has_remote and wait_for_remote and self.remote.pull()
        if has_remote and (not wait_for_remote or self.remote.state().ahead):
            self.remote.push_soon()  # it pulls if the remote is ahead
        return Opened(count, pulled)

    def close(self, wait_seconds: float = CLOSE_SECONDS) -> bool:
        """Wait for what is being pushed; False if it is not done. It is pushed at the next start then."""
        if self._tidying is not None:
            self._tidying.join()
        return self.remote.wait(wait_seconds)

    def status(self) -> StoreStatus:
        """Where folder and remote stand; never an error."""
        history, problem = self.history, None
        last: Commit | None = None
        uncommitted: tuple[str, ...] = ()
        remote = RemoteState()
        try:
            last = next(iter(history.log(limit=1)), None)
            uncommitted = tuple(history.uncommitted())
            remote = self.remote.state()
        except LoreError as error:
            problem = error.message
        branch = history.branch if history.exists else ""
        return StoreStatus(str(self.home), history.exists, branch, last, uncommitted, remote, problem)

    def sync(self, author: Author) -> Synced:
        """Commit what was written past Lore; fetch, merge and push if there is a remote. Raises GitError, Busy."""
        with self.writing():
            count = self.history.commit_all(FOREIGN, author)
        pulled = pushed = False
        if self.remote.look():
            pulled = self.remote.pull()
            pushed = self.remote.push()
        return Synced(count, pulled, pushed, self.remote.state())

    # --- history -----------------------------------------------------------------------------------------------------

    def log(
        self,
        project_id: str | None = None,
        filename: str | None = None,
        main: bool = False,
        limit: int = 50,
        skip: int = 0,
    ) -> list[Commit]:
        """The history of everything, of a project, of a document or (`main`) of a main document, newest first.

        What was deleted has its history too.

        Raises:
            ProjectNotFound: there never was such a project.
        """
        return self.history.log(self._paths(project_id, filename, main), limit, skip)

    def show(self, commit: str) -> Shown:
        """One commit with what it changed. Raises CommitNotFound."""
        entry = self.history.entry(commit)
        parent = entry.parents[0] if entry.parents else None
        paths = tuple(self.history.changed_between(parent, entry.id))
        return Shown(entry, paths, self.history.diff(parent, entry.id))

    def diff(
        self,
        old: str | None,
        new: str | None = None,
        project_id: str | None = None,
        filename: str | None = None,
        main: bool = False,
    ) -> str:
        """What changed from a commit to another, or (None) to the files as they are, as a patch.

        Raises:
            CommitNotFound, ProjectNotFound: there is no such commit, or never was such a project.
        """
        return self.history.diff(old, new, self._paths(project_id, filename, main))

    def at(self, commit: str) -> Documents:
        """The documents as a commit has them. Raises CommitNotFound."""
        tip = self.history.resolve(commit)
        return Documents(Past(lambda path: self.at_commit(tip, path)))

    def revert(self, commit: str, author: Author) -> Reverted:
        """Take back what a commit did, by a new one; later changes of other lines stay.

        Raises:
            CommitNotFound: there is no such commit.
            Conflict: what it wrote was changed since.
        """
        with self.writing():
            entry = self.history.entry(commit)
            parent = entry.parents[0] if entry.parents else None
            changed = self.history.changed_between(parent, entry.id)
            wanted = self._with_projects(entry, self._taken_back(changed))
            subject = entry.message.partition("\n")[0]
            message = f'Revert "{subject}"\n\nThis reverts commit {entry.id}.'
            done = self.commit(wanted, message, author) if wanted else None
            return Reverted(done, tuple(wanted), message)

    def _taken_back(self, changed: dict[str, tuple[TreeEntry | None, TreeEntry | None]]) -> Changes:
        history, wanted, clashes = self.history, Changes(), list[str]()
        blobs = history.contents(end.id for ends in changed.values() for end in ends if end)
        for path, ends in changed.items():
            before, after = (end and blobs[end.id] for end in ends)
            ours = self.files.read(path)
            if ours is not None:
                self.keep_foreign({path: ours})
            try:
                found = merged(history.git, path, after, ours, before)
            except Clash as clash:
                clashes.append(str(clash))
                continue
            if found != ours:
                wanted[path] = found
        if clashes:
            raise Conflict(
                f"Changed since: {', '.join(clashes)[:500]}.", "Revert the later commits first, or edit the document."
            )
        return wanted

    def _with_projects(self, entry: Commit, wanted: Changes) -> Changes:
        """The index follows the files: a project that has some is in it, and its folder is nobody else's."""
        now = read_index(self.files.read(INDEX))
        data = wanted.get(INDEX, self.files.read(INDEX))
        touched = {path.split("/")[1] for path in wanted if path.startswith("projects/")}
        ends = [read_index(self.at_commit(tip, INDEX)) for tip in (*entry.parents[:1], entry.id)]
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

    def _paths(self, project_id: str | None, filename: str | None, main: bool) -> list[str]:
        if project_id is None:
            return []
        project = self.project(project_id)
        slug = project.slug or self.former_slug(project.id)
        if slug is None:
            raise ProjectNotFound(f"Nothing has ever been written for project `{project.id}`.")
        if main:
            return [Project(project.id, slug).main_path]
        if filename is None:
            return [f"projects/{slug}"]
        return [f"projects/{slug}/knowledge/{name}" for name in dict.fromkeys(self.possible_names(filename))]
