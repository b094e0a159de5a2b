"""Listen on an owner's socket, and reopen it at the same address if it is deleted.

The folder of the sockets can differ between shells, because `TMPDIR` and `XDG_RUNTIME_DIR` do. So a note stores the
full address of its owner, and the user's state folder records the indexes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import ByteStream, Listener, TaskGroup

from lore_etl.config.user_folders import private_folder
from lore_etl.system.sockets import HAS_UNIX_SOCKETS
from lore_server.owner.line import LOOPBACK, TCP, UNIX

VARIABLE = "LORE_RUNTIME"
LONGEST_SOCKET = 100  # bytes: unix(7) allows 107, and macOS 103
Welcome = Callable[[ByteStream], Awaitable[None]]


class Entrance:
    """A listening socket. Connected clients stay connected when it is reopened."""

    def __init__(self, index: Path, transport: str) -> None:
        self._index = index
        self._transport = transport
        self._listener: Listener[ByteStream] | None = None
        self._file: Path | None = None
        self._identity: tuple[int, int] | None = None
        self.address = ""

    async def open(self) -> None:
        """Listen, and set `address`. Raises OSError."""
        await self._hang_up()
        self._file = socket_of(self._index) if self._transport == "unix" and HAS_UNIX_SOCKETS else None
        if self._file is None:
            tcp = await anyio.create_tcp_listener(local_host=LOOPBACK)
            self.address = f"{TCP}{LOOPBACK}:{tcp.extra(anyio.abc.SocketAttribute.local_port)}"
            self._listener = tcp
        else:
            self._listener = await _unix(self._file)
            self.address = f"{UNIX}{self._file}"
            self._identity = _identity(self._file)

    async def admit(self, welcome: Welcome, tasks: TaskGroup) -> None:
        """Accept clients until the socket is closed or reopened; serve each of them in the task group."""
        assert self._listener is not None
        with suppress(anyio.ClosedResourceError):
            await self._listener.serve(welcome, tasks)

    def is_there(self) -> bool:
        """Return whether clients can still connect: the system may clear temporary folders."""
        return self._file is None or _identity(self._file) == self._identity

    async def close(self) -> None:
        """Stop accepting clients, and delete the socket."""
        await self._hang_up()
        if self._file is not None and self.is_there():
            self._file.unlink(missing_ok=True)

    async def _hang_up(self) -> None:
        if self._listener is not None:
            await self._listener.aclose()


async def _unix(path: Path) -> Listener[ByteStream]:
    path.unlink(missing_ok=True)  # left by an owner that ended: we hold the lock
    before = os.umask(0o177)
    try:
        return await anyio.create_unix_listener(path, mode=0o600)
    finally:
        os.umask(before)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_dev, info.st_ino


def runtime_folder() -> Path:
    """Return `LORE_RUNTIME`, `$XDG_RUNTIME_DIR/lore` or a folder of this user in the temporary folder.

    Raises:
        OSError: the folder cannot be created, is a symlink, or belongs to another user.
    """
    base = os.environ.get(VARIABLE)
    if base is None and os.environ.get("XDG_RUNTIME_DIR"):
        base = str(Path(os.environ["XDG_RUNTIME_DIR"], "lore"))
    if base is None:
        user = os.getuid() if hasattr(os, "getuid") else "me"
        base = str(Path(tempfile.gettempdir(), f"lore-{user}"))
    return private_folder(Path(base).absolute())


def socket_of(index: Path) -> Path | None:
    """Return the path of the socket of an index's owner; None if it would be too long."""
    path = runtime_folder() / f"{hashlib.sha256(os.fsencode(index)).hexdigest()[:16]}.sock"
    return path if len(os.fsencode(path)) <= LONGEST_SOCKET else None
