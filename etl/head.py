"""Where a project's git stands: branch and commit of HEAD, read from its files without running git."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_POINTER = "gitdir: "
_LARGEST = 4_096


@dataclass(frozen=True)
class Head:
    """Both are None outside a repository; the branch also where HEAD is detached, the commit before the first."""

    branch: str | None = None
    commit: str | None = None


def head(root: Path) -> Head:
    """HEAD of the repository that holds the folder (gitrepository-layout(5); worktrees and packed refs included)."""
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
    common = folder / _short(folder / "commondir") if (folder / "commondir").exists() else folder
    return Head(
        ref.removeprefix("refs/heads/")[:300], _loose(folder, ref) or _loose(common, ref) or _packed(common, ref)
    )


def _loose(folder: Path, ref: str) -> str | None:
    if ".." in Path(ref).parts or Path(ref).is_absolute():
        return None
    try:
        text = _short(folder / ref)
    except OSError:
        return None
    return text if _COMMIT.fullmatch(text) else None


def _packed(folder: Path, ref: str) -> str | None:
    try:
        lines = (folder / "packed-refs").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        commit, _, name = line.partition(" ")
        if name == ref and _COMMIT.fullmatch(commit):
            return commit
    return None


def _short(path: Path) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read(_LARGEST).strip()
