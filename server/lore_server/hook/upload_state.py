"""Record the memories on a knowledge server: one JSON file per server, by path and content hash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from lore_etl.core.atomic import put_aside, write_atomically
from lore_etl.core.errors import StorageError, os_errors_as
from lore_etl.core.json_types import JSON

VERSION = 3
HINT = "Check the permissions and the free space of `hook` in LORE_HOME: nothing is sent that cannot be recorded."


@dataclass(frozen=True)
class UploadedFile:
    """The server's copies of a file, by the ids of their parts; an id is empty if the server returned none.

    Until `is_complete`, the copies include earlier ones that are to be deleted, and may lack one whose reply was lost.
    `failure` is the reason the last attempt failed.
    """

    digest: str
    group: str
    ids: tuple[str, ...] = ()
    is_complete: bool = False
    failure: str = ""
    capture_type: str = ""
    synced_at: str = ""


@dataclass
class Tally:
    """The numbers of files found, of their outcomes, and of earlier copies removed from the server."""

    found: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    removed: int = 0

    @property
    def processed(self) -> int:
        """The number of files with an outcome."""
        return self.succeeded + self.failed + self.skipped

    @property
    def waiting(self) -> int:
        """The number of files without an outcome."""
        return self.found - self.processed

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "processed": self.processed, "waiting": self.waiting}

    @classmethod
    def of(cls, numbers: Mapping[str, Any]) -> Tally:
        """Return the tally from the result of `as_dict`."""
        return cls(**{each.name: int(numbers[each.name]) for each in fields(cls)})

    def __str__(self) -> str:
        numbers = self.as_dict()
        always = [f"{numbers[name]} {name}" for name in ("processed", "succeeded", "failed", "skipped")]
        return ", ".join([*always, *(f"{numbers[name]} {name}" for name in ("removed", "waiting") if numbers[name])])


@dataclass
class UploadState:
    """The files by absolute path, and the last run.

    `is_damaged`: the file could not be read, so the server may already have any memory.
    """

    path: Path
    server: str = ""
    files: dict[str, UploadedFile] = field(default_factory=dict)
    last: JSON = field(default_factory=dict)
    is_damaged: bool = False

    def put(self, path: str, entry: UploadedFile) -> None:
        """Record a file and save. Raises StorageError."""
        self.files[path] = entry
        self.save()

    def save(self) -> None:
        """Write the file atomically. Raises StorageError."""
        about = {"version": VERSION, "server": self.server, "last": self.last}
        files = ",\n".join(f"{_json(path)}: {_json(asdict(entry))}" for path, entry in self.files.items())
        write_atomically(self.path, (_json(about)[:-1], ',\n"files": {\n', files, "\n}}\n"), HINT)

    def put_aside(self) -> None:
        """Rename a file that cannot be read. Raises StorageError."""
        with os_errors_as(StorageError, "Cannot rename the damaged sync state", HINT):
            put_aside(self.path)

    def is_shared(self, memory: str, path: str) -> bool:
        """Return whether the id also belongs to a copy of another file than this one."""
        return any(memory in entry.ids for other, entry in self.files.items() if other != path)


def make_folder(folder: Path) -> None:
    """Create the folder for states and logs: in the knowledge folder, ignored by its git. Raises StorageError."""
    ignore = folder / ".gitignore"
    with os_errors_as(StorageError, "Cannot write to the folder of the hook", HINT):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not ignore.exists():
            ignore.write_text("# Written by Lore: records of this machine.\n*\n", encoding="utf-8")


def read_state(path: Path) -> UploadState:
    """Return the recorded state: empty if there is none, marked as damaged if it cannot be read."""
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if whole["version"] != VERSION:
            raise ValueError("unknown version")
        files = {file: _entry(values) for file, values in whole["files"].items()}
        return UploadState(path, str(whole["server"]), files, dict(whole["last"]))
    except FileNotFoundError:
        return UploadState(path)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return UploadState(path, is_damaged=True)


def _entry(values: JSON) -> UploadedFile:
    entry = UploadedFile(**values)
    if not isinstance(entry.digest, str):
        raise TypeError("not a valid entry")
    return replace(entry, ids=tuple(map(str, entry.ids)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
