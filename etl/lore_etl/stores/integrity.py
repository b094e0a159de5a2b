"""Record size, time and digest of a store's files in a seal, to detect changes at the next open; mark damaged stores.

The next sync rebuilds marked stores. Most stores report a full disk or too many open files as damage, too.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import IndexDamaged, LoreError, StorageError, os_errors_as
from lore_etl.system.nofollow import open_regular

SEAL = "seal.json"
LOAD = "load.id"  # of the load that completed the store; the catalogue of the same state has the same
Stamp = tuple[int, int, str]
"""Size in bytes, mtime in nanoseconds, digest."""
SPARE_FILES = 32  # a store opens about a dozen files, and after a failure some of them are closed again
FULL_BYTES = 1_000_000  # with less free space a database cannot work, whatever its error message


def seal(folder: Path, known: Mapping[str, Stamp] = MappingProxyType({})) -> None:
    """Record the files as they are now; files with the `known` size and time are not read. Raises OSError."""
    stamps: dict[str, Stamp] = {}
    for name, (size, time) in _sizes_and_times(folder).items():
        old = known.get(name)
        stamps[name] = old if old and old[:2] == (size, time) else (size, time, _digest(folder / name))
    write_atomically(folder / SEAL, (json.dumps(stamps),))


def unseal(folder: Path) -> dict[str, Stamp]:
    """Remove the seal before a write, so that a crash does not count as damage; return its stamps for the next."""
    known = _read_stamps(folder) or {}
    (folder / SEAL).unlink(missing_ok=True)
    return known


def changed(folder: Path, *, by_content: bool = True) -> set[str] | None:
    """Return the names of files that differ from the seal; None without a seal, or if a file vanishes. Raises OSError.

    A failing disk changes no size or time: all are read; without `by_content` only those with another time, for a copy.
    """
    recorded = _read_stamps(folder)
    if recorded is None:
        return None
    try:
        now = _sizes_and_times(folder)
        common = recorded.keys() & now.keys()
        differ = recorded.keys() ^ now.keys()
        for name in common if by_content else {name for name in common if recorded[name][:2] != now[name]}:
            if recorded[name][0] != now[name][0] or recorded[name][2] != _digest(folder / name):
                differ.add(name)
        return differ
    except FileNotFoundError:  # a file vanished meanwhile
        return None


def is_sealed(folder: Path) -> bool:
    """Return whether the store has no mark, and its files are as sealed, by size and time. Raises StorageError."""
    with os_errors_as(StorageError, f"Cannot access {folder.name}/"):
        return not is_suspect(folder) and changed(folder, by_content=False) == set()


def mark(store: Path) -> None:
    """Mark a damaged store. On a disk that cannot even do this, the error that is being reported has to suffice."""
    with suppress(OSError):
        os.close(open_regular(_mark_of(store), os.O_WRONLY | os.O_CREAT))


def unmark(store: Path) -> None:
    """Remove the mark of a store that was removed or rebuilt. Raises OSError."""
    _mark_of(store).unlink(missing_ok=True)


def is_suspect(store: Path) -> bool:
    return _mark_of(store).exists()


def _mark_of(store: Path) -> Path:
    return store.with_suffix(".suspect")


def _read_stamps(folder: Path) -> dict[str, Stamp] | None:
    try:
        rows = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        return {name: (int(size), int(time), str(digest)) for name, (size, time, digest) in rows.items()}
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, TypeError, AttributeError):
        return None


def _sizes_and_times(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for parent, _, names in os.walk(folder, onerror=_raise):  # rglob treats an unreadable folder as empty
        for path in (Path(parent, name) for name in names):
            if path.is_file() and path.name not in (SEAL, LOAD) and path.suffix not in (".lock", ".tmp"):
                info = path.stat()
                found[path.relative_to(folder).as_posix()] = (info.st_size, info.st_mtime_ns)
    return dict(sorted(found.items()))


def _raise(error: OSError) -> None:
    raise error


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def obstacle(folder: Path) -> str | None:
    """Describe the problem that prevents all stores in this folder from working now; return None if there is none."""
    if shutil.disk_usage(folder).free < FULL_BYTES:
        return "the disk is full"
    try:
        with ExitStack() as opened:
            for _ in range(SPARE_FILES):
                opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return None


def explain(
    error: BaseException, folder: Path, name: str, kinds: tuple[type[Exception], ...], problem: str
) -> LoreError | None:
    """Return the Lore error for an error of a store's library; None for others.

    The store is marked after panics and errors of these kinds, unless something prevents all stores from working.
    """
    if isinstance(error, OSError):
        return StorageError(f"The {name} failed: {error.strerror}.")
    if not isinstance(error, kinds) and not is_panic(error):
        return None
    if (reason := obstacle(folder.parent)) is not None:  # the store itself may have been deleted
        return StorageError(f"The {name} failed: {reason}.")
    mark(folder)
    return IndexDamaged(f"The {name} {problem}.")


def is_panic(error: BaseException) -> bool:
    """Return whether a Rust library panicked. Its exceptions are BaseExceptions of a class that cannot be imported."""
    return type(error).__name__ == "PanicException"
