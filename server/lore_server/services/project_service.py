"""Read and write projects and their main documents, and show, sync and revert the commits of the knowledge folder."""

from lore_etl.core.errors import AccessDenied, GitError, InvalidPath, LoreError, ProjectDeleteFailed, StorageError
from lore_etl.core.text import counted
from lore_server import __version__
from lore_server.knowledge import chapter_edit
from lore_server.knowledge.chapter_edit import Place, SectionName
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.git.history import by_hand
from lore_server.knowledge.remote import RemoteState
from lore_server.replies import paging, records
from lore_server.services.knowledge_library import Library

ABOUT = (
    "Project knowledge that agents write and read: instructions (get_project_main), documents with chapters, "
    "their history."
)
LONGEST_DETAILS = 20_000
_REPEAT = "Local commits are kept. Remove the cause in the remote or in the knowledge folder, then call again."


class ProjectService:
    """The operations on projects, their main documents and these documents' sections, and on the folder's history."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def all(self) -> records.ProjectListRecord:
        """Return all projects, without opening any of them."""
        store = self._library.listed
        rows: list[records.ProjectListProjectsRecord] = [
            {"project_id": project.id, "has_main": store.files.exists(project.main_path)}
            for project in store.reader.projects()
        ]
        current = self._library.current
        reply = records.ProjectListRecord(success=True, current=current, projects=rows, count=len(rows))
        return paging.with_fields(reply, note=self._library.note())

    def main(self, *, project_id: str | None = None, commit: str | None = None) -> records.MainDocumentRecord:
        main = self._library.documents(commit).main(self._library.named(project_id))
        note = self._library.note() if main["project_id"] == self._library.current else None
        return paging.with_fields(main, note=note)

    def write(self, *, content: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        name = self._library.named(request.project_id)
        return self._library.store.write_main(name, content, request.by, request.expected_version)

    def update_section(
        self, *, section_header: str, new_content: str, request: WriteRequest
    ) -> records.KnowledgeWrittenRecord:
        return self._library.edit(request, chapter_edit.update_part(SectionName(section_header), new_content))

    def add_section(
        self,
        *,
        section_header: str,
        content: str,
        position: Place,
        request: WriteRequest,
        reference_header: str | None = None,
    ) -> records.KnowledgeWrittenRecord:
        reference = SectionName(reference_header) if reference_header is not None else None
        new = SectionName(section_header)
        return self._library.edit(request, chapter_edit.add_part(new, content, position, reference))

    def remove_section(self, *, section_header: str, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        return self._library.edit(request, chapter_edit.remove_part(SectionName(section_header)))

    def delete(self, *, request: WriteRequest) -> records.KnowledgeWrittenRecord:
        """Delete a project. Raises ProjectDeleteFailed if files cannot be removed."""
        name = self._library.named(request.project_id)
        try:
            done = self._library.store.delete_project(name, request.by)
        except (GitError, InvalidPath, AccessDenied):
            raise
        except StorageError as error:
            raise ProjectDeleteFailed(error.message) from error
        return {**done, "message": f"Project '{done['project_id']}' successfully deleted"}

    def server_info(self) -> records.KnowledgeServerInfoRecord:
        home = str(self._library.home)
        return {"success": True, "name": "Lore", "version": __version__, "storage_path": home, "description": ABOUT}

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
        """Commit the changes made by hand, then pull and push. The message of a GitError says what was done."""
        store = self._library.store
        done = store.sync(request.by)
        if done.remote.is_there and not done.pushed:
            state = "pulled but not pushed" if done.pulled else "neither pulled nor pushed"
            if done.files_committed:
                state = f"{counted(done.files_committed, 'changed file')} committed here, {state}"
            raise GitError(f"{state.capitalize()}: {done.remote.problem}"[:LONGEST_DETAILS], _REPEAT)
        return {
            "success": True,
            "message": "Storage synchronized successfully" if done.remote.is_there else "Saved here, without a remote",
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
            return store.show(commit)
        project = None if everything else self._library.named(project_id)
        paths = [] if project is None else store.paths(project, filename, main)
        found = [] if since is not None else store.history.log(paths, limit + 1, skip)
        more = f"There are older commits: pass skip={skip + limit}." if found[limit:] else ""
        commits = [commit.record() for commit in found[:limit]]
        record: records.KnowledgeHistoryRecord = {"success": True, "commits": commits}
        if since is not None:
            record["patch"] = store.history.diff(since, commit, paths)
        return paging.with_fields(record, project_id=project, truncated=more)

    def revert(self, *, commit: str, request: WriteRequest) -> records.KnowledgeRevertedRecord:
        return self._library.store.revert(commit, request.by)


def _remote(remote: RemoteState, branch: str) -> str:
    if not remote.is_there:
        return "no remote"
    ahead = f", {remote.ahead} ahead" if remote.ahead else ""
    behind = f", {remote.behind} behind" if remote.behind else ""
    problem = f"; the last attempt: {remote.problem}" if remote.problem else ""
    return f"origin/{branch} as last seen ({remote.state}{ahead}{behind}){problem}"[:2000]
