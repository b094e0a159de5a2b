"""Show and sync the knowledge folder's repository, and show and revert its commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_etl.core.errors import GitError, LoreError
from lore_etl.core.text import counted
from lore_server import __version__
from lore_server.knowledge.git.commits import Commit
from lore_server.knowledge.git.history import by_hand
from lore_server.knowledge.remote import RemoteState
from lore_server.knowledge.store import Synced
from lore_server.knowledge.writer import WriteRequest
from lore_server.services.knowledge_library import Library

if TYPE_CHECKING:
    from lore_server.replies import records

NAME = "Lore"
DESCRIPTION = (
    "Project knowledge that agents write and read: instructions (get_project_main), documents with chapters, "
    "their history."
)
LONGEST_DETAILS = 20_000
_REPEAT = "Local commits are kept. Remove the cause in the remote or in the knowledge folder, then call again."


class StorageService:
    """The operations on the knowledge folder and its history."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def info(self) -> records.KnowledgeServerInfoRecord:
        """Return the server's name and version, and the knowledge folder."""
        home = str(self._library.home)
        return {"success": True, "name": NAME, "version": __version__, "storage_path": home, "description": DESCRIPTION}

    def status(self) -> records.StorageStatusRecord:
        """Return the state of the knowledge folder's repository; an error is reported among the details."""
        store = self._library.store
        history, problems, last = store.history, list[str](), ""
        uncommitted, remote = list[str](), RemoteState()
        try:
            last = next((commit.message for commit in history.log(limit=1)), "")
            uncommitted = history.uncommitted()
            remote = store.remote.state()
        except LoreError as error:
            problems = [error.message]
        return {
            "success": True,
            "storage_path": str(store.home),
            "exists": history.exists,
            "has_changes": bool(uncommitted),
            "current_branch": history.branch if history.exists else "",
            "last_commit": last,
            "remote_status": _remote(remote, store.remote.branch),
            "uncommitted_files": len(uncommitted),
            "status_details": "\n".join([*problems, *uncommitted])[:LONGEST_DETAILS],
        }

    def sync(self, *, request: WriteRequest) -> records.StorageSyncedRecord:
        """Commit the files that were changed by hand, then pull and push.

        Raises:
            GitError: the remote was refused or not reached, or refused the push; the message says what was done.
        """
        store = self._library.store
        done = store.sync(request.by)
        if done.remote.is_there and not done.pushed:
            raise GitError(f"{_unfinished(done)}: {done.remote.problem}"[:LONGEST_DETAILS], _REPEAT)
        return {
            "success": True,
            "message": "Storage synchronized successfully",
            "files_committed": done.files_committed,
            "pulled": done.pulled,
            "pushed": done.pushed,
            "commit_message": by_hand(done.files_committed) if done.files_committed else "",
            "remote_status": _remote(done.remote, store.remote.branch),
        }

    def history(
        self,
        *,
        main: bool,
        everything: bool,
        limit: int,
        skip: int,
        project_id: str | None = None,
        filename: str | None = None,
        commit: str | None = None,
        since: str | None = None,
    ) -> records.KnowledgeHistoryRecord:
        """Return commits, the changes of one commit, or the changes since a commit."""
        store = self._library.store
        if commit is not None and since is None:
            shown = store.past.show(commit)
            return {"success": True, "commits": [_row(shown.commit)], "paths": list(shown.paths), "patch": shown.patch}
        project = None if everything else self._library.named(project_id)
        record: records.KnowledgeHistoryRecord = {"success": True, "commits": []}
        if project is not None:
            record["project_id"] = project
        if since is not None:
            record["patch"] = store.past.diff(since, commit, project, filename, main)
        else:
            record["commits"] = [_row(commit) for commit in store.past.log(project, filename, main, limit, skip)]
        return record

    def revert(self, *, commit: str, request: WriteRequest) -> records.KnowledgeRevertedRecord:
        """Undo the changes of a commit with a new commit."""
        done = self._library.store.past.revert(commit, request.by)
        return {"success": True, "commit": done.commit, "paths": list(done.paths), "message": done.message}


def _unfinished(done: Synced) -> str:
    """Return what a sync did before it failed."""
    committed = f"{counted(done.files_committed, 'changed file')} committed here, " if done.files_committed else ""
    return f"{committed}{'pulled but not pushed' if done.pulled else 'neither pulled nor pushed'}".capitalize()


def _row(commit: Commit) -> records.KnowledgeHistoryCommitsRecord:
    return {
        "id": commit.id,
        "author": commit.agent,
        "session": commit.session,
        "date": commit.date,
        "message": commit.message,
    }


def _remote(remote: RemoteState, branch: str) -> str:
    if not remote.is_there:
        return "no remote"
    ahead = f", {remote.ahead} ahead" if remote.ahead else ""
    behind = f", {remote.behind} behind" if remote.behind else ""
    problem = f": {remote.problem}" if remote.problem else ""
    return f"origin/{branch} ({remote.state}{ahead}{behind}){problem}"[:2000]
