"""Choose the disk for temporary folders: hundreds of indexes would wait for a real disk."""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM_BYTES = 4_000_000_000


def in_memory() -> Path | None:
    """Return a RAM disk if this machine has a large one that allows programs to run."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return None
    return None if os.statvfs(MEMORY).f_flag & os.ST_NOEXEC else MEMORY
