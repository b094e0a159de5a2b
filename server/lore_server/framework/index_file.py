"""Write the view and the drift of documents from files to `.ce/syntropy-index.json`, for tools that read it there."""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, partial
from pathlib import Path

from lore_etl.config.project import VIEW_NAME
from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport
from lore_etl.index import Index
from lore_etl.system.open_folder import facts_below, target_of
from lore_server.framework.view import (
    IN_INDEX,
    PATTERNS,
    PLACES,
    SYSTEM,
    Entries,
    Group,
    View,
    ViewEntry,
    endings,
    existing_places,
)
from lore_server.knowledge.git.commits import blob_id
from lore_server.knowledge.safe_files import Files
from lore_server.query.freshness import Freshness
from lore_server.replies import budget
from lore_server.replies.records import DriftRecord, ViolationRecord

VERSION = "1.0"  # of this format
FRAMEWORK_VERSION = "1.0"  # of the layout
LARGE_BYTES = 10_000_000
SHOWN_VIOLATIONS = 10
SHOWN_CHARACTERS = 4_000  # leaves the rest of a reply to its other parts
SENTENCES = {
    "missing_implementation": "{key} names the implementation {target}, which does not exist.",
    "missing_pattern": "{key} refers to the pattern {target}, which does not exist.",
    "changed_since_index": "{target} has changed since the index was built: run `lore sync`.",
}
"""The kinds of violations, with their messages."""


def drift(entries: Iterable[ViewEntry], exists: Callable[[str], bool], changed: Collection[str]) -> DriftRecord:
    """Return the checks that fail, and their share. Open PRPs are skipped: they name files not written yet."""
    checks = list(_checks(list(entries), exists, changed))
    violations: list[ViolationRecord] = []
    for kind, entry, target, holds in checks:
        if not holds:
            message = SENTENCES[kind].format(key=entry.key, target=target)
            violations.append({"type": kind, "source": entry.path, "target": target, "message": message})
    score = round(len(violations) / len(checks), 4) if checks else 0.0
    return {"score": score, "total": len(violations), "violations": violations}


def _checks(
    entries: list[ViewEntry], exists: Callable[[str], bool], changed: Collection[str]
) -> Iterator[tuple[str, ViewEntry, str, bool]]:
    """Yield the kind, the document and the path of every check, and whether it passed."""
    executed = [(entry, entry.spec) for entry in entries if entry.spec and entry.is_done]
    for entry, spec in executed:
        yield from (("missing_implementation", entry, path, exists(path)) for path in spec.implementations)
    known = {ending for entry in entries if entry.group in PATTERNS for ending in endings(entry.path)}
    for entry, spec in executed:
        yield from (("missing_pattern", entry, path, path in known or exists(path)) for path in spec.examples)
    first = {entry.path: entry for entry in reversed(entries)}
    yield from (("changed_since_index", first[path], path, path not in changed) for path in sorted(first))


class Output:
    """A writer of the file that never writes outside the project's `.ce/`: it rejects symlinks on the path."""

    def __init__(self, index: Index, view: View, freshness: Freshness) -> None:
        self._index = index
        self._view = view
        self._freshness = freshness
        self._files = Files(index.root)
        self._guard = threading.Lock()

    def _drift(self, entries: Entries) -> DriftRecord:
        changed = self._freshness.changed_of(entries.by_path) if entries.all else set()
        return drift(entries.all, cache(partial(exists, self._index.root)), changed)

    def drift_record(self) -> DriftRecord:
        """Return the drift of the indexed documents, with the first violations."""
        now = self._drift(self._view.entries() if self._index.exists() else Entries())
        return {**now, "violations": budget.fitting(now["violations"][:SHOWN_VIOLATIONS], SHOWN_CHARACTERS)}

    def create(self) -> list[str]:
        """Write the file; another tool's is kept next to it. Return remarks on it. Raises InvalidPath, StorageError."""
        with self._guard:
            before, remarks = self._files.read(VIEW_NAME), list[str]()
            if before is not None and not is_ours(before):
                name = f"{VIEW_NAME}.old-{blob_id(before)[:8]}"
                self._files.write(name, before)
                remarks = [f"{VIEW_NAME} was damaged or another tool's: kept as {name}."]
            return [*remarks, *self._write(before)]

    def refresh(self, report: SyncReport) -> None:
        """Update an existing file of ours after a build. Failures become warnings of the report."""
        try:
            with self._guard:
                before = self._files.read(VIEW_NAME)
                if before is not None and is_ours(before):
                    report.warnings += self._write(before)
                elif before is not None:
                    report.warnings.append(
                        f"{VIEW_NAME} is damaged or another tool's, and was kept: `lore init` replaces it."
                    )
        except LoreError as error:
            report.warnings.append(f"{VIEW_NAME} was not written: {error.message}")

    def _write(self, before: bytes | None) -> list[str]:
        """Write the file if it differs, and return remarks on it."""
        index = self._index
        entries = self._view.entries() if index.exists() else Entries()
        now, places = self._drift(entries), existing_places(index.root)
        record: JSON = {
            "version": VERSION,
            "project_root": str(index.root).encode("utf-8", "replace").decode(),
            "synced_at": index.catalogue.meta("synced_at") if index.exists() else None,
            "framework_version": FRAMEWORK_VERSION,
            "paths": {role: places.get(role, PLACES[role][0]) for role in IN_INDEX},
            "knowledge": {group: {entry.key: entry.record() for entry in entries.by_group[group]} for group in Group},
            "drift": {"score": now["score"], "violations": now["violations"]},
        }
        data = (json.dumps(record, ensure_ascii=False, indent=2) + "\n").encode()
        if data != before:
            self._files.remove_temporary_in(SYSTEM)
            self._files.write(VIEW_NAME, data)
        if len(data) > LARGE_BYTES:
            return [f"{VIEW_NAME} is large: {len(data) / 1e6:.1f} MB. Tools that read it whole may be slow."]
        return []


def exists(root: Path, path: str) -> bool:
    """Return whether the project has this file or folder; a path that leads outside (`..`, symlinks) is missing."""
    try:
        target = target_of(root, path)
    except (OSError, ValueError):
        return False  # a symlink that is being removed, or a name that no system allows
    return target == "." or (target is not None and facts_below(root, target) is not None)


def is_ours(data: bytes) -> bool:
    """Return whether Lore, or the tool with the same format, wrote this content."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    knowledge = value.get("knowledge") if isinstance(value, dict) else None
    return isinstance(knowledge, dict) and {group.value for group in Group} <= knowledge.keys() and "drift" in value
