"""Decide which git repository a folder belongs to, and read its HEAD without git. Its `.git` is untrusted.

An archive's `.git` may lead git to another repository of the user. So what git reads must be in the folder `.git`, or
in one that the file `.git` names and that refers back to it (worktrees, submodules): no archive can write there.
"""

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import InvalidArgument
from lore_etl.system.nofollow import is_link, is_real_folder, leads_elsewhere, read_regular
from lore_etl.system.open_folder import read_below

NO_HISTORY = "This project has no git history."
ALLOCATION = {"GIT_ALLOC_LIMIT": "256m"}
"""For git's environment: it would keep an object that unpacks to gigabytes, or a reply without end, in memory."""
_WORKTREE = re.compile(r"^[ \t]*worktree[ \t]*=(.*)$", re.MULTILINE)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]{1,300}")  # git-check-ref-format(1)
_LARGEST, _LARGEST_CONFIG, _LARGEST_PACKED = 4_096, 1_000_000, 64_000_000
_READ = ("HEAD", "config", "config.worktree", "info", "objects", "packed-refs", "refs", "reftable", "shallow")
_ALTERNATES = ("objects/info/alternates", "objects/info/http-alternates")


@dataclass(frozen=True)
class Repository:
    """A repository: the top folder of its files, the folder with HEAD, and the folder with all refs and objects."""

    top: Path
    folder: Path
    common: Path


@dataclass(frozen=True)
class Head:
    """A branch and a commit; both None outside a repository. A detached HEAD has no branch, a new branch no commit."""

    branch: str | None = None
    commit: str | None = None


def repository(root: Path) -> Repository | None:
    """Return the repository around a folder, and None if there is none. Raises InvalidArgument."""
    for top in (root, *root.parents):
        git = top / ".git"
        if os.path.lexists(git):
            try:
                return _linked(top, git) if stat.S_ISREG(git.lstat().st_mode) else _own(top, git)
            except (OSError, ValueError) as error:
                raise _refused("cannot be read") from error
    return None


def require_own_objects(found: Repository) -> None:
    """Check that git reads nothing elsewhere, which takes milliseconds. Raises InvalidArgument if it does."""
    places = {found.folder, found.common}
    if any(os.path.lexists(place / name) for place in places for name in _ALTERNATES):
        raise _refused("uses the objects of another repository (objects/info/alternates)")
    files = [path for place in places for name in _READ if os.path.lexists(path := place / name)]
    try:
        has_link = any(leads_elsewhere(path.lstat()) or (path.is_dir() and _contains_link(path)) for path in files)
    except OSError as error:
        raise _refused("cannot be read") from error
    if has_link:
        raise _refused("contains links")


def _own(top: Path, git: Path) -> Repository:
    if leads_elsewhere(git.lstat()):
        raise _refused("is a link")
    if os.path.lexists(git / "commondir"):
        raise _refused("uses another repository (commondir)")
    return Repository(top, git, git)


def _linked(top: Path, pointer: Path) -> Repository:
    """Return the repository of a worktree or a submodule, whose folder refers back to the `.git` file."""
    text = _read(top, ".git")
    if not text.startswith("gitdir: "):
        raise ValueError("not a pointer")
    folder = (top / text.removeprefix("gitdir: ")).resolve(strict=True)
    if os.path.lexists(folder / "commondir"):
        common, back = folder.parent.parent, folder / _read(folder, "gitdir")
        is_own = folder.parent.name == "worktrees" and (folder / _read(folder, "commondir")).resolve() == common
    else:
        config = read_regular(folder / "config", _LARGEST_CONFIG).decode()
        (tree,) = _WORKTREE.findall(config)  # git writes it once for submodules, quoted
        place = re.sub(r"\\(.)", r"\1", tree.strip().removeprefix('"').removesuffix('"'))
        common, back, is_own = folder, folder / place / ".git", True
    if not is_own or back.resolve() != pointer.resolve() or os.path.lexists(common / "commondir"):
        raise _refused("leads to a repository that does not belong to it")
    return Repository(top, folder, common)


def _contains_link(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return any(is_link(entry) or (is_real_folder(entry) and _contains_link(Path(entry.path))) for entry in entries)


def _refused(reason: str) -> InvalidArgument:
    hint = "Lore reads the history of repositories that git created, with worktrees and submodules, in place."
    return InvalidArgument(f"{NO_HISTORY} Its .git {reason}, which Lore does not follow.", hint)


def excludes(root: Path) -> bytes | None:
    """Return the patterns in `.git/info/exclude` of the repository whose top folder this is, if there are any."""
    try:
        found = repository(root)
        return read_below(found.common, "info/exclude", _LARGEST_CONFIG) if found and found.top == root else None
    except (OSError, InvalidArgument):
        return None


def head(root: Path) -> Head:
    """Return HEAD of the repository around the folder (gitrepository-layout(5); worktrees and packed refs included).

    An archive's links, FIFOs and devices are not opened, and a `.git` that leads to another repository has no HEAD.
    """
    try:
        found = repository(root)
        if found is None:
            return Head()
        text = _read(found.folder, "HEAD")
        if not text.startswith("ref: "):
            return Head(None, text if _COMMIT.fullmatch(text) else None)
        ref = text.removeprefix("ref: ")
        if not _REF.fullmatch(ref) or ".." in ref:
            return Head()
        return Head(ref.removeprefix("refs/heads/"), _commit_of(found, ref))
    except (OSError, ValueError, InvalidArgument):
        return Head()


def _commit_of(found: Repository, ref: str) -> str | None:
    for folder in (found.folder, found.common):
        with suppress(OSError):
            if _COMMIT.fullmatch(text := _read(folder, ref)):
                return text
    with suppress(OSError):
        packed = read_regular(found.common / "packed-refs", _LARGEST_PACKED).decode("utf-8", "replace")
        rows = (line.partition(" ") for line in packed.splitlines())
        return next((commit for commit, _, name in rows if name == ref and _COMMIT.fullmatch(commit)), None)
    return None


def _read(folder: Path, path: str) -> str:
    """Return the content of a small file below a folder, without following links."""
    return read_below(folder, path, _LARGEST).decode("utf-8").strip()
