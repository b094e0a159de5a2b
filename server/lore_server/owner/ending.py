"""Ask a running owner, and stop it. Standard library only."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from lore_etl.core.errors import Busy
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import is_in_use
from lore_etl.stores.owner_file import Note, read_note, remove_note
from lore_etl.system.processes import is_stopped, kill, terminate
from lore_server.owner.line import dial

STOP_SECONDS = 30.0
KILL_SECONDS = 5.0
PAUSE_SECONDS = 0.02


def ask(note: Note, want: str) -> JSON | None:
    """Send one request to a running owner and return its reply; None if it does not respond."""
    if is_stopped(note.pid):
        return None
    try:
        return _reply(note, {"want": want})
    except OSError:
        return None


def _reply(note: Note, request: JSON) -> JSON:
    line, reply = dial(note.address, {**request, "token": note.token})
    line.close()
    if not reply.get("ok"):
        raise ConnectionError("the owner rejected its token")
    return reply


def stop(folder: Path, note: Note) -> bool:
    """Stop an owner and wait for its end; return False if it still runs after 30 seconds.

    The owner is first asked to stop. If it does not respond, it receives signals; the note's process id and start time
    ensure that they reach no other process.
    """
    return _has_ended(folder, note, is_asked=ask(note, "stop") is not None)


def stop_if_free(folder: Path, note: Note, follows: str = "") -> bool:
    """Stop an owner unless it works or has clients that do not follow this configuration; return whether it ended.

    An owner of an earlier version does not know whether it is free, but counts its clients.

    Raises:
        Busy: the owner was free, but does not end.
        OSError: the owner does not respond.
    """
    status = _reply(note, {"want": "status", "follows": follows})
    if not status.get("free", not status.get("clients") and not status.get("job")):
        return False
    if _reply(note, {"want": "stop", "if_free": True, "follows": follows}).get("stays"):
        return False
    if not _has_ended(folder, note, is_asked=True):
        raise _unstoppable(note)
    return True


def end(folder: Path, note: Note, may_answer: bool = True) -> None:
    """Stop an owner in any state; one that is known not to answer receives signals at once. Raises Busy."""
    if not (stop(folder, note) if may_answer else _has_ended(folder, note, is_asked=False)):
        raise _unstoppable(note)


def _unstoppable(note: Note) -> Busy:
    return Busy(f"The owner of this index (pid {note.pid}) does not stop.", "Run `lore stop`, then try again.")


def _is_given_up(folder: Path) -> bool:
    """Return whether a process that owns several indexes has closed this one."""
    return read_note(folder) is None and not is_in_use(folder)


def _has_ended(folder: Path, note: Note, is_asked: bool) -> bool:
    now = time.monotonic()
    deadline, terminate_at, kill_at = now + STOP_SECONDS, float("inf"), float("inf")
    if not is_asked:
        terminate_at, kill_at = now, now if is_stopped(note.pid) else now + KILL_SECONDS
    while note.is_alive and not (note.is_one_of_many and _is_given_up(folder)):
        now = time.monotonic()
        if now > deadline:
            return False
        if now > terminate_at:
            terminate(note.pid)
            terminate_at = float("inf")
        if now > kill_at:
            kill(note.pid)
            kill_at = float("inf")
        time.sleep(PAUSE_SECONDS)
    with contextlib.suppress(OSError):
        remove_note(folder, note)
    return True
