"""`lore ps` and `lore stop`: the owners of this user."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from etl.errors import Busy
from etl.project import place_of
from etl.stores.note import Note, living_note
from server import show
from server.command import command
from server.owner import find
from server.owner.runtime import registered, unregister
from server.shell import Session, print_json

JSON = dict[str, Any]


@command
def ps(session: Session) -> None:
    """List the processes that own an index: pid, project, address, since when, how many clients."""
    found = [_shown(folder, note) for folder, note in _living()]
    if session.as_json:
        print_json({"owners": found})
        return
    for one in found:
        state = f"{one['clients']} clients" if one["answers"] else "does not answer"
        show.line(f"{one['pid']:>7}  {one['project']}  {one['address']}  since {one['since']}  {one['kind']}, {state}")


@command
def stop(
    session: Session, all: Annotated[bool, typer.Option("--all", help="Stop every owner of this user.")] = False
) -> None:
    """End the process that owns this project's index; with --all, every one."""
    here = place_of(session.root, session.config).folder
    chosen = [(folder, note) for folder, note in _living() if all or folder == here]
    stopped = [_shown(folder, note) for folder, note in chosen if _end(folder, note)]
    if session.as_json:
        print_json({"stopped": [one["pid"] for one in stopped]})
    else:
        for one in stopped:
            show.line(f"Stopped {one['pid']}  {one['project']}")
        if not chosen:
            show.line("No owner is running." if all else "No owner of this index is running.")
    if len(stopped) < len(chosen):
        raise Busy("An owner does not end.", "Look at its log, owner.log in the index folder.")


def _living() -> list[tuple[Path, Note]]:
    """The owners that run; entries of those that do not are cleared away."""
    found = []
    for folder in registered():
        note = living_note(folder)
        if note is not None and note.address:
            found.append((folder, note))
        else:
            unregister(folder)
    return found


def _shown(folder: Path, note: Note) -> JSON:
    status = find.ask(note, "status") or {}
    return {
        "pid": note.pid,
        "project": status.get("project", str(folder)),
        "index": str(folder),
        "kind": note.kind,
        "address": note.web or note.address,
        "since": note.since,
        "clients": status.get("clients", 0),
        "version": note.version,
        "answers": bool(status),
    }


def _end(folder: Path, note: Note) -> bool:
    """In order if it listens; else by a signal, which its id and time of birth say is meant for it."""
    if find.ask(note, "status") is None and note.is_alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(note.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    return find.stop(folder, note)
