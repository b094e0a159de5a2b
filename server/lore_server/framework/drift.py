"""Measure the drift between documents and files. Pure: existing and changed files are arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lore_server.framework.groups import PATTERNS
from lore_server.framework.view import endings
from lore_server.framework.view_entry import ViewEntry

if TYPE_CHECKING:
    from lore_server.replies.records import ViolationRecord


class DriftKind(StrEnum):
    """The kind of a violation."""

    MISSING_IMPLEMENTATION = "missing_implementation"
    MISSING_PATTERN = "missing_pattern"
    CHANGED = "changed_since_index"


_SENTENCES = {
    DriftKind.MISSING_IMPLEMENTATION: "{key} names the implementation {target}, which does not exist.",
    DriftKind.MISSING_PATTERN: "{key} refers to the pattern {target}, which does not exist.",
    DriftKind.CHANGED: "{target} has changed since the index was built: run `lore sync`.",
}


@dataclass(frozen=True)
class Violation:
    """A violation: its document and key, and the path that it is about."""

    kind: DriftKind
    source: str
    key: str
    target: str

    def record(self) -> ViolationRecord:
        """Return the violation as stored in `.ce/syntropy-index.json`."""
        message = _SENTENCES[self.kind].format(key=self.key, target=self.target)
        return {"type": self.kind.value, "source": self.source, "target": self.target, "message": message}


@dataclass(frozen=True)
class Drift:
    """The score, the violations by kind and place, and the number of checks."""

    score: float
    violations: tuple[Violation, ...]
    checked: int


def drift(entries: Iterable[ViewEntry], exists: Callable[[str], bool], changed: Collection[str]) -> Drift:
    """Check the entries for references to missing files and for changed files.

    Checks each implementation and pattern named by an executed PRP, and that each entry's file is unchanged since the
    last sync. The score is violations / checks, from 0.0 (or no checks) to 1.0. Open PRPs are skipped: they name files
    not written yet.
    """
    entries = list(entries)
    found = [*_implementations(entries, exists), *_patterns(entries, exists), *_files(entries, changed)]
    violations = tuple(violation for violation, holds in found if not holds)
    return Drift(round(len(violations) / len(found), 4) if found else 0.0, violations, len(found))


def _implementations(entries: list[ViewEntry], exists: Callable[[str], bool]) -> Iterator[tuple[Violation, bool]]:
    for entry in entries:
        for path in entry.spec.implementations if entry.spec and entry.is_done else ():
            yield Violation(DriftKind.MISSING_IMPLEMENTATION, entry.path, entry.key, path), exists(path)


def _patterns(entries: list[ViewEntry], exists: Callable[[str], bool]) -> Iterator[tuple[Violation, bool]]:
    known = {ending for entry in entries if entry.group in PATTERNS for ending in endings(entry.path)}
    for entry in entries:
        for path in entry.spec.examples if entry.spec and entry.is_done else ():
            yield Violation(DriftKind.MISSING_PATTERN, entry.path, entry.key, path), path in known or exists(path)


def _files(entries: list[ViewEntry], changed: Collection[str]) -> Iterator[tuple[Violation, bool]]:
    first = {entry.path: entry for entry in reversed(entries)}
    for path in sorted(first):
        yield Violation(DriftKind.CHANGED, path, first[path].key, path), path not in changed
