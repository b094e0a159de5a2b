"""Opening files that somebody else may have placed: a link is not followed, a FIFO or device never blocks or reads.

Standard library only: the bridge imports it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# Windows has neither flag, and no FIFOs among files; its links need rights that a clone does not have
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """A descriptor of a regular file. Only the last component is checked for being a link.

    Raises:
        OSError: there is no such file, or it is a link, a FIFO, a device or a folder.
    """
    try:
        descriptor = os.open(path, flags | _SAFE, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a symlink, which is not followed", str(path)) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


def read_regular(path: Path, limit: int) -> bytes:
    """Up to `limit` bytes of a regular file. Raises OSError, see `open_regular`."""
    with open(open_regular(path), "rb") as file:
        return file.read(limit)
