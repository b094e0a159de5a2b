"""Find owners of earlier versions of Lore, which left no note in the user's state folder.

They wrote their note into the project's folder, where a stranger may have written it. So it is not read: an owner is
known by the lock of its index, its user, the command that started it, and its state folder, which must be ours: owners
with another one belong to another installation. Only Linux says which process holds a lock, and only the kernel is
believed: what a file says about a process may be forged. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.user_folders import user_state_folder
from lore_etl.stores.claim import LOCK
from lore_etl.stores.owner_file import Note
from lore_etl.system.ownership import user_id
from lore_etl.system.processes import born

MODULES = ("server.owner.main", "lore_server.owner.owner_main")
_HELD = re.compile(r"^lock:\s*\d+: FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s", re.MULTILINE)


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


class Holder(NamedTuple):
    """A process with the locked file, by the path under which it was opened, and how the process was started."""

    file: Path
    pid: int
    born: str
    command: list[str]
    environment: dict[str, str]


def holders(name: str) -> Iterator[Holder]:
    """Yield the processes of this user that have locked a file with this name."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or may not be examined
            if process.stat().st_uid == user_id():
                yield from _held_by(process, name)


def _held_by(process: Path, name: str) -> Iterator[Holder]:
    pid = int(process.name)
    began = born(pid)
    for opened in (process / "fd").iterdir():
        file = opened.readlink()
        is_held = file.name == name and _is_locked_by(pid, process / "fdinfo" / opened.name)
        # in a container, the same path can be another file
        if began and is_held and os.path.samestat(opened.stat(), file.lstat()):
            variables = (text.partition("=") for text in _texts(process / "environ"))
            environment = {variable: value for variable, _, value in variables}
            yield Holder(file, pid, began, _texts(process / "cmdline"), environment)


def _texts(facts: Path) -> list[str]:
    return [os.fsdecode(text) for text in facts.read_bytes().split(b"\0")[:-1]]


def _is_locked_by(pid: int, facts: Path) -> bool:
    """Return whether the process itself has locked the open file, and not a parent whose descriptor it inherited."""
    return str(pid) in _HELD.findall(facts.read_text(encoding="ascii", errors="replace"))
