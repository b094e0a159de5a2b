"""The sets of documentation that the user added to an index, and their pages there."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lore_etl.core.errors import UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.text import clip, one_line, storable
from lore_etl.files.indexed import ADDED
from lore_etl.system.durable import sync_all_files
from lore_server.knowledge.safe_files import Files

FOLDER, PYTHON, NPM, SITE = "folder", "python", "npm", "site"
MAX_VERSION = 40
MAX_SKIPPED = 20  # skipped pages in a report
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


@dataclass(frozen=True)
class DocSet:
    """A set of documentation: its origin, and the values needed to update it."""

    name: str
    kind: str
    origin: str  # a folder or an address
    package: str = ""  # installed in that folder
    version: str = ""  # the version found
    pinned: str = ""  # the version given by the user, which takes precedence
    max_pages: int = 500
    is_private: bool = False  # the host may be in a private network
    pages: int = 0

    def record(self) -> JSON:
        return {name: getattr(self, name) for name in ("name", "version", "kind", "origin", "package", "pages")}


@dataclass
class DocSetReport:
    """The changes of an update, in numbers of pages; `skipped` maps pages that were left out to the reason."""

    docs: DocSet
    folder: str
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    requests: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def is_change(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def record(self) -> JSON:
        pages = [{"page": page, "reason": reason} for page, reason in list(self.skipped.items())[:MAX_SKIPPED]]
        record: JSON = {"library": self.docs.record(), **asdict(self), "skipped": len(self.skipped)}
        del record["docs"]
        return {**record, "skipped_pages": pages}


class DocFolder:
    """The pages of one set. No symlink below the index folder is followed."""

    def __init__(self, index: Path, name: str) -> None:
        self.below = f"{ADDED.removeprefix('@')}/{name}"
        self._files = Files(index)

    def write(self, path: str, text: str, report: DocSetReport, is_durable: bool = True) -> None:
        """Write a page if its text differs, and count it."""
        place, data = f"{self.below}/{path}", text.encode()
        before = self._files.read(place)
        if before != data:
            self._files.write(place, data, is_durable)
        report.added += before is None
        report.changed += before not in (None, data)
        report.unchanged += before == data

    def exists(self, path: str) -> bool:
        return self._files.exists(f"{self.below}/{path}")

    def replace(self, pages: Mapping[str, str], report: DocSetReport) -> None:
        """Make these the only pages, and count the changes."""
        for path, text in pages.items():
            self.write(path, text, report, is_durable=False)
        if report.is_change:
            sync_all_files()
        report.removed += self.keep_only(set(pages))

    def keep_only(self, pages: set[str]) -> int:
        """Delete all other pages, and return their number."""
        gone = set(self._files.below(self.below)) - {f"{self.below}/{path}" for path in pages}
        for place in sorted(gone):
            self._files.remove(place)
        return sum(place.endswith(".md") for place in gone)


def checked_name(name: str) -> str:
    """Return the name of a set. Raises UsageError."""
    if not _NAME.fullmatch(name) or ".." in name:
        hint = "Give a name of letters, digits, `.`, `_` and `-` with --name."
        raise UsageError(f"`{storable(name)[:80]}` cannot be the name of a library.", hint)
    return name


def as_name(text: str) -> str:
    """Return the name of a package or a host as the name of a set: `@vue/core` is `vue-core`."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")[:64].rstrip("-._")


def as_version(value: Any) -> str:
    return clip(storable(one_line(value)), MAX_VERSION) if isinstance(value, str) else ""
