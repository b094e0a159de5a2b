"""Lock open files between processes; the system releases the locks when a process ends."""

import os
import sys

if sys.platform == "win32":
    from filelock import lock_descriptor, unlock_descriptor
else:
    import fcntl


def try_lock(descriptor: int, shared: bool = False) -> bool:
    """Lock the file unless another holder has locked it; return whether it is locked now. Raises OSError."""
    if sys.platform == "win32":
        return lock_descriptor(descriptor, blocking=False)  # Windows has no `shared` locks
    else:  # noqa: RET505 - mypy does not know `fcntl` on Windows
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def close_locked(descriptor: int) -> None:
    """Close the file. The lock is released when every process that inherited the descriptor has closed it."""
    if sys.platform == "win32":
        unlock_descriptor(descriptor)  # closing the file would release it too, but later
    os.close(descriptor)


def is_locked(descriptor: int) -> bool:
    """Return whether another holder has locked the file; the caller closes the descriptor."""
    return not try_lock(descriptor, shared=True)
