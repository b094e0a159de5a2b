"""Check for Unix sockets, and reserve the address of a TCP socket."""

from __future__ import annotations

import socket
import sys

HAS_UNIX_SOCKETS = hasattr(socket, "AF_UNIX")


def reserve_address(listener: socket.socket) -> None:
    """Set the option of a TCP socket that lets a server restart immediately but no other process share its port."""
    if sys.platform == "win32":  # SO_REUSEADDR would let any process take over the port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
