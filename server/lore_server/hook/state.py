"""What is known to be on a knowledge server: one JSON file for each server, by path and content hash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lore_etl.core.atomic import put_aside, write_atomically
from lore_etl.core.errors import StorageError

VERSION = 1
JSON = dict[str, Any]
HINT = "Check the permissions and the free space of `hook` in LORE_HOME: what cannot be recorded is not sent."


@dataclass(frozen=True)
class UploadedFile:
    """One file as the server has it: the ids of its parts in their order, and how many parts it has.

    `stale` are ids of earlier versions that are still there. `is_unsure`: the next part was sent, and whether it
    arrived is not known. `failure` says why the last attempt ended.
    """

    digest: str
    group: str
    ids: tuple[str, ...] = ()
    parts: int = 0
    stale: tuple[str, ...] = ()
    is_unsure: bool = False
    failure: str = ""
    capture_type: str = ""
    synced_at: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the server has all of it."""
        return 0 < self.parts == len(self.ids)


@dataclass
class SyncState:
    """The entries by absolute path. `orphans` are memories that should go and that the server does not delete.

    `is_damaged`: the file could not be read, so any memory may be on the server already.
    """

    path: Path
    server: str = ""
    files: dict[str, UploadedFile] = field(default_factory=dict)
    orphans: list[JSON] = field(default_factory=list)
    last: JSON = field(default_factory=dict)
    is_damaged: bool = False
    _written: dict[str, tuple[UploadedFile, str]] = field(default_factory=dict, repr=False, compare=False)

    def put(self, path: str, entry: UploadedFile) -> None:
        """Remember a file, durably. Raises StorageError."""
        self.files[path] = entry
        self.save()

    def drop(self, path: str) -> None:
        """Forget a file, durably. Raises StorageError."""
        del self.files[path]
        self.save()

    def save(self) -> None:
        """Replace the file in one step. Raises StorageError."""
        about = {"version": VERSION, "server": self.server, "last": self.last, "orphans": self.orphans}
        files = ",\n".join(map(self._line, self.files))
        write_atomically(self.path, (_json(about)[:-1], ',\n"files": {\n', files, "\n}}\n"), HINT)

    def put_aside(self) -> None:
        """Keep what cannot be read under another name. Raises StorageError."""
        try:
            put_aside(self.path)
        except OSError as error:
            raise StorageError(f"The damaged sync state cannot be put aside: {error.strerror}.", HINT) from error

    def _line(self, path: str) -> str:
        """An entry as it is written, made once: the file is written after each step, and most of it stays as it is."""
        entry = self.files[path]
        known = self._written.get(path)
        if known is None or known[0] is not entry:
            lean = {key: value for key, value in vars(entry).items() if value or key in ("digest", "group")}
            known = self._written[path] = entry, f"{_json(path)}: {_json(lean)}"
        return known[1]

    def unused(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Those of the ids that stand for no file any more."""
        used = {one for entry in self.files.values() for one in entry.ids}
        return tuple(one for one in ids if one not in used)


def make_folder(folder: Path) -> None:
    """Where states and logs are kept: in the knowledge folder, but no part of its history. Raises StorageError."""
    ignore = folder / ".gitignore"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not ignore.exists():
            ignore.write_text("# Written by Lore: notes of this machine.\n*\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"The hook's notes cannot be written: {error.strerror}.", HINT) from error


def read_state(path: Path) -> SyncState:
    """What the file says; an empty state if there is none, and one that `is_damaged` if it cannot be read."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if whole["version"] != VERSION:
            raise ValueError("of another version")
        files = dict(_entries(whole["files"]))
        return SyncState(path, str(whole["server"]), files, list(whole["orphans"]), dict(whole["last"]))
    except FileNotFoundError:
        return SyncState(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return SyncState(path, is_damaged=True)


def _entries(files: Mapping[str, JSON]) -> Iterator[tuple[str, UploadedFile]]:
    for path, values in files.items():
        entry = UploadedFile(**values)
        if not (isinstance(entry.parts, int) and isinstance(entry.digest, str)):
            raise TypeError("no entry")
        yield path, replace(entry, ids=tuple(map(str, entry.ids)), stale=tuple(map(str, entry.stale)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
