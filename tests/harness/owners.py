"""Owners that tests start: how many there are, and their end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from lore_etl.stores.claim import recorded
from lore_etl.stores.owner_file import Note, read_note
from lore_server.owner import find


def owners() -> list[tuple[Path, Note]]:
    """Index folder and note of every owner that runs."""
    found = [(folder, read_note(folder)) for folder in recorded()]
    return [(folder, note) for folder, note in found if note is not None and note.address and note.is_alive]


def owner_of(project: Path) -> Note:
    """The owner of a project's index."""
    note = read_note(project / ".lore")
    assert note is not None and note.address and note.is_alive
    return note


def stop_owners(below: Path = Path("/")) -> None:
    """End those of projects below a folder, and wait until they have."""
    for folder, note in owners():
        if not folder.is_relative_to(below.resolve()):
            continue
        assert find.stop(folder, note), f"the owner of {folder} does not end"


def kill(note: Note) -> None:
    """As a crash or the system would: at once, with nothing put in order."""
    os.kill(note.pid, signal.SIGKILL)
    wait_until(lambda: not note.is_alive)


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something that another process brings about, and fail if it does not."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)
