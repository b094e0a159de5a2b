"""Read documentation from a folder that the user named, and nothing outside it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from lore_etl.core.errors import LoreError, UsageError
from lore_etl.files.scan import Unreadable, scan, text_of
from lore_server.knowledge.safe_files import Files
from lore_server.library_docs.doc_page import MAX_TEXT, PageOrigin, Readable, is_readable, markdown_page, page_path
from lore_server.library_docs.doc_page import readable as as_readable
from lore_server.library_docs.doc_set import as_version

MAX_FILES = 5_000
_NO_DOCS = "LICENSE* LICENCE* NOTICE* COPYING* AUTHORS* CODE_OF_CONDUCT* requirements*.txt CMakeLists.txt".split()
_GENERIC = frozenset({"doc", "docs", "documentation", "site", "content", "source", "src"})


@dataclass
class LocalDocs:
    """The documentation that was found: its version, its pages as Markdown by path, and the files left out."""

    version: str = ""
    url: str = ""
    pages: dict[str, Readable] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def files(self, library: str, version: str) -> dict[str, str]:
        """Return the content of each Markdown file."""
        origin = PageOrigin(library, version, self.url)
        return {path: markdown_page(origin, page) for path, page in self.pages.items()}


def docs_in_folder(folder: Path) -> LocalDocs:
    """Return the documentation of a folder, such as a repository or its folder `docs`. Raises UsageError."""
    found = LocalDocs(_version_in(Files(folder)))
    add_files(found, folder, "", documentation_in(folder))
    return found


def documentation_in(folder: Path) -> Iterator[str]:
    """Yield the paths of a folder's documentation, without symlinks, hidden files and those that git ignores."""
    for path in scan(folder, ()).files:
        parts = PurePosixPath(path).parts
        if is_documentation(path) and not any(part.startswith(".") for part in parts):
            yield path


def is_documentation(path: str) -> bool:
    """Return whether a file is documentation by its name."""
    name = PurePosixPath(path).name
    return is_readable(path) and not any(fnmatch(name, pattern) for pattern in _NO_DOCS)


def add_files(found: LocalDocs, folder: Path, below: str, paths: Iterator[str], as_source: bool = False) -> None:
    """Read files of a folder, by paths relative to `below` in it, as pages or as source. Symlinks are not followed.

    Raises:
        UsageError: there are too many.
    """
    files = Files(folder)
    for path in paths:
        if len(found.pages) == MAX_FILES:
            raise UsageError(f"There are more than {MAX_FILES:,} documents in {folder}.", "Give one of its subfolders.")
        try:
            text = text_of(files.read(f"{below}{path}") or b"", 4 * MAX_TEXT)
        except (Unreadable, LoreError) as error:
            found.skipped[path] = str(error)
            continue
        if len(text) > MAX_TEXT:
            found.skipped[path] = f"too large: over {MAX_TEXT:,} characters"
        elif text.strip():
            found.pages[path if as_source else page_path(path)] = (
                Readable(text) if as_source else as_readable(path, text)
            )


def name_of_folder(folder: Path) -> str:
    """Return the name for a folder's documentation: that of the nearest folder upwards with a meaningful name."""
    named = (place.name for place in (folder, *folder.parents) if place.name.lower() not in _GENERIC)
    return next(named, "") or folder.name


def _version_in(files: Files) -> str:
    """Return the version in a folder's package.json or pyproject.toml, without executing anything."""
    readers: dict[str, Callable[[str], Any]] = {
        "package.json": lambda text: json.loads(text)["version"],
        "pyproject.toml": lambda text: tomllib.loads(text)["project"]["version"],
    }
    for name, version in readers.items():
        try:
            return as_version(version((files.read(name) or b"").decode()))
        except (LoreError, ValueError, LookupError, TypeError, RecursionError):
            continue
    return ""
