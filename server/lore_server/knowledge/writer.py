"""Write to the knowledge folder: under its lock, based on its current files, and with one commit per write."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from lore_etl.core.errors import AccessDenied, Busy, InvalidPath
from lore_etl.system.processes import may_run
from lore_server.knowledge.git.commits import Author, blob_id
from lore_server.knowledge.git.history import Changes, History, by_hand
from lore_server.knowledge.reader import Project
from lore_server.knowledge.safe_files import reporting

if TYPE_CHECKING:
    from lore_server.replies.records import KnowledgeWrittenRecord as Written

TIDY_EVERY = 500  # commits; after so many, reading a document's history took 350 ms instead of 12 ms
_PAUSE_SECONDS = 0.01
_OTHERS_SECONDS = 2.0
_GITIGNORE = ".gitignore"
_IGNORED = b"activity.log*\n.DS_Store\n"
_LOCKS = "Wait for it. If no git process is running there, remove `.git/index.lock` in the knowledge folder."


class Writer:
    """The writer of a folder, which locks out other threads and processes.

    `changed` is called after every write, merge and recovery, `committed` after every commit of a write.
    """

    def __init__(self, history: History, changed: Callable[[], None], committed: Callable[[], None]) -> None:
        self._files = history.files
        self._history = history
        self._lock = history.lock
        self._changed = changed
        self._committed = committed
        self._commits = 0
        self._tidying: threading.Thread | None = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the folder, and recover a killed writer's changes."""
        folder = self._history.home / ".git"
        if folder.is_symlink():
            raise InvalidPath("`.git` of the knowledge folder is a symlink.")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError as error:
            raise InvalidPath("`.git` of the knowledge folder is not a folder.") from error
        except OSError as error:
            raise AccessDenied(f"Cannot write to the knowledge folder: {error.strerror}.") from error
        with reporting("the knowledge folder"), self._lock.held():
            count = self._history.recover() if self._lock.left_off() else 0
            self._wait_for_others()
            self._history.refresh_index()
            before = self._history.tip
            yield
            has_changed = self._history.tip != before
        if has_changed or count:
            self._changed()

    def _wait_for_others(self) -> None:
        """Wait for another git process in the folder, or remove the locks that a killed one left.

        Lore's own git processes hold our lock until they end, so the owner of git's lock is another git process: if
        none works in the folder, nobody will release it. Other programs hold it for milliseconds.
        """
        deadline = time.monotonic() + self._lock.wait_seconds
        while locks := self._history.locks():
            for lock in locks:
                with contextlib.suppress(FileNotFoundError):
                    is_old = time.time() - lock.lstat().st_mtime > _OTHERS_SECONDS
                    if is_old and not may_run("git", self._history.home):
                        lock.unlink()
            if time.monotonic() > deadline:
                raise Busy("Git is running in the knowledge folder, or was killed there.", _LOCKS)
            time.sleep(_PAUSE_SECONDS)

    def save(self, project: Project, changes: Changes, what: str, author: Author, path: str) -> Written:
        """Write and commit files for a project; `path` is the main file of the change. The caller holds the lock.

        The `version` is None after a deletion, the `commit` is None if nothing had to change.
        """
        message = f"Update knowledge for {project.id}: {what}"
        found = dict[str, bytes | None]()
        for name, new in changes.items():
            try:
                found[name] = self._files.read(name)
            except InvalidPath:
                if new is not None:
                    raise
                found[name] = None  # a symlink, which is deleted itself
        self.keep_foreign(found)
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
        if self._history.tip is None and not self._files.exists(_GITIGNORE):
            changes = changes | {_GITIGNORE: _IGNORED}
        commit = self._history.commit(changes, message, author)
        self._committed()
        self._commits += 1
        if self._commits % TIDY_EVERY == 0 and (self._tidying is None or not self._tidying.is_alive()):
            self._tidying = threading.Thread(target=self._history.tidy, name="knowledge tidy")
            self._tidying.start()
        return commit

    def keep_foreign(self, files: Mapping[str, bytes | None]) -> None:
        """Commit changes made outside Lore, so that the history has them before they are overwritten."""
        tip, found = self._history.tip, {path: data for path, data in files.items() if data is not None}
        known = self._history.blobs_of(tip, list(found)) if tip and found else {}
        algorithm = "sha256" if tip and len(tip) == 64 else "sha1"
        foreign: Changes = {path: data for path, data in found.items() if known.get(path) != blob_id(data, algorithm)}
        if foreign:
            self._history.commit(foreign, by_hand(len(foreign)), Author())

    def close(self) -> None:
        """Wait for tidying to finish."""
        if self._tidying is not None:
            self._tidying.join()


def file_name(path: str) -> str:
    return path.rpartition("/")[2]
