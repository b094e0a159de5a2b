"""Write the view to `.ce/syntropy-index.json`, for tools that read it there, whenever it differs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache, partial
from pathlib import Path

from lore_etl.config.project import VIEW_NAME
from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport
from lore_etl.core.text import counted
from lore_etl.index import Index
from lore_etl.system.open_folder import facts_below, target_of
from lore_server.framework.drift import Drift, drift
from lore_server.framework.groups import Group
from lore_server.framework.layout import FRAMEWORK, layout_of
from lore_server.framework.view import Entries, View
from lore_server.knowledge.safe_files import Files
from lore_server.query.freshness import Freshness

VERSION = "1.0"  # of this format
FRAMEWORK_VERSION = "1.0"  # of the layout
LARGE_BYTES = 10_000_000
MAX_COPIES = 100


class State(Enum):
    """The origin of a file, as a report words it."""

    OURS = "ours"
    FOREIGN = "another tool's"
    DAMAGED = "damaged"


class Output:
    """A writer of the file that never writes outside the project's `.ce/`: it rejects symlinks on the path."""

    def __init__(self, index: Index, view: View, freshness: Freshness) -> None:
        self._index = index
        self._view = view
        self._freshness = freshness
        self._files = Files(index.root)
        self._guard = threading.Lock()

    def drift(self, entries: Entries) -> Drift:
        changed = self._freshness.changed_of(entries.by_path) if entries.all else set()
        return drift(entries.all, cache(partial(exists, self._index.root)), changed)

    def create(self) -> list[str]:
        """Write the file unconditionally; a foreign or damaged file is kept next to it. Return remarks on the file.

        Raises:
            InvalidPath: `.ce` or the file is a symlink, or of the wrong kind.
            StorageError: it cannot be written.
        """
        with self._guard:
            before = self._files.read(VIEW_NAME)
            return [*self._kept_beside(before), *self._written(before)]

    def refresh(self, report: SyncReport) -> None:
        """Update an existing file after a build. Failures become warnings of the report."""
        try:
            with self._guard:
                before = self._files.read(VIEW_NAME)
                if before is None:
                    return
                if state_of(before) is State.FOREIGN:
                    report.warnings.append(
                        f"{VIEW_NAME} belongs to another tool and was kept: `lore init` replaces it."
                    )
                    return
                report.warnings += [*self._kept_beside(before), *self._written(before)]
        except LoreError as error:
            report.warnings.append(f"{VIEW_NAME} was not written: {error.message}")

    def _kept_beside(self, before: bytes | None) -> list[str]:
        state = State.OURS if before is None else state_of(before)
        if before is None or state is State.OURS:
            return []
        names = [f"{VIEW_NAME}.old", *(f"{VIEW_NAME}.old-{number}" for number in range(2, MAX_COPIES))]
        name = next((name for name in names if not self._files.exists(name)), names[-1])
        self._files.write(name, before)
        return [f"{VIEW_NAME} was {state.value}: kept as {name}."]

    def _written(self, before: bytes | None) -> list[str]:
        index = self._index
        entries = self._view.entries() if index.exists() else Entries()
        synced_at = index.catalogue.meta("synced_at") if index.exists() else None
        record = record_of(index.root, layout_of(index.root).paths(), entries, self.drift(entries), synced_at)
        data = (json.dumps(record, ensure_ascii=False, indent=2) + "\n").encode()
        if data != before:
            self._files.remove_temporary_in(FRAMEWORK)
            self._files.write(VIEW_NAME, data)
        return list(_remarks(len(data), entries))


def record_of(root: Path, paths: Mapping[str, str], entries: Entries, now: Drift, synced_at: str | None) -> JSON:
    """Return the content of the file. Pure."""
    return {
        "version": VERSION,
        "project_root": str(root).encode("utf-8", "replace").decode(),
        "synced_at": synced_at,
        "framework_version": FRAMEWORK_VERSION,
        "paths": dict(paths),
        "knowledge": {group.value: {entry.key: entry.record() for entry in entries.by_group[group]} for group in Group},
        "drift": {"score": now.score, "violations": [violation.record() for violation in now.violations]},
    }


def _remarks(size: int, entries: Entries) -> Iterator[str]:
    if size > LARGE_BYTES:
        yield f"{VIEW_NAME} is large: {size / 1e6:.1f} MB. Tools that read it whole may be slow."
    if entries.unknown:
        files = counted(entries.unknown, "file")
        yield f"{VIEW_NAME} lacks {files} that an older version of Lore indexed: run `lore sync`."


def exists(root: Path, path: str) -> bool:
    """Return whether the project has this file or folder; a path that leads outside (`..`, symlinks) is missing."""
    try:
        target = target_of(root, path)
    except (OSError, ValueError):
        return False  # a symlink that is being removed, or a name that no system allows
    return target == "." or (target is not None and facts_below(root, target) is not None)


def state_of(data: bytes) -> State:
    """Return the origin of the file's content."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return State.DAMAGED
    if not isinstance(value, dict):
        return State.DAMAGED
    knowledge = value.get("knowledge")
    is_ours = isinstance(knowledge, dict) and {group.value for group in Group} <= knowledge.keys() and "drift" in value
    return State.OURS if is_ours else State.FOREIGN
