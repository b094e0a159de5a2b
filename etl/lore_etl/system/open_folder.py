"""Open folders and files below a folder without following symlinks, for all operations on a project's files.

Operations are relative to an open folder, or on Windows check the path before each operation and after each open.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Self

from lore_etl.system import durable
from lore_etl.system.nofollow import leads_elsewhere, open_regular

_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)


class OpenFolder:
    """An open folder on Linux or macOS; names are single components. Every method raises OSError."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._base: int | None = descriptor  # what names are relative to

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def below(self, path: str, make: bool = False) -> OpenFolder:
        """Open the folder at a path below it; the path contains no symlink and no `..`."""
        folder: OpenFolder = self
        for name in path.split("/"):
            try:
                if name in ("", ".", "..") or "\0" in name:
                    raise OSError(errno.ELOOP, "not a path below the folder", path)
                found = folder.enter(name, make)
            finally:
                if folder is not self:
                    folder.close()
            folder = found
        return folder

    def enter(self, name: str, make: bool = False) -> OpenFolder:
        """Open a folder in it, without following a symlink. With `make`, create the folder if necessary."""
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._descriptor)
                self.sync()
        return OpenFolder(os.open(name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW, dir_fd=self._descriptor))

    def open(self, name: str, flags: int, mode: int = 0o644) -> int:
        """Return a descriptor of a regular file in it, without following a symlink."""
        return open_regular(name, flags, mode, dir_fd=self._descriptor)

    def facts(self, name: str) -> os.stat_result | None:
        """Return the result of `lstat`; None if the entry does not exist."""
        try:
            return os.stat(self._place(name), dir_fd=self._base, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def entries(self) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self._descriptor) as found:
            yield from found

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._place(name), dir_fd=self._base)

    def rmdir(self, name: str) -> None:
        os.rmdir(self._place(name), dir_fd=self._base)

    def sync(self) -> None:
        """Make renames and deletions in it durable."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _place(self, name: str) -> str | Path:
        return name


class FolderByPath(OpenFolder):
    """The same on systems without operations relative to an open folder; `way` has the folders on its path."""

    def __init__(self, path: Path, way: tuple[tuple[Path, os.stat_result], ...]) -> None:
        self._path = path
        self._way = way
        self._base = None

    def enter(self, name: str, make: bool = False) -> OpenFolder:
        path = self._place(name)
        if make:
            with contextlib.suppress(FileExistsError):
                path.mkdir()
        info = path.lstat()
        if leads_elsewhere(info) or not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
        return FolderByPath(path, (*self._way, (path, info)))

    def open(self, name: str, flags: int, mode: int = 0o644) -> int:
        descriptor = open_regular(self._place(name), flags, mode)
        try:
            self._check()
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def entries(self) -> Iterator[os.DirEntry[str]]:
        self._check()
        with os.scandir(self._path) as found:
            yield from found

    def replace(self, source: str, target: str) -> None:
        durable.replace(self._place(source), self._place(target))

    def sync(self) -> None:
        durable.sync_folder(self._path)

    def close(self) -> None:
        pass  # there is no descriptor

    def _place(self, name: str) -> Path:
        """Return the path of an entry, after checking that no folder on its path was replaced."""
        # rejects a drive, a stream of a file, another folder and other spellings of a name
        if PureWindowsPath(name).name != name or ":" in name or name.rstrip(". ") != name:
            raise OSError(errno.ELOOP, "not the name of an entry", name)
        self._check()
        return self._path / name

    def _check(self) -> None:
        for folder, info in self._way:
            now = folder.lstat()
            if leads_elsewhere(now) or not os.path.samestat(now, info):
                raise OSError(errno.ELOOP, "a folder was replaced by another folder", str(folder))


def open_folder(path: Path) -> OpenFolder:
    """Open a folder, which may itself be a symlink. Raises OSError."""
    if os.open in os.supports_dir_fd and _NOFOLLOW:
        return OpenFolder(os.open(path, os.O_RDONLY | _DIRECTORY))
    real = path.resolve(strict=True)
    if not real.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
    return FolderByPath(real, ((real, real.lstat()),))


def open_below(root: Path, path: str, make: bool = False) -> OpenFolder:
    """Open the folder at a path below a root without following symlinks; empty is the root. Raises OSError."""
    top = open_folder(root)
    if not path:
        return top
    with top:
        return top.below(path, make)


def open_real(folder: Path) -> OpenFolder:
    """Open a folder by its real path, of which no part may have become a symlink meanwhile. Raises OSError."""
    return open_below(Path(folder.anchor), "/".join(folder.parts[1:]))


def read_below(root: Path, path: str, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file below a root. Raises OSError."""
    parent, _, name = path.rpartition("/")
    with open_below(root, parent) as folder, open(folder.open(name, os.O_RDONLY), "rb") as file:
        return file.read(limit)


def facts_below(root: Path, path: str) -> os.stat_result | None:
    """Return the result of `lstat` for a path below a root; None if it cannot be reached without following symlinks."""
    parent, _, name = path.rpartition("/")
    try:
        with open_below(root, parent) as folder:
            return folder.facts(name)
    except (OSError, ValueError):
        return None


def target_of(root: Path, path: str) -> str | None:
    """Return where a path leads below the root, else None; then open it without following links. Raises OSError."""
    home = os.path.realpath(root)
    found = Path(os.path.realpath(Path(home, path)))  # Path.resolve raises on a loop
    return found.relative_to(home).as_posix() if found.is_relative_to(home) else None
