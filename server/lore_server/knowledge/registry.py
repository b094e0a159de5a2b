"""Read, change and merge `index.json`: the projects, their origins, and the folders that use them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from lore_etl.core.errors import StorageError
from lore_server.knowledge.identity import Identity, normalised_remote

INDEX = "index.json"
PROJECTS, ORIGINS, FOLDERS = "projects", "origins", "folders"
_SLUG = re.compile(r"[^/\\\0]{1,255}")


def read_index(data: bytes | None) -> dict[str, str]:
    """Return the projects of the index as id -> slug.

    Raises:
        StorageError: the content is not such a mapping.
    """
    projects = _whole(data).get("projects", {})
    if not isinstance(projects, dict):
        raise _damaged()
    return {name: slug for name, slug in projects.items() if isinstance(slug, str) and _is_folder(slug)}


@dataclass(frozen=True)
class Registry:
    """The index: project id -> slug, project id -> origin (see `Identity`), and folder -> the project it uses."""

    projects: Mapping[str, str]
    origins: Mapping[str, str]
    folders: Mapping[str, Use]

    def project_of(self, identity: Identity) -> str:
        """Return the project of a folder: the recorded project if its remote is unchanged, otherwise a new project.

        A remote alone never opens existing knowledge: a person must confirm it with `lore knowledge adopt`.
        """
        use = self.folders.get(identity.folder)
        if use is not None and use.remote == identity.remote:
            return use.project
        return self._own(self.confirmed(identity))

    def confirmed(self, identity: Identity) -> Identity:
        """Return the identity, without its remote if a project already has that remote."""
        return identity._replace(remote="") if identity.remote in self.origins.values() else identity

    def candidates(self, identity: Identity) -> list[str]:
        """Return other projects that may belong to this folder: by remote or path, or by name if no origin is known."""
        current, use = self.project_of(identity), self.folders.get(identity.folder)
        is_current = use is not None and use.remote == identity.remote
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

    def _own(self, identity: Identity) -> str:
        for name, origin in self.origins.items():
            if origin == identity.origin:
                return name
        return identity.marked_name if self.knows(identity.name) else identity.name


class Use(NamedTuple):
    """The project that a folder uses, and the folder's remote at the time of that decision."""

    project: str
    remote: str


def read_registry(data: bytes | None) -> Registry:
    """Return the registry in the content of the index. Raises StorageError."""
    whole = _whole(data)
    origins = {name: value for name, value in _table(whole, ORIGINS).items() if isinstance(value, str)}
    folders = {
        folder: Use(use["project"], use["remote"])
        for folder, use in _table(whole, FOLDERS).items()
        if isinstance(use, dict) and all(isinstance(use.get(key), str) for key in Use._fields)
    }
    return Registry(read_index(data), origins, folders)


def index_with(data: bytes | None, project_id: str, slug: str | None) -> bytes:
    """Return the index with a project added or, if the slug is None, removed; everything else stays."""
    whole = _whole(data)
    projects = {name: folder for name, folder in _table(whole, PROJECTS).items() if name != project_id}
    whole[PROJECTS] = projects | ({project_id: slug} if slug else {})
    return _bytes(whole)


def index_with_use(data: bytes | None, project_id: str, identity: Identity) -> bytes:
    """Return the index with the folder using the project, which gets the folder's origin if it has none.

    If the folder's former project had this origin, the origin is removed from that project.
    """
    whole, registry = _whole(data), read_registry(data)
    origins = dict(registry.origins)
    if project_id not in origins:
        left = registry.project_of(identity)
        if left != project_id and origins.get(left) == identity.origin:
            del origins[left]
        origins[project_id] = read_registry(_bytes({ORIGINS: origins})).confirmed(identity).origin
    whole[ORIGINS] = origins
    whole[FOLDERS] = _table(whole, FOLDERS) | {identity.folder: Use(project_id, identity.remote)._asdict()}
    return _bytes(whole)


def merged_index(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the index with both sides' changes; None if they conflict about a project. For folders, our side wins."""
    before, left, right = (_whole(data) for data in (base, ours, theirs))
    merged = dict[str, Any]()
    for name in (PROJECTS, ORIGINS, FOLDERS):
        old, mine, other = (_table(whole, name) for whole in (before, left, right))
        table = dict[str, Any]()
        for key in dict.fromkeys([*mine, *other]):
            found = _pick(old.get(key), mine.get(key), other.get(key))
            if found is False and name != FOLDERS:
                return None
            value = mine.get(key) if found is False else found
            if value is not None:
                table[key] = value
        if name == PROJECTS and len(set(table.values())) < len(table):
            return None  # two projects would have the same folder
        if table or name == PROJECTS:
            merged[name] = table
    rest = {key: value for key, value in left.items() if key not in (ORIGINS, FOLDERS)}
    return _bytes(rest | merged)


def _means(name: str, identity: Identity) -> bool:
    """Return whether a project that was recorded without an origin may belong to this folder."""
    return name == identity.name or normalised_remote(name) in (identity.remote or None,)


def _pick(base: object, ours: object, theirs: object) -> Any:
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else False


def _table(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = whole.get(name, {})
    return found if isinstance(found, dict) else {}


def _whole(data: bytes | None) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged() from error
    if not isinstance(whole, dict):
        raise _damaged()
    return whole


def _bytes(whole: Mapping[str, Any]) -> bytes:
    return (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _is_folder(slug: str) -> bool:
    return bool(_SLUG.fullmatch(slug)) and not slug.startswith(".")


def _damaged() -> StorageError:
    hint = "Restore it with `git checkout HEAD -- index.json` in the knowledge folder."
    return StorageError(f"{INDEX} of the knowledge folder cannot be read.", hint)
