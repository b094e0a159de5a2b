"""Find owners of earlier versions of Lore, which left no note in the user's state folder.

They wrote their note into the project's folder, where a stranger may have written it. So it is not read: an owner is
known by the lock of its index, its user, the command that started it, and its state folder, which must be ours: owners
with another one belong to another installation. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from lore_etl.config.user_folders import user_state_folder
from lore_etl.stores.claim import LOCK
from lore_etl.stores.owner_file import Note
from lore_etl.system.lock_holders import holders

MODULES = ("server.owner.main", "lore_server.owner.owner_main")


def earlier_owners() -> Iterator[tuple[Path, Note]]:
    """Yield the index folder of each owner that holds its lock, with a note that names the process, but no address."""
    for holder in holders(LOCK):
        is_of_us = user_state_folder(holder.environment) == user_state_folder()
        if is_of_us and (kind := _kind(holder.command)):
            command = "lore in the background" if kind == "background" else "lore serve"
            yield holder.file.parent, Note(holder.pid, holder.born, command, "", kind)


def earlier_owner(index: Path) -> Note | None:
    """Return the owner of an index, if it holds the lock."""
    return next((note for folder, note in earlier_owners() if folder == index), None)


def _kind(command: Sequence[str]) -> str:
    """Return the kind of owner that a command line starts; empty if it starts none."""
    if any(pair in (("-m", module) for module in MODULES) for pair in pairwise(command)):
        return "background"
    is_lore = any(Path(part).name == "lore" for part in command[:2])
    return "serve" if is_lore and "serve" in command[2:] else ""
