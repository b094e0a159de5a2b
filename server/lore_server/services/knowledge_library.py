"""Open the knowledge folder when it is first needed, and resolve the project that a call refers to."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from lore_etl.core.errors import InvalidProjectId, ProjectNotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_server.knowledge.chapter_edit import Edit
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.memory_store import file_place
from lore_server.knowledge.names import checked_project_id
from lore_server.knowledge.reader import DocumentReader
from lore_server.knowledge.registry import Identity, Registry, identity_of
from lore_server.knowledge.store import KnowledgeStore
from lore_server.replies.records import KnowledgeWrittenRecord

RETRY_SECONDS = 60.0
ADOPT = "lore knowledge adopt"
_NO_CLONES = "Leave out --all-clones."
_LIST = "`lore knowledge list --all` lists all projects; give the id of this folder's project."


class Library:
    """A knowledge folder for one project, opened at its first use. `changed` is called after every write."""

    def __init__(self, home: Path, root: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.unopened = KnowledgeStore(home, changed=changed, identity=lambda: self.identity(self.unopened.registry()))
        self._root = root.resolve()
        self._guard = threading.Lock()
        self._is_open = False
        self._retry_at = 0.0

    @property
    def home(self) -> Path:
        return self.unopened.home

    @property
    def store(self) -> KnowledgeStore:
        """The store, repaired if a writer was killed; the remote is fetched in the background."""
        # an empty folder with a remote is fetched first, because documents written earlier would diverge
        with self._guard:
            is_empty = self.unopened.is_unfetched
            if not self._is_open or (is_empty and time.monotonic() > self._retry_at):
                self.unopened.open(wait_for_remote=is_empty)
                self._is_open, self._retry_at = True, time.monotonic() + RETRY_SECONDS
        return self.unopened

    @property
    def listed(self) -> KnowledgeStore:
        """The store for lists, which need not be opened; only a new folder with a remote is fetched."""
        return self.store if self.unopened.is_unfetched else self.unopened

    def documents(self, commit: str | None) -> DocumentReader:
        """Return a reader of the documents, in their current state or as of a commit. Raises CommitNotFound."""
        return self.store.reader if commit is None else self.store.at(commit)

    def registry(self) -> Registry:
        """Return the record of the project that each folder uses. Raises StorageError."""
        return self.listed.registry()

    def identity(self, registry: Registry) -> Identity:
        return identity_of(self._root, registry.folders)

    @property
    def current(self) -> str:
        """The id of the project that the current folder uses. Raises StorageError."""
        registry = self.registry()
        return registry.project_of(self.identity(registry))

    def folder(self) -> Path | None:
        """Return the folder of the current project's documents, if it exists. Fetches nothing. Raises StorageError."""
        registry = self.unopened.registry()
        slug = registry.projects.get(registry.project_of(self.identity(registry)))
        return self.home / "projects" / slug if slug else None

    def named(self, project_id: str | None) -> str:
        """Return the project that a call refers to; the repository's name means its own. Raises InvalidProjectId."""
        registry = self.registry()
        identity = self.identity(registry)
        current = registry.project_of(identity)
        name = current if project_id is None else checked_project_id(project_id)
        if name == current or name != identity.name:
            return name
        if registry.knows(name):
            raise InvalidProjectId(
                f"`{name}` is this folder's name, but also the id of a project that this folder does not use.",
                f"For this folder's own project, use `{current}`. If `{name}` belongs to this folder, a person "
                f"can confirm it with `{ADOPT} {quote(name)}`; `--all-clones` does so for each clone of the remote.",
            )
        return current

    def note(self) -> str | None:
        """Return why knowledge may be missing: it is unconfirmed, or the remote is unreachable. Fetches nothing."""
        registry = self.unopened.registry()
        found = registry.candidates(self.identity(registry))
        notes = []
        if found:
            names = ", ".join(f"`{name}`" for name in found[:5])
            command = f"{ADOPT} {quote(found[0])}" if len(found) == 1 else f"{ADOPT} ID"
            notes.append(
                f"Knowledge of {names} may belong to this folder: a person can review and confirm it with `{command}`, "
                "and `--all-clones` confirms it for each clone of the remote."
            )
        if self.unopened.is_unfetched and (problem := self.unopened.remote.problem):
            notes.append(f"Nothing was fetched from the remote of the knowledge folder: {problem}")
        return " ".join(notes)[:1000] or None

    def close(self) -> None:
        """Wait briefly for commits that are being pushed."""
        if self._is_open:
            self.unopened.close()

    def edit(self, request: WriteRequest, edit: Edit) -> KnowledgeWrittenRecord:
        name = self.named(request.project_id)
        return self.store.edit(name, request.filename or None, edit, request.by, request.expected_version)

    def proposal(self, project_id: str | None, all_clones: bool = False) -> JSON:
        """Return the projects that the folder would use, and stop using. Raises UsageError, ProjectNotFound."""
        store, registry = self.store, self.registry()
        identity = self.identity(registry)
        current, found = registry.project_of(identity), registry.candidates(identity)
        if all_clones and not identity.remote:
            raise UsageError(f"`{identity.folder}` has no git remote `origin`, so it has no other clones.", _NO_CLONES)
        if all_clones and not found and current in registry.projects:
            found = [current]
        if project_id is None and len(found) != 1:
            listed = f"`{identity.folder}` uses `{current}`"
            if not found:
                raise ProjectNotFound(f"{listed}, and no other knowledge seems to belong to this folder.", _LIST)
            raise UsageError(f"{listed}; these may belong to it: {', '.join(found)}.", "Give one of these ids.")
        name = store.existing(found[0] if project_id is None else project_id).id
        return {
            "folder": identity.folder,
            "remote": identity.remote or None,
            "adopt": _described(store, registry, name),
            "leave": _described(store, registry, current) if current in registry.projects and current != name else None,
            "all_clones": all_clones,
            "adopted": False,
        }

    def adopt(self, project_id: str, all_clones: bool = False) -> JSON:
        """Let the folder, or each clone of its remote, use the project. Projects used before are kept."""
        proposal = self.proposal(project_id, all_clones)
        self.store.adopt(project_id, all_clones)
        return {**proposal, "adopted": True}


def _described(store: KnowledgeStore, registry: Registry, project_id: str) -> JSON:
    project = store.reader.project(project_id)
    groups = store.files.folders(project.memories_path)
    names = [name for group in groups for name in store.files.names(f"{project.memories_path}/{group}")]
    places = [place for name in names if (place := file_place(name))]
    last = next(iter(store.history.log(store.paths(project_id), limit=1)), None)
    return {
        "project_id": project_id,
        "origin": registry.origins.get(project_id),
        "folders": sorted(folder for folder, use in registry.folders.items() if use.project == project_id),
        "has_main": store.files.exists(project.main_path),
        "documents": len(store.listing.documents(project_id)),
        "memories": sum(place.part == 1 for place in places),
        "changed": last.date if last else None,
    }
