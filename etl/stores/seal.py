"""A seal: the sizes and times of a store's files as we left them, to know at the next open if others touched them."""

from __future__ import annotations

import json
from pathlib import Path

from etl.stores.atomic import write_atomically

SEAL = "seal.json"


def seal(folder: Path) -> None:
    """Record the files as they are now. Raises StorageError."""
    write_atomically(folder / SEAL, (json.dumps(_stamps(folder)),))


def unseal(folder: Path) -> None:
    """We are about to write: a crash from here on is no damage."""
    (folder / SEAL).unlink(missing_ok=True)


def changed(folder: Path) -> set[str] | None:
    """Names of files that are not as they were sealed; None where there is no seal to compare with."""
    try:
        recorded = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        now = _stamps(folder)
        return {name for name in recorded.keys() | now.keys() if recorded.get(name) != now.get(name)}
    except (OSError, ValueError, AttributeError):
        return None


def is_sealed(folder: Path) -> bool:
    """Whether the files are as they were left."""
    return changed(folder) == set()


def _stamps(folder: Path) -> dict[str, list[int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SEAL and path.suffix not in (".lock", ".tmp"):
            info = path.stat()
            found[path.relative_to(folder).as_posix()] = [info.st_size, info.st_mtime_ns]
    return found
