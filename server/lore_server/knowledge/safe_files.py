"""Files below the knowledge folder, reached without following a link: nothing outside of it is ever touched."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from lore_etl.core.errors import AccessDenied, FileSystemError, InvalidPath, StorageError

TEMPORARY = ".lore-*.tmp"
LARGEST = 64_000_000  # beyond any document; what somebody put there by hand is not read into memory
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_numbers = itertools.count()


class Files:
    """Reads and writes of paths as `projects/app/main.md`, relative to a folder that may itself be a link."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, path: str) -> bytes | None:
        """The content; None if there is no such file.

        Raises:
            InvalidPath: a link, a device or something huge is there.
        """
        with self._parent(path) as (folder, name), _told(path):
            if folder is None:
                return None
            try:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                descriptor = os.open(name, flags, dir_fd=folder)
            except FileNotFoundError:
                return None
            with open(descriptor, "rb") as file:
                facts = os.fstat(descriptor)
                if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
                    raise InvalidPath(f"{path} is not a file that Lore reads.")
                return file.read()

    def write(self, path: str, data: bytes) -> None:
        """Replace the content in one step, durably; folders are made.

        Raises:
            InvalidPath: a link or a folder is there.
            StorageError: the disk is full or not writable; the file is as it was.
        """
        with self._parent(path, make=True) as (folder, name), _told(path):
            assert folder is not None
            facts = _facts(name, folder)
            if facts is not None and not stat.S_ISREG(facts.st_mode):
                raise InvalidPath(f"{path} is not a file; it is left as it is.")
            temporary = TEMPORARY.replace("*", f"{os.getpid()}-{next(_numbers)}")
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with open(os.open(temporary, flags, 0o644, dir_fd=folder), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            os.fsync(folder)

    def remove(self, path: str) -> None:
        """Delete a file, or a link itself, durably; folders that are empty then go too."""
        with self._parent(path) as (folder, name), _told(path):
            if folder is None:
                return
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        self._prune(path)

    def exists(self, path: str) -> bool:
        """Whether anything is there, a link too; whether it can be read is seen when it is."""
        with self._parent(path) as (folder, name), _told(path):
            return folder is not None and _facts(name, folder) is not None

    def names(self, path: str) -> list[str]:
        """The regular files of a folder, hidden ones not; empty if there is no such folder."""
        return sorted(name for name, _ in self.entries(path))

    def entries(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        """The same with what the system tells of each."""
        with self._parent(f"{path}/x") as (folder, _), _told(path):
            if folder is None:
                return
            with os.scandir(folder) as found:
                for entry in found:
                    if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                        yield entry.name, entry.stat(follow_symlinks=False)

    def below(self, path: str) -> list[str]:
        """Every file and link below a folder; links are not followed."""
        found: list[str] = []
        waiting = [path]
        while waiting:
            place = waiting.pop()
            with self._parent(f"{place}/x") as (folder, _), _told(place):
                if folder is None:
                    continue
                with os.scandir(folder) as entries:
                    for entry in entries:
                        into = waiting if entry.is_dir(follow_symlinks=False) else found
                        into.append(f"{place}/{entry.name}")
        return sorted(found)

    def folders(self, path: str) -> list[str]:
        """The folders in a folder; links are none."""
        with self._parent(f"{path}/x") as (folder, _), _told(path):
            if folder is None:
                return []
            with os.scandir(folder) as found:
                return sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))

    def remove_temporary(self) -> None:
        """Remove what killed writers left where documents are written."""
        self.remove_temporary_in(*self._written_folders())

    def remove_temporary_in(self, *places: str) -> None:
        """Remove what killed writers left in these folders."""
        for place in places:
            with contextlib.suppress(InvalidPath), self._parent(f"{place}/x".lstrip("/")) as (folder, _):
                for name in os.listdir(folder) if folder is not None else ():  # noqa: PTH208 - of a descriptor
                    if fnmatch.fnmatchcase(name, TEMPORARY):
                        os.unlink(name, dir_fd=folder)

    def _written_folders(self) -> Iterator[str]:
        yield from ("", "projects")
        for slug in self.folders("projects"):
            yield from (f"projects/{slug}", f"projects/{slug}/knowledge")
            memories = f"projects/{slug}/memories"
            with contextlib.suppress(InvalidPath):
                yield from [f"{memories}/{group}" for group in self.folders(memories)]

    def _prune(self, path: str) -> None:
        parts = path.split("/")[:-1]
        while len(parts) > 1:  # `projects` itself stays
            with self._parent("/".join(parts)) as (folder, name):
                try:
                    os.rmdir(name, dir_fd=folder)
                except OSError:
                    return
            parts.pop()

    @contextlib.contextmanager
    def _parent(self, path: str, make: bool = False) -> Iterator[tuple[int | None, str]]:
        """The folder of a path, opened step by step; None if there is none."""
        *parts, name = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part or part.casefold() == ".git" for part in (*parts, name)):
            raise InvalidPath("That is no path inside the knowledge folder.")
        opened: list[int] = []
        try:
            with _told(path):
                try:
                    opened.append(os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                    for part in parts:
                        opened.append(_step(part, opened[-1], make))
                except FileNotFoundError:
                    folder = None
                else:
                    folder = opened[-1]
            yield folder, name
        finally:
            for descriptor in opened:
                os.close(descriptor)


def _step(part: str, parent: int, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, dir_fd=parent)
    os.fsync(parent)
    return os.open(part, _FOLDER, dir_fd=parent)


def _facts(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _told(path: str) -> Iterator[None]:
    """Errors of the system, in our words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG):
            raise InvalidPath(f"{path} leads over a link or is no file.") from error
        if isinstance(error, PermissionError):
            raise AccessDenied(f"Not allowed to reach {path}.") from error
        if error.errno == errno.EROFS:
            raise AccessDenied(f"{path} is on a read-only file system.") from error
        raise StorageError(f"Cannot reach {path}: {error.strerror}.", FileSystemError.default_hint) from error
