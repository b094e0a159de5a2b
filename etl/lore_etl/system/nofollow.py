"""Open untrusted files without following a symlink, and without blocking on or reading from a FIFO or device.

Windows has no `O_NOFOLLOW`: the path is checked before and after the open. Its `os.scandir` knows less than `lstat`. It
has no user ids or modes, but others cannot open the profile folder. Standard library only: the bridge imports this.
"""

import errno
import os
import re
import stat
import sys
from pathlib import Path

_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_FLAGS: int = _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_GIT = re.compile(r"(\.git|git~\d+)[. ]*", re.IGNORECASE)
_NAME_SURROGATE = 0x2000_0000  # the bit in the reparse tags of symlinks and junctions


def open_regular(path: str | Path, flags: int = os.O_RDONLY, mode: int = 0o600, dir_fd: int | None = None) -> int:
    """Return a descriptor of a regular file; the last component of its path is no symlink. Raises OSError."""
    try:
        descriptor = (
            os.open(path, flags | _FLAGS, mode, dir_fd=dir_fd) if _NOFOLLOW else _open_checked(path, flags, mode)
        )
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_followed(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def read_regular(path: Path, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file. Raises OSError, see `open_regular`."""
    with open(open_regular(path), "rb") as file:
        return file.read(limit)


def leads_elsewhere(info: os.stat_result) -> bool:
    """Return whether the result of `lstat` describes a symlink or a Windows junction."""
    return stat.S_ISLNK(info.st_mode) or bool(getattr(info, "st_reparse_tag", 0) & _NAME_SURROGATE)


def names_git_folder(name: str) -> bool:
    """Return whether a system may treat a name as `.git`: in any case, with trailing dots, or shortened by Windows."""
    return _GIT.fullmatch(name) is not None


def _open_checked(path: str | Path, flags: int, mode: int) -> int:
    """Open without `O_NOFOLLOW`: create a file only if nothing exists there, and compare it with the path's file."""
    try:
        before = os.lstat(path)
        if leads_elsewhere(before):
            raise _not_followed(path)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
    except FileNotFoundError:
        flags |= os.O_EXCL if flags & os.O_CREAT else 0
    descriptor = os.open(path, flags | _FLAGS, mode)
    try:
        now = os.lstat(path)
        if leads_elsewhere(now) or not os.path.samestat(now, os.fstat(descriptor)):
            raise _not_followed(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _not_followed(path: str | Path) -> OSError:
    return OSError(errno.ELOOP, "a symlink, which is not followed", str(path))


def entry_facts(entry: os.DirEntry[str]) -> os.stat_result:
    """Return the result of `lstat` for an entry. Raises OSError."""
    # on Windows the entry has no inode, device or number of links
    return os.lstat(entry.path) if sys.platform == "win32" else entry.stat(follow_symlinks=False)


def is_link(entry: os.DirEntry[str]) -> bool:
    return leads_elsewhere(entry.stat(follow_symlinks=False)) if sys.platform == "win32" else entry.is_symlink()


def is_real_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and (sys.platform != "win32" or not is_link(entry))


def changed_ns(info: os.stat_result) -> int:
    """Return the time of a file's last change. On Windows this is the mtime, because its ctime is the creation time."""
    return info.st_mtime_ns if sys.platform == "win32" else info.st_ctime_ns


def user_id() -> int:
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def may_write(folder: Path) -> bool:
    """Return whether the system lets this user write to the folder: not on a read-only disk, even for root."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def is_private(info: os.stat_result) -> bool:
    """Return whether the file belongs to this user, and no other user may read or write it."""
    return sys.platform == "win32" or (info.st_uid == user_id() and not stat.S_IMODE(info.st_mode) & 0o077)
