"""Keep some room of the disk in reserve: SQLite writes even to read, so a full disk would end all searches."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from lore_etl.system.nofollow import open_regular

RESERVE = "reserve"
RESERVE_BYTES = 128_000  # the shared memory of the catalogue and of the embedding cache takes 32 kB each
AMPLE = 100  # times the reserve must be free before it is taken


def adjust_reserve(index: Path) -> None:
    """Take the reserve while there is ample room, and give it back when the disk is full."""
    file = index / RESERVE
    with suppress(OSError):  # a precaution that fails must not stop what would work without it
        free = shutil.disk_usage(index).free
        if free < RESERVE_BYTES:
            file.unlink(missing_ok=True)
        elif free > AMPLE * RESERVE_BYTES and not (file.exists() and file.stat().st_size == RESERVE_BYTES):
            with open(open_regular(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as taken:
                taken.write(os.urandom(RESERVE_BYTES))  # some disks compress zeros to nothing
