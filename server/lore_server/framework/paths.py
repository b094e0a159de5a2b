"""Validate and resolve paths from callers, part by part, to their real targets."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path, PurePath

from lore_etl.core.errors import InvalidArgument, PathRefused
from lore_etl.system.open_folder import target_of
from lore_server.knowledge.names import has_unseen

LONGEST = 1_000  # characters
_DRIVE = re.compile(r"[A-Za-z]:")
_LIKE_SLASHES = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9")  # NFKC does not change these


def plain(path: str) -> str:
    """Return a path that consists of plain names, such as `PRPs/executed/PRP-1.md`. Raises PathRefused."""
    if not path or len(path) > LONGEST:
        raise PathRefused(f"A path must have 1 to {LONGEST:,} characters; this one has {len(path):,}.")
    if path.startswith("/") or "\\" in path or _DRIVE.match(path):
        raise PathRefused(f"`{_shown(path)}` is not a relative path: it is absolute or a Windows path.")
    if has_unseen(path):
        raise PathRefused("The path contains control characters or invisible characters.")
    for letter in set(path) - {"/"}:
        if letter in _LIKE_SLASHES or {"/", "\\"} & set(unicodedata.normalize("NFKC", letter)):
            raise PathRefused(f"`{_shown(path)}` contains a character that only looks like a slash.")
    for part in path.split("/"):
        looks = unicodedata.normalize("NFKC", part)  # dots in any script; some systems drop a dot or space at the end
        if not looks.strip(". ") or looks[-1] in ". ":
            raise PathRefused(f"`{_shown(path)}` has an invalid part: empty, only dots, or ending with a dot or space.")
    return path


def leads_to(root: Path, folder: str, path: str) -> str:
    """Return the real target of a path below a project folder, relative to the root, following every symlink.

    `folder` is a path from the root, or empty for the root itself. The target need not exist. Raises PathRefused if the
    path is not plain, or a symlink leads out of the folder or is being changed.
    """
    try:
        found = target_of(root, f"{folder}/{plain(path)}".lstrip("/"))
    except OSError as error:  # another process may remove the symlinks meanwhile
        raise PathRefused(f"`{_shown(path)}` cannot be opened: {error.strerror}.", "Try again.") from error
    wanted, parts = PurePath(folder).parts, PurePath(found or "").parts
    if not parts or parts[: len(wanted)] != wanted:
        raise PathRefused(
            f"`{_shown(path)}` leads outside {folder or 'the project'}.",
            "Symlinks that lead outside it are not followed.",
        )
    return "/".join(parts)


def check_root(root: Path, project_root: str | None, hint: str) -> None:
    """Raise InvalidArgument if `project_root`, absolute or relative to the project, is not the project's folder."""
    if project_root is None:
        return
    try:
        is_this = (root / Path(project_root).expanduser()).resolve() == root
    except (OSError, ValueError, RuntimeError):
        is_this = False  # NUL in the path, a symlink loop, or the home of a user who does not exist
    if not is_this:
        raise InvalidArgument("This server serves one project, and `project_root` is a different folder.", hint)


def has_part(path: str, name: str) -> bool:
    """Return whether a path contains this name, in any case, because some systems ignore it."""
    return any(part.casefold() == name for part in path.split("/"))


def _shown(path: str) -> str:
    return path if len(path) <= 120 else f"{path[:119]}…"
