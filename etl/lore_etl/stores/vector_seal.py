"""Store vectors with a hash of their keys and numbers, so that a changed bit is noticed when they are read."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any

SEAL_BYTES = 8
LAYOUT = 2  # the first in which each vector has a seal


def sealed(model: str, content: str, value: bytes) -> bytes:
    """Return the numbers of a vector, followed by their seal."""
    return value + _seal(model, content, value)


def unsealed(model: str, content: str, stored: object) -> bytes | None:
    """Return the numbers of a stored vector; None if it is damaged."""
    if not isinstance(stored, bytes):  # damage can turn it into a number
        return None
    value = stored[:-SEAL_BYTES]
    return value if stored[-SEAL_BYTES:] == _seal(model, content, value) else None


def seal_all(connection: sqlite3.Connection) -> bool:
    """Seal the vectors of an earlier layout, once; return whether there were any. Several processes may call this."""
    if _layout(connection) >= LAYOUT:
        return False
    connection.create_function("sealed", 3, _sealed_if_possible, deterministic=True)
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if _layout(connection) >= LAYOUT:
            return False
        changed = connection.execute("UPDATE embedding SET value = sealed(model, content, value)").rowcount
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
    return changed > 0


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _sealed_if_possible(model: Any, content: Any, value: Any) -> Any:
    return sealed(str(model), str(content), value) if isinstance(value, bytes) else value


def _seal(model: str, content: str, value: bytes) -> bytes:
    return hashlib.blake2b(f"{model}\0{content}\0".encode() + value, digest_size=SEAL_BYTES).digest()
