"""Read a project's git HEAD (branch and commit) from its files, without running git."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import InvalidArgument
from lore_etl.files.git_folder import Repository, repository
from lore_etl.system.nofollow import leads_elsewhere, read_regular

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]{1,300}")  # git-check-ref-format(1)
_LARGEST, _LARGEST_PACKED = 4_096, 64_000_000


@dataclass(frozen=True)
class Head:
    """A branch and a commit; both None outside a repository. A detached HEAD has no branch, a new branch no commit."""

    branch: str | None = None
    commit: str | None = None


def head(root: Path) -> Head:
    """Return HEAD of the repository around the folder (gitrepository-layout(5); worktrees and packed refs included).

    The files may come from an archive, so links, FIFOs and devices are not opened, and a `.git` that leads to another
    repository has no HEAD (`git_folder`).
    """
    try:
        found = repository(root)
        return _head(found) if found else Head()
    except (OSError, ValueError, InvalidArgument):
        return Head()


def _head(found: Repository) -> Head:
    text = _read(found.folder, "HEAD")
    if not text.startswith("ref: "):
        return Head(None, text if _COMMIT.fullmatch(text) else None)
    ref = text.removeprefix("ref: ")
    if not _REF.fullmatch(ref) or ".." in ref:
        return Head()
    commit = _loose(found.folder, ref) or _loose(found.common, ref) or _packed(found.common, ref)
    return Head(ref.removeprefix("refs/heads/"), commit)


def _loose(folder: Path, ref: str) -> str | None:
    try:
        text = _read(folder, ref)
    except OSError:
        return None
    return text if _COMMIT.fullmatch(text) else None


def _packed(folder: Path, ref: str) -> str | None:
    try:
        text = read_regular(folder / "packed-refs", _LARGEST_PACKED).decode("utf-8", "replace")
    except OSError:
        return None
    for line in text.splitlines():
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit):
            return commit
    return None


def _read(folder: Path, path: str) -> str:
    """Return the content of a small file below a folder, without following links."""
    *parts, name = path.split("/")
    for part in parts:
        folder /= part
        if leads_elsewhere(folder.lstat()):
            raise OSError(errno.ELOOP, "a link, which is not followed", str(folder))
    return read_regular(folder / name, _LARGEST).decode("utf-8").strip()
