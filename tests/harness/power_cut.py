"""Cut the power after an operation under `Faults`: whatever it did not sync to the disk is lost.

A file keeps the content of its last sync, or the one that it had before the operation; a new file that was never synced
is empty. A new, renamed or deleted name is lost unless its folder was synced afterwards; below `.git` any later sync
keeps the names, as the journal of ext4, XFS and APFS does: git relies on it and never syncs a folder. Or all names are
kept: such a journal may write them long before the contents.
"""

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

    def cut_the_power(self, keeps_names: bool = False, after: int | None = None) -> None:
        """Leave what has reached the disk in the folder: contents that were synced, and such names or all.

        With `after`, the power fails after so many events instead of at the end; this can be repeated.
        """
        names, contents, events = dict(self._names), dict(self._contents), self.events()[:after]
        for at, event in enumerate(events):
            if event.what in ("file", "content"):
                contents[event.inode] = (self.journal / str(event.number)).read_bytes()
            elif event.what == "create":
                contents[event.inode] = b""
            elif event.what == "folder":
                _set_files(names, event.path, events[:at])
            is_name = event.what not in ("file", "content", "entry", "folder", "all")
            if is_name and (keeps_names or _is_kept(event.path, events[at + 1 :])):
                _apply(names, event)
        self._write(names, contents)

    def events(self) -> list[Event]:
        """Return what the operation did, in order."""
        log = self.journal / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        rows = (line.split("\t") for line in lines)
        return [Event(what, int(inode), int(number), path, source) for what, inode, number, path, source in rows]

    def _write(self, names: dict[str, int | None], contents: dict[int, bytes]) -> None:
        for path in sorted(self._folder.rglob("*"), reverse=True):  # a folder that is kept stays the same one
            if path.is_symlink() or not path.is_dir():
                path.unlink()
            elif names.get(str(path), 0) is not None:
                path.rmdir()
        began = time.time() - RESTART_SECONDS
        for name in sorted(names):  # parents first
            path, inode = Path(name), names[name]
            if not path.parent.is_dir():
                continue  # its folder is lost
            if inode is None:
                path.mkdir(mode=0o700, exist_ok=True)
            else:
                path.write_bytes(contents.get(inode, b""))
                os.utime(path, (began, began))


def _apply(names: dict[str, int | None], event: Event) -> None:
    below = f"{event.source or event.path}/"
    moved = {name: inode for name, inode in names.items() if event.what != "link" and name.startswith(below)}
    for name in moved:
        del names[name]
    if event.what == "delete":
        names.pop(event.path, None)
        return
    is_folder = event.what == "mkdir" or (event.source != "" and names.get(event.source, 0) is None)
    names.pop(event.source, None)
    names[event.path] = None if is_folder else event.inode
    if event.what == "rename":
        names |= {f"{event.path}/{name.removeprefix(below)}": inode for name, inode in moved.items()}


def _set_files(names: dict[str, int | None], folder: str, earlier: list[Event]) -> None:
    """Give a folder that is synced the files that were listed just before; other processes may have written between."""
    for name in [name for name, inode in names.items() if inode is not None and str(Path(name).parent) == folder]:
        del names[name]
    for event in reversed(earlier):
        if event.what == "folder" and event.path == folder:
            break
        if event.what == "entry" and str(PurePosixPath(event.path).parent) == folder:
            names[event.path] = event.inode


def _is_kept(path: str, later: list[Event]) -> bool:
    """Return whether one of the later syncs keeps a changed name."""
    folder, is_of_git = str(PurePosixPath(path).parent), GIT in PurePosixPath(path).parts
    return any(
        event.what == "all" or (event.what == "folder" and event.path == folder) or (event.what == "file" and is_of_git)
        or (event.what == "folder" and is_of_git)
        for event in later
    )  # fmt: skip
