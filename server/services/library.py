"""The knowledge folder, opened by the first who needs it, and the project that is meant where none is named."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from etl.errors import GitError
from etl.knowledge.git import Git
from etl.knowledge.names import name_from_remote
from etl.knowledge.shelf import Documents
from etl.knowledge.store import KnowledgeStore

GIT_SECONDS = 5.0


class Library:
    """One knowledge folder as one project sees it; `changed` is told of every write. Nothing is touched before it is
    used."""

    def __init__(self, home: Path, root: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.unopened = KnowledgeStore(home, changed=changed)
        self._root = root
        self._guard = threading.Lock()
        self._is_open = False

    @property
    def home(self) -> Path:
        """The folder."""
        return self.unopened.home

    @property
    def store(self) -> KnowledgeStore:
        """The store, with what a killed writer left put in order; the remote is brought in meanwhile."""
        with self._guard:
            if not self._is_open:
                self.unopened.open(wait_for_remote=False)
                self._is_open = True
        return self.unopened

    def documents(self, commit: str | None) -> Documents:
        """The documents as they are, or as a commit has them. Raises CommitNotFound."""
        return self.store if commit is None else self.store.at(commit)

    @cached_property
    def current(self) -> str:
        """The project's name by its git remote, else by its folder."""
        if (self._root / ".git").exists():
            try:
                address = Git(self._root).run("config", "--get", "remote.origin.url", seconds=GIT_SECONDS)
            except GitError:
                address = b""
            if name := name_from_remote(address.decode("utf-8", "replace").strip()):
                return name
        return self._root.name or "root"

    def folder(self) -> Path | None:
        """Where the documents of the present project are; None as long as there are none. Raises StorageError."""
        slug = self.unopened.project(self.current).slug
        return self.home / "projects" / slug if slug else None

    def named(self, project_id: str | None) -> str:
        """The project that is meant."""
        return self.current if project_id is None else project_id

    def close(self) -> None:
        """Wait a moment for what is being pushed."""
        if self._is_open:
            self.unopened.close()
