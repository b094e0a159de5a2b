"""Damage files as failing disks and other programs do."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from lore_etl.stores.embedding_cache import CACHE


def cut(path: Path) -> None:
    """Keep only the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> None:
    """Replace the whole content of a file."""
    path.write_bytes(b"\xa5" * path.stat().st_size)


def overwrite(path: Path, share: float, length: int, garbage: bytes = b"\xa5") -> None:
    """Replace bytes from this share of the file on; its size stays the same."""
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * share))
        file.write((garbage * length)[: min(length, path.stat().st_size - file.tell())])


def garble_middle(path: Path) -> None:
    """Replace the middle third of a file."""
    overwrite(path, 1 / 3, path.stat().st_size // 3)


def flip(path: Path, at: float = 0.5) -> None:
    """Change a byte of a file and neither its size nor its time."""
    info, data = path.stat(), bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0xFF
    path.write_bytes(data)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def turn_cached_vectors_around(lore: Path, where: str = "1") -> None:
    """Change the sign of the first number of cached vectors: a changed bit after which their length is still 1."""
    with closing(sqlite3.connect(lore / CACHE)) as connection, connection:
        connection.create_function("turned", 1, lambda value: bytes([value[0], value[1] ^ 0x80]) + value[2:])
        connection.execute(f"UPDATE embedding SET value = turned(value) WHERE {where}")
