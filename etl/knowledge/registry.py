"""`index.json`: which folder is whose project. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from etl.errors import StorageError

INDEX = "index.json"
_SLUG = re.compile(r"[^/\\\0]{1,255}")


def read_index(data: bytes | None) -> dict[str, str]:
    """Project id -> slug.

    Raises:
        StorageError: it is no such mapping.
    """
    projects = _whole(data).get("projects", {})
    if not isinstance(projects, dict):
        raise _damaged()
    return {name: slug for name, slug in projects.items() if isinstance(slug, str) and _is_folder(slug)}


def index_with(data: bytes | None, project_id: str, slug: str | None) -> bytes:
    """The file with a project added or, where the slug is None, left out; what else is in it stays."""
    whole = _whole(data)
    projects = {name: folder for name, folder in whole.get("projects", {}).items() if name != project_id}
    whole["projects"] = projects | ({project_id: slug} if slug else {})
    return _bytes(whole)


def merged_index(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Both sides' changes of the projects; None if they contradict each other."""
    before, left, right = (_whole(data) for data in (base, ours, theirs))
    old, mine, other = (_projects(whole) for whole in (before, left, right))
    merged = dict[str, Any]()
    for name in dict.fromkeys([*mine, *other]):
        found = _pick(old.get(name), mine.get(name), other.get(name))
        if found is False:
            return None
        if found is not None:
            merged[name] = found
    if len(set(merged.values())) < len(merged):
        return None  # two projects in one folder
    return _bytes(left | {"projects": merged})


def _pick(base: object, ours: object, theirs: object) -> Any:
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else False


def _projects(whole: Mapping[str, Any]) -> dict[str, Any]:
    found = whole.get("projects", {})
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
