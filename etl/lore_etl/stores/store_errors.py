"""Find out why a store failed: most stores report a full disk or too many open files as damage to their own files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

SPARE_FILES = 32  # a store opens about a dozen files, and after a failure some of them are closed again
FULL_BYTES = 1_000_000  # with less free space a database cannot work, whatever its error message


def obstacle(folder: Path) -> str | None:
    """Describe the problem that prevents all stores in this folder from working now; return None if there is none."""
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return "the disk is full"
    opened: list[int] = []
    try:
        for _ in range(SPARE_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return None


def is_panic(error: BaseException) -> bool:
    """Return whether a Rust library panicked. Its exceptions are BaseExceptions of a class that cannot be imported."""
    return type(error).__name__ == "PanicException"
