"""Check Lore's environment. Packages may be broken, so a check imports them only where it uses them."""

import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lore_etl.config.project import CONFIG_NAME, read_layers, user_config
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import is_in_use, is_ours, remark
from lore_etl.stores.owner_file import read_note
from lore_etl.system.file_locks import is_locked, try_lock
from lore_server import __version__
from lore_server.owner.session import Session
from lore_server.setup.clients import is_on_path, running_command


@dataclass(frozen=True)
class Finding:
    """The outcome of a check: its finding, and the remedy if something is wrong."""

    status: Literal["ok", "warn", "failed"]
    detail: str
    remedy: str = ""

    def row(self, name: str) -> dict[str, str]:
        return {"name": name, "status": self.status, "detail": self.detail, "remedy": self.remedy}


def python() -> Finding:
    detail = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.release()}"
    if sys.platform != "linux":
        return Finding("warn", detail, "Lore is only tested on Linux; a container or WSL is the safest choice.")
    return Finding("ok", detail)


def program() -> Finding:
    where = "on PATH" if is_on_path() else "not on PATH: clients get its full path"
    return Finding("ok", f"Lore {__version__}, {' '.join(running_command())} ({where})")


def configuration(session: Session) -> Finding:
    own = session.root / CONFIG_NAME
    files = [str(path) for path in (own, user_config(os.environ), session.config) if path and path.exists()]
    session.open_app().close()  # validates sources and weights, which the settings cannot
    layers = read_layers(session.root, session.config)
    if layers.warning:
        problem, _, remedy = layers.warning.partition(". ")
        return Finding("warn", f"{problem}.", remedy)
    return Finding("ok", " and ".join(files) or "the defaults; there is no lore.toml")


def index_folder(folder: Path) -> Finding:
    """Check that an index can be stored there: permissions and working locks."""
    if foreign := remark(folder):
        detail, _, remedy = foreign.partition(" If ")
        return Finding("warn", detail, f"If {remedy}")
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        remedy = "Fix its permissions, or set index.path to another folder."
        if is_ours(folder):
            return Finding("warn", f"{folder} is read-only: a copy is searched, and it cannot be synced.", remedy)
        return Finding("failed", f"{existing} is not writable.", remedy)
    if existing == folder and not _locks_hold(folder):
        return Finding("failed", f"Locks do not work in {folder}.", "Set index.path to a folder on a local disk.")
    return Finding("ok", f"{folder}: {'writable' if existing == folder else 'does not exist yet, can be created'}")


def _locks_hold(folder: Path) -> bool:
    """Return whether a locked file cannot be locked again; some network file systems ignore locks."""
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix="doctor-") as place:
            file = Path(place, "lock")
            with open(file, "wb") as first, open(file, "ab") as second:
                return try_lock(first.fileno()) and is_locked(second.fileno())
    except OSError:
        return False


def owner(folder: Path) -> Finding:
    """Report the current owner of the index; ignore the note of a crashed process."""
    note = read_note(folder)
    if note is None or not note.is_alive:
        if not is_in_use(folder):
            left = "; a crashed process left its note, which is harmless" if note else ""
            return Finding("ok", f"not running{left}")
        return Finding("warn", "an unidentified process", "Wait for it to finish, or find and stop it.")
    where = f"at {note.web}" if note.web else "in the background" if note.address else "for its own use only"
    return Finding("ok", f"`{note.command.strip()}` (pid {note.pid}) since {note.since}, {where}")


def from_health(check: JSON) -> Finding:
    whole = str(check["detail"])
    if check["status"] == "ok":
        return Finding("ok", whole)
    detail, mark, remedy = whole.partition(" Run `")
    remedy = mark.lstrip() + remedy
    if not mark:
        detail, _, remedy = whole.partition(". ")
    remedy = remedy or "See docs/troubleshooting.md."
    return Finding("warn" if check["status"] == "degraded" else "failed", detail, remedy)
