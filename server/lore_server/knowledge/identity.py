"""Which project a folder belongs to: its git remote and its path identify it. Pure, apart from `identity_of`.

The remote is a claim: an unpacked archive can ship a `.git/config` that names somebody else's repository. So a claim
alone never opens existing knowledge; `lore_server.knowledge.registry` decides what a folder may use.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lore_etl.core.errors import GitError, LoreError
from lore_server.knowledge.git.git_command import Git
from lore_server.knowledge.names import has_unseen
from lore_server.knowledge.safe_files import Files

LARGEST_CONFIG = 1_000_000  # bytes
LONGEST = 500  # characters of a remote
NAME_CHARACTERS = 100
MARK_CHARACTERS = 8
_SCP = re.compile(r"(?:[^@/]*@)?(?P<host>\[[^\]/]+\]|[^:/@]{2,}):(?P<path>.+)")  # `C:\x` is a local path
_POINTER = "gitdir:"


class Identity(NamedTuple):
    """A folder's path (`~/…` below the home folder), its normalised remote or "", and its name for people."""

    folder: str
    remote: str
    name: str

    @property
    def origin(self) -> str:
        """What identifies the project: the remote if there is one, else the folder."""
        return self.remote or self.folder

    @property
    def marked_name(self) -> str:
        """The name with a short digest of the remote or folder, for when the plain name is taken."""
        return _marked(self.name, self.origin)


def identity_of(root: Path, known: Container[str] = ()) -> Identity:
    """The identity of a folder.

    A linked worktree has the identity of its repository if that is one of the `known` folders and lists the worktree.
    Nothing else outside the folder is read, no link is followed and no git runs in it.
    """
    folder = spelled(root)
    git = root / ".git"
    main = _main_folder(git, known)
    if main is not None:
        return identity_of(main)
    remote = "" if git.is_symlink() else normalised_remote(_origin(_read(git, "config")))
    return Identity(folder, remote, _name(PurePosixPath(remote).name if remote else root.name))


def spelled(folder: Path) -> str:
    """The path of a folder as it is recorded, printable and the same for all machines with the same layout."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where nobody's home is known
    path = folder.as_posix() if not folder.is_relative_to(home) else f"~/{folder.relative_to(home).as_posix()}"
    text = path.removesuffix("/.")
    return "".join(quote(letter, errors="surrogateescape") if has_unseen(letter) else letter for letter in text)


def normalised_remote(address: str) -> str:
    """`host/path` of a git remote, the same for all its spellings; `file://…` of a local one; "" if it is unusable.

    Scheme, user, port, `.git`, slashes at the end and the case of the host make no difference.
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
    """The URL of `origin` in the text of a `.git/config`; "" if there is none, or git cannot read it."""
    try:
        return _values(config).get("remote.origin.url", "") if b"origin" in config else ""
    except GitError:
        return ""


@lru_cache(maxsize=64)
def _values(config: bytes) -> dict[str, str]:
    """Git parses the text, without following its includes. Raises GitError."""
    options = ("config", "--file", "-", "--no-includes", "--null", "--list")
    found = Git(Path("/")).run(*options, data=config).decode("utf-8", "replace")
    return {key: value for key, _, value in (one.partition("\n") for one in found.split("\0"))}


def _main_folder(pointer: Path, known: Container[str]) -> Path | None:
    """The known folder whose linked worktree this is; both sides must say so."""
    if pointer.is_symlink() or not pointer.is_file():
        return None
    with open(pointer, "rb") as file:
        text = os.fsdecode(file.read(LARGEST_CONFIG)).strip()
    place = _joined(pointer.parent, text.removeprefix(_POINTER).strip())
    if not text.startswith(_POINTER) or place.parts[-3:-1] != (".git", "worktrees"):
        return None
    main = place.parents[2]
    if spelled(main) not in known:
        return None
    back = os.fsdecode(_read(main / ".git", f"worktrees/{place.name}/gitdir")).strip()
    return main if back and _joined(place, back) == pointer else None


def _joined(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path))


def _read(folder: Path, path: str) -> bytes:
    """The content of a small regular file, reached without following a link below the folder; else nothing."""
    try:
        is_small = (folder / path).lstat().st_size <= LARGEST_CONFIG
        return (Files(folder).read(path) or b"") if is_small else b""
    except (OSError, LoreError):
        return b""


def _name(name: str) -> str:
    """A name that can be a project's id."""
    text = unicodedata.normalize("NFC", name).strip()
    shown = "".join(quote(letter, errors="surrogateescape") if has_unseen(letter) else letter for letter in text)
    if not shown.strip("./\\"):
        return "root"
    return shown if len(shown) <= NAME_CHARACTERS else _marked(shown[:NAME_CHARACTERS], shown)


def _marked(name: str, whole: str) -> str:
    return f"{name}-{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:MARK_CHARACTERS]}"
