"""Decide whether an index folder may be used: only if Lore created it for this user.

A foreign `.lore/` may contain links in place of Lore's files. So a folder that Lore creates gets a random mark, and a
record outside the project has its path, inode and mark; without it, nothing is opened. Standard library only (bridge).
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.project import INDEX_NAME, private_folder, user_state_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.errors import ForeignIndex
from lore_etl.core.json_types import JSON
from lore_etl.system.file_locks import is_locked
from lore_etl.system.nofollow import (
    entry_facts,
    is_link,
    is_real_folder,
    may_write,
    open_regular,
    read_regular,
    user_id,
)

MARK = "index.id"
ASIDE = ".foreign"
LOCK = "owner.lock"
CATALOGUE = "catalogue.sqlite"
_WRITABLE_BY_OTHERS = 0o022
_IGNORE_ITSELF = "# Written by Lore: everything here can be rebuilt by `lore sync`.\n*\n"


class ClaimRecord(NamedTuple):
    """The facts of an index folder at its creation. Owner and mode are stored because some file systems choose them."""

    path: str
    mark: str
    device: int
    inode: int
    uid: int
    mode: int

    def is_of(self, info: os.stat_result) -> bool:
        """Return whether it is the same folder and not writable by more users. Device numbers change with a reboot."""
        same = (self.inode, self.uid) == (info.st_ino, info.st_uid)
        return same and not info.st_mode & ~self.mode & _WRITABLE_BY_OTHERS


def records() -> Path:
    return user_state_folder() / "indexes"


def record_folder(index: Path) -> Path:
    """Return the folder with the record of an index folder and other files about it, such as the owner's note."""
    return records() / hashlib.sha256(os.fsencode(index)).hexdigest()[:16]


def recorded() -> Iterator[Path]:
    """Yield the index folders of this user, whether they still exist or not."""
    found = (_record_in(file.parent) for file in sorted(records().glob("*/record.json")))
    return (Path(record.path) for record in found if record is not None)


def is_ours(index: Path) -> bool:
    """Return whether the index folder exists and Lore created it. Checks the folder itself, not its content."""
    return _objection(index) is None


def has_index(folder: Path) -> bool:
    """Return whether the folder is ours and holds an index, damaged or not."""
    return is_ours(folder) and (folder / CATALOGUE).exists()


def claim(index: Path) -> str:
    """Create the index folder unless it is ours; return what was set aside. Raises ForeignIndex, OSError."""
    if is_ours(index):
        return ""
    with _alone():
        objection = _objection(index)
        if objection is None:
            return ""
        if os.path.realpath(index.parent) != str(index.parent):  # a parent is a symlink
            raise _foreign(index, objection)
        notice = _set_aside(index, objection) if os.path.lexists(index) and not _is_blank(index) else ""
        _create(index)
        return notice


def inspect(index: Path) -> None:
    """Check that nothing in the caller's index folder could redirect reads or writes elsewhere. Raises ForeignIndex."""
    uid, links, files = index.lstat().st_uid, Counter[tuple[int, int]](), {}
    for entry in _below(index):
        try:
            info = entry_facts(entry)
        except FileNotFoundError:
            continue
        name = os.path.relpath(entry.path, index)
        if stat.S_ISREG(info.st_mode):
            links[info.st_dev, info.st_ino] += 1
            files[info.st_dev, info.st_ino] = name, info.st_nlink
        elif not stat.S_ISDIR(info.st_mode) or is_link(entry):
            raise _altered(index, f"{name!r} is a symlink or a device")
        if info.st_uid != uid:
            raise _altered(index, f"{name!r} belongs to another user")
    for key, (name, count) in files.items():
        if count > links[key]:
            raise _altered(index, f"{name!r} has another hard link outside it")


def adopt(index: Path) -> None:
    """Adopt the index folder, or else the one set aside, at the user's request. Raises ForeignIndex, OSError."""
    found = index if os.path.lexists(index) else aside_of(index)
    if os.path.realpath(found) != str(found):
        raise _foreign(found, "a symlink leads to it")
    if not found.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "there is no index folder", str(found))
    inspect(found)
    if is_in_use(found):
        raise _foreign(found, "a process is using it", _in_use(found))
    with _alone():
        if found != index:
            found.rename(index)
        if may_write(index):
            index.chmod(0o700)
            _mark(index)
        else:
            _record(index, _mark_in(index))


def aside_of(index: Path) -> Path:
    return index.with_name(index.name + ASIDE)


def remark(index: Path) -> str:
    """Return a sentence about a folder that is not ours, in place or set aside; empty if there is no such folder."""
    for folder in (index, aside_of(index)):
        if os.path.lexists(folder) and not is_ours(folder):
            return f"Lore did not create {folder.name}/ for this user, so it is not used. {_ADOPT}"
    return ""


def _objection(index: Path) -> str | None:
    if os.path.realpath(index) != str(index):
        return "a symlink leads to it"
    try:
        info = index.lstat()
        if not stat.S_ISDIR(info.st_mode):
            return "it is not a folder"
        mark = _mark_in(index)
    except OSError as error:
        _raise_if_exhausted(error)
        return "it has no mark by this user's Lore"
    record = _record_in(record_folder(index))
    if record is None or record.mark != mark:
        record = _follow_move(index, mark, info)
    if record is None:
        return "this user's Lore has no record of it"
    return None if record.is_of(info) else "it was replaced, or other users can write to it"


