"""Check the owner of a file, and whether a folder may be written.

Windows has no user ids or modes, but other users cannot open the profile folder.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def user_id() -> int:
    """Return the id of this user, as in `st_uid`."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def may_write(folder: Path) -> bool:
    """Return whether the system lets this user write to the folder: not on a read-only disk, even for root."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_private(info: os.stat_result) -> bool:
    """Return whether the file belongs to this user, and no other user may read or write it."""
    return sys.platform == "win32" or (info.st_uid == user_id() and not stat.S_IMODE(info.st_mode) & 0o077)
