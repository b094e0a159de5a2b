"""List, show, compare, read and revert the commits of projects and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_etl.core.errors import Conflict, ProjectNotFound
from lore_server.knowledge.git.commits import Author, Commit
from lore_server.knowledge.git.history import Changes, History
from lore_server.knowledge.merge import Clash, merged
from lore_server.knowledge.projects import Projects
from lore_server.knowledge.reader import DocumentReader, Project, possible_names
from lore_server.knowledge.registry import INDEX, index_with, read_index
from lore_server.knowledge.writer import Writer

if TYPE_CHECKING:
    from lore_server.replies import records

_BY_HAND = "Read the commit, then write again the parts you need."


class CommitFiles:
    """The files of a commit, see `Readable`."""

    def __init__(self, history: History, commit: str) -> None:
        self._history = history
        self._blobs = history.blobs_of(commit)

    def read(self, path: str) -> bytes | None:
        name = self._blobs.get(path)
        return self._history.contents([name])[name] if name else None

    def exists(self, path: str) -> bool:
        return path in self._blobs


class Past:
    """The commits of a knowledge folder, by project and document."""

    def __init__(self, history: History, writer: Writer, projects: Projects) -> None:
        self._files = history.files
        self._history = history
        self._writer = writer
        self._projects = projects
        self._reader = DocumentReader(history.files)

    def log(
        self,
        project_id: str | None = None,
        filename: str | None = None,
        main: bool = False,
        limit: int = 50,
        skip: int = 0,
    ) -> list[Commit]:
        """Return commits, newest first: all, or those of a project, of a document or (`main`) of a main document.

        Deleted projects and documents keep their history. Raises ProjectNotFound if the project never existed.
        """
        return self._history.log(self._paths(project_id, filename, main), limit, skip)

    def show(self, commit: str) -> records.KnowledgeHistoryRecord:
        """Return a commit with its changes as a patch. Raises CommitNotFound."""
        entry = self._history.entry(commit)
        parent = next(iter(entry.parents), None)
        paths, patch = list(self._history.changed_between(parent, entry.id)), self._history.diff(parent, entry.id)
        return {"success": True, "commits": [entry.record()], "paths": paths, "patch": patch}

    def diff(
        self,
        old: str | None,
        new: str | None = None,
        project_id: str | None = None,
        filename: str | None = None,
        main: bool = False,
    ) -> str:
        """Return the changes between two commits as a patch; without `new`, up to the current files.

        Raises CommitNotFound, and ProjectNotFound if the project never existed.
        """
        return self._history.diff(old, new, self._paths(project_id, filename, main))

    def at(self, commit: str) -> DocumentReader:
        """Return a reader of the documents in a commit. Raises CommitNotFound."""
        return DocumentReader(CommitFiles(self._history, self._history.resolve(commit)))

    def revert(self, commit: str, author: Author) -> records.KnowledgeRevertedRecord:
        """Revert a commit with a new commit, if there is anything left to revert; later changes to other lines stay.

        Raises CommitNotFound, and Conflict if lines that the commit wrote have changed since.
        """
        with self._writer.writing():
            entry = self._history.entry(commit)
            wanted = self._with_projects(entry, self._reverted_files(entry))
            subject = entry.message.partition("\n")[0]
            message = f'Revert "{subject}"\n\nThis reverts commit {entry.id}.'
            done = self._writer.commit(wanted, message, author) if wanted else None
            return {"success": True, "commit": done, "paths": list(wanted), "message": message}

    def _reverted_files(self, entry: Commit) -> Changes:
        history, wanted, clashes = self._history, Changes(), list[str]()
        changed = history.changed_between(next(iter(entry.parents), None), entry.id)
        blobs = history.contents(end.id for ends in changed.values() for end in ends if end)
        for path, ends in changed.items():
            before, after = (end and blobs[end.id] for end in ends)
            ours = self._files.read(path)
            if ours is not None:
                self._writer.keep_foreign({path: ours})
            try:
                found = merged(history.git, path, after, ours, before)
            except Clash as clash:
                clashes.append(str(clash))
                continue
            if found != ours:
                wanted[path] = found
        if clashes:
            message = f"Changed since: {', '.join(clashes)[:500]}."
            raise Conflict(message, "Revert the later commits first, or edit the document.")
        return wanted

    def _with_projects(self, entry: Commit, wanted: Changes) -> Changes:
        """Return the changes with an index that has every project with files.

        Raises Conflict if a project now has a different folder, or a folder a different project.
        """
        now = read_index(self._files.read(INDEX))
        data = wanted.get(INDEX, self._files.read(INDEX))
        touched = {path.split("/")[1] for path in wanted if path.startswith("projects/")}
        ends = [read_index(self._history.content_at(tip, INDEX)) for tip in (*entry.parents[:1], entry.id)]
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
            files = {*self._files.below(folder), *(path for path in wanted if path.startswith(f"{folder}/"))}
            if files - gone:
                data = index_with(data, name, slug)
        rest = {path: new for path, new in wanted.items() if path != INDEX}
        return rest if data == self._files.read(INDEX) else rest | {INDEX: data}

    def _paths(self, project_id: str | None, filename: str | None, main: bool) -> list[str]:
        if project_id is None:
            return []
        project = self._reader.project(project_id)
        slug = project.slug or self._projects.former_slug(project.id)
        if slug is None:
            raise ProjectNotFound(f"Nothing has ever been written for project `{project.id}`.")
        project = Project(project.id, slug)
        if main:
            return [project.main_path]
        if filename is None:
            return [f"projects/{slug}"]
        return [f"{project.knowledge_path}/{name}" for name in possible_names(filename)]
