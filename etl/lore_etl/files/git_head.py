"""Read a project's git HEAD (branch and commit) from its files, without running git."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lore_etl.system.nofollow import read_regular

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]{1,300}")  # git-check-ref-format(1)
_POINTER = "gitdir: "
_LARGEST, _LARGEST_PACKED = 4_096, 64_000_000


@dataclass(frozen=True)
class Head:
    """A branch and a commit; both None outside a repository. A detached HEAD has no branch, a new branch no commit."""

    branch: str | None = None
    commit: str | None = None


def head(root: Path) -> Head:
    """Return HEAD of the repository around the folder (gitrepository-layout(5); worktrees and packed refs included).

    The files may come from an archive, so symlinks, FIFOs and devices are not opened. A `gitdir:` pointer may lead
    out of the project, as in a worktree; the text found there is returned only if it is a ref or a commit.
    """
    for folder in (root, *root.parents):
        try:
            if (folder / ".git").exists():
                return _head(_git_folder(folder / ".git"))
        except (OSError, ValueError):
            return Head()
    return Head()


def _git_folder(path: Path) -> Path:
    if path.is_dir():
        return path
    text = _short(path)
    if not text.startswith(_POINTER):
        raise ValueError("no gitdir")
    return path.parent / text.removeprefix(_POINTER)


def _head(folder: Path) -> Head:
    text = _short(folder / "HEAD")
    if not text.startswith("ref: "):
        return Head(None, text if _COMMIT.fullmatch(text) else None)
    ref = text.removeprefix("ref: ")
    if not _REF.fullmatch(ref) or ".." in ref:
        return Head()
    common = folder / _short(folder / "commondir") if (folder / "commondir").exists() else folder
    commit = _loose(folder, ref) or _loose(common, ref) or _packed(common, ref)
    return Head(ref.removeprefix("refs/heads/"), commit)


def _loose(folder: Path, ref: str) -> str | None:
    try:
        text = _short(folder / ref)
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


def _short(path: Path) -> str:
    return read_regular(path, _LARGEST).decode("utf-8").strip()
