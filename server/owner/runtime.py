"""The folder of this user's running owners: their sockets, and where their indexes are. Standard library only."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from etl.user_folders import private_folder

VARIABLE = "LORE_RUNTIME"
LONGEST_SOCKET = 100  # bytes: unix(7) allows 107, and macOS 103


def runtime_folder() -> Path:
    """`LORE_RUNTIME`, or a folder of this user below the system's place for such. Raises OSError if it is not ours."""
    base = os.environ.get(VARIABLE)
    if base is None and os.environ.get("XDG_RUNTIME_DIR"):
        base = str(Path(os.environ["XDG_RUNTIME_DIR"], "lore"))
    if base is None:
        user = os.getuid() if hasattr(os, "getuid") else "me"
        base = str(Path(tempfile.gettempdir(), f"lore-{user}"))
    return private_folder(Path(base))


def socket_of(index: Path) -> Path | None:
    """Where the socket of an index's owner is; None where its name would be too long for one."""
    path = runtime_folder() / f"{_name(index)}.sock"
    return path if len(os.fsencode(path)) <= LONGEST_SOCKET else None


def register(index: Path) -> None:
    """Let `lore ps` find this owner."""
    (runtime_folder() / f"{_name(index)}.index").write_text(str(index), encoding="utf-8")


def unregister(index: Path) -> None:
    """Take the entry back."""
    (runtime_folder() / f"{_name(index)}.index").unlink(missing_ok=True)


def registered() -> Iterator[Path]:
    """The index folders that have, or had, an owner."""
    for entry in sorted(runtime_folder().glob("*.index")):
        yield Path(entry.read_text(encoding="utf-8"))


def _name(index: Path) -> str:
    return hashlib.sha256(os.fsencode(index)).hexdigest()[:16]
