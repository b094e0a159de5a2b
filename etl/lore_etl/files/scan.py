"""Find and read the files of a project. Ignored files are skipped, and symlinks that lead outside are reported."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from lore_etl.config.project import VIEW_NAME
from lore_etl.core.model import Problem
from lore_etl.core.text import is_encodable
from lore_etl.files.ignore import Included, configured, lenient, verdict
from lore_etl.system.entries import changed_ns, entry_facts, is_link
from lore_etl.system.nofollow import read_regular

SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
HIDDEN_BUT_READ = frozenset({".github", ".ce", ".serena", ".claude", ".cursor"})
HIDDEN_FILES_READ = frozenset({".cursorrules", ".gitattributes"})
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

    def add(self, other: Scan) -> None:
        """Add the result of another walk."""
        self.files = dict(sorted((self.files | other.files).items()))
        self.unreadable += other.unreadable
        self.refused += other.refused


class _Rules:
    """The rules for a folder: `index.exclude`, then the ignore files, the nearest last; and `index.include`.

    `is_ignored`: git ignores the folder, so only included files count.
    """

    def __init__(
        self, specs: tuple[tuple[str, GitIgnoreSpec], ...], include: Included, is_ignored: bool = False
    ) -> None:
        self._specs = specs
        self._include = include
        self._is_ignored = is_ignored

    @classmethod
    def configured(cls, exclude: Sequence[str], include: Sequence[str]) -> _Rules:
        """Return the rules for the root of a project. Raises ConfigError."""
        return cls((("", configured("index.exclude", exclude)),), Included(include))

    def entering(self, folder: Path, relative: str) -> _Rules:
        try:
            data = read_regular(folder / ".gitignore", MAX_IGNORE_BYTES)
        except OSError:
            return self
        lines = data.decode("utf-8-sig", "replace").splitlines()
        return _Rules((*self._specs, (relative, lenient(lines))), self._include, self._is_ignored)

    def inside(self, folder: str) -> _Rules:
        """Return the rules for a folder that is not excluded."""
        return _Rules(self._specs, self._include, self._is_ignored or self._ignores(folder + "/"))

    def leaves_out(self, relative: str, is_folder: bool) -> bool:
        """Return whether a file, or a folder with everything in it, is excluded."""
        path = relative + "/" if is_folder else relative
        if not self._is_ignored and not self._ignores(path):
            return False
        if verdict(self._specs[0][1], path):  # `index.exclude` takes precedence over `index.include`
            return True
        return not (self._include.reaches(relative) if is_folder else self._include.holds(relative))

    def _ignores(self, path: str) -> bool:
        for base, spec in reversed(self._specs):
            is_ignored = verdict(spec, path[len(base) :])
            if is_ignored is not None:
                return is_ignored
        return False


def scan(
    root: Path, exclude: Sequence[str], skip: Collection[Path] = (), under: str = "", include: Sequence[str] = ()
) -> Scan:
    """Walk a folder without following symlinks, and report symlinks that lead outside. Raises ConfigError.

    `under` is a prefix for all found paths. `include` has patterns of files to find even if git ignores them.
    """
    found = Scan()
    rules = _Rules.configured(exclude, include)
    now = time.time_ns()
    stack = [] if under and rules.leaves_out(under.rstrip("/"), is_folder=True) else [(root, under, rules)]
    while stack:
        folder, relative, above = stack.pop()
        here = above.entering(folder, relative)
        for entry in _entries(folder, relative, found):
            path = relative + entry.name
            if _is_uninteresting(entry.name) or Path(entry.path) in skip or path.startswith(VIEW_NAME):
                continue
            if not is_encodable(path):
                found.refused.append(Problem(path.encode("utf-8", "replace").decode(), "its name is not UTF-8"))
                continue
            if is_link(entry):
                if not here.leaves_out(path, is_folder=False):
                    _refuse_if_outside(root, entry, path, found)
            elif entry.is_dir(follow_symlinks=False):
                if not here.leaves_out(path, is_folder=True):
                    stack.append((Path(entry.path), path + "/", here.inside(path)))
            elif not here.leaves_out(path, is_folder=False):
                _add(entry, path, now, found)
    found.files = dict(sorted(found.files.items()))
    return found


def is_skipped(
    root: Path, path: str, exclude: Sequence[str], skip: Collection[Path] = (), include: Sequence[str] = ()
) -> bool:
    """Return whether `scan` skips a file because it is ignored, excluded or hidden. Raises ConfigError."""
    rules = _Rules.configured(exclude, include)
    folder, relative, parts = root, "", path.split("/")
    for number, part in enumerate(parts, start=1):
        rules = rules.entering(folder, relative)
        folder, relative = folder / part, relative + part
        is_folder = number < len(parts)
        if _is_uninteresting(part) or folder in skip or rules.leaves_out(relative, is_folder):
            return True
        if is_folder:
            rules = rules.inside(relative)
        relative += "/"
    return path.startswith(VIEW_NAME)


def _entries(folder: Path, relative: str, found: Scan) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        found.unreadable.append(Problem(relative or ".", f"folder cannot be read: {error.strerror}"))


def _is_uninteresting(name: str) -> bool:
    if name in SKIPPED_FOLDERS:
        return True
    return name.startswith(".") and name not in HIDDEN_BUT_READ and name not in HIDDEN_FILES_READ


def _refuse_if_outside(root: Path, entry: os.DirEntry[str], path: str, found: Scan) -> None:
    try:
        target = Path(os.path.realpath(entry.path))  # Path.resolve raises on a loop
    except OSError:
        return  # it has been deleted meanwhile
    if not target.is_relative_to(root):
        found.refused.append(Problem(path, "symlink leads outside the project; not followed"))


def settle(place: Callable[[str], Path], found: Scan) -> None:
    """Wait a clock tick for files that were just written, so that their stamps are reliable.

    `place` returns the path on disk of a file.
    """
    young = [path for path, entry in found.files.items() if not entry.stamp]
    if young:
        time.sleep(RACY_NS / 1e9)
    for path in young:
        try:
            info = place(path).lstat()
        except OSError:
            continue  # deleted meanwhile: reading it will report that
        found.files[path] = FileEntry(path, info.st_size, lasting_stamp(info, time.time_ns()))


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
    return "" if now - changed_ns(info) < RACY_NS else _whole_stamp(info)


def stamp_of(path: Path) -> str | None:
    """Return the stamp of a file, however recent its change; None if it is not a regular file."""
    try:
        info = path.lstat()
    except (OSError, ValueError):
        return None
    return _whole_stamp(info) if stat.S_ISREG(info.st_mode) else None


def _whole_stamp(info: os.stat_result) -> str:
    return f"{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}:{info.st_ino}"


class Unreadable(Exception):
    """The error for a file that cannot be read as text; its message appears in the report.

    `is_final` means that the file is not read again until it changes.
    """

    is_final = False


class NotText(Unreadable):
    """The error for a file that is not text."""


def read_text(file: Path, entry: FileEntry, max_bytes: int) -> str:
    """Return the text of a file with `\\n` line ends and without a byte order mark.

    Raises:
        Unreadable: the file is too large, binary, not valid UTF-8 or UTF-16, or not accessible.
    """
    return text_of(read_bytes(file, entry, max_bytes, "index.max_file_bytes"), max_bytes)


def read_bytes(file: Path, entry: FileEntry, max_bytes: int, setting: str) -> bytes:
    """Return the content of a file, up to one byte more than the limit. Raises Unreadable."""
    if entry.size > max_bytes:
        raise Unreadable(f"too large: {entry.size:,} bytes, the limit is {max_bytes:,} ({setting})")
    try:
        return read_regular(file, max_bytes + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def text_of(data: bytes, max_bytes: int) -> str:
    """Return the content of a file as text with `\\n` line ends and without a byte order mark.

    Raises:
        Unreadable: the content is too large, binary, or not valid UTF-8 or UTF-16.
    """
    if len(data) > max_bytes:
        raise Unreadable(f"too large: over {max_bytes:,} bytes (index.max_file_bytes)")
    return _decoded(data).replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in data[:8192]:
        raise NotText("binary: it contains NUL bytes")
    try:
        return data.decode(encoding).replace("\0", "\N{REPLACEMENT CHARACTER}")
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise NotText(f"not valid {name} at byte {error.start:,}; save it as UTF-8") from error
