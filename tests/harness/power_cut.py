"""Cut the power after an operation under `Faults`: whatever it did not sync to the disk is lost.

A file keeps the content of its last sync, or the one that it had before the operation; a new file that was never synced
is empty. A new, renamed or deleted name is lost unless its folder was synced afterwards; below `.git` any later sync
keeps the names, as the journal of ext4, XFS and APFS does: git relies on it and never syncs a folder. Or all names are
kept: such a journal may write them long before the contents.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

GIT = ".git"
RESTART_SECONDS = 60  # since the power failed


@dataclass(frozen=True)
class Event:
    """A line of the journal that tests/harness/faults.c writes; `source` is the old path of a renamed file."""

    what: str
    inode: int
    number: int
    path: str
    source: str


class Disk:
    """The part of a folder that has reached the disk. It begins with everything that is there before an operation."""

    def __init__(self, folder: Path, journal: Path) -> None:
        self._folder = folder.resolve()
        self.journal = journal
        self._names: dict[str, int | None] = {}  # of a file its inode, of a folder None
        self._contents: dict[int, bytes] = {}
        shutil.rmtree(journal, ignore_errors=True)
        journal.mkdir(parents=True)
        for path in self._folder.rglob("*"):
            if path.is_symlink() or path.is_dir():
                self._names[str(path)] = None
            else:
                self._names[str(path)] = path.stat().st_ino
                self._contents[path.stat().st_ino] = path.read_bytes()

    def cut_the_power(self, keeps_names: bool = False) -> None:
        """Leave only what has reached the disk in the folder: contents that were synced, and such names or all."""
        events = self._events()
        for at, event in enumerate(events):
            if event.what in ("file", "content"):
                self._contents[event.inode] = (self.journal / str(event.number)).read_bytes()
            elif event.what == "create":
                self._contents[event.inode] = b""
            is_name = event.what not in ("file", "content", "folder", "all")
            if is_name and (keeps_names or _is_kept(event.path, events[at + 1 :])):
                self._apply(event)
        self._write()

    def _events(self) -> list[Event]:
        log = self.journal / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        rows = (line.split("\t") for line in lines)
        return [Event(what, int(inode), int(number), path, source) for what, inode, number, path, source in rows]

    def _apply(self, event: Event) -> None:
        below = f"{event.source or event.path}/"
        moved = {name: inode for name, inode in self._names.items() if event.what != "link" and name.startswith(below)}
        for name in moved:
            del self._names[name]
        if event.what == "delete":
            self._names.pop(event.path, None)
            return
        is_folder = event.what == "mkdir" or (event.source != "" and self._names.get(event.source, 0) is None)
        self._names.pop(event.source, None)
        self._names[event.path] = None if is_folder else event.inode
        if event.what == "rename":
            self._names |= {f"{event.path}/{name.removeprefix(below)}": inode for name, inode in moved.items()}

    def _write(self) -> None:
        for path in self._folder.iterdir():  # the folder itself stays the same one
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        began = time.time() - RESTART_SECONDS
        for name in sorted(self._names):  # parents first
            path, inode = Path(name), self._names[name]
            if not path.parent.is_dir():
                continue  # its folder is lost
            if inode is None:
                path.mkdir(mode=0o700, exist_ok=True)
            else:
                path.write_bytes(self._contents.get(inode, b""))
                os.utime(path, (began, began))


def _is_kept(path: str, later: list[Event]) -> bool:
    """Return whether one of the later syncs keeps a changed name."""
    folder, is_of_git = str(PurePosixPath(path).parent), GIT in PurePosixPath(path).parts
    return any(
        event.what == "all" or (event.what == "folder" and event.path == folder) or (event.what == "file" and is_of_git)
        or (event.what == "folder" and is_of_git)
        for event in later
    )  # fmt: skip
