"""The line between a client and an owner: one line of JSON to say who is there and what is wanted, one line back.

After that it carries MCP (`mcp`), one call of an operation with its progress (`call`), or nothing more (`status`,
`stop`). Standard library only.
"""

from __future__ import annotations

import json
import socket
from typing import Any

CONNECT_SECONDS = 5.0
UNIX, TCP = "unix:", "tcp:"
JSON = dict[str, Any]


class Line:
    """A connected socket that is written and read by lines."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader = connected.makefile("rb")

    def send(self, data: bytes) -> None:
        """Write all of it. Raises OSError."""
        self._socket.sendall(data)

    def tell(self, message: JSON) -> None:
        """Write a message as one line. Raises OSError."""
        self.send(json.dumps(message).encode() + b"\n")

    def read(self) -> bytes:
        """The next line with its end; empty at the end of the line. Raises OSError."""
        return self._reader.readline()

    def hear(self) -> JSON:
        """The next message. Raises OSError where the line ended or says something else."""
        line = self.read()
        try:
            message = json.loads(line)
        except ValueError as error:
            raise ConnectionError("the owner left") from error
        return message if isinstance(message, dict) else {}

    def end(self) -> None:
        """Say that nothing more will be sent; what the owner still sends can be read."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            return  # it has left already

    def close(self) -> None:
        """Hang up."""
        self._reader.close()
        self._socket.close()


def dial(address: str, hello: JSON) -> tuple[Line, JSON]:
    """A line to the owner at the address, and its first reply.

    Raises:
        OSError: nobody answers there, or not as an owner does.
    """
    line = Line(_connected(address))
    try:
        line._socket.settimeout(CONNECT_SECONDS)
        line.tell(hello)
        reply = line.hear()
        line._socket.settimeout(None)
    except OSError:
        line.close()
        raise
    return line, reply


def _connected(address: str) -> socket.socket:
    if address.startswith(UNIX):
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: Any = address.removeprefix(UNIX)
    else:
        host, _, port = address.removeprefix(TCP).rpartition(":")
        connected, target = socket.socket(socket.AF_INET, socket.SOCK_STREAM), (host, int(port))
    try:
        connected.settimeout(CONNECT_SECONDS)
        connected.connect(target)
    except (OSError, ValueError) as error:
        connected.close()
        raise ConnectionError(str(error)) from error
    return connected
