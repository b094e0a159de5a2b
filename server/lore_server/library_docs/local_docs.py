"""Read documentation from a folder of the user or a package in it. Executes nothing, reads nothing outside it."""

import csv
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.metadata import parse_email
from packaging.utils import canonicalize_name

from lore_etl.core.errors import LoreError, NotFound, UsageError
from lore_etl.files.ignore import rules_for
from lore_etl.files.scan import Unreadable, text_of, walk
from lore_server.knowledge.safe_files import Files
from lore_server.library_docs.doc_page import (
    MAX_TEXT,
    Readable,
    declaration_page,
    is_declaration,
    is_module,
    is_readable,
    page_path,
    python_pages,
    readable,
)
from lore_server.library_docs.doc_set import NPM, PYTHON, as_version

MAX_FILES = 5_000
_NO_DOCS = "LICENSE* LICENCE* NOTICE* COPYING* AUTHORS* CODE_OF_CONDUCT* requirements*.txt CMakeLists.txt".split()
_DOC_FOLDERS = frozenset({"doc", "docs", "documentation"})
_GENERIC = _DOC_FOLDERS | {"site", "content", "source", "src"}
_PACKAGE = re.compile(r"(?:@[a-z0-9][\w.-]{0,100}/)?[A-Za-z0-9][\w.-]{0,200}")
_SITE_PACKAGES = ("", "lib/python*/site-packages", "Lib/site-packages", "lib/python*/dist-packages")
_NODE_MODULES = ("", "node_modules")
_README_SUFFIXES = {"text/x-rst": "rst", "text/plain": "txt", "text/markdown": "md"}


@dataclass
class LocalDocs:
    """The documentation that was found: its version, its pages as Markdown by path, and the files left out."""

    version: str = ""
    url: str = ""
    pages: dict[str, Readable] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def docs_in_folder(folder: Path) -> LocalDocs:
    """Return the documentation of a folder, such as a repository or its folder `docs`. Raises UsageError."""
    found = LocalDocs(_version_in(Files(folder)))
    _add_pages(found, folder, "", _documentation_in(folder))
    return found


def _documentation_in(folder: Path) -> Iterator[str]:
    """Yield the paths of a folder's documentation, without symlinks, hidden files and those that git ignores."""
    for path in walk(folder, rules_for(folder, ())).files:
        parts = PurePosixPath(path).parts
        if is_documentation(path) and not any(part.startswith(".") for part in parts):
            yield path


def is_documentation(path: str) -> bool:
    name = PurePosixPath(path).name
    return is_readable(path) and not any(fnmatch(name, pattern) for pattern in _NO_DOCS)


