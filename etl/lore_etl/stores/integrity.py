"""Record size, time and digest of a store's files in a seal, to detect changes by other programs at the next open.

A file with the same size and time counts as unchanged. If only the time differs, as in a copy, its content decides.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import StorageError, os_errors_as

SEAL = "seal.json"
Stamp = tuple[int, int, str]
"""Size in bytes, mtime in nanoseconds, digest."""


def seal(folder: Path, known: Mapping[str, Stamp] = MappingProxyType({})) -> None:
    """Record the files as they are now; files with the `known` size and time are not read. Raises OSError."""
    stamps: dict[str, Stamp] = {}
    for name, (size, time) in _sizes_and_times(folder).items():
        old = known.get(name)
        stamps[name] = old if old and old[:2] == (size, time) else (size, time, _digest(folder / name))
    write_atomically(folder / SEAL, (json.dumps(stamps),))


def unseal(folder: Path) -> dict[str, Stamp]:
    """Remove the seal before a write, so that a crash does not count as damage; return its stamps for the next."""
    known = _recorded(folder) or {}
    (folder / SEAL).unlink(missing_ok=True)
    return known


def changed(folder: Path) -> set[str] | None:
    """Return the names of files that differ from the seal; None if there is no seal or a file vanishes.

    Raises:
        OSError: the files cannot be accessed, so nothing is known about them.
    """
    recorded = _recorded(folder)
    if recorded is None:
        return None
    try:
        now = _sizes_and_times(folder)
        common = recorded.keys() & now.keys()
        differ = {name for name in common if not _is_as_sealed(folder / name, recorded[name], now[name])}
        return differ | (recorded.keys() ^ now.keys())
    except FileNotFoundError:  # a file vanished meanwhile
        return None


def is_sealed(folder: Path) -> bool:
    """Return whether the files are unchanged since they were sealed. Raises StorageError."""
    with os_errors_as(StorageError, f"Cannot access {folder.name}/"):
        return changed(folder) == set()


def _is_as_sealed(path: Path, recorded: Stamp, now: tuple[int, int]) -> bool:
    if recorded[:2] == now:
        return True
    return recorded[0] == now[0] and recorded[2] == _digest(path)


def _recorded(folder: Path) -> dict[str, Stamp] | None:
    try:
        rows = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        return {name: (int(size), int(time), str(digest)) for name, (size, time, digest) in rows.items()}
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, TypeError, AttributeError):
        return None


def _sizes_and_times(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for parent, _, names in os.walk(folder, onerror=_raised):  # rglob treats an unreadable folder as empty
        for path in (Path(parent, name) for name in names):
            if path.is_file() and path.name != SEAL and path.suffix not in (".lock", ".tmp"):
                info = path.stat()
                found[path.relative_to(folder).as_posix()] = (info.st_size, info.st_mtime_ns)
    return dict(sorted(found.items()))


def _raised(error: OSError) -> None:
    raise error


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
