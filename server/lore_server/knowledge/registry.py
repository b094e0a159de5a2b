"""Read and change `index.json`, which lists the projects, and the record of the folders that use them. Pure.

The index is in git, so that all machines have the same ids. The record is of this machine only (`projects`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lore_etl.core.errors import StorageError
from lore_server.knowledge.identity import Identity, normalised_remote
from lore_server.knowledge.names import mark_of, slug

INDEX = "index.json"
PROJECTS, ORIGINS, FOLDERS, REMOTES = "projects", "origins", "folders", "remotes"
_RESTORE = "Restore it with `git checkout HEAD -- index.json` in the knowledge folder."
_FORGET = "Remove `.git/lore-folders.json` there, and adopt the projects again."
_FOLDER = re.compile(r"[^./\\\0][^/\\\0]{0,254}")


def read_index(data: bytes | None) -> dict[str, str]:
    """Return the projects of the index as id -> slug. Raises StorageError."""
    projects = _whole(data).get("projects", {})
    if not isinstance(projects, dict):
        raise _damaged()
    return {name: place for name, place in projects.items() if isinstance(place, str) and _FOLDER.fullmatch(place)}


@dataclass(frozen=True)
class Registry:
    """The projects and their folders on this machine.

    Project id -> slug, project id -> origin (see `Identity`), folder -> the project it uses, and remote -> the project
    that all its clones use.
    """

    projects: Mapping[str, str]
    origins: Mapping[str, str]
    folders: Mapping[str, Use]
    remotes: Mapping[str, str]

    def project_of(self, identity: Identity) -> str:
        """Return the project of a folder: the recorded project if its remote is unchanged, otherwise a new project.

        A remote alone never opens existing knowledge: a person must confirm it with `lore knowledge adopt`, for one
        folder or for all clones of the remote.
        """
        if recorded := self._recorded(identity):
            return recorded
        own = self.confirmed(identity)
        for name, origin in self.origins.items():
            if origin == own.origin:
                return name
        return f"{own.name}-{mark_of(own.origin)}" if self.knows(own.name) else own.name

    def _recorded(self, identity: Identity) -> str | None:
        use = self.folders.get(identity.folder)
        if use is not None and use.remote == identity.remote:
            return use.project
        return self.remotes.get(identity.remote)

    def using(self, project_id: str, identity: Identity, all_clones: bool = False) -> Registry:
        """Return the registry with the folder using the project, which gets the folder's origin if it has none.

        If the folder's former project had this origin, the origin is removed from that project. With `all_clones` every
        folder with this remote uses the project, whatever it used before.
        """
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
    if data is None or not data.strip():
        return {}
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, hint) from error
    if not isinstance(whole, dict):
        raise _damaged(name, hint)
    return whole


def _bytes(whole: Mapping[str, Any]) -> bytes:
    return (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _damaged(name: str = INDEX, hint: str = _RESTORE) -> StorageError:
    return StorageError(f"{name} of the knowledge folder cannot be read.", hint)
