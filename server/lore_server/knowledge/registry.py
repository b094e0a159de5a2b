"""Identify the project of a folder by its git remote and its path, and record which project each folder uses.

The remote is only a claim: an unpacked archive can contain a `.git/config` that names any repository. `index.json` is
in git, so that all machines have the same ids; the record of the folders is of this machine only (`projects`).
"""

from __future__ import annotations

import json
import os
import re
import time
import unicodedata
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lore_etl.core.errors import GitError, LoreError, StorageError
from lore_etl.files.git_folder import repository
from lore_etl.files.scan import lasting_stamp
from lore_server.knowledge.git.git_command import Git
from lore_server.knowledge.names import has_unseen, mark_of, slug
from lore_server.knowledge.safe_files import Files

INDEX = "index.json"
PROJECTS, ORIGINS, FOLDERS, REMOTES = "projects", "origins", "folders", "remotes"
_RESTORE = "Restore it with `git checkout HEAD -- index.json` in the knowledge folder."
_FORGET = "Remove `.git/lore-folders.json` there, and adopt the projects again."
_FOLDER = re.compile(r"[^./\\\0][^/\\\0]{0,254}")
LARGEST_CONFIG = 1_000_000  # bytes
LONGEST = 500  # characters of a normalised remote
NAME_CHARACTERS = 100
_SCP = re.compile(r"(?:[^@/]*@)?(?P<host>\[[^\]/]+\]|[^:/@]{2,}):(?P<path>.+)")  # `C:\x` is a local path
_seen: dict[Path, tuple[str, bytes]] = {}  # a git folder -> the stamp and the content of its configuration


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
    """Return the identity of a folder: for a linked worktree, that of its repository, see `_main_folder`."""
    # nothing else outside the folder is read, and git does not run in the folder
    git, main = root / ".git", _main_folder(root, known)
    if main is not None:
        return identity_of(main)
    remote = "" if git.is_symlink() else normalised_remote(_origin(_config(git)))
    return Identity(spelled(root), remote, _name(PurePosixPath(remote).name if remote else root.name))


def spelled(folder: Path) -> str:
    """Return the path of a folder as the registry records it: printable, and as `~/…` below the home folder."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises if the home folder is unknown
    path = folder.as_posix() if not folder.is_relative_to(home) else f"~/{folder.relative_to(home).as_posix()}"
    return _printable(path.removesuffix("/."))


def _printable(text: str) -> str:
    return "".join(quote(letter, errors="surrogateescape") if has_unseen(letter) else letter for letter in text)


def normalised_remote(address: str) -> str:
    """Return `host/path` or, for a local remote, `file://…`, the same for all its spellings; "" if it is unusable."""
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
        return _url(config) if b"origin" in config else ""
    except GitError:
        return ""


@lru_cache(maxsize=64)
def _url(config: bytes) -> str:
    """Return the URL that git reads from a configuration without its includes. Raises GitError if there is none."""
    options = ("config", "--file", "-", "--no-includes", "--null", "--get", "remote.origin.url")
    return Git(Path("/")).run(*options, data=config).decode("utf-8", "replace").removesuffix("\0")


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
    """Return the configuration in a git folder, kept until it changes; empty unless it is a small regular file."""
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
    shown = _printable(unicodedata.normalize("NFC", name).strip())
    if not shown.strip("./\\"):
        return "root"
    return shown if len(shown) <= NAME_CHARACTERS else f"{shown[:NAME_CHARACTERS]}-{mark_of(shown)}"


def read_index(data: bytes | None) -> dict[str, str]:
    """Return the projects of the index as id -> slug. Raises StorageError."""
    projects = _whole(data).get("projects", {})
    if not isinstance(projects, dict):
        raise _damaged()
    return {name: place for name, place in projects.items() if isinstance(place, str) and _FOLDER.fullmatch(place)}


@dataclass(frozen=True)
class Registry:
    """The projects and their folders on this machine."""

    projects: Mapping[str, str]  # id -> slug
    origins: Mapping[str, str]  # project id -> its origin, see `Identity`
    folders: Mapping[str, Use]  # folder -> the project that it uses
    remotes: Mapping[str, str]  # remote -> the project of all its clones

    def project_of(self, identity: Identity) -> str:
        """Return the project of a folder: the recorded project if its remote is unchanged, otherwise a new project."""
        # a remote alone never opens existing knowledge: a person must confirm it with `lore knowledge adopt`
        if recorded := self._recorded(identity):
            return recorded
        own = self.confirmed(identity)
        for name, origin in self.origins.items():
            if origin == own.origin:
                return name
        return f"{own.name}-{mark_of(own.origin)}" if self.knows(own.name) else own.name

    def _recorded(self, identity: Identity) -> str | None:
        use = self.folders.get(identity.folder)
        return use.project if use and use.remote == identity.remote else self.remotes.get(identity.remote)

    def using(self, project_id: str, identity: Identity, all_clones: bool = False) -> Registry:
        """Return the registry with the folder, or each clone of its remote, using the project."""
        origins, folders, remotes = dict(self.origins), dict(self.folders), dict(self.remotes)
        if project_id not in origins:
            left = self.project_of(identity)
            if left != project_id and origins.get(left) == identity.origin:
                del origins[left]
            origins[project_id] = replace(self, origins=origins).confirmed(identity).origin
        if all_clones:
            folders = {folder: use for folder, use in folders.items() if use.remote != identity.remote}
            remotes[identity.remote] = project_id
        folders[identity.folder] = Use(project_id, identity.remote)
        return replace(self, origins=origins, folders=folders, remotes=remotes)

    def record(self) -> bytes:
        """Return the content of the record: everything but the projects."""
        folders = {folder: use._asdict() for folder, use in self.folders.items()}
        return _bytes({ORIGINS: dict(self.origins), FOLDERS: folders, REMOTES: dict(self.remotes)})

    def confirmed(self, identity: Identity) -> Identity:
        """Return the identity, without its remote if a project already has that remote."""
        return identity._replace(remote="") if identity.remote in self.origins.values() else identity

    def candidates(self, identity: Identity) -> list[str]:
        """Return other projects that may belong to this folder: by remote or path, or by name if no origin is known."""
        current, use = self.project_of(identity), self.folders.get(identity.folder)
        is_current = self._recorded(identity) is not None
        is_unconfirmed = bool(identity.remote) and self.origins.get(current) == identity.folder
        found = [name for name in self.projects if name not in self.origins and _means(name, identity)]
        if not is_current or is_unconfirmed:
            wanted = {identity.remote, identity.folder}
            found += [name for name, origin in self.origins.items() if origin in wanted]
            found += [use.project] if use is not None else []
        return [name for name in dict.fromkeys(found) if name in self.projects and name != current]

    def knows(self, project_id: str) -> bool:
        """Return whether a project has or had this id."""
        return project_id in self.projects or project_id in self.origins


class Use(NamedTuple):
    """The project that a folder uses, and the folder's remote at the time of that decision."""

    project: str
    remote: str


