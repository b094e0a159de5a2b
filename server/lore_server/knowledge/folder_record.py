"""Keep the record of which folders use which project: below `.git`, where no pull, merge or checkout can write it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from lore_etl.system.nofollow import open_regular
from lore_server.knowledge.git.history import LOCK
from lore_server.knowledge.registry import INDEX, Registry, read_registry
from lore_server.knowledge.safe_files import Files

RECORD = "lore-folders.json"


class FolderRecord:
    """The record of a knowledge folder. Earlier versions kept it in `index.json`, which is in git."""

    def __init__(self, home: Path) -> None:
        self._path = home / ".git" / RECORD
        self._files = Files(home)
        self._local = Files(home / ".git")

    def registry(self) -> Registry:
        """Return the projects of the index, and the folders that use them. Raises StorageError."""
        index, record = self._files.read(INDEX), self._local.read(RECORD)
        if record is None and self._local.exists(LOCK):
            record = index  # of an earlier version
        return read_registry(index, record)

    def save(self, registry: Registry) -> None:
        """Replace the record. The caller holds the folder's lock."""
        self._local.write(RECORD, registry.record())

    def begin(self) -> None:
        """Begin an empty record before the first lock: a folder that Lore never locked has its index from elsewhere."""
        if not self._local.exists(LOCK):
            with contextlib.suppress(FileExistsError):
                os.close(open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))

    def take_over(self) -> None:
        """Save the record of an earlier version, if there is none. The caller holds the folder's lock."""
        if not self._local.exists(RECORD):
            self.save(self.registry())
