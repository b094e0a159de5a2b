"""Find the processes of this user that hold a file's lock, as Linux reports them; other systems do not say.

Only the kernel is believed: what a file says about a process may be forged. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lore_etl.system.ownership import user_id
from lore_etl.system.processes import born

_HELD = re.compile(r"^lock:\s*\d+: FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s", re.MULTILINE)


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
