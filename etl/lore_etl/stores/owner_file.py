"""Read and write the note that names the owner of an index and its address. Standard library only.

It is in the user's state folder: no project can forge it, and it outlives the index folder and a shell's temporary one.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.project import private_folder
from lore_etl.core.atomic import replace_content
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import record_folder
from lore_etl.system.processes import born, is_running

NOTE = "owner.json"
SERVE, SERVE_MANY = "serve", "serve --projects"


class Note(NamedTuple):
    """A note about the owner of an index. `kind` is `direct` (no socket), `background`, `serve` or `serve --projects`.

    `address` is empty until it listens; `born`, in the system's unit, tells it from later processes with its id.
    """

    pid: int
    born: str
    command: str
    since: str
    kind: str = "direct"
    address: str = ""
    token: str = ""
    version: str = ""
    build: str = ""
    config: str = ""
    key: str = ""
    web: str = ""

    @property
    def is_alive(self) -> bool:
        return is_running(self.pid, self.born)

    @property
    def is_server(self) -> bool:
        """Return whether a user started the owner as a server, which no client may replace."""
        return self.kind in (SERVE, SERVE_MANY)


def my_note(kind: str = "direct", **more: str) -> Note:
    here = [Path(sys.argv[0]).name, *sys.argv[1:3]]
    command = "lore in the background" if kind == "background" else " ".join(here)[:100]
    now = time.strftime("%Y-%m-%dT%H:%M:%S%z")  # in the local time zone
    return Note(os.getpid(), born(os.getpid()) or "", command, now, kind, **more)


def read_note(folder: Path) -> Note | None:
    """Return the note about an index folder; None if it does not exist or cannot be read."""
    try:
        values: JSON = json.loads(note_of(folder).read_text(encoding="utf-8"))
        note = Note(**{name: values[name] for name in Note._fields if name in values})
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    is_valid = isinstance(note.pid, int) and note.pid > 0 and all(isinstance(value, str) for value in note[1:])
    return note if is_valid else None


def note_of(folder: Path) -> Path:
    return record_folder(folder) / NOTE


def living_note(folder: Path) -> Note | None:
    note = read_note(folder)
    return note if note is not None and note.is_alive else None


def write_note(folder: Path, note: Note) -> None:
    """Replace the note atomically; only this user may read it, because it contains the token. Raises OSError."""
    private_folder(record_folder(folder))
    replace_content(note_of(folder), (json.dumps(note._asdict()),), 0o600)


def remove_note(folder: Path, note: Note) -> None:
    found = read_note(folder)
    if found is not None and (found.pid, found.born) == (note.pid, note.born):
        note_of(folder).unlink(missing_ok=True)
