"""Provide `lore ps`, `lore stop` and `lore adopt` for this user's owners and index folders."""

from pathlib import Path
from typing import Annotated

from typer import Option

from lore_etl.core.atomic import remove_folder
from lore_etl.core.errors import Busy, Conflict, StorageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_etl.stores import claim
from lore_etl.stores.claim import CATALOGUE, is_in_use, is_ours, recorded
from lore_etl.stores.owner_file import Note, living_note
from lore_server.cli.command import command
from lore_server.owner import find, predecessor
from lore_server.owner.session import Session


@command
def ps(session: Session) -> None:
    """List the processes that own an index: pid, project, address, start time, number of clients."""
    found, rows = [_shown(folder, note) for folder, note in _running()], []
    for owner in found:
        state = counted(owner["clients"], "client") if owner["answers"] else "does not respond"
        about = f"{owner['address']}  since {owner['since']}  {owner['kind']}, {state}"
        rows.append(f"{owner['pid']:>7}  {owner['project']}  {about}")
    session.show({"owners": found}, *rows, empty="No owner is running.")


@command
def stop(session: Session, all: Annotated[bool, Option("--all", help="Stop all owners of this user.")] = False) -> None:
    """Stop the process that owns this project's index, or with --all every owner."""
    chosen = _running() if all else _owner_of(session.place.folder)
    stopped = [_shown(folder, note) for folder, note in chosen if predecessor.stop(folder, note)]
    rows = [f"Stopped {owner['pid']}  {owner['project']}" for owner in stopped]
    if not chosen:
        rows = ["No owner is running." if all else "No owner of this index is running."]
    session.show({"stopped": [owner["pid"] for owner in stopped]}, *rows)
    if len(stopped) < len(chosen):
        raise Busy("An owner does not stop.", "See its log, owner.log in the index folder.")


@command
def adopt(session: Session) -> None:
    """Use an index folder that Lore did not create here: a copy, a backup, or an index of an earlier version.

    Do this only for a folder that you created yourself: Lore will trust its content.
    """
    index = session.place.folder
    if is_ours(index):
        _remove_empty_index(index)
    with os_errors_as(StorageError, "There is no index folder to adopt", "Run `lore sync`."):
        claim.adopt(index)
    session.show({"adopted": str(index)}, f"{index} is now in use.")


def _remove_empty_index(index: Path) -> None:
    """Remove our empty index folder, so that the folder that was set aside can take its place."""
    if (index / CATALOGUE).exists() or not claim.aside_of(index).exists():
        hint = "To use the folder that was set aside, stop Lore and delete this one first."
        raise Conflict(f"{index} is already in use.", hint)
    note = living_note(index)
    if note is not None and not predecessor.stop(index, note):
        raise Busy(f"The owner of the index (pid {note.pid}) does not stop.")
    remove_folder(index)


def _owner_of(index: Path) -> list[tuple[Path, Note]]:
    """Return the owner of one index, if there is one. Raises Busy if it is unidentified."""
    note = find.holder(index)
    if note is None and is_in_use(index):
        raise find.nameless(index)
    return [(index, note)] if note is not None and note.address else []


def _running() -> list[tuple[Path, Note]]:
    """Return the running owners, which are recorded in the user's state folder."""
    notes = ((folder, living_note(folder)) for folder in recorded())
    return [(folder, note) for folder, note in notes if note is not None and note.address]


def _shown(folder: Path, note: Note) -> JSON:
    status = predecessor.ask(note, "status") or {}
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
