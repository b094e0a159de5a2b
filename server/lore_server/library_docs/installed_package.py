"""Read the documentation of an installed Python or npm package, without executing anything.

Only files below the folder that the user named are read, whatever the package's own lists of files say.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from packaging.metadata import RawMetadata, parse_email
from packaging.utils import canonicalize_name

from lore_etl.core.errors import LoreError, NotFound, UsageError
from lore_server.knowledge.safe_files import Files
from lore_server.library_docs.doc_page import readable
from lore_server.library_docs.doc_set import NPM, PYTHON, as_version
from lore_server.library_docs.local_docs import LocalDocs, add_files, documentation_in, is_documentation
from lore_server.library_docs.module_pages import declaration_page, is_declaration, is_module, python_pages

_PACKAGE = re.compile(r"(?:@[a-z0-9][\w.-]{0,100}/)?[A-Za-z0-9][\w.-]{0,200}")
_SITE_PACKAGES = ("", "lib/python*/site-packages", "Lib/site-packages", "lib/python*/dist-packages")
_NODE_MODULES = ("", "node_modules")
_README_SUFFIXES = {"text/x-rst": "rst", "text/plain": "txt", "text/markdown": "md"}
_DOC_FOLDERS = frozenset({"doc", "docs", "documentation"})


def check_package(name: str) -> None:
    """Check the name of a package. Raises UsageError."""
    if not _PACKAGE.fullmatch(name):
        raise UsageError(f"`{name[:80]}` is not the name of a package.", "Give it as `starlette` or `@vue/reactivity`.")


def find_package(name: str, place: Path) -> tuple[str, LocalDocs]:
    """Return the kind of a package and its documentation. The place is a folder of packages, or contains one.

    Raises:
        NotFound: the package is not installed there.
    """
    for folder in _existing(place, _SITE_PACKAGES):
        if not name.startswith("@") and (information := _information_of(name, folder)):
            return PYTHON, _python_docs(folder, information)
    for folder in _existing(place, _NODE_MODULES):
        if (folder / name / "package.json").is_file():
            return NPM, _npm_docs(name, folder)
    raise NotFound(
        f"There is no package `{name}` in {place}.",
        "Name the folder with the installed packages with --from, such as .venv or node_modules.",
    )


def _existing(place: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield folders of packages at or below a place, without symlinks below it."""
    for pattern in patterns:
        for folder in sorted(place.glob(pattern)) if pattern else [place]:
            if folder.resolve() == place.resolve() / folder.relative_to(place):
                yield folder


def _information_of(name: str, folder: Path) -> str | None:
    """Return the name of the folder with the metadata of a Python package."""
    wanted = canonicalize_name(name)
    names = (entry.name for entry in folder.glob("*.dist-info"))
    return next((found for found in sorted(names) if canonicalize_name(found.split("-", 1)[0]) == wanted), None)


def _python_docs(folder: Path, information: str) -> LocalDocs:
    metadata, _ = parse_email(Files(folder).read(f"{information}/METADATA") or b"")
    found = LocalDocs(as_version(metadata.get("version")), _address(metadata))
    paths = [*_own_files(folder, information)]
    add_files(found, folder, "", filter(_is_document, paths))
    modules = LocalDocs()
    add_files(modules, folder, "", filter(is_module, paths), as_source=True)
    found.skipped |= modules.skipped
    found.pages |= python_pages({path: page.text for path, page in modules.pages.items()})
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


def _is_document(path: str) -> bool:
    is_text = path.lower().endswith((".txt", ".html", ".htm")) and _DOC_FOLDERS.isdisjoint(PurePosixPath(path).parts)
    return is_documentation(path) and not is_text


def _address(metadata: RawMetadata) -> str:
    urls = {label.strip().lower(): url for label, url in metadata.get("project_urls", {}).items()}
    known = (urls.get(label) for label in ("documentation", "docs", "homepage"))
    return next(filter(None, (*known, metadata.get("home_page"))), "")


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
    add_files(found, root, below, documentation_in(real))
    declared = LocalDocs()
    add_files(declared, root, below, _declarations_in(real), as_source=True)
    found.skipped |= declared.skipped
    found.pages |= {f"{path}.md": declaration_page(path, page.text) for path, page in declared.pages.items()}
    return found


def _declarations_in(package: Path) -> Iterator[str]:
    """Yield the declarations of an npm package, without those of the packages below it and without symlinks."""
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "node_modules" and not name.startswith("."))
        below = Path(folder).relative_to(package).as_posix()
        yield from (path for name in sorted(files) if is_declaration(path := f"{below}/{name}".removeprefix("./")))
