"""The folder of a set of documentation in the index: its pages as Markdown files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lore_etl.core.json_types import JSON
from lore_etl.files.indexed import ADDED
from lore_etl.system.durable import sync_all_files
from lore_server.knowledge.safe_files import Files

MAX_SHOWN = 20  # skipped pages in a report


@dataclass
class DocChanges:
    """The result of an update, in numbers of pages; `skipped` maps pages that were left out to the reason."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    requests: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        """Return whether there is anything to index."""
        return bool(self.added or self.changed or self.removed)

    def record(self) -> JSON:
        shown = list(self.skipped.items())[:MAX_SHOWN]
        return {
            "added": self.added, "changed": self.changed, "unchanged": self.unchanged, "removed": self.removed,
            "requests": self.requests, "skipped": len(self.skipped),
            "skipped_pages": [{"page": page, "reason": reason} for page, reason in shown], "notes": self.notes,
        }  # fmt: skip


class DocFolder:
    """The pages of one set. No symlink below the index folder is followed."""

    def __init__(self, index: Path, name: str) -> None:
        self.below = f"{ADDED.removeprefix('@')}/{name}"
        self._files = Files(index)

    @property
    def shown(self) -> str:
        """Return the folder as shown in results."""
        return f"@{self.below}"

    def write(self, path: str, text: str, is_durable: bool = True) -> bool | None:
        """Write a page if its text differs. Returns True if it is new, False if it changed, None if it is the same."""
        place, data = f"{self.below}/{path}", text.encode()
        before = self._files.read(place)
        if before == data:
            return None
        self._files.write(place, data, is_durable)
        return before is None

    def exists(self, path: str) -> bool:
        return self._files.exists(f"{self.below}/{path}")

    def replace(self, pages: Mapping[str, str], changes: DocChanges) -> None:
        """Make these the only pages, and count the changes."""
        for path, text in pages.items():
            is_new = self.write(path, text, is_durable=False)
            changes.added += is_new is True
            changes.changed += is_new is False
            changes.unchanged += is_new is None
        if changes.is_change:
            sync_all_files()
        changes.removed += self.keep_only(set(pages))

    def keep_only(self, pages: set[str]) -> int:
        """Delete all other pages, and return their number."""
        gone = set(self._files.below(self.below)) - {f"{self.below}/{path}" for path in pages}
        for place in sorted(gone):
            self._files.remove(place)
        return len(gone)

    def delete(self) -> int:
        """Delete the folder, and return the number of its pages."""
        places = self._files.below(self.below)
        for place in places:
            self._files.remove(place)
        return sum(place.endswith(".md") for place in places)
