"""The knowledge folder, opened when it is first needed, and the project that is meant when none is named."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from lore_etl.core.errors import InvalidProjectId
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.identity import Identity, identity_of
from lore_server.knowledge.names import checked_project_id
from lore_server.knowledge.reader import DocumentReader
from lore_server.knowledge.registry import INDEX, Registry, read_registry
from lore_server.knowledge.store import KnowledgeStore

RETRY_SECONDS = 60.0
ADOPT = "lore knowledge adopt"


class Library:
    """One knowledge folder as one project sees it; `changed` is called after every write. Nothing is touched before
    it is used."""

    def __init__(self, home: Path, root: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.unopened = KnowledgeStore(home, changed=changed, identity=self._identity)
        self._root = root.resolve()
        self._guard = threading.Lock()
        self._is_open = False
        self._retry_at = 0.0

    @property
    def home(self) -> Path:
        """The folder."""
        return self.unopened.home

    @property
    def store(self) -> KnowledgeStore:
        """The store, put in order after a killed writer; the remote is fetched in the background.

        A folder that has a remote and no commit yet is fetched first: what is written before would diverge.
        """
        with self._guard:
            is_empty = self.unopened.is_unfetched
            if not self._is_open or (is_empty and time.monotonic() > self._retry_at):
                self.unopened.open(wait_for_remote=is_empty)
                self._is_open, self._retry_at = True, time.monotonic() + RETRY_SECONDS
        return self.unopened

    @property
    def listed(self) -> KnowledgeStore:
        """The store for lists, which open nothing, except that a new folder with a remote is fetched."""
        return self.store if self.unopened.is_unfetched else self.unopened

    def documents(self, commit: str | None) -> DocumentReader:
        """The documents as they are, or as a commit has them. Raises CommitNotFound."""
        return self.store.reader if commit is None else self.store.past.at(commit)

    def registry(self) -> Registry:
        """Which folder uses which project. Raises StorageError."""
        return read_registry(self.listed.files.read(INDEX))

    def identity(self, registry: Registry) -> Identity:
        """What identifies the present folder."""
        return identity_of(self._root, registry.folders)

    @property
    def current(self) -> str:
        """The id of the project that the present folder uses. Raises StorageError."""
        registry = self.registry()
        return registry.project_of(self.identity(registry))

    def folder(self) -> Path | None:
        """Where the documents of the present project are; None as long as there are none. Fetches nothing.

        Raises:
            StorageError: the list of projects cannot be read.
        """
        registry = read_registry(self.unopened.files.read(INDEX))
        slug = registry.projects.get(registry.project_of(self.identity(registry)))
        return self.home / "projects" / slug if slug else None

    def named(self, project_id: str | None) -> str:
        """The project that is meant: the repository's name means this folder's project, as the seed has it.

        Raises:
            InvalidProjectId: it is this repository's name, and another project's id.
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
                f"can confirm it with `{ADOPT} {name}`.",
            )
        return current

    def note(self) -> str | None:
        """What is missing here and why: unconfirmed knowledge, an unreachable remote. Fetches nothing."""
        registry = read_registry(self.unopened.files.read(INDEX))
        found = registry.candidates(self.identity(registry))
        notes = []
        if found:
            names = ", ".join(f"`{name}`" for name in found[:5])
            notes.append(
                f"Knowledge of {names} may belong to this folder: a person can review and confirm it with `{ADOPT}`."
            )
        if self.unopened.is_unfetched and (problem := self.unopened.remote.problem):
            notes.append(f"The remote of the knowledge folder could not be reached: {problem}")
        return " ".join(notes)[:1000] or None

    def _identity(self) -> Identity:
        return self.identity(read_registry(self.unopened.files.read(INDEX)))

    def close(self) -> None:
        """Wait a moment for what is being pushed."""
        if self._is_open:
            self.unopened.close()


def author_of(author: str | None, session: str | None) -> Author:
    """Return the author of a change; both parts are optional in a call."""
    return Author(author or "", session or "")
