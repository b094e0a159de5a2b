"""Access and lock files in the knowledge folder without following symlinks, so that nothing outside it is touched."""

import contextlib
import errno
import fnmatch
import itertools
import os
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lore_etl.core.errors import AccessDenied, Busy, FileSystemError, InvalidPath, StorageError
from lore_etl.system.file_locks import close_locked, try_lock
from lore_etl.system.nofollow import entry_facts, is_real_folder, names_git_folder, open_regular
from lore_etl.system.open_folder import OpenFolder, open_below

TEMPORARY = ".lore-*.tmp"
LARGEST = 64_000_000  # larger than any document: a large file put there by hand is not read into memory
_NOTE_BYTES = 4_000
_PAUSE_SECONDS = 0.002  # flock has no timeout; a write takes about 10 ms
_numbers = itertools.count()


class Files:
    """The files of a folder, by relative paths such as `projects/app/main.md`; the folder itself may be a symlink."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist. Raises InvalidPath for a symlink or a huge file."""
        with self._parent(path) as (folder, name), reporting(path):
            if folder is None:
                return None
            with contextlib.suppress(FileNotFoundError), open(folder.open(name, os.O_RDONLY), "rb") as file:
                if os.fstat(file.fileno()).st_size > LARGEST:
                    raise InvalidPath(f"{path} is not a file that Lore reads.")
                return file.read()
        return None

    def write(self, path: str, data: bytes, is_durable: bool = True) -> None:
        """Replace a file atomically, keeping its permissions. Raises StorageError, InvalidPath (symlink or folder)."""
        with self._parent(path, make=True) as (folder, name), reporting(path):
            if folder is None:
                raise StorageError(f"Cannot write {path}: the folder {self._home} does not exist.")
            facts = folder.facts(name)
            if facts is not None and not stat.S_ISREG(facts.st_mode):
                raise InvalidPath(f"{path} is not a file; it is left unchanged.")
            temporary = TEMPORARY.replace("*", f"{os.getpid()}-{next(_numbers)}")
            mode = stat.S_IMODE(facts.st_mode) if facts is not None else 0o644
            try:
                with open(folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                    if facts is not None and hasattr(os, "fchmod"):
                        os.fchmod(file.fileno(), mode)  # the umask does not apply again
                    file.write(data)
                    if is_durable:
                        file.flush()
                        os.fsync(file.fileno())
                folder.replace(temporary, name)
            except BaseException:
                with contextlib.suppress(OSError):
                    folder.unlink(temporary)
                raise
            if is_durable:
                folder.sync()

    def remove(self, path: str) -> None:
        """Delete a file, or a symlink itself, durably; folders that become empty are deleted too."""
        with self._parent(path) as (folder, name), reporting(path):
            if folder is None:
                return
            with contextlib.suppress(FileNotFoundError):
                folder.unlink(name)
                folder.sync()
        parts = path.split("/")
        with contextlib.suppress(OSError):  # a folder that is not empty
            for count in range(len(parts) - 1, 1, -1):  # keep `projects` itself
                with self._parent("/".join(parts[:count])) as (folder, name):
                    if folder is not None:
                        folder.rmdir(name)

    def exists(self, path: str) -> bool:
        """Return whether the path exists, even as a symlink or an unreadable file."""
        with self._parent(path) as (folder, name), reporting(path):
            return folder is not None and folder.facts(name) is not None

    def names(self, path: str) -> list[str]:
        """Return the names of a folder's regular files, except hidden files; empty if the folder does not exist."""
        return sorted(name for name, _ in self.entries(path))

    def entries(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the same files with their `stat` results."""
        with reporting(path):
            for entry in self._entries(path):
                if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                    yield entry.name, entry_facts(entry)

    def below(self, path: str) -> list[str]:
        """Return the paths of all files and symlinks below a folder; symlinks are not followed."""
        found, waiting = list[str](), [path]
        while waiting:
            place = waiting.pop()
            for entry in self._entries(place):
                into = waiting if is_real_folder(entry) else found
                into.append(f"{place}/{entry.name}")
        return sorted(found)

    def folders(self, path: str) -> list[str]:
        return sorted(entry.name for entry in self._entries(path) if is_real_folder(entry))

    def _entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        with self._parent(f"{path}/x") as (folder, _), reporting(path):
            if folder is not None:
                yield from folder.entries()

    def remove_temporary(self) -> None:
        """Remove the temporary files of killed writers from all folders that documents are written to."""
        places = ["", "projects"]
        for slug in self.folders("projects"):
            memories = f"projects/{slug}/memories"
            places += [f"projects/{slug}", f"projects/{slug}/knowledge"]
            with contextlib.suppress(InvalidPath):
                places += [f"{memories}/{group}" for group in self.folders(memories)]
        self.remove_temporary_in(*places)

    def remove_temporary_in(self, *places: str) -> None:
        for place in places:
            with contextlib.suppress(InvalidPath), self._parent(f"{place}/x".lstrip("/")) as (folder, _):
                for entry in list(folder.entries()) if folder is not None else ():
                    if folder is not None and fnmatch.fnmatchcase(entry.name, TEMPORARY):
                        folder.unlink(entry.name)

    @contextlib.contextmanager
    def _parent(self, path: str, make: bool = False) -> Iterator[tuple[OpenFolder | None, str]]:
        """Yield the folder of a path, opened step by step, and the last name; None if the folder does not exist."""
        *parts, name = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part or names_git_folder(part) for part in (*parts, name)):
            raise InvalidPath(f"{path} is not a path inside the knowledge folder.")
        folder = None
        with reporting(path), contextlib.suppress(FileNotFoundError):
            folder = open_below(self._home, "/".join(parts), make)
        with folder or contextlib.nullcontext():
            yield folder, name


@contextlib.contextmanager
def reporting(path: str) -> Iterator[None]:
    """Raise errors of the operating system as Lore's errors."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG, errno.EINVAL):
            raise InvalidPath(f"{path} contains a symlink or is not a file.") from error
        if isinstance(error, PermissionError):
            raise AccessDenied(f"No permission to access {path}.") from error
        if error.errno == errno.EROFS:
            raise AccessDenied(f"{path} is on a read-only file system.") from error
        raise StorageError(f"Cannot access {path}: {error.strerror}.", FileSystemError.default_hint) from error


class StoreLock:
    """A lock on a file, which a child process can inherit, unlike one of `filelock`. Methods may raise StorageError."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        self._path = path
        self.wait_seconds = wait_seconds
        self._thread = threading.Lock()
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """Return the descriptor for git to inherit, so that after a kill the lock is held until git has finished."""
        assert self._descriptor is not None, "only while the lock is held"
        return self._descriptor

    def note(self, text: str) -> None:
        """Record the current operation, or "" when it is finished; after a kill, `read_note` returns it."""
        data = text.encode("utf-8", "replace")[:_NOTE_BYTES]
        with reporting(str(self._path)):
            os.ftruncate(self.descriptor, len(data))
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            os.write(self.descriptor, data)

    def read_note(self) -> str:
        """Return the operation that a killed writer did not finish; empty if there is none."""
        with reporting(str(self._path)):
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            return os.read(self.descriptor, _NOTE_BYTES).decode("utf-8", "replace").replace("\0", "").strip()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock. Raises Busy if another writer held it until the deadline."""
        deadline = time.monotonic() + self.wait_seconds
        if not self._thread.acquire(timeout=self.wait_seconds):
            raise Busy("Another call is writing to the knowledge folder.")
        try:
            self._descriptor = self._lock(deadline)
            try:
                yield
            finally:
                descriptor, self._descriptor = self._descriptor, None
                with reporting(str(self._path)):
                    close_locked(descriptor)
        finally:
            self._thread.release()

    def _lock(self, deadline: float) -> int:
        with reporting(str(self._path)):
            descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT)
            try:
                while not try_lock(descriptor):
                    if time.monotonic() > deadline:
                        raise Busy("Another process is writing to the knowledge folder.")
                    time.sleep(_PAUSE_SECONDS)
            except BaseException:
                os.close(descriptor)
                raise
        return descriptor