def _follow_move(index: Path, mark: str, info: os.stat_result) -> ClaimRecord | None:
    """Return the record of the same folder under its old path: a moved project keeps its index and its owner."""
    for old in recorded():
        record = _record_in(record_folder(old))
        if record is None or (record.mark, record.device) != (mark, info.st_dev) or not record.is_of(info):
            continue
        if not os.path.lexists(old):
            new = record._replace(path=str(index))
            with contextlib.suppress(OSError):  # another process may do it first
                os.rename(record_folder(old), record_folder(index))  # noqa: PTH104 - a folder over an empty one
                _write(record_folder(index), new)
            return new
    return None


def _is_blank(index: Path) -> bool:
    """Return whether a folder is empty, or contains only the empty mark of an interrupted creation."""
    if index.is_symlink() or not index.is_dir() or index.lstat().st_uid != user_id():
        return False
    with os.scandir(index) as entries:
        facts = [(entry.name, entry_facts(entry)) for entry in entries]
    return all(name == MARK and stat.S_ISREG(info.st_mode) and not info.st_size for name, info in facts)


def _set_aside(index: Path, objection: str) -> str:
    """Rename the folder, not a link's target, if it has the default name: another may be any folder of the user."""
    aside = aside_of(index)
    if index.name != INDEX_NAME or os.path.lexists(aside) or not may_write(index.parent):
        raise _foreign(index, objection)
    if index.lstat().st_uid != user_id():
        raise _foreign(index, "it belongs to another user")
    if is_in_use(index):
        raise _foreign(index, f"{objection}, and a process is using it", _in_use(index))
    index.rename(aside)
    return f"Lore did not create {index.name}/ for this user ({objection}): it is set aside as {aside.name}/. {_ADOPT}"


_ADOPT = "If it is yours (a copy, a backup, or from an earlier version), use it with `lore adopt`; otherwise delete it."


def _in_use(index: Path) -> str:
    return f"`fuser {index.name}/{LOCK}` shows the process; end it, then try again."


def _foreign(index: Path, objection: str, hint: str = _ADOPT) -> ForeignIndex:
    message = f"Lore did not create the index folder {index.name}/ for this user ({objection}). Nothing in it is used."
    return ForeignIndex(message, hint)


def _altered(index: Path, objection: str) -> ForeignIndex:
    message = f"The index folder {index.name}/ has changed since Lore created it: {objection}. Nothing in it is used."
    return ForeignIndex(message, f"Delete {index.name}/, then run `lore sync`: everything in it can be rebuilt.")


def is_in_use(index: Path) -> bool:
    """Return whether a process holds the lock of an index, whoever created it; reads and writes nothing."""
    if index.is_symlink():
        return False
    try:
        descriptor = open_regular(index / LOCK)
    except OSError:
        return False
    try:
        return is_locked(descriptor)
    finally:
        os.close(descriptor)


def _create(index: Path) -> None:
    index.parent.mkdir(parents=True, exist_ok=True)
    index.mkdir(mode=0o700, exist_ok=True)
    if index.lstat().st_uid == user_id():
        index.chmod(0o700)
    _mark(index)
    if not os.path.lexists(index / ".gitignore"):
        (index / ".gitignore").write_text(_IGNORE_ITSELF, encoding="utf-8")


def _mark(index: Path) -> None:
    """Write the record, then the mark: a mark without a record is not ours, and a record without a mark is harmless."""
    mark = os.urandom(16).hex()
    _record(index, mark)
    (index / MARK).unlink(missing_ok=True)
    with open(open_regular(index / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="ascii") as file:
        file.write(mark)


def _mark_in(index: Path) -> str:
    return read_regular(index / MARK, 100).decode("ascii", "replace")


def _record(index: Path, mark: str) -> None:
    info = index.lstat()
    facts = info.st_dev, info.st_ino, info.st_uid, stat.S_IMODE(info.st_mode)
    _write(private_folder(record_folder(index)), ClaimRecord(str(index), mark, *facts))


def _record_in(folder: Path) -> ClaimRecord | None:
    try:
        values: JSON = json.loads((folder / "record.json").read_text(encoding="utf-8"))
        return ClaimRecord(**{name: values[name] for name in ClaimRecord._fields})
    except OSError as error:
        _raise_if_exhausted(error)
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _raise_if_exhausted(error: OSError) -> None:
    """Raise an error caused by missing resources: it is no reason to set the folder aside."""
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO):
        raise error


def _write(folder: Path, record: ClaimRecord) -> None:
    replace_content(folder / "record.json", (json.dumps(record._asdict()),), 0o666)


def _below(folder: str | os.PathLike[str]) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if is_real_folder(entry):
                yield from _below(entry.path)


def _alone() -> contextlib.AbstractContextManager[object]:
    """Exclude other processes of this user; the system releases the lock when the process ends."""
    from filelock import FileLock  # the bridge does without it

    private_folder(user_state_folder())
    return FileLock(private_folder(records()) / "lock")