def _read_texts(found: LocalDocs, folder: Path, below: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield files, by paths relative to `below`, with their text, and note the skipped ones. Raises UsageError."""
    files, count = Files(folder), 0
    for path in paths:
        if count == MAX_FILES:
            raise UsageError(f"There are more than {MAX_FILES:,} documents in {folder}.", "Give one of its subfolders.")
        try:
            text = text_of(files.read(f"{below}{path}") or b"", 4 * MAX_TEXT)
        except (Unreadable, LoreError) as error:
            found.skipped[path] = str(error)
            continue
        if len(text) > MAX_TEXT:
            found.skipped[path] = f"too large: over {MAX_TEXT:,} characters"
        elif text.strip():
            count += 1
            yield path, text


def _add_pages(found: LocalDocs, folder: Path, below: str, paths: Iterable[str]) -> None:
    found.pages |= {page_path(path): readable(path, text) for path, text in _read_texts(found, folder, below, paths)}


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


def check_package(name: str) -> None:
    if not _PACKAGE.fullmatch(name):
        raise UsageError(f"`{name[:80]}` is not the name of a package.", "Give it as `starlette` or `@vue/reactivity`.")


def find_package(name: str, place: Path) -> tuple[str, LocalDocs]:
    """Return the kind and the documentation of a package at or below the place. Raises NotFound."""
    for folder in _existing(place, _SITE_PACKAGES) if not name.startswith("@") else ():
        for found in sorted(entry.name for entry in folder.glob("*.dist-info")):
            if canonicalize_name(found.split("-", 1)[0]) == canonicalize_name(name):
                return PYTHON, _python_docs(folder, found)
    for folder in _existing(place, _NODE_MODULES):
        if (folder / name / "package.json").is_file():
            return NPM, _npm_docs(name, folder)
    hint = "Name the folder with the installed packages with --from, such as .venv or node_modules."
    raise NotFound(f"There is no package `{name}` in {place}.", hint)


def _existing(place: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield folders of packages at or below a place, without symlinks below it."""
    for pattern in patterns:
        for folder in sorted(place.glob(pattern)) if pattern else [place]:
            if folder.resolve() == place.resolve() / folder.relative_to(place):
                yield folder


def _python_docs(folder: Path, information: str) -> LocalDocs:
    """Return the documentation of a Python package; `information` is the name of the folder with its metadata."""
    metadata, _ = parse_email(Files(folder).read(f"{information}/METADATA") or b"")
    urls = {label.strip().lower(): url for label, url in metadata.get("project_urls", {}).items()}
    known = (urls.get("documentation"), urls.get("docs"), urls.get("homepage"), metadata.get("home_page"))
    found = LocalDocs(as_version(metadata.get("version")), next(filter(None, known), ""))
    paths = [*_own_files(folder, information)]
    _add_pages(found, folder, "", filter(_is_document_of_package, paths))
    found.pages |= python_pages(dict(_read_texts(found, folder, "", filter(is_module, paths))))
    if description := metadata.get("description", "").strip():
        kind = metadata.get("description_content_type", "").partition(";")[0].strip().lower()
        found.pages["README.md"] = readable(f"README.{_README_SUFFIXES.get(kind, 'rst')}", description)
    return found


def _own_files(folder: Path, information: str) -> Iterator[str]:
    """Yield the files that a Python package lists as its own and that are in the folder of packages."""
    rows = (Files(folder).read(f"{information}/RECORD") or b"").decode("utf-8", "replace").splitlines()
    for row in csv.reader(rows):
        path = row[0] if row else ""
        if not path.startswith(("/", f"{information}/")) and ".." not in PurePosixPath(path).parts and "\\" not in path:
            yield path


def _is_document_of_package(path: str) -> bool:
    is_text = path.lower().endswith((".txt", ".html", ".htm")) and _DOC_FOLDERS.isdisjoint(PurePosixPath(path).parts)
    return is_documentation(path) and not is_text


def _npm_docs(name: str, folder: Path) -> LocalDocs:
    """Return the documentation of an npm package. Some installers put symlinks to packages into the folder."""
    root, real = folder.resolve(), (folder / name).resolve()
    if not real.is_relative_to(root):
        raise UsageError(f"{folder / name} leads outside the folder.", f"Add its target instead: lore add-docs {real}")
    below = f"{real.relative_to(root).as_posix()}/"
    try:
        manifest = json.loads(Files(root).read(f"{below}package.json") or b"")
    except (LoreError, ValueError, RecursionError):
        manifest = {}
    manifest = manifest if isinstance(manifest, dict) else {}
    homepage = manifest.get("homepage")
    found = LocalDocs(as_version(manifest.get("version")), homepage if isinstance(homepage, str) else "")
    _add_pages(found, root, below, _documentation_in(real))
    declarations = _read_texts(found, root, below, _declarations_in(real))
    found.pages |= {f"{path}.md": declaration_page(path, text) for path, text in declarations}
    return found


def _declarations_in(package: Path) -> Iterator[str]:
    """Yield the declarations of an npm package, without those of the packages below it and without symlinks."""
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "node_modules" and not name.startswith("."))
        below = Path(folder).relative_to(package).as_posix()
        yield from (path for name in sorted(files) if is_declaration(path := f"{below}/{name}".removeprefix("./")))
