"""Examine entries of `os.scandir`, which on Windows have less information than `lstat`."""

from __future__ import annotations

import os
import sys

from lore_etl.system.nofollow import leads_elsewhere


def entry_facts(entry: os.DirEntry[str]) -> os.stat_result:
    """Return the result of `lstat` for an entry. Raises OSError."""
    # on Windows the entry has no inode, device or number of links
    return os.lstat(entry.path) if sys.platform == "win32" else entry.stat(follow_symlinks=False)


def is_link(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a symlink or a Windows junction."""
    if sys.platform == "win32":
        return leads_elsewhere(entry.stat(follow_symlinks=False))
    return entry.is_symlink()


def is_real_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, and not a symlink or a junction."""
    return entry.is_dir(follow_symlinks=False) and (sys.platform != "win32" or not is_link(entry))


def changed_ns(info: os.stat_result) -> int:
    """Return the time of a file's last change. On Windows this is the mtime, because its ctime is the creation time."""
    return info.st_mtime_ns if sys.platform == "win32" else info.st_ctime_ns
