"""Where tests write: hundreds of indexes, each of which waits for the disk again and again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM_BYTES = 4_000_000_000


def in_memory() -> Path | None:
    """A disk of memory, if this machine has a large one where programs may be run as well."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return None
    return None if os.statvfs(MEMORY).f_flag & os.ST_NOEXEC else MEMORY
