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

from lore_etl.config.user_folders import user_state_folder
from lore_etl.stores.claim import LOCK
from lore_etl.stores.owner_file import Note
from lore_etl.system.ownership import user_id
from lore_etl.system.processes import born

MODULES = ("server.owner.main", "lore_server.owner.owner_main")
_HELD = re.compile(r"^lock:\s*\d+: FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s", re.MULTILINE)


def earlier_owner(index: Path) -> Note | None:
    """Return the owner of an index, if it holds the lock."""
    return next((note for folder, note in earlier_owners() if folder == index), None)


def earlier_owners() -> Iterator[tuple[Path, Note]]:
    """Yield the index folder of each owner that holds its lock, with a note that names the process, but no address."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or may not be examined
            if process.stat().st_uid == user_id():
                yield from _owned_by(process)


def _owned_by(process: Path) -> Iterator[tuple[Path, Note]]:
    pid = int(process.name)
    began, kind = born(pid), _kind(_texts(process / "cmdline"))
    variables = (text.partition("=") for text in _texts(process / "environ"))
    state_folder = user_state_folder({name: value for name, _, value in variables})
    if not began or not kind or state_folder != user_state_folder():
        return
    note = Note(pid, began, "lore in the background" if kind == "background" else "lore serve", "", kind)
    for opened in (process / "fd").iterdir():
        file = opened.readlink()
        is_held = file.name == LOCK and _is_locked_by(pid, process / "fdinfo" / opened.name)
        if is_held and os.path.samestat(opened.stat(), file.lstat()):  # in a container, the path can be another file
            yield file.parent, note


def _kind(command: Sequence[str]) -> str:
    """Return the kind of owner that a command line starts; empty if it starts none."""
    if any(pair in (("-m", module) for module in MODULES) for pair in pairwise(command)):
        return "background"
    is_lore = any(Path(part).name == "lore" for part in command[:2])
    return "serve" if is_lore and "serve" in command[2:] else ""


def _texts(facts: Path) -> list[str]:
    return [os.fsdecode(text) for text in facts.read_bytes().split(b"\0")[:-1]]


def _is_locked_by(pid: int, facts: Path) -> bool:
    """Return whether the process itself has locked the open file, and not a parent whose descriptor it inherited."""
    return str(pid) in _HELD.findall(facts.read_text(encoding="ascii", errors="replace"))
