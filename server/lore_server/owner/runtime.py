"""The folder of the sockets of this user's owners. Standard library only.

It differs from shell to shell, as `TMPDIR` and `XDG_RUNTIME_DIR` do. So a note holds the whole address of its owner,
and the user's state folder records which indexes there are.
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
    """`LORE_RUNTIME`, or a folder of this user below the system's place for such. Raises OSError if it is not ours."""
    base = os.environ.get(VARIABLE)
    if base is None and os.environ.get("XDG_RUNTIME_DIR"):
        base = str(Path(os.environ["XDG_RUNTIME_DIR"], "lore"))
    if base is None:
        user = os.getuid() if hasattr(os, "getuid") else "me"
        base = str(Path(tempfile.gettempdir(), f"lore-{user}"))
    return private_folder(Path(base).absolute())


def socket_of(index: Path) -> Path | None:
    """Where the socket of an index's owner is; None where its name would be too long for one."""
    path = runtime_folder() / f"{hashlib.sha256(os.fsencode(index)).hexdigest()[:16]}.sock"
    return path if len(os.fsencode(path)) <= LONGEST_SOCKET else None
