"""Identify the project of a folder by its git remote and its path. Pure, apart from `identity_of`.

The remote is only a claim: an unpacked archive can contain a `.git/config` that names any repository. Therefore a
remote alone never opens existing knowledge; `lore_server.knowledge.registry` decides which project a folder may use.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Container
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lore_etl.core.errors import GitError, LoreError
from lore_etl.files.git_folder import repository
from lore_etl.files.scan import lasting_stamp
from lore_server.knowledge.git.git_command import Git
from lore_server.knowledge.names import has_unseen, mark_of
from lore_server.knowledge.safe_files import Files

LARGEST_CONFIG = 1_000_000  # bytes
LONGEST = 500  # characters of a normalised remote
NAME_CHARACTERS = 100
_SCP = re.compile(r"(?:[^@/]*@)?(?P<host>\[[^\]/]+\]|[^:/@]{2,}):(?P<path>.+)")  # `C:\x` is a local path
_seen: dict[Path, tuple[str, bytes]] = {}
"""A git folder -> the stamp and the content of its configuration."""


class Identity(NamedTuple):
    """A folder's path (`~/…` below the home folder), its normalised remote or "", and its display name."""

    folder: str
    remote: str
    name: str

    @property
    def origin(self) -> str:
        """Return the identifier of the project: the remote if there is one, else the folder."""
        return self.remote or self.folder


def identity_of(root: Path, known: Container[str] = ()) -> Identity:
    """Return the identity of a folder.

    A linked worktree has the identity of its repository if that is one of the `known` folders and lists the worktree
    (`git_folder`). Nothing else outside the folder is read, and git does not run in the folder.
    """
    git, main = root / ".git", _main_folder(root, known)
    if main is not None:
        return identity_of(main)
    remote = "" if git.is_symlink() else normalised_remote(_origin(_config(git)))
    return Identity(spelled(root), remote, _name(PurePosixPath(remote).name if remote else root.name))


def spelled(folder: Path) -> str:
    """Return the path of a folder as the registry records it: printable, and as `~/…` below the home folder."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises if the home folder is unknown
    path = folder.as_posix() if not folder.is_relative_to(home) else f"~/{folder.relative_to(home).as_posix()}"
    text = path.removesuffix("/.")
    return "".join(quote(letter, errors="surrogateescape") if has_unseen(letter) else letter for letter in text)


def normalised_remote(address: str) -> str:
    """Return `host/path` of a git remote, `file://…` of a local remote, or "" if the address is unusable.

    All spellings of a remote give the same result: scheme, user, port, `.git`, trailing slashes and the case of the
    host do not matter.
    """
    text = unicodedata.normalize("NFC", address.strip())
    scp = None if "://" in text else _SCP.fullmatch(text)
    try:
        parts = urlsplit(f"ssh://{scp['host']}/{quote(scp['path'])}" if scp else text)
        query = f"?{parts.query}" if parts.query else ""
        path, is_usable = unquote(parts.path + query, errors="strict"), parts.port != 0
    except ValueError:
        return ""
    if not is_usable or not path.startswith("/") or has_unseen(text + path):
        return ""
    host = (parts.hostname or "").rstrip(".") or "file://"
    path = re.sub(r"/{2,}", "/", path).strip("/").removesuffix(".git").rstrip("/")
    return f"{host}/{path}" if path and len(path) + len(host) < LONGEST else ""


def _origin(config: bytes) -> str:
    """Return the URL of `origin` in the content of a `.git/config`; "" if it is missing or unreadable."""
    try:
        return _values(config).get("remote.origin.url", "") if b"origin" in config else ""
    except GitError:
        return ""


@lru_cache(maxsize=64)
def _values(config: bytes) -> dict[str, str]:
    """Return the values that git parses from a configuration, without its includes. Raises GitError."""
    options = ("config", "--file", "-", "--no-includes", "--null", "--list")
    found = Git(Path("/")).run(*options, data=config).decode("utf-8", "replace")
    return {key: value for key, _, value in (entry.partition("\n") for entry in found.split("\0"))}


def _main_folder(root: Path, known: Container[str]) -> Path | None:
    """Return the known folder whose linked worktree this is; both folders must refer to each other."""
    try:
        found = repository(root)
    except LoreError:
        return None
    if found is None or found.top != root or found.common == found.folder or found.common.name != ".git":
        return None
    return found.common.parent if spelled(found.common.parent) in known else None


def _config(git: Path) -> bytes:
    """Return the configuration in a git folder if it is a small regular file, without following symlinks; else empty.

    It is opened again only after a change, because each check of the project's files needs the identity.
    """
    try:
        facts = (git / "config").lstat()
        if facts.st_size > LARGEST_CONFIG:
            return b""
        stamp = lasting_stamp(facts, time.time_ns())
        if (known := _seen.get(git)) and known[0] == stamp:
            return known[1]
        data = Files(git).read("config") or b""
    except (OSError, LoreError):
        return b""
    if stamp:  # it is empty if the file may change again without a new stamp
        _seen[git] = (stamp, data)
    return data


def _name(name: str) -> str:
    """Return a name that is valid as a project id."""
    text = unicodedata.normalize("NFC", name).strip()
    shown = "".join(quote(letter, errors="surrogateescape") if has_unseen(letter) else letter for letter in text)
    if not shown.strip("./\\"):
        return "root"
    return shown if len(shown) <= NAME_CHARACTERS else f"{shown[:NAME_CHARACTERS]}-{mark_of(shown)}"
