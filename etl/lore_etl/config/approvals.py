"""Record which project settings the user approved, in the user's state folder. Standard library only.

An approval applies to a project's path and to exactly the settings that were shown, kept as a digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from lore_etl.config.user_folders import private_folder, user_state_folder
from lore_etl.core.errors import StorageError, os_errors_as
from lore_etl.core.json_types import JSON

NAME = "trust.json"


def approvals_file(environment: Mapping[str, str]) -> Path:
    """Return the approvals file, which is outside every project and private to this user."""
    return user_state_folder(environment) / NAME


def is_approved(root: Path, requested: JSON, environment: Mapping[str, str]) -> bool:
    """Return whether the user approved exactly these settings for this project. A damaged file approves nothing."""
    return _read(environment).get(str(root)) == _digest(requested)


def approve(root: Path, requested: JSON, environment: Mapping[str, str]) -> None:
    """Record these settings as approved and replace earlier approvals of the project. Raises StorageError."""
    _write({**_read(environment), str(root): _digest(requested)}, environment)


def revoke(root: Path, environment: Mapping[str, str]) -> bool:
    """Delete a project's approvals; return False if there are none. Raises StorageError."""
    approvals = _read(environment)
    if approvals.pop(str(root), None) is None:
        return False
    _write(approvals, environment)
    return True


def _digest(requested: JSON) -> str:
    return hashlib.sha256(json.dumps(requested, sort_keys=True, default=str).encode()).hexdigest()


def _read(environment: Mapping[str, str]) -> dict[str, str]:
    try:
        stored = json.loads(approvals_file(environment).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    projects = stored.get("projects") if isinstance(stored, dict) else None
    return projects if isinstance(projects, dict) else {}


def _write(projects: dict[str, str], environment: Mapping[str, str]) -> None:
    from lore_etl.core.atomic import write_atomically

    target, hint = approvals_file(environment), "Check the permissions of that folder."
    with os_errors_as(StorageError, f"Cannot write {target}", hint):
        private_folder(target.parent)
    write_atomically(target, [json.dumps({"projects": projects}, indent=2, sort_keys=True)], hint, mode=0o600)
