"""List, stop and kill the owners that tests start."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from lore_etl.stores.claim import recorded
from lore_etl.stores.owner_file import Note, read_note
from lore_etl.system.processes import is_stopped
from lore_server.owner import predecessor


def owners() -> list[tuple[Path, Note]]:
    """Return the index folder and the note of every running owner."""
    found = [(folder, read_note(folder)) for folder in recorded()]
    return [(folder, note) for folder, note in found if note is not None and note.address and note.is_alive]


def owner_of(project: Path) -> Note:
    """Return the owner of a project's index."""
    note = read_note(project / ".lore")
    assert note is not None and note.address and note.is_alive
    return note


def without_clients(project: Path) -> Note:
    """Return the owner after it has noticed that the commands so far have disconnected."""
    note = owner_of(project)
    wait_until(lambda: (predecessor.ask(note, "status") or {}).get("clients") == 0)
    return note


def stop_owners(below: Path = Path("/")) -> None:
    """Stop the owners of the projects below a folder, and wait until they have ended."""
    for folder, note in owners():
        if not folder.is_relative_to(below.resolve()):
            continue
        predecessor.stop(folder, note)
        wait_until(lambda note=note: not note.is_alive)  # type: ignore[misc]


def kill(note: Note) -> None:
    """Kill the owner with SIGKILL, as a crash would, so that it cannot clean up."""
    os.kill(note.pid, signal.SIGKILL)
    wait_until(lambda: not note.is_alive)


def resident_kilobytes(process: int | str) -> int:
    """Return the resident memory of a process on Linux."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until another process makes the condition true; fail if it does not."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def pause(pid: int) -> None:
    """Stop a process with SIGSTOP, and wait until it has stopped: until then its threads may answer."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: is_stopped(pid))
