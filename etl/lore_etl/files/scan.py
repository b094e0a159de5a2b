"""Find and read the files of a project. Ignored files are skipped, and symlinks that lead outside are reported."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Self

from lore_etl.core.model import Problem
from lore_etl.core.text import is_encodable
from lore_etl.files.ignore import IGNORE_FILE, Rules, is_uninteresting
from lore_etl.system.nofollow import changed_ns, entry_facts, is_link
from lore_etl.system.open_folder import OpenFolder, open_below, target_of

MAX_IGNORE_BYTES = 1_000_000
RACY_NS = 20_000_000  # a file changed within a clock tick of the scan may change again under the same stamp


@dataclass(frozen=True)
class FileEntry:
    """A file of the project: its POSIX path relative to the root, and a stamp that changes with the file."""

    path: str
    size: int
    stamp: str


@dataclass
class Scan:
    """The result of a walk; the contents of `unreadable` folders (or files) are unknown."""

    files: dict[str, FileEntry] = field(default_factory=dict)
    unreadable: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def hides(self, path: str) -> bool:
        """Return whether the file is in a folder that could not be read, so that its state is unknown."""
        return any(PurePosixPath(path).is_relative_to(folder.source) for folder in self.unreadable)

    def copy(self) -> Self:
        return type(self)(dict(self.files), list(self.unreadable), list(self.refused))

    def add(self, other: Self) -> None:
        self.files = dict(sorted((self.files | other.files).items()))
        self.unreadable += other.unreadable
        self.refused += other.refused


def walk(root: Path, rules: Rules, start: str = "", under: str = "") -> Scan:
    """Find the files below a folder without following symlinks, and report symlinks that lead outside.

    `under` is a prefix for all paths. Everything is opened below the root, so that no exchanged folder is followed.
    """
    found, now = Scan(), time.time_ns()

    def add_files(folder: OpenFolder, path: str, above: Rules) -> Iterator[tuple[str, Rules]]:
        """Add the files of a folder, and yield the folders in it with the rules for them. Raises OSError."""
        here, count = above.entering(_ignore_file(folder)), 0
        for entry in folder.entries():
            name, shown, count = entry.name, under + path + entry.name, count + 1
            if not is_encodable(name):
                if not is_uninteresting(name):
                    found.refused.append(Problem(shown.encode("utf-8", "replace").decode(), "its name is not UTF-8"))
            elif is_link(entry):
                with suppress(OSError):  # it has been deleted meanwhile
                    if not here.leaves_out(name, is_folder=False) and target_of(root / start, path + name) is None:
                        found.refused.append(Problem(shown, "symlink leads outside the project; not followed"))
            elif entry.is_dir(follow_symlinks=False):
                if not here.leaves_out(name, is_folder=True):
                    yield f"{path}{name}/", here.inside(name)
            elif not here.leaves_out(name, is_folder=False):
                _add(entry, shown, now, found)
        here.forget_others(count)

    stack = [("", rules)]
    while stack:
        path, above = stack.pop()
        try:
            with open_below(root, f"{start}/{path}".strip("/")) as folder:
                stack += add_files(folder, path, above)
        except OSError as error:
            found.unreadable.append(Problem(under + path or ".", f"folder cannot be read: {error.strerror}"))
    found.files = dict(sorted(found.files.items()))
    return found


def is_skipped(root: Path, path: str, rules: Rules, is_folder: bool = False) -> bool:
    """Return whether a walk skips a file or folder because it is ignored, excluded or hidden, or cannot be reached."""
    *folders, name = path.split("/")
    if not is_encodable(path):
        return True
    try:
        for number, step in enumerate((*folders, "")):
            with open_below(root, "/".join(folders[:number])) as folder:
                rules = rules.entering(_ignore_file(folder))
            if step and rules.leaves_out(step, is_folder=True):
                return True
            rules = rules.inside(step) if step else rules
    except OSError:
        return True
    return rules.leaves_out(name, is_folder)


def _ignore_file(folder: OpenFolder) -> bytes | None:
    try:
        with open(folder.open(IGNORE_FILE, os.O_RDONLY), "rb") as file:
            return file.read(MAX_IGNORE_BYTES)
    except OSError:
        return None


def _add(entry: os.DirEntry[str], path: str, now: int, found: Scan) -> None:
    try:
        info = entry_facts(entry)
    except OSError as error:
        found.unreadable.append(Problem(path, f"cannot be read: {error.strerror}"))
        return
    if stat.S_ISREG(info.st_mode):
        found.files[path] = FileEntry(path, info.st_size, lasting_stamp(info, now))


def lasting_stamp(info: os.stat_result, now: int) -> str:
    """Return a text that changes with the file; ctime and inode detect edits with an old mtime. Empty if too recent."""
    return "" if now - changed_ns(info) < RACY_NS else stamp_of(info)


def stamp_of(info: os.stat_result) -> str:
    """Return the stamp of a file, however recent its change."""
    return f"{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}:{info.st_ino}"


class Unreadable(Exception):
    """The reason why a file cannot be read as text; if `is_final`, it is not read again until it changes."""

    is_final = False


class NotText(Unreadable):
    """The error for a file that is not text."""


def text_of(data: bytes, max_bytes: int) -> str:
    """Return content as text with `\\n` line ends and without a byte order mark. Raises Unreadable if it is no text."""
    if len(data) > max_bytes:
        raise Unreadable(f"too large: over {max_bytes:,} bytes (index.max_file_bytes)")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in data[:8192]:
        raise NotText("binary: it contains NUL bytes")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise NotText(f"not valid {name} at byte {error.start:,}; save it as UTF-8") from error
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r\n", "\n").replace("\r", "\n")
