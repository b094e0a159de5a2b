"""The projects of the knowledge folder: which of them may be changed from this folder, and their commits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from lore_etl.core.errors import Conflict, LoreError, ProjectNotFound
from lore_server.knowledge.git.history import Changes, History
from lore_server.knowledge.names import project_slug
from lore_server.knowledge.reader import DocumentReader, Project, possible_names
from lore_server.knowledge.registry import INDEX, Identity, Registry, index_with, read_index, read_registry
from lore_server.knowledge.safe_files import Files

if TYPE_CHECKING:
    from lore_server.replies import records

RECORD = "lore-folders.json"


class Projects:
    """The projects of a knowledge folder, and their commits; `identity` returns that of the current folder."""

    def __init__(self, history: History, identity: Callable[[], Identity | None]) -> None:
        self._files = history.files
        self._local = Files(history.home / ".git")  # no pull, merge or checkout can write here
        self.reader = DocumentReader(history.files.read)
        self._history = history
        self._identity = identity

    def registry(self) -> Registry:
        """Return the projects of the index, and the folders that use them. Raises StorageError."""
        return read_registry(self._files.read(INDEX), self._local.read(RECORD))

    def existing(self, project_id: str) -> Project:
        """Return an existing project, whichever folder uses it. Raises ProjectNotFound."""
        project = self.reader.project(project_id)
        if not project.exists:
            raise ProjectNotFound(f"There is no project `{project.id}`.")
        return project

    def known(self, project_id: str) -> Project:
        """Return an existing project that may be changed from this folder. Raises ProjectNotFound, Conflict."""
        return self.allowed(self.existing(project_id))

    def allowed(self, project: Project) -> Project:
        """Return the project. Raises Conflict if another folder has created one of this folder's name meanwhile."""
        identity = self._identity()
        if identity is not None and project.id == identity.name:
            current = self.registry().project_of(identity)
            if current != project.id:
                message = f"Another folder created a project `{project.id}` just now"
                raise Conflict(f"{message}; this folder's project is `{current}`.")
        return project

    def use(self, project_id: str, all_clones: bool = False) -> None:
        identity = self._identity()
        assert identity is not None, "a store that adopts belongs to a folder"
        self._local.write(RECORD, self.registry().using(project_id, identity, all_clones).record())

    def begun(self, project: Project) -> tuple[Project, Changes]:
        """Return the project with its folder, and for a new one the changed index; record its user. Raises Conflict."""
        if project.exists:
            return self.allowed(project), {}
        data = self._files.read(INDEX)
        taken = {*read_index(data).values(), *self._files.folders("projects")}
        slug = self._free_slug(project.id, taken)
        identity = self._identity()
        if identity is not None and self.registry().project_of(identity) == project.id:
            self.use(project.id)
        return Project(project.id, slug), {INDEX: index_with(data, project.id, slug)}

    def _free_slug(self, project_id: str, taken: set[str]) -> str:
        """Return a folder without a history, or the former one: only the former project may use a folder again."""
        slug, former = project_slug(project_id, taken), None
        while self._history.log([f"projects/{slug}"], limit=1):
            if former is None:
                former = self._former_slug(project_id) or ""
            if former and former not in taken:
                return former
            taken.add(slug)
            slug = project_slug(project_id, taken)
        return slug

    def _former_slug(self, project_id: str) -> str | None:
        """Return the folder of a deleted project; None if it is not in the last 200 changes of the index."""
        for commit in self._history.log([INDEX], limit=200):
            for tip in (commit.id, *commit.parents):
                with contextlib.suppress(LoreError):
                    if slug := read_index(self._history.content_at(tip, INDEX)).get(project_id):
                        return slug
        return None

    def show(self, commit: str) -> records.KnowledgeHistoryRecord:
        """Return a commit with its changes as a patch. Raises CommitNotFound."""
        entry = self._history.entry(commit)
        parent = next(iter(entry.parents), None)
        paths, patch = list(self._history.changed_between(parent, entry.id)), self._history.diff(parent, entry.id)
        return {"success": True, "commits": [entry.record()], "paths": paths, "patch": patch}

    def at(self, commit: str) -> DocumentReader:
        """Return a reader of the documents in a commit. Raises CommitNotFound."""
        blobs = self._history.blobs_of(self._history.resolve(commit))

        def read(path: str) -> bytes | None:
            name = blobs.get(path)
            return self._history.contents([name])[name] if name else None

        return DocumentReader(read)

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