def read_registry(index: bytes | None, record: bytes | None) -> Registry:
    """Return the registry in the contents of the index and of the record. Raises StorageError."""
    whole = _whole(record, "The record of folders", _FORGET)
    origins, remotes = (
        {name: value for name, value in _table(whole, key).items() if isinstance(value, str)}
        for key in (ORIGINS, REMOTES)
    )
    folders = {
        folder: Use(use["project"], use["remote"])
        for folder, use in _table(whole, FOLDERS).items()
        if isinstance(use, dict) and all(isinstance(use.get(key), str) for key in Use._fields)
    }
    return Registry(read_index(index), origins, folders, remotes)


def index_with(data: bytes | None, project_id: str, folder: str | None) -> bytes:
    """Return the index with a project added or, if its folder is None, removed; everything else stays."""
    whole = _whole(data)
    projects = {name: place for name, place in _table(whole, PROJECTS).items() if name != project_id}
    whole[PROJECTS] = projects | ({project_id: folder} if folder else {})
    return _bytes(whole)


def merged_index(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the index with both sides' changes; None if they conflict about a project."""
    old, mine, other = (_table(_whole(data), PROJECTS) for data in (base, ours, theirs))
    projects = dict(mine)
    for key in dict.fromkeys([*mine, *other]):
        if other.get(key) not in (mine.get(key), old.get(key)):
            if mine.get(key) != old.get(key):
                return None  # the project would have two folders
            projects[key] = other.get(key)
    projects = {key: value for key, value in projects.items() if value is not None}
    if len(set(projects.values())) < len(projects):
        return None  # a folder would have two projects
    return _bytes({**_whole(ours), PROJECTS: projects})


def _means(name: str, identity: Identity) -> bool:
    """Return whether a project that was recorded without an origin may belong to this folder: by name or remote."""
    names = {slug(identity.name), slug(PurePosixPath(identity.folder).name)}
    return slug(name) in names or normalised_remote(name) in (identity.remote or None,)


def _table(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name, {})
    return found if isinstance(found, dict) else {}


def _whole(data: bytes | None, name: str = INDEX, hint: str = _RESTORE) -> dict[str, Any]:
    try:
        whole = json.loads(data) if data and data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _damaged(name, hint) from error
    if not isinstance(whole, dict):
        raise _damaged(name, hint)
    return whole


def _bytes(whole: Mapping[str, Any]) -> bytes:
    return (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _damaged(name: str = INDEX, hint: str = _RESTORE) -> StorageError:
    return StorageError(f"{name} of the knowledge folder cannot be read.", hint)
