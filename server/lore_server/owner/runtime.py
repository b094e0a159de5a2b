"""Locate the sockets of this user's owners. Standard library only.

The folder can differ between shells, because `TMPDIR` and `XDG_RUNTIME_DIR` do. So a note stores the full address of
its owner, and the user's state folder records the indexes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from lore_etl.config.user_folders import private_folder

VARIABLE = "LORE_RUNTIME"
LONGEST_SOCKET = 100  # bytes: unix(7) allows 107, and macOS 103


def runtime_folder() -> Path:
    """Return `LORE_RUNTIME`, `$XDG_RUNTIME_DIR/lore` or a folder of this user in the temporary folder.

    Raises:
        OSError: the folder cannot be created, is a symlink, or belongs to another user.
    """
    base = os.environ.get(VARIABLE)
    if base is None and os.environ.get("XDG_RUNTIME_DIR"):
        base = str(Path(os.environ["XDG_RUNTIME_DIR"], "lore"))
    if base is None:
        user = os.getuid() if hasattr(os, "getuid") else "me"
        base = str(Path(tempfile.gettempdir(), f"lore-{user}"))
    return private_folder(Path(base).absolute())


def socket_of(index: Path) -> Path | None:
    """Return the path of the socket of an index's owner; None if it would be too long."""
    path = runtime_folder() / f"{hashlib.sha256(os.fsencode(index)).hexdigest()[:16]}.sock"
    return path if len(os.fsencode(path)) <= LONGEST_SOCKET else None
