"""Rename files atomically and durably, so that renames survive a power failure."""

import os
import sys
import time
from pathlib import Path

_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.01


def replace(source: Path, target: Path) -> None:
    """Rename over the target; while another process has it open on Windows, retry for two seconds. Raises OSError."""
    deadline = time.monotonic() + (_PATIENCE_SECONDS if sys.platform == "win32" else 0)
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable. Windows cannot open folders, and NTFS does not need this. Raises OSError."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all_files() -> None:
    """Make all files durable together, which is faster than syncing many files one by one. Windows cannot do this."""
    if sys.platform != "win32" and hasattr(os, "sync"):
        os.sync()
