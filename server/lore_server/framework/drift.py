"""Measure the drift between documents and files. Pure: existing and changed files are arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore_server.framework.groups import PATTERNS
from lore_server.framework.view import ViewEntry, endings

if TYPE_CHECKING:
    from lore_server.replies.records import ViolationRecord

SENTENCES = {
    "missing_implementation": "{key} names the implementation {target}, which does not exist.",
    "missing_pattern": "{key} refers to the pattern {target}, which does not exist.",
    "changed_since_index": "{target} has changed since the index was built: run `lore sync`.",
}
"""The kinds of violations, with their messages."""


@dataclass(frozen=True)
class Violation:
    """A violation: its kind, its document and key, and the path that it is about."""

    kind: str
    source: str
    key: str
    target: str

    def record(self) -> ViolationRecord:
        """Return the violation as stored in `.ce/syntropy-index.json`."""
        message = SENTENCES[self.kind].format(key=self.key, target=self.target)
        return {"type": self.kind, "source": self.source, "target": self.target, "message": message}


@dataclass(frozen=True)
class Drift:
    """The score, the violations by kind and place, and the number of checks."""

    score: float
    violations: tuple[Violation, ...]
    checked: int


def drift(entries: Iterable[ViewEntry], exists: Callable[[str], bool], changed: Collection[str]) -> Drift:
    """Return the checks that fail, and their share. Open PRPs are skipped: they name files not written yet."""
    found = list(_checks(list(entries), exists, changed))
    violations = tuple(violation for violation, holds in found if not holds)
    return Drift(round(len(violations) / len(found), 4) if found else 0.0, violations, len(found))


def _checks(
    entries: list[ViewEntry], exists: Callable[[str], bool], changed: Collection[str]
) -> Iterator[tuple[Violation, bool]]:
    """Yield every check as the violation that it looks for, and whether it passed."""
    executed = [(entry, entry.spec) for entry in entries if entry.spec and entry.is_done]
    for entry, spec in executed:
        for path in spec.implementations:
            yield Violation("missing_implementation", entry.path, entry.key, path), exists(path)
    known = {ending for entry in entries if entry.group in PATTERNS for ending in endings(entry.path)}
    for entry, spec in executed:
        for path in spec.examples:
            yield Violation("missing_pattern", entry.path, entry.key, path), path in known or exists(path)
    first = {entry.path: entry for entry in reversed(entries)}
    for path in sorted(first):
        yield Violation("changed_since_index", path, first[path].key, path), path not in changed
