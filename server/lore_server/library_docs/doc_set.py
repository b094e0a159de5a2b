"""The sets of documentation that the user added to an index, recorded in the user's state folder.

A record in the index folder could come with a checkout and name a host or a folder, so it is never used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lore_etl.config.user_folders import private_folder
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import StorageError, UsageError
from lore_etl.core.text import clip, one_line, storable
from lore_etl.stores.claim import record_folder
from lore_etl.system.nofollow import read_regular

FOLDER, PYTHON, NPM, SITE = "folder", "python", "npm", "site"
RECORD = "library-docs.json"
MAX_RECORD_BYTES = 1_000_000
MAX_VERSION = 40
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


@dataclass(frozen=True)
class DocSet:
    """A set of documentation: its origin, and the values needed to update it.

    `origin` is a folder or an address. `package` is the name of a package installed there. `pinned` is the version
    given by the user; otherwise, `version` is the version found. `is_private`: the host may be in a private network.
    """

    name: str
    kind: str
    origin: str
    package: str = ""
    version: str = ""
    pinned: str = ""
    max_pages: int = 500
    is_private: bool = False
    pages: int = 0

    def is_same_origin(self, other: DocSet) -> bool:
        """Return whether both are copied from the same place."""
        return (self.kind, self.origin, self.package) == (other.kind, other.origin, other.package)


class DocSetRecord:
    """The recorded sets of one index."""

    def __init__(self, index: Path) -> None:
        self.folder = record_folder(index)
        self._file = self.folder / RECORD

    def read(self) -> dict[str, DocSet]:
        """Return the sets by name. Raises StorageError."""
        try:
            rows = json.loads(read_regular(self._file, MAX_RECORD_BYTES))
            return {row["name"]: DocSet(**row) for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            hint = "Delete it, and add the documentation again."
            raise StorageError(f"The list of libraries ({self._file}) cannot be read.", hint) from error

    def write(self, sets: Mapping[str, DocSet]) -> None:
        """Replace the list. Raises StorageError."""
        private_folder(self.folder)
        rows = [asdict(sets[name]) for name in sorted(sets)]
        write_atomically(self._file, (json.dumps(rows, indent=1), "\n"), mode=0o600)


def checked_name(name: str) -> str:
    """Return the name of a set. Raises UsageError."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            f"`{storable(name)[:80]}` cannot be the name of a library.",
            "Give a name of letters, digits, `.`, `_` and `-` with --name.",
        )
    return name


def as_name(text: str) -> str:
    """Return the name of a package or a host as the name of a set: `@vue/core` is `vue-core`."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")[:64].rstrip("-._")


def as_version(value: Any) -> str:
    """Return a version as one short line; empty if it is not text."""
    return clip(storable(one_line(value)), MAX_VERSION) if isinstance(value, str) else ""
