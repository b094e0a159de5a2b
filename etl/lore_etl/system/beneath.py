"""Open a path below an open folder without leaving it: by `openat2` (Linux 5.6), otherwise step by step."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import cast

_SYSCALL = 437  # `openat2`, on all architectures that CPython supports
_BENEATH, _NO_SYMLINKS = 0x08, 0x04
_RETRIES = 8  # the kernel gives up if a folder is renamed meanwhile
_STEP: int = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Return a descriptor of an existing file or folder; its path contains no symlink and no `..`. Raises OSError."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise OSError(errno.ELOOP, "not a path below the folder", path)
    flags |= getattr(os, "O_CLOEXEC", 0)
    if len(parts) > 1 and _has_openat2():
        for _ in range(_RETRIES):
            try:
                return _openat2(folder, path, flags)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EINTR):
                    raise
    return _step_by_step(folder, parts, flags)


def _step_by_step(folder: int, parts: list[str], flags: int) -> int:
    at = folder
    try:
        for part in parts[:-1]:
            before, at = at, os.open(part, _STEP, dir_fd=at)
            if before != folder:
                os.close(before)
        return os.open(parts[-1], flags | getattr(os, "O_NOFOLLOW", 0), dir_fd=at)
    finally:
        if at != folder:
            os.close(at)


@cache
def _has_openat2() -> bool:
    """Return whether the kernel has `openat2` and lets this process use it; some containers do not."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        here = os.open("/", _STEP)
    except OSError:
        return False
    try:
        os.close(_openat2(here, ".", _STEP))
    except OSError:
        return False
    finally:
        os.close(here)
    return True


def _openat2(folder: int, path: str, flags: int) -> int:
    import ctypes

    how = (ctypes.c_uint64 * 3)(flags, 0, _BENEATH | _NO_SYMLINKS)  # `struct open_how`: flags, mode, resolve
    found = _system_call()(
        ctypes.c_long(_SYSCALL), folder, os.fsencode(path), ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
    )
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return found


@cache
def _system_call() -> Callable[..., int]:
    """Return the function of the C library that makes a system call."""
    import ctypes

    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return cast("Callable[..., int]", function)
