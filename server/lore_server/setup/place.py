"""Check Lore's environment: the configuration, the project's files, the index folder and its owner."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from lore_etl.config.layers import CONFIG_NAME, read_layers, user_config
from lore_etl.config.project import knowledge_home
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import is_ours, remark
from lore_etl.system.file_locks import is_locked, try_lock
from lore_server.owner.session import Session
from lore_server.setup.finding import Examined, Finding

MIN_FREE_BYTES = 200_000_000
MIN_SQLITE = (3, 35, 0)  # RETURNING
SHOWN_EXTENSIONS = 8


def configuration(session: Session) -> Finding:
    """Report the configuration files, and check that every key is known."""
    own = session.root / CONFIG_NAME
    files = [str(path) for path in (own, user_config(os.environ), session.config) if path and path.exists()]
    session.open_app().close()  # validates sources and weights, which the settings cannot
    layers = read_layers(session.root, session.config)
    if layers.warning:
        problem, _, remedy = layers.warning.partition(". ")
        return Finding("warn", f"{problem}.", remedy)
    return Finding("ok", " and ".join(files) or "the defaults; there is no lore.toml")


def knowledge(here: Examined) -> Finding:
    """Report whether knowledge awaits confirmation for this folder. Fetches nothing."""
    from lore_server.services.knowledge_library import Library

    library = Library(knowledge_home(os.environ), here.root)
    note = library.note()
    if note:
        return Finding("warn", note, 'Read docs/knowledge.md, "Which project a folder belongs to".')
    return Finding("ok", f"in {library.home}; nothing is waiting for confirmation")


def project(here: Examined) -> Finding:
    """Report which files a sync would read."""
    from lore_etl.files.scan import Unreadable, read_text, scan
    from lore_etl.sources import SourceSet
    from lore_etl.sources.inventory import inventory
    from lore_etl.sources.source import SourceContext

    settings = here.settings.index
    found = scan(here.root, settings.exclude, {here.index}, include=settings.include)

    def read(path: str) -> str:
        try:
            return read_text(here.root, path, found.files[path], settings.max_file_bytes)
        except Unreadable:  # also a document that a sync would convert
            return ""

    sources = SourceSet(SourceContext(list(found.files), read, settings.include), here.settings.sources)
    owned, left_out = dict[str, str](), dict[str, str]()
    for path in found.files:
        source = sources.owner(path)
        reason = source.left_out(path, read(path)) if source else sources.left_out(path)
        if source is None or reason:
            left_out[path] = reason or ""
        else:
            owned[path] = str(source.type)
    counted = inventory(owned, left_out)
    types = Counter(owned.values())
    counts = ", ".join(f"{row.files} {row.language} ({row.type})" for row in counted.found)
    git = "git repository" if (here.root / ".git").exists() else "no git repository"
    large = sum(file.size > settings.max_file_bytes for file in found.files.values())
    others = {
        "over index.max_file_bytes": large,
        "skipped: symlinks that lead outside": len(found.refused),
        "not readable": len(found.unreadable),
    }
    rest = "".join(
        f"; left out: {row.files} {row.extension} ({row.reason})" for row in counted.left_out[:SHOWN_EXTENSIONS]
    )
    rest += "".join(f"; {count} {problem}" for problem, count in others.items() if count)
    detail = f"{here.root} ({git}): {counts or 'no files'}{rest}. Files that git ignores are not counted."
    if found.unreadable:
        first = found.unreadable[0]
        return Finding("warn", f"{detail} {first.source}: {first.reason}", "Grant access to the user who runs Lore.")
    if not types:
        return Finding("warn", detail, "Start Lore in a project, or give one with -C.")
    return Finding("ok", detail)


def index_folder(here: Examined) -> Finding:
    """Check that an index can be stored there: permissions, space, SQLite and working locks."""
    folder = here.index
    if foreign := remark(folder):
        detail, _, remedy = foreign.partition(" If ")
        return Finding("warn", detail, f"If {remedy}")
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        remedy = "Fix its permissions, or set index.path to another folder."
        if is_ours(folder):
            return Finding("warn", f"{folder} is read-only: a copy is searched, and it cannot be synced.", remedy)
        return Finding("failed", f"{existing} is not writable.", remedy)
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        return Finding("failed", f"SQLite is {sqlite3.sqlite_version}.", "Use a Python with SQLite 3.35 or later.")
    free = shutil.disk_usage(existing).free
    if free < MIN_FREE_BYTES:
        return Finding("warn", f"Only {free // 1_000_000} MB are free.", "Free some space before the next sync.")
    if existing == folder and not _locks_hold(folder):
        return Finding("failed", f"Locks do not work in {folder}.", "Set index.path to a folder on a local disk.")
    state = "writable" if existing == folder else "does not exist yet, can be created"
    return Finding("ok", f"{folder}: {state}, {free / 1e9:.1f} GB free, SQLite {sqlite3.sqlite_version}")


def _locks_hold(folder: Path) -> bool:
    """Return whether a locked file cannot be locked again; some network file systems ignore locks."""
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix="doctor-") as place:
            file = Path(place, "lock")
            with open(file, "wb") as first, open(file, "ab") as second:
                return try_lock(first.fileno()) and is_locked(second.fileno())
    except OSError:
        return False


def owner(here: Examined) -> Finding:
    """Report the current owner of the index; ignore the note of a crashed process."""
    from lore_etl.stores.claim import is_in_use
    from lore_etl.stores.owner_file import read_note

    note = read_note(here.index)
    if note is None or not note.is_alive:
        if not is_in_use(here.index):
            left = "; a crashed process left its note, which is harmless" if note else ""
            return Finding("ok", f"not running{left}")
        return Finding("warn", "an unidentified process", "Wait for it to finish, or find and stop it.")
    where = f"at {note.web}" if note.web else "in the background" if note.address else "for its own use only"
    return Finding("ok", f"`{note.command.strip()}` (pid {note.pid}) since {note.since}, {where}")


def from_health(check: JSON) -> Finding:
    """Convert a `healthcheck` check to a finding."""
    detail, mark, remedy = str(check["detail"]).partition(" Run `")
    if check["status"] == "ok":
        return Finding("ok", str(check["detail"]))
    if not mark:
        detail, _, remedy = str(check["detail"]).partition(". ")
    remedy = f"Run `{remedy}" if mark else remedy or "See docs/troubleshooting.md."
    return Finding("warn" if check["status"] == "degraded" else "failed", detail, remedy)
