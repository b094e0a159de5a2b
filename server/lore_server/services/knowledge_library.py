"""Open the knowledge folder when it is first needed, and resolve the project that a call refers to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from lore_etl.core.errors import InvalidProjectId
from lore_server.knowledge.chapter_edit import Edit
from lore_server.knowledge.identity import Identity, identity_of
from lore_server.knowledge.names import checked_project_id
from lore_server.knowledge.reader import DocumentReader
from lore_server.knowledge.registry import Registry
from lore_server.knowledge.store import KnowledgeStore
from lore_server.knowledge.writer import WriteRequest, Written

RETRY_SECONDS = 60.0
ADOPT = "lore knowledge adopt"


class Library:
    """A knowledge folder from the viewpoint of one project, opened at its first use.

    `changed` is called after every write.
    """

    def __init__(self, home: Path, root: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.unopened = KnowledgeStore(home, changed=changed, identity=self._identity)
        self._root = root.resolve()
        self._guard = threading.Lock()
        self._is_open = False
        self._retry_at = 0.0

    @property
    def home(self) -> Path:
        return self.unopened.home

    @property
    def store(self) -> KnowledgeStore:
        """The store, repaired if a writer was killed; the remote is fetched in the background.

        A folder that has a remote but no commit is fetched first, because documents written earlier would diverge.
        """
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
        return self.store.reader if commit is None else self.store.past.at(commit)

    def registry(self) -> Registry:
        """Return the registry, which records the project that each folder uses. Raises StorageError."""
        return self.listed.projects.registry()

    def identity(self, registry: Registry) -> Identity:
        """Return the identity of the current folder."""
        return identity_of(self._root, registry.folders)

    @property
    def current(self) -> str:
        """The id of the project that the current folder uses. Raises StorageError."""
        registry = self.registry()
        return registry.project_of(self.identity(registry))

    def folder(self) -> Path | None:
        """Return the folder of the current project's documents, if it exists. Fetches nothing.

        Raises:
            StorageError: the list of projects cannot be read.
        """
        registry = self.unopened.projects.registry()
        slug = registry.projects.get(registry.project_of(self.identity(registry)))
        return self.home / "projects" / slug if slug else None

    def named(self, project_id: str | None) -> str:
        """Return the id of the project that a call refers to; the repository's name means this folder's project.

        Raises:
            InvalidProjectId: the name is this repository's name, but also the id of another project.
        """
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
        registry = self.unopened.projects.registry()
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

    def _identity(self) -> Identity:
        return self.identity(self.unopened.projects.registry())

    def close(self) -> None:
        """Wait briefly for commits that are being pushed."""
        if self._is_open:
            self.unopened.close()

    def edit(self, request: WriteRequest, filename: str | None, edit: Edit) -> Written:
        """Change an existing document or, without a file name, the main document."""
        name = self.named(request.project_id)
        return self.store.edit(name, filename, edit, request.by, request.expected_version)
