"""Store vectors with a hash of their keys and numbers, so that a changed bit is noticed when they are read."""

from __future__ import annotations

import hashlib
import sqlite3

SEAL_BYTES = 8
LAYOUT = 2  # each vector has a seal


def sealed(model: str, content: str, value: bytes) -> bytes:
    """Return the numbers of a vector, followed by their seal."""
    return value + _seal(model, content, value)


def unsealed(model: str, content: str, stored: object) -> bytes | None:
    """Return the numbers of a stored vector; None if it is damaged."""
    if not isinstance(stored, bytes):  # damage can turn it into a number
        return None
    value = stored[:-SEAL_BYTES]
    return value if stored[-SEAL_BYTES:] == _seal(model, content, value) else None


def require_layout(connection: sqlite3.Connection) -> None:
    """Record the layout of a new file. Raises sqlite3.DatabaseError for a file of another version of Lore."""
    if _layout(connection) == LAYOUT:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")  # another process may create the same file
        if not _layout(connection) and not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        elif (found := _layout(connection)) != LAYOUT:
            raise sqlite3.DatabaseError(f"it has layout {found}, of another version of Lore")


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _seal(model: str, content: str, value: bytes) -> bytes:
    return hashlib.blake2b(f"{model}\0{content}\0".encode() + value, digest_size=SEAL_BYTES).digest()
