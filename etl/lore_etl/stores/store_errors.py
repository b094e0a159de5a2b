"""Why a store failed: most of them report a full disk or too many open files as if their own files were damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

SPARE_FILES = 32  # a store needs about a dozen to open, and one that failed has closed some of them again
FULL_BYTES = 1_000_000  # below that a database cannot work, whatever its error says


def obstacle(folder: Path) -> str | None:
    """What prevents any store in this folder from working at the moment, in words; None if nothing does."""
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return "the disk is full"
    opened: list[int] = []
    try:
        for _ in range(SPARE_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    finally:
        for one in opened:
            os.close(one)
    return None


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust panicked. Its exception derives from BaseException and cannot be imported."""
    return type(error).__name__ == "PanicException"
