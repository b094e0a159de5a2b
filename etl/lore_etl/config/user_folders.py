"""Locate the user's own folders, outside every project. Standard library only, because the bridge imports it."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from lore_etl.system.nofollow import is_private, user_id

STATE = "LORE_STATE"


def user_state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `LORE_STATE`, else the platform's folder for state. Creates nothing.

    Its files decide which index folders and projects are trusted, so by default it is never inside a project, and it
    does not depend on `TMPDIR` or `XDG_RUNTIME_DIR`, which differ between shells.
    """
    if named := environment.get(STATE):
        return Path(named).expanduser().absolute()
    home = Path(environment.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "lore"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "lore"
    named = environment.get("XDG_STATE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else home / ".local" / "state"  # XDG: ignore relative paths
    return base / "lore"


def cache_folder() -> Path:
    """Return the folder of compiled models: `LORE_CACHE`, else the user's cache folder."""
    from platformdirs import user_cache_path

    return Path(os.environ.get("LORE_CACHE") or user_cache_path("lore", appauthor=False))


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can enter, and return it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != user_id():
        raise PermissionError(errno.EPERM, "it belongs to another user", str(folder))
    if not is_private(info):
        folder.chmod(0o700)
    return folder
