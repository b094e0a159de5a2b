"""Connect a client to an owner: the client sends a JSON line with its token and request, the owner replies with one.

After that the connection carries MCP (`mcp`), calls (`call`) or nothing (`status`, `stop`). Standard library only.
"""

import errno
import json
import socket
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from lore_etl.core.json_types import JSON
from lore_etl.system.nofollow import user_id

VARIABLE = "LORE_RUNTIME"  # names the folder of the sockets
CONNECT_SECONDS = 5.0
UNIX, TCP, LOOPBACK = "unix:", "tcp:", "127.0.0.1"


class LineSocket:
    """A connected socket that is read and written in lines."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader = connected.makefile("rb")

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_message(self, message: JSON) -> None:
        self.send(json.dumps(message).encode() + b"\n")

    def read(self) -> bytes:
        return self._reader.readline()

    def receive(self) -> JSON:
        """Return the next message; empty if the line is none. Raises OSError if the connection has ended."""
        line = self.read()
        if not line.endswith(b"\n"):
            raise ConnectionError("the owner exited")
        return parsed(line)

    def end(self) -> None:
        """Close the sending direction; replies can still be read."""
        with suppress(OSError):  # the owner has already disconnected
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


def parsed(line: bytes) -> JSON:
    """Return the message on a line; empty if it is not a JSON object."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def dial(address: str, hello: JSON) -> tuple[LineSocket, JSON]:
    """Connect to an owner; return the connection and its first reply. Raises OSError, also if it is of another user."""
    if address.startswith(UNIX) and sys.platform != "win32":
        family, target = socket.AF_UNIX, _own_socket(Path(address.removeprefix(UNIX)))
    else:
        family, target = socket.AF_INET, _own_port(address)
    connected = socket.socket(family, socket.SOCK_STREAM)
    line = LineSocket(connected)
    try:
        connected.settimeout(CONNECT_SECONDS)
        connected.connect(target)
        line.send_message(hello)
        reply = line.receive()
        connected.settimeout(None)
    except OSError:
        line.close()
        raise
    return line, reply


def _own_socket(path: Path) -> Any:
    """Return the address: it receives the token, so it must be ours and in a folder that only we can enter."""
    try:
        folder, info = path.parent.lstat(), path.lstat()
    except FileNotFoundError as error:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "the owner's socket no longer exists") from error
    is_private = stat.S_ISDIR(folder.st_mode) and not stat.S_IMODE(folder.st_mode) & 0o077
    if not is_private or not stat.S_ISSOCK(info.st_mode) or {folder.st_uid, info.st_uid} != {user_id()}:
        raise PermissionError(errno.EPERM, "the owner's socket is not in a folder that only this user can access")
    return str(path)


def _own_port(address: str) -> Any:
    host, _, port = address.removeprefix(TCP).rpartition(":")
    if host != LOOPBACK or not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise PermissionError(errno.EPERM, "an owner must be on this machine")
    return host, int(port)
